"""The shopping list of Tests/Consumers: an app that imports the package from the relay."""

import pathlib

from playwright.sync_api import expect

from files import serve
from stage import Story

FOLDER = pathlib.Path(__file__).parents[2] / "Consumers" / "ShoppingList"


class ShoppingStories(Story):
    def setUp(self):
        super().setUp()
        self.origin = serve(self, FOLDER, self.entry)
        self.relay.stop()
        self.relay.origin = self.origin
        self.relay.pages = FOLDER
        self.relay.start()
        self.faults = []

    def entry(self):
        page = (FOLDER / "index.html").read_text(encoding="utf-8")
        unnamed = '<meta name="relay" content="">'
        self.assertIn(unnamed, page)
        return page.replace(unnamed, f'<meta name="relay" content="{self.relay.url}">')

    def page(self, address):
        context = self.browser.new_context()
        self.addCleanup(context.close)
        context.on("weberror", lambda error: self.faults.append(str(error.error)))
        page = context.new_page()
        page.goto(address)
        return page

    def adds(self, page, text):
        page.get_by_label("Item").fill(text)
        page.get_by_role("button", name="Add", exact=True).click()

    def shows(self, page, *items):
        """Each item is `(text, isBought, amount)`, in order."""
        rows = page.locator("li")
        expect(rows).to_have_count(len(items))
        for row, (text, is_bought, amount) in zip(rows.all(), items):
            expect(row.get_by_label("Text")).to_have_value(text)
            expect(row.get_by_label("Bought")).to_be_checked(checked=is_bought)
            expect(row.locator("output")).to_have_text(str(amount))

    def is_in_sync(self, page):
        expect(page.locator("#status")).to_have_text("inSync")

    def test_two_browsers_apart_change_one_item_and_agree_and_keep_it(self):
        foreign, own = self.page(self.origin), self.page(self.relay.url + "/pages/")
        # Before it has an account.
        self.adds(foreign, "milk")
        self.shows(foreign, ("milk", False, 1))
        foreign.reload()
        self.shows(foreign, ("milk", False, 1))
        foreign.get_by_role("button", name="Make a new account").click()
        self.is_in_sync(foreign)
        foreign.get_by_role("button", name="Add a device").click()
        expect(foreign.locator("#code")).not_to_be_empty()
        own.get_by_label("Pairing code").fill(foreign.locator("#code").inner_text())
        own.get_by_role("button", name="Join").click()
        self.shows(own, ("milk", False, 1))
        self.is_in_sync(own)

        self.relay.stop()
        for page in [foreign, own]:
            expect(page.locator("#status")).to_contain_text("offline")
            page.get_by_role("button", name="One more").click()
            self.shows(page, ("milk", False, 2))
        foreign.get_by_label("Bought").check()
        self.shows(foreign, ("milk", True, 2))
        own.get_by_label("Text").fill("oat milk")
        own.get_by_label("Text").press("Tab")
        self.adds(own, "bread")
        self.shows(own, ("bread", False, 1), ("oat milk", False, 2))
        # The browser keeps the package of this version.
        foreign.reload()
        self.shows(foreign, ("milk", True, 2))
        expect(foreign.locator("#status")).to_contain_text("1 waiting")

        self.relay.start()
        for page in [foreign, own]:
            self.shows(page, ("bread", False, 1), ("oat milk", True, 3))
            self.is_in_sync(page)
            page.reload()
            self.shows(page, ("bread", False, 1), ("oat milk", True, 3))
            self.is_in_sync(page)
        self.assertEqual(self.faults, [])
