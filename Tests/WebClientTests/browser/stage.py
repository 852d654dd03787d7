"""A browser and its users. Every story also checks what a page must never do."""

import os
import unittest

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from page_files import file_at, policy
from relay import Relay

CHROMIUM = os.environ.get("LOCKSTEP_CHROMIUM", "/usr/bin/chromium")
# If set, the page's files come from this folder, not from the relay.
PAGES = os.environ.get("LOCKSTEP_PAGES")
PATIENCE_MILLISECONDS = 60_000
ACCESS_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
# Words, of up to 20 letters, that are broken over two lines where a person sees them.
BROKEN_WORDS = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: word, index } of node.data.matchAll(/[^\\s-]{1,20}(?=[\\s-]|$)/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0)
        .map(({ top }) => Math.round(top)));
      if (lines.size > 1) broken.push(word);
    }
  }
  return broken;
}"""

expect.set_options(timeout=PATIENCE_MILLISECONDS)


class Visitor:
    """A person with a separate browser context. Faults of the page are collected for the end of the
    test."""

    def __init__(self, stage, relay, host="127.0.0.1", is_owner=False, **options):
        self.url = (relay.owners_url if is_owner else relay.url).replace("127.0.0.1", host)
        self.relay = relay
        # A story that needs the service worker allows it: the worker costs some time in each test.
        self.context = stage.browser.new_context(**{"service_workers": "block", **options})
        self.context.set_default_timeout(PATIENCE_MILLISECONDS)
        self.faults = []
        self.context.on("request", self._heard)
        self.context.on("weberror", lambda error: self.faults.append(str(error.error)))
        self.context.on("console", self._said)
        # The browser reports a connection that is cut on purpose as an error.
        self.may_miss_the_relay = False
        if PAGES:
            self.context.route(f"{self.url}/**", self._serve)
        self.page = self.context.new_page()

    def open(self, path="/"):
        self.page.goto(self.url + path)
        return self.page

    def another_tab(self):
        page = self.context.new_page()
        page.goto(self.url)
        return page

    def has_its_files_kept(self):
        """Waits until the page opens without a relay."""
        self.page.wait_for_function("() => navigator.serviceWorker.controller !== null")

    def closes(self):
        """Closes the page, and keeps the browser's data; `opens_again` opens it again."""
        self.page.close()

    def opens_again(self, view):
        self.page = self.context.new_page()
        self.open(f"/#{view.lower()}")

    def make_account(self, is_sealed=True):
        self.open()
        if not is_sealed:
            self.page.get_by_label("Seal it").uncheck()
        self.press("Make a new account")
        if is_sealed:
            self.reads_phrase()
        self.is_in_sync()

    def reads_phrase(self):
        """Closes the dialog with the recovery phrase of a new account. Returns its words."""
        dialog = self.page.get_by_role("dialog", name="The recovery phrase")
        expect(dialog.get_by_role("listitem")).to_have_count(17)
        words = dialog.get_by_role("listitem").all_inner_texts()
        dialog.get_by_role("button", name="Done").click()
        return words

    def pair(self, code):
        self.open()
        self.page.get_by_label("Pairing code").fill(code)
        self.press("Pair", exact=True)
        # With the keys of the whole account, the page asks to compare its words.
        if len(code) > len("XXXX-XXXX-XXXX"):
            words = self.page.get_by_role("dialog", name="Compare six words")
            self.page.add_locator_handler(
                words, lambda: words.get_by_role("button", name="Done").click(), times=1)
        self.is_in_sync()

    def show_code(self):
        # Leaving the view removes the former code.
        self.go("Timer")
        self.go("Devices")
        self.press("Show a pairing code")
        code = self.page.locator(".code")
        expect(code).to_be_visible()
        return code.inner_text()

    def press(self, name, **options):
        self.page.get_by_role("button", name=name, **options).click()

    def go(self, view):
        """Opens a view, and waits until it is open and has been loaded."""
        link = self.page.get_by_role("navigation").get_by_role("link", name=view)
        link.click()
        expect(link).to_have_attribute("aria-current", "page")
        self.has_its_view()

    def has_its_view(self):
        """Waits until the open view has been loaded."""
        expect(self.page.locator(".view[aria-busy]")).to_have_count(0)

    def sees_sync(self, words):
        expect(self.page.locator(".sync-sign")).to_contain_text(words)

    def is_in_sync(self):
        self.sees_sync("In sync")

    def close(self):
        self.context.close()

    def _serve(self, route):
        path = route.request.url.removeprefix(self.url)
        if path.startswith(("/v1/", "/metrics", "/openapi.json")):
            route.continue_()
            return
        if not self.relay.is_running:
            route.abort("connectionrefused")
            return
        found = file_at(PAGES, path)
        if not found:
            route.fulfill(status=404, body="")
            return
        headers = {
            "Content-Type": found[1],
            "Content-Security-Policy": policy(self.url.split("//")[1]),
        }
        route.fulfill(status=200, body=found[0], headers=headers)

    def _heard(self, request):
        if not request.url.startswith((self.url, "data:", f"blob:{self.url}")):
            self.faults.append(f"a request to elsewhere: {request.url}")

    def _said(self, message):
        if message.type != "error":
            return
        is_cut = "WebSocket connection" in message.text or "Failed to load" in message.text
        if not (is_cut and self.may_miss_the_relay):
            self.faults.append(message.text)


class Story(unittest.TestCase):
    """A relay per test, and one browser for all stories of a file."""

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        # A page that the relay itself does not serve belongs to no network, and the browser would
        # ask a person if it may access this machine. The second name for this machine makes the
        # page one over plain http.
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=[
            "--disable-features=LocalNetworkAccessChecks",
            "--host-resolver-rules=MAP relay.test 127.0.0.1",
        ])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.relay = Relay()
        self.addCleanup(self.relay.close)
        self.visitors = []

    def visitor(self, **options):
        visitor = Visitor(self, self.relay, **options)
        self.visitors.append(visitor)
        return visitor

    def has_no_barrier(self, visitor, place):
        """Checks that Axe finds no violation of any impact. Without motion, because colours in
        transition cannot be judged."""
        visitor.page.emulate_media(reduced_motion="reduce")
        found = Axe().run(visitor.page, options=ACCESS_RULES).response["violations"]
        told = [(it["id"], it["impact"], [node["html"] for node in it["nodes"]]) for it in found]
        self.assertEqual(told, [], place)

    def is_not_too_wide(self, visitor, place):
        wide = visitor.page.evaluate("() => document.scrollingElement.scrollWidth - innerWidth")
        self.assertLessEqual(wide, 0, place)

    def tearDown(self):
        faults = [fault for visitor in self.visitors for fault in visitor.faults]
        for visitor in self.visitors:
            visitor.close()
        self.assertEqual(faults, [])
