"""What a person does is kept, whatever happens to the network, the tab and the relay."""

from playwright.sync_api import expect

from stage import Story


class AwayStories(Story):
    def test_what_was_done_offline_survives_a_reload_and_goes_up_later(self):
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
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
        self.relay.start()
        person.is_in_sync()
        laptop.run("sync")
        self.assertIn("copied on a train", laptop.run("clipboard", "list"))
        self.assertIn("Written on a train", laptop.run("memo", "list"))

    def test_the_browser_is_offline_for_a_while(self):
        person = self.visitor()
        person.make_account()
        person.may_miss_the_relay = True
        person.context.set_offline(True)
        person.go("Clipboard")
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
