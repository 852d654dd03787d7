"""Firefox without a screen, with a profile of its own, driven by its Marionette protocol."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

from relay import wait_until

FIREFOX = os.environ.get("LOCKSTEP_FIREFOX", "/usr/bin/firefox-esr")
# Time limit for anything to happen, also on a busy machine. It bounds a failure.
PATIENCE_SECONDS = 60
# What goes elsewhere than to this machine ends at a port of it where nobody listens.
PREFERENCES = {
    "marionette.port": 0,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.startup.page": 0,
    "browser.newtab.preload": False,
    "dom.push.testing.allowInsecureServerURL": True,
    "dom.push.retryBaseInterval": 200,
    "permissions.default.desktop-notification": 1,
}
# Nobody answers there.
NO_PUSH_SERVICE = "ws://127.0.0.1:9"
# The key as WebDriver names it.
CONTROL = "\ue009"
# Collects the alerts that Firefox would show, by name: an alert replaces another of its name; and
# the texts of all that it has shown, in their order.
ALERTS = """
  const shown = new Map();
  const texts = [];
  const service = {
    QueryInterface: ChromeUtils.generateQI(["nsIAlertsService"]),
    showAlert(alert, listener) {
      texts.push(alert.text);
      shown.set(alert.name, { title: alert.title, text: alert.text, listener });
      listener?.observe(null, "alertshow", alert.cookie);
    },
    closeAlert(name) {
      const closed = shown.get(name);
      shown.delete(name);
      closed?.listener?.observe(null, "alertfinished", null);
    },
    getHistory: () => [],
    teardown() {},
    pbmTeardown() {},
  };
  Components.manager.QueryInterface(Ci.nsIComponentRegistrar).registerFactory(
    Services.uuid.generateUUID(), "", "@mozilla.org/alerts-service;1",
    { createInstance: (id) => service.QueryInterface(id) });
  Services.lockstepAlerts = shown;
  Services.lockstepTexts = texts;
"""
# Collects the requests to the relay that were answered, a line for each.
CALLS = """
  const calls = [];
  Services.obs.addObserver((request) => {
    const { requestMethod, URI, responseStatus } = request.QueryInterface(Ci.nsIHttpChannel);
    if (URI.filePath.startsWith("/v1/")) {
      calls.push(`${requestMethod} ${URI.pathQueryRef} ${responseStatus}`);
    }
  }, "http-on-examine-response");
  Services.lockstepCalls = calls;
