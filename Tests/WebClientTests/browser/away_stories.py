"""A person's changes are kept, whatever happens to the network, the tab and the relay."""

import os

from playwright.sync_api import expect

from stage import Story


class AwayStories(Story):
    def test_what_was_done_offline_survives_a_reload_and_goes_up_later(self):
        person = self.visitor(service_workers="allow")
        person.make_account()
        person.has_its_files_kept()
        laptop = self.relay.agent("laptop", person.show_code())
        person.go("Devices")
        expect(person.page.get_by_text("laptop", exact=True)).to_be_visible()
        person.may_miss_the_relay = True
        self.relay.stop()
        person.sees_sync("Offline")
        person.go("Memos")
        person.press("New memo")
        person.page.get_by_label("Memo", exact=True).fill("Written on a train\nby the window")
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("copied on a train")
        person.press("Add")
        person.sees_sync("2 waiting")
        person.page.reload()
        person.sees_sync("2 waiting")
        expect(person.page.get_by_text("copied on a train")).to_be_visible()
        person.go("Devices")
        expect(person.page.get_by_text("laptop", exact=True)).to_be_visible()
        self.relay.start()
        person.is_in_sync()
        laptop.run("sync")
        self.assertIn("copied on a train", laptop.run("clipboard", "list"))
        self.assertIn("Written on a train", laptop.run("memo", "list"))

    def test_a_relay_that_is_killed_in_the_middle_gets_all_of_it_once(self):
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        person.may_miss_the_relay = True
        person.go("Timer")
        person.press("Start focus")
        person.go("Clipboard")
        for number in range(12):
            if number == 6:
                self.relay.kill()
            person.page.get_by_label("New item").fill(f"item {number}.")
            person.press("Add")
            expect(person.page.locator(".row")).to_have_count(number + 1)
        self.relay.start()
        person.is_in_sync()
        person.go("Timer")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        laptop.run("sync")
        held = laptop.run("clipboard", "list")
        self.assertEqual([held.count(f"item {number}.") for number in range(12)], [1] * 12)
        self.assertEqual(laptop.json("timer", "status")[0]["stateType"], "focus")

    def test_the_browser_is_offline_for_a_while(self):
        person = self.visitor()
        person.make_account()
        person.may_miss_the_relay = True
        person.go("Clipboard")
        person.context.set_offline(True)
        person.page.get_by_label("New item").fill("while away")
        person.press("Add")
        expect(person.page.get_by_text("while away")).to_be_visible()
        person.context.set_offline(False)
        person.is_in_sync()

    def test_a_reload_in_the_middle_of_typing_loses_nothing_that_was_said_to_be_saved(self):
        person = self.visitor()
        person.make_account()
        person.go("Memos")
        person.press("New memo")
        text = person.page.get_by_label("Memo", exact=True)
        text.fill("First line")
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()
        person.page.reload()
        person.press("First line")
        expect(text).to_have_value("First line")

    def test_a_memo_that_is_too_large_stays_on_the_screen_until_it_is_shortened(self):
        person = self.visitor()
        person.make_account()
        person.go("Memos")
        person.press("New memo")
        text = person.page.get_by_label("Memo", exact=True)
        text.fill("x" * (1 << 20))
        expect(person.page.get_by_text("shorten it")).to_be_visible()
        person.go("Timer")
        person.go("Memos")
        self.assertEqual(len(text.input_value()), 1 << 20)
        text.fill("short")
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()

    def test_tabs_are_one_device(self):
        person = self.visitor()
        person.make_account()
        other = person.another_tab()
        other.get_by_role("button", name="Start focus").click()
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        other.get_by_role("link", name="Memos").click()
        other.get_by_role("button", name="New memo").click()
        memo = other.get_by_label("Memo", exact=True)
        memo.fill("In the other tab")
        expect(other.get_by_text("Saved", exact=True)).to_be_visible()
        memo.fill("In the other tab, twice")
        person.go("Memos")
        expect(person.page.get_by_text("In the other tab, twice")).to_be_visible()
        expect(person.page.locator(".row")).to_have_count(1)
        person.go("Devices")
        expect(person.page.locator(".row")).to_have_count(1)

    def test_a_device_is_removed_and_says_so_and_keeps_what_it_holds(self):
        owner, lost = self.visitor(), self.visitor()
        owner.make_account()
        lost.pair(owner.show_code())
        lost.may_miss_the_relay = True
        lost.go("Devices")
        owner.page.get_by_role("button", name="Remove Chrome on Linux").click()
        owner.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(owner.page.locator(".row")).to_have_count(1)
        expect(lost.page.get_by_text("not a device of its account any more")).to_be_visible()
        expect(lost.page.get_by_role("button", name="Pair", exact=True)).to_be_visible()

    def test_what_a_device_wrote_before_it_heard_of_its_removal_stays_in_it(self):
        owner, lost = self.visitor(), self.visitor()
        owner.make_account()
        lost.pair(owner.show_code())
        lost.may_miss_the_relay = True
        lost.go("Clipboard")
        lost.context.set_offline(True)
        lost.page.get_by_label("New item").fill("written too late")
        lost.press("Add")
        expect(lost.page.get_by_text("written too late")).to_be_visible()
        owner.page.get_by_role("button", name="Remove Chrome on Linux").click()
        owner.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(owner.page.locator(".row")).to_have_count(1)
        lost.context.set_offline(False)
        expect(lost.page.get_by_text("not a device of its account any more")).to_be_visible()
        code = owner.show_code()
        lost.page.get_by_label("Pairing code").fill(code)
        lost.press("Pair", exact=True)
        lost.is_in_sync()
        owner.go("Clipboard")
        expect(owner.page.get_by_text("written too late")).to_be_visible()

    def test_a_browser_that_was_removed_shows_what_it_holds_and_can_be_signed_out(self):
        owner, lost = self.visitor(), self.visitor()
        owner.make_account()
        lost.pair(owner.show_code())
        lost.may_miss_the_relay = True
        lost.go("Clipboard")
        lost.context.set_offline(True)
        lost.page.get_by_label("New item").fill("written too late")
        lost.press("Add")
        expect(lost.page.get_by_text("written too late")).to_be_visible()
        owner.page.get_by_role("button", name="Remove Chrome on Linux").click()
        owner.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(owner.page.locator(".row")).to_have_count(1)
        lost.context.set_offline(False)
        expect(lost.page.get_by_text("1 change that no other device has")).to_be_visible()
        expect(lost.page.get_by_text("Clipboard: written too late")).to_be_visible()
        expect(lost.page.get_by_text("sign out first")).to_be_visible()
        expect(lost.page.get_by_role("button", name="Make a new account")).to_be_hidden()
        self.has_no_barrier(lost, "a browser that was removed")
        self.is_not_too_wide(lost, "a browser that was removed")
        if folder := os.environ.get("LOCKSTEP_SHOTS"):
            lost.page.screenshot(path=f"{folder}/removed.png", full_page=True)
        with lost.page.expect_download() as told:
            lost.press("Save a copy")
        self.assertIn("written too late", told.value.path().read_text())
        lost.press("Sign out of this browser")
        lost.page.get_by_role("dialog").get_by_role("button", name="Sign out and lose them").click()
        expect(lost.page.get_by_role("heading", name="that no other device has")).to_be_hidden()
        lost.press("Make a new account")
        lost.reads_phrase()
        lost.is_in_sync()
        lost.go("Clipboard")
        expect(lost.page.get_by_text("written too late")).to_have_count(0)

    def answered_by_a_portal(self, person, status):
        """Simulates an intermediary without WebSocket that passes reads and answers the saves
        itself."""
        person.may_miss_the_relay = True
        person.page.add_init_script("delete window.WebSocket")

        def answers(route):
            if route.request.method == "POST" and self.is_blocked:
                route.fulfill(status=status, content_type="text/html", body="<html>Please log in")
            else:
                route.continue_()

        person.context.route(f"{person.url}/v1/zones/**", answers)

    def test_a_change_that_a_portal_answered_for_goes_when_the_network_is_back(self):
        for status in (200, 403, 413, 451):
            with self.subTest(status):
                self.is_blocked = False
                person = self.visitor()
                self.answered_by_a_portal(person, status)
                person.make_account()
                laptop = self.relay.agent(f"laptop-{status}", person.show_code())
                self.is_blocked = True
                person.go("Clipboard")
                person.page.get_by_label("New item").fill("from the page")
                person.press("Add")
                person.sees_sync("Offline, 1 waiting")
                self.is_blocked = False
                person.page.evaluate("() => dispatchEvent(new Event('online'))")
                person.is_in_sync()
                laptop.run("sync")
                self.assertIn("from the page", laptop.run("clipboard", "list"))

    def test_what_the_plan_leaves_out_is_said_where_it_is_written(self):
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        self.relay.has_plan("--zones", "timer,memo,habits")
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("not in the plan")
        person.press("Add")
        expect(person.page.get_by_text("Clipboard is not in the account's plan")) \
            .to_be_visible()
        person.go("Memos")
        expect(person.page.get_by_text("not in the account's plan")).to_have_count(0)
        self.relay.has_plan("--all")
        person.press("Sync:")
        person.press("Sync now")
        person.is_in_sync()
        person.page.keyboard.press("Escape")
        person.go("Clipboard")
        expect(person.page.get_by_text("not in the account's plan")).to_have_count(0)
        laptop.run("sync")
        self.assertIn("not in the plan", laptop.run("clipboard", "list"))

    def test_a_person_signs_out_and_nothing_stays(self):
        person = self.visitor()
        person.make_account()
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("a secret")
        person.press("Add")
        person.is_in_sync()
        person.go("Devices")
        person.press("Sign out of this browser")
        person.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(person.page.get_by_role("button", name="Make a new account")).to_be_visible()
        person.press("Make a new account")
        person.reads_phrase()
        person.is_in_sync()
        person.go("Clipboard")
        expect(person.page.get_by_text("Nothing copied yet")).to_be_visible()

    def test_a_device_is_renamed(self):
        person = self.visitor()
        person.make_account()
        person.go("Devices")
        person.press("Rename Chrome on Linux")
        person.page.get_by_role("textbox", name="Name").fill("Kitchen")
        person.press("Save")
        expect(person.page.get_by_text("Kitchen")).to_be_visible()
