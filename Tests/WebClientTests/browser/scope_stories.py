"""A person gives a device a part of the account, and the device shows no more than it may do."""

import os

from playwright.sync_api import expect

from stage import Story


class ScopeStories(Story):
    def limited_code(self, person, *apps, reads=False):
        """Returns a code that the person limits to these apps, or to reading."""
        person.go("Timer")
        person.go("Devices")
        page = person.page
        page.get_by_text("Limit what the new device may do").click()
        if apps:
            page.get_by_label("Only some apps").check()
        for app in apps:
            page.get_by_role("group", name="Apps").get_by_label(app).check()
        if reads:
            page.get_by_label("It may only read").check()
        person.press("Show a pairing code")
        code = page.locator(".code")
        expect(code).to_be_visible()
        return code.inner_text()

    def pictured(self, person, name):
        """Takes a picture for a person who wants to look at it."""
        if folder := os.environ.get("LOCKSTEP_SHOTS"):
            person.page.screenshot(path=f"{folder}/{name}.png", full_page=True)

    def test_a_browser_for_the_memos_alone_reads_them_and_is_offered_nothing_else(self):
        person, tablet = self.visitor(color_scheme="light"), self.visitor(color_scheme="light")
        person.make_account()
        person.go("Memos")
        person.press("New memo")
        person.page.get_by_label("Memo", exact=True).fill("Shopping\n- [ ] bread")
        person.is_in_sync()
        code = self.limited_code(person, "Memos", reads=True)
        expect(person.page.get_by_text("The new device may only read Memos,")).to_be_visible()
        self.has_no_barrier(person, "a limited code")
        self.pictured(person, "code")
        tablet.pair(code)
        expect(person.page.get_by_text("Only Memos, read-only", exact=True)).to_be_visible()
        self.pictured(person, "devices")

        page = tablet.page
        expect(page.get_by_role("heading", level=1, name="Memos")).to_be_attached()
        expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(
            ["Memos", "Devices"])
        expect(page.get_by_text("This browser was paired to read only.")).to_be_visible()
        expect(page.get_by_role("button", name="New memo")).to_have_count(0)
        tablet.press("Shopping")
        memo = page.get_by_label("Memo", exact=True)
        expect(memo).to_have_value("Shopping\n- [ ] bread")
        expect(memo).not_to_be_editable()
        expect(page.get_by_role("button", name="Delete this memo")).to_have_count(0)
        tablet.press("Preview")
        expect(page.get_by_role("checkbox", name="bread")).to_be_disabled()
        self.has_no_barrier(tablet, "memos to read")
        self.pictured(tablet, "memos")
        # Views that it does not have are not opened by an address either.
        tablet.open("/#timer")
        page.reload()
        expect(page.get_by_role("heading", level=1, name="Memos")).to_be_attached()

        tablet.go("Devices")
        expect(page.locator(".row")).to_have_count(1)
        expect(page.get_by_text("and does not see your other devices.")).to_be_visible()
        page.get_by_text("Limit what the new device may do").click()
        expect(page.get_by_label("It may only read")).to_be_disabled()
        expect(page.get_by_label("It may only read")).to_be_checked()
        expect(page.get_by_label("All that this browser may use")).to_be_checked()
        self.has_no_barrier(tablet, "devices of a limited browser")
        self.pictured(tablet, "own")
        # What it gives on is not more than it has.
        tablet.press("Show a pairing code")
        expect(page.get_by_text("The new device may only read Memos,")).to_be_visible()

        # The other device goes on, and the tablet follows.
        person.go("Memos")
        person.press("Shopping")
        person.page.get_by_label("Memo", exact=True).fill("Shopping\nbread\nmilk")
        tablet.go("Memos")
        tablet.press("Shopping")
        expect(page.get_by_label("Memo", exact=True)).to_have_value("Shopping\nbread\nmilk")

    def test_a_changed_limit_takes_the_code_away_and_the_default_is_the_whole_account(self):
        person = self.visitor()
        person.make_account()
        page = person.page
        code = person.show_code()
        expect(page.get_by_text("The new device may use the whole account.")).to_be_visible()
        page.get_by_text("Limit what the new device may do").click()
        page.get_by_label("The code is valid for").select_option("1 minute")
        expect(page.locator(".code")).to_be_hidden()
        page.get_by_label("Only some apps").check()
        person.press("Show a pairing code")
        expect(page.get_by_role("alert")).to_have_text(
            "Choose at least one app for the new device.")
        expect(page.get_by_role("group", name="Apps").get_by_label("Timer")).to_be_focused()
        page.keyboard.press("Space")
        person.press("Show a pairing code")
        expect(page.get_by_text("The new device may use Timer, and sees")).to_be_visible()
        expect(page.get_by_text("For one device, within a minute.")).to_be_visible()
        self.assertNotEqual(page.locator(".code").inner_text(), code)
        tablet = self.relay.agent("tablet", page.locator(".code").inner_text())
        self.assertEqual(
            tablet.json("status")[0]["scope"], {"zones": ["Timer"], "access": "write"})
        expect(page.get_by_text("Only Timer", exact=True)).to_be_visible()
        self.relay.agent("laptop", person.show_code())
        expect(page.locator(".row")).to_have_count(3)
        expect(page.locator(".device-scope")).to_have_count(1)

    def test_a_read_only_browser_shows_all_views_and_changes_nothing(self):
        person, wall = self.visitor(), self.visitor(
            color_scheme="dark", viewport={"width": 320, "height": 640})
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("clipboard", "add", "from the terminal")
        laptop.run("habits", "add", "Run")
        laptop.run("habits", "add", "Water", "--count", "--target", "8")
        laptop.run("sync")
        wall.pair(self.limited_code(person, reads=True))
        page = wall.page
        expect(page.get_by_role("button", name="Start focus")).to_have_count(0)
        self.pictured(wall, "timer")
        laptop.run("timer", "start")
        expect(page.get_by_text("Focus", exact=True)).to_be_visible()
        # An empty list does not ask for what this browser may not do.
        wall.go("Memos")
        expect(page.get_by_text("No memos yet")).to_be_visible()
        expect(page.get_by_text("Write one here")).to_be_hidden()
        wall.go("Clipboard")
        expect(page.get_by_text("from the terminal")).to_be_visible()
        expect(page.get_by_role("button", name="Copy")).to_be_visible()
        expect(page.get_by_role("button", name="Delete")).to_have_count(0)
        expect(page.get_by_label("New item")).to_be_hidden()
        wall.go("Habits")
        expect(page.get_by_role("checkbox", name="Run")).to_be_disabled()
        expect(page.get_by_role("button", name="One more")).to_have_count(0)
        self.pictured(wall, "habits")
        for view in ("Timer", "Clipboard", "Memos", "Habits", "Files", "Devices"):
            wall.go(view)
            if view == "Devices":
                page.get_by_text("Limit what the new device may do").click()
                page.get_by_label("Only some apps").check()
                self.pictured(wall, "limits")
            self.has_no_barrier(wall, view)
            self.is_not_too_wide(wall, view)
        wall.is_in_sync()

    def test_a_limit_chosen_while_a_code_is_made_is_not_passed_over(self):
        person = self.visitor()
        person.make_account()
        person.go("Devices")
        page = person.page
        held = []
        page.route("**/v1/pairings", lambda route: held.append(route))
        with page.expect_request("**/v1/pairings"):
            person.press("Show a pairing code")
        page.get_by_text("Limit what the new device may do").click()
        page.get_by_label("It may only read").check()
        self.assertEqual(len(held), 1)
        with page.expect_response("**/v1/pairings"):
            held.pop().continue_()
        ask = page.get_by_role("button", name="Show a pairing code")
        expect(ask).to_be_enabled()
        expect(page.locator(".code")).to_be_hidden()
        page.unroute("**/v1/pairings")
        ask.click()
        expect(page.get_by_text("The new device may only read the whole account.")).to_be_visible()

    def test_a_memo_with_other_line_ends_is_read_and_left_on_a_phone(self):
        person, phone = self.visitor(), self.visitor(viewport={"width": 320, "height": 640})
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("memo", "add", "Shopping\r\nbread")
        laptop.run("sync")
        phone.pair(self.limited_code(person, "Memos", reads=True))
        page = phone.page
        phone.press("Shopping")
        memo = page.get_by_label("Memo", exact=True)
        expect(memo).to_have_value("Shopping\nbread")
        # A change of another device still comes.
        laptop.run("memo", "edit", "1", said="Shopping\r\nbread\r\nmilk")
        laptop.run("sync")
        expect(memo).to_have_value("Shopping\nbread\nmilk")
        phone.press("Back to the list")
        expect(memo).to_be_hidden()
        expect(page.get_by_role("button", name="Shopping")).to_be_visible()
        # A browser that may change it leaves it as it is, too.
        person.go("Memos")
        person.press("Shopping")
        expect(person.page.get_by_label("Memo", exact=True)).to_be_focused()
        person.go("Timer")
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(
            laptop.json("memo", "show", "1")[0]["content"], "Shopping\r\nbread\r\nmilk")

    def test_the_limits_are_chosen_with_a_keyboard(self):
        person = self.visitor()
        person.make_account()
        person.go("Devices")
        page = person.page
        page.get_by_text("Limit what the new device may do").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_label("The whole account")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("Only some apps")).to_be_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        apps = page.get_by_role("group", name="Apps")
        expect(apps.get_by_label("Timer")).to_be_checked()
        for _ in range(5):
            page.keyboard.press("Tab")
        expect(page.get_by_label("It may only read")).to_be_focused()
        page.keyboard.press("Space")
        for _ in range(2):
            page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Show a pairing code")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_text("The new device may only read Timer,")).to_be_visible()
