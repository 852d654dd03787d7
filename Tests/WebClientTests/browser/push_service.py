"""A push service, and the part of a browser that gets pushes from it."""

import base64
import http.server
import pathlib
import queue
import re
import ssl
import subprocess
import threading
import time

PATIENCE_SECONDS = 60
SCRIPTS = pathlib.Path(__file__).parents[3] / "scripts"


class PushService:
    """Accepts pushes over TLS, with a certificate of an authority that only this test trusts."""

    def __init__(self, folder):
        subprocess.run([SCRIPTS / "test-certificate", folder], check=True, capture_output=True)
        self.authority = folder / "ca.pem"
        self.pushes = queue.Queue()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(service.accept(self.path, dict(self.headers), body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def accept(self, path, headers, body):
        """Keeps a push, and returns the status of the answer to it."""
        self.pushes.put((path, headers, body))
        return 201

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class PushBrowser:
    """A person's browser as far as pushes are concerned. It works while no page of Lockstep is
    open."""

    def __init__(self, person, service):
        self.service = service
        self.origin = person.url
        script = (pathlib.Path(__file__).parent / "pushDouble.js").read_text(encoding="utf-8")
        person.context.add_init_script(
            script.replace("PUSH_SERVICE", f"https://{service.host}"))
        # A page of the same origin that is not Lockstep's, and has an icon, for which the browser
        # would otherwise ask the relay.
        self.page = person.context.new_page()
        self.page.route("**/beside", lambda route: route.fulfill(
            content_type="text/html", body='<!doctype html><link rel="icon" href="data:,">'))
        self.page.goto(f"{person.url}/beside")
        self.registrations = {}
        self.tools = person.context.new_cdp_session(self.page)
        self.tools.on("ServiceWorker.workerRegistrationUpdated", self._note)
        self.tools.send("ServiceWorker.enable")
        self.handled = 0
        self.tools.on("BackgroundService.backgroundServiceEventReceived", self._count)
        pushes = {"service": "pushMessaging"}
        self.tools.send("BackgroundService.startObserving", pushes)
        self.tools.send("BackgroundService.setRecording", {"shouldRecord": True, **pushes})

    def _note(self, event):
        for it in event["registrations"]:
            self.registrations[it["scopeURL"]] = it["registrationId"]

    def _count(self, event):
        if event["backgroundServiceEvent"]["eventName"] == "Push event completed":
            self.handled += 1

    def gets_push(self):
        """Waits for a push, and delivers it to the page's service worker. Returns what it says."""
        _, _, body = self.service.pushes.get(timeout=PATIENCE_SECONDS)
        sealed = base64.urlsafe_b64encode(body).decode().rstrip("=")
        data = self.page.evaluate("(body) => decryptedPush(body)", sealed)
        self.deliver(data)
        return data

    def deliver(self, data):
        """Delivers a push to the page's service worker, and waits until it has handled it. A page
        that lists the notifications while the browser shows one makes Chromium forget that one."""
        registration = self.registrations[f"{self.origin}/"]
        before = self.handled
        self.tools.send("ServiceWorker.deliverPushMessage",
                        {"origin": self.origin, "registrationId": registration, "data": data})
        end = time.monotonic() + PATIENCE_SECONDS
        while self.handled == before:
            if time.monotonic() > end:
                raise AssertionError(f"the service worker has not handled the push {data}")
            # Events arrive only during calls.
            self.page.wait_for_timeout(20)

    def sees(self, pattern):
        """Waits until the notifications that are shown, a line for each, match a pattern."""
        shown = self.page.evaluate("""async ([pattern, milliseconds]) => {
          const registration = await navigator.serviceWorker.getRegistration();
          const end = performance.now() + milliseconds;
          for (;;) {
            const shown = (await registration.getNotifications()).map(({ body }) => body);
            const text = shown.join("\\n");
            if (new RegExp(`^${pattern}$`).test(text) || performance.now() > end) return text;
            await new Promise((resolve) => { setTimeout(resolve, 50); });
          }
        }""", [pattern, PATIENCE_SECONDS * 1_000])
        if not re.fullmatch(pattern, shown):
            raise AssertionError(f"the browser shows “{shown}”, not “{pattern}”")

    def has_registrations(self, *states):
        """Waits until the relay has registrations for wakes of this device in these states."""
        found = self.page.evaluate("""async ([states, milliseconds]) => {
          const identity = await new Promise((resolve, reject) => {
            const opening = indexedDB.open("lockstep");
            opening.onerror = reject;
            opening.onsuccess = () => {
              const values = opening.result.transaction("values").objectStore("values");
              const read = values.get("identity");
              opening.result.close();
              read.onsuccess = () => resolve(read.result);
            };
          });
          const headers = { Authorization: `Bearer ${identity.token}` };
          const end = performance.now() + milliseconds;
          for (;;) {
            const { wakes } = await (await fetch("/v1/wakes", { headers })).json();
            const text = wakes.map(({ state }) => state).join();
            if (text === states || performance.now() > end) return text;
            await new Promise((resolve) => { setTimeout(resolve, 50); });
          }
        }""", [",".join(states), PATIENCE_SECONDS * 1_000])
        if found != ",".join(states):
            raise AssertionError(f"the relay has the registrations “{found}”, not {states}")