"""


class Fault(Exception):
    """An error of WebDriver. `kind`: as in its specification."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Marionette:
    """Each message is its length, a colon, and JSON."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        self.stream = self.socket.makefile("rb")
        self.commands = 0
        self._read()
        self.call("WebDriver:NewSession")
        self.call("WebDriver:SetTimeouts", script=PATIENCE_SECONDS * 1_000,
                  pageLoad=PATIENCE_SECONDS * 1_000, implicit=PATIENCE_SECONDS * 1_000)
        # A command may take as long as these, and the way there and back.
        self.socket.settimeout(2 * PATIENCE_SECONDS)

    def _read(self):
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise AssertionError("Firefox has ended")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, name, **parameters):
        self.commands += 1
        text = json.dumps([0, self.commands, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._read()
        if error:
            raise Fault(error["error"], error["message"])
        return result

    def close(self):
        self.stream.close()
        self.socket.close()


class Firefox:
    """A person at a browser. `url`: the page's address."""

    def __init__(self, url, push_service=NO_PUSH_SERVICE, **preferences):
        self.url = url
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-firefox-"))
        self.preferences = {**PREFERENCES, "dom.push.serverURL": push_service, **preferences}
        self.process = None
        self.marionette = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        """Starts it, with an empty tab."""
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
                 for name, value in self.preferences.items()]
        (self.profile / "user.js").write_text("".join(lines), encoding="utf-8")
        chosen = self.profile / "MarionetteActivePort"
        chosen.unlink(missing_ok=True)
        with open(self.profile / "output", "ab") as output:
            self.process = subprocess.Popen(
                [FIREFOX, "--headless", "--no-remote", "--profile", self.profile, "--marionette",
                 "--remote-allow-system-access", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, "MOZ_CRASHREPORTER_DISABLE": "1", "HOME": str(self.profile)})

        def port():
            if self.process.poll() is not None:
                raise AssertionError(f"Firefox has ended: {self.output()}")
            return chosen.exists() and chosen.read_text(encoding="utf-8").strip()

        self.marionette = Marionette(int(wait_until(port, self.output)))
        self.in_browser(ALERTS)
        self.in_browser(CALLS)
        # Marionette turns it off, after it has read the profile.
        self.in_browser("Services.prefs.setBoolPref('dom.push.connection.enabled', true)")

    def output(self):
        return (self.profile / "output").read_text(encoding="utf-8", errors="replace")[-4_000:]

    def quit(self):
        """Ends it as a person does; the profile stays."""
        self.marionette.call("Marionette:Quit", flags=["eAttemptQuit"])
        self.marionette.close()
        self.process.wait(PATIENCE_SECONDS)

    def close(self):
        if self.process and self.process.poll() is None:
            if self.marionette:
                self.marionette.close()
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)
        shutil.rmtree(self.profile, ignore_errors=True)

    def in_browser(self, script, *values):
        """Runs a function's body in Firefox itself, and returns its result."""
        self.marionette.call("Marionette:SetContext", value="chrome")
        try:
            return self.marionette.call(
                "WebDriver:ExecuteScript", script=script, args=values, sandbox="system",
                newSandbox=False)["value"]
        finally:
            self.marionette.call("Marionette:SetContext", value="content")

    def in_page(self, script, *values):
        return self.marionette.call("WebDriver:ExecuteScript", script=script, args=values)["value"]

    # What the person does.

    def opens(self, path="/"):
        self.marionette.call("WebDriver:Navigate", url=self.url + path)

    def leaves_by_link(self, path):
        """Follows a link, and waits until its target is shown in place of the page."""
        self.in_page("location.href = arguments[0]", path)
        place = self.url + path

        def shown():
            return self.marionette.call("WebDriver:GetCurrentURL")["value"]

        wait_until(lambda: shown() == place, lambda: f"{place} is not shown, but {shown()}")

    def closes_the_page(self):
        """Closes the page's tab; an empty one stays."""
        page = self.marionette.call("WebDriver:GetWindowHandle")["value"]
        empty = self.marionette.call("WebDriver:NewWindow", type="tab")["handle"]
        self.marionette.call("WebDriver:CloseWindow")
        self.marionette.call("WebDriver:SwitchToWindow", handle=empty)
        assert page not in self.marionette.call("WebDriver:GetWindowHandles")

    def finds(self, path):
        """Waits for an element, by an XPath, and returns it."""
        found = self.marionette.call("WebDriver:FindElement", using="xpath", value=path)["value"]
        return next(iter(found.values()))

    def clicks(self, path):
        def is_done():
            try:
                self.marionette.call("WebDriver:ElementClick", id=self.finds(path))
                return True
            except Fault as fault:
                passing = ["stale element reference", "element not interactable",
                           "element click intercepted"]
                if fault.kind not in passing:
                    raise
                return False

        wait_until(is_done, lambda: f"{path} cannot be clicked")

    def presses(self, name):
        self.clicks(f"//button[normalize-space()='{name}']")

    def types(self, path, text):
        """Types into a field, or names the file for a field that takes one."""
        self.marionette.call("WebDriver:ElementSendKeys", id=self.finds(path), text=str(text))

    def pastes(self, text):
        """Copies a text outside the page, and presses Ctrl+V in it."""
        self.in_browser("""
          Cc["@mozilla.org/widget/clipboardhelper;1"].getService(Ci.nsIClipboardHelper)
            .copyString(arguments[0]);""", text)
        keys = [("keyDown", CONTROL), ("keyDown", "v"), ("keyUp", "v"), ("keyUp", CONTROL)]
        self.marionette.call("WebDriver:PerformActions", actions=[{
            "type": "key", "id": "keyboard",
            "actions": [{"type": kind, "value": value} for kind, value in keys]}])

    def goes_to(self, view):
        """Opens a view, and waits until it is open and has been loaded."""
        link = f"//nav//a[normalize-space()='{view}']"
        self.clicks(link)
        self.finds(f"{link}[@aria-current='page']")
        busy = "return document.querySelector('.view[aria-busy]') !== null"
        wait_until(lambda: not self.in_page(busy), lambda: f"{view} has not been loaded")

    @property
    def text(self):
        return self.in_page("return document.body.innerText")

    def sees(self, text):
        """Waits until a text is visible in the page."""
        wait_until(lambda: text in self.text,
                   lambda: f"“{text}” is not in the page, which says: {self.text}")

    def sees_no_longer(self, text):
        wait_until(lambda: text not in self.text, lambda: f"“{text}” stays in the page")

    def turns_to_page(self):
        """Waits for the page in a tab that it did not open itself."""
        def is_found():
            for handle in self.marionette.call("WebDriver:GetWindowHandles"):
                self.marionette.call("WebDriver:SwitchToWindow", handle=handle)
                url = self.marionette.call("WebDriver:GetCurrentURL")["value"]
                if url.startswith(self.url):
                    return True
            return False

        wait_until(is_found, lambda: "no tab shows the page")

    def makes_account(self, is_sealed=False):
        """What the worker tells of a sealed timer is less, and only a sealed account has files."""
        self.opens()
        if not is_sealed:
            self.clicks("//label[contains(., 'Seal it')]")
        self.presses("Make a new account")
        if is_sealed:
            self.clicks("//dialog//button[normalize-space()='Done']")
        self.sees("In sync")

    def has_its_files_kept(self):
        """Waits until the page opens without a relay."""
        wait_until(lambda: self.in_page("return navigator.serviceWorker.controller !== null"),
                   lambda: "the page has no service worker")

    def shows_code(self):
        """Returns a pairing code."""
        self.goes_to("Timer")
        self.goes_to("Devices")
        self.presses("Show a pairing code")
        code = "return document.querySelector('.code')?.innerText"
        return wait_until(lambda: self.in_page(code), lambda: "the page shows no code")

    # What Firefox shows outside the page.

    def notifications(self):
        return self.in_browser(
            "return [...Services.lockstepAlerts.values()].map(({ text }) => text)")

    def was_told(self):
        """Returns the texts of all notifications since the start, also of those replaced."""
        return self.in_browser("return Services.lockstepTexts")

    def is_told(self, pattern):
        """Waits until the notifications that are shown, a line for each, match a pattern."""
        wait_until(lambda: re.fullmatch(pattern, "\n".join(self.notifications())),
                   lambda: f"Firefox shows {self.notifications()}, not “{pattern}”")

    def has_called(self, pattern, times=1):
        """Waits until requests to the relay are answered so often since the start: method, path,
        and status."""
        def calls():
            return self.in_browser("return Services.lockstepCalls")

        wait_until(lambda: sum(bool(re.fullmatch(pattern, it)) for it in calls()) >= times,
                   lambda: f"not {times} calls match “{pattern}”; there were {calls()}")

    def clicks_notification(self):
        self.in_browser("""
          for (const { listener } of Services.lockstepAlerts.values()) {
            listener.observe(null, "alertclickcallback", null);
          }""")
