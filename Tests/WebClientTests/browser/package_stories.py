"""The example of docs/page-client.md: a page of an app, of another origin than the relay's."""

import pathlib
import re
import urllib.request

from playwright.sync_api import expect

from files import serve
from relay import Agent
from stage import Story

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLE = (ROOT / "docs" / "page-client.md").read_text(encoding="utf-8")
EXAMPLES_RELAY = "http://127.0.0.1:5625"


class PackageStories(Story):
    def setUp(self):
        super().setUp()
        folder = self.relay.folder / "shopping"
        folder.mkdir()
        self.origin = serve(self, folder, self.example)
        package = re.search(rf"-o shopping/(\S+) {EXAMPLES_RELAY}(/\S+)", EXAMPLE)
        urllib.request.urlretrieve(self.relay.url + package[2], folder / package[1])

    def example(self):
        page = re.search(r"```html\n(.*?)```", EXAMPLE, re.DOTALL)[1]
        return page.replace(EXAMPLES_RELAY, self.relay.url)

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
        phone.run("join", "--relay", self.relay.url, "--new", "--plain", "--name", "phone")
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
