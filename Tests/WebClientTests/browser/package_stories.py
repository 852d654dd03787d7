"""The example of docs/page-client.md: a page of an app, of another origin than the relay's."""

import functools
import http.server
import pathlib
import re
import threading

from playwright.sync_api import expect

from relay import Agent
from stage import Story

ROOT = pathlib.Path(__file__).parents[3]
CLIENT = ROOT / "Sources" / "WebClient"
EXAMPLE = (ROOT / "docs" / "page-client.md").read_text(encoding="utf-8")
EXAMPLES_RELAY = "http://127.0.0.1:5625"


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves the modules, and the example as the entry page."""

    def __init__(self, *request, relay, **options):
        self.relay = relay
        super().__init__(*request, directory=str(CLIENT), **options)

    def do_GET(self):
        if self.path != "/":
            super().do_GET()
            return
        page = re.search(r"```html\n(.*?)```", EXAMPLE, re.DOTALL)[1]
        body = page.replace(EXAMPLES_RELAY, self.relay.url).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class PackageStories(Story):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Files, relay=self.relay))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.origin = f"http://127.0.0.1:{server.server_port}"

    def allows_the_origin(self, origin):
        self.relay.stop()
        self.relay.origin = origin
        self.relay.start()

    def page(self):
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(self.origin)
        return page

    def phone(self):
        phone = Agent(self.relay.folder / "phone")
        phone.run("join", "--relay", self.relay.url, "--new", "--name", "phone")
        return phone

    def joins(self, page, phone):
        code = phone.json("pair")[0]["code"]
        page.get_by_label("Pairing code").fill(code)
        page.get_by_role("button", name="Pair").click()

    def test_a_page_of_another_origin_is_a_device_and_keeps_what_it_has(self):
        self.allows_the_origin(self.origin)
        phone = self.phone()
        one, two = self.page(), self.page()
        for page in [one, two]:
            self.joins(page, phone)
            expect(page.locator("#status")).to_have_text("inSync")
        one.get_by_label("Item").fill("milk")
        one.get_by_role("button", name="Add").click()
        expect(two.locator("li")).to_contain_text("milk")
        two.locator("li input").check()
        expect(one.locator("li input")).to_be_checked()
        self.relay.stop()
        one.reload()
        expect(one.locator("li input")).to_be_checked()
        expect(one.locator("#status")).to_contain_text("offline")

    def test_a_page_whose_origin_is_not_listed_learns_what_to_do(self):
        self.allows_the_origin(self.origin)
        page = self.page()
        phone = self.phone()
        self.joins(page, phone)
        expect(page.locator("#status")).to_have_text("inSync")
        self.allows_the_origin(None)
        advice = f"start the relay with --origin {self.origin}"
        expect(page.locator("#status")).to_contain_text(advice)
        stranger = self.page()
        self.joins(stranger, phone)
        expect(stranger.locator("#status")).to_contain_text(advice)
