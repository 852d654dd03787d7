"""Devices are told apart, a newcomer is named at once, and nobody loses the last one unawares."""

import json
import re

from playwright.sync_api import expect

from stage import Story

# Counts how often the page asks the browser to keep its data.
PERSIST = """() => {
  window.asked = 0;
  navigator.storage.persist = async () => { window.asked += 1; return true; };
}"""


class DeviceStories(Story):
    def names(self, visitor):
        return visitor.page.locator(".device-name")

    def test_browsers_of_one_kind_get_names_of_their_own(self):
        first, second, third = self.visitor(), self.visitor(), self.visitor()
        first.make_account()
        second.pair(first.show_code())
        third.pair(first.show_code())
        first.go("Devices")
        for name in ("Chrome on Linux", "Chrome on Linux 2", "Chrome on Linux 3"):
            expect(self.names(first).filter(
                has_text=re.compile(rf"^{name}\s*(This browser)?$"))).to_have_count(1)
        third.go("Devices")
        own = third.page.locator(".row").filter(has_text="This browser")
        expect(own).to_contain_text("Chrome on Linux 3")
        expect(own).to_contain_text("joined last")

    def test_a_name_that_a_person_chose_stays_and_is_numbered_where_it_is_shown(self):
        first, second = self.visitor(), self.visitor()
        first.open()
        first.page.get_by_label("This browser's name").fill("Kitchen")
        first.press("Make a new account")
        first.reads_phrase()
        first.is_in_sync()
        second.open()
        second.page.get_by_label("This browser's name").fill("Kitchen")
        second.page.get_by_label("Pairing code").fill(first.show_code())
        second.press("Pair", exact=True)
        second.press("Done")
        second.is_in_sync()
        expect(first.page.get_by_text("Kitchen (2 of 2)")).to_be_visible()
        first.press("Remove Kitchen (2 of 2)")
        dialog = first.page.get_by_role("dialog")
        expect(dialog).to_contain_text(re.compile("It is not this browser: .* · web · joined last"))
        dialog.get_by_role("button", name="Remove").click()
        expect(first.page.locator(".row")).to_have_count(1)
        expect(second.page.get_by_text("not a device of its account any more")).to_be_visible()
        expect(first.page.locator(".row")).to_contain_text("This browser")

    def test_a_newcomer_takes_the_place_of_the_used_code(self):
        first, second = self.visitor(), self.visitor()
        first.make_account()
        code = first.show_code()
        expect(first.page.get_by_label("Pairing link as a QR code")).to_be_visible()
        second.pair(code)
        arrival = first.page.locator(".pair-arrival")
        expect(arrival).to_contain_text("“Chrome on Linux 2” joined.")
        expect(arrival).to_contain_text("Compare the check words")
        expect(first.page.locator(".pair-shown")).to_be_hidden()
        self.has_no_barrier(first, "arrival")
        # A further code is watched for a further device, and does not name the former one.
        first.press("Show a pairing code")
        expect(first.page.locator(".code")).to_be_visible()
        expect(arrival).to_be_empty()
        self.relay.agent("laptop", first.page.locator(".code").inner_text())
        expect(arrival).to_contain_text("“laptop” joined.")

    def test_a_device_that_opened_a_link_is_named_once_it_has_opened_the_account(self):
        phone = {"width": 390, "height": 844}
        first, second = self.visitor(viewport=phone), self.visitor(viewport=phone)
        first.make_account()
        code = first.show_code()
        arrival = first.page.locator(".pair-arrival")
        shown = first.page.get_by_role("group", name="Pairing code")
        second.open(f"/#code={code[:14]}&keys")
        second.press("Pair", exact=True)
        expect(second.page.get_by_label("Second half")).to_be_visible()
        # The half that the new device asks for stays on the screen.
        expect(arrival).to_contain_text("is being opened there")
        expect(arrival).not_to_contain_text("joined")
        expect(shown).to_contain_text(code[15:])
        expect(shown).to_be_in_viewport()
        expect(shown).not_to_contain_text(code[:14])
        expect(first.page.get_by_label("Pairing link as a QR code")).to_be_hidden()
        self.has_no_barrier(first, "a device that is being opened")
        second.page.get_by_label("Second half").fill(code[15:])
        second.press("Open the account")
        second.press("Done")
        expect(arrival).to_contain_text("“Chrome on Linux 2” joined.")
        expect(arrival).to_contain_text("Compare the check words")
        expect(arrival).to_be_in_viewport(ratio=1)
        expect(shown).to_be_hidden()
        # Who gives up has not joined.
        third = self.visitor()
        third.open(f"/#code={first.show_code()[:14]}&keys")
        third.press("Pair", exact=True)
        expect(arrival).to_contain_text("is being opened there")
        third.press("Cancel")
        expect(arrival).to_contain_text("Show a new code, and try again.")
        expect(shown).to_be_hidden()

    def test_a_code_is_brought_into_view_on_a_phone(self):
        for width, height in ((390, 844), (320, 568)):
            person = self.visitor(viewport={"width": width, "height": height})
            person.make_account()
            person.go("Devices")
            button = person.page.get_by_role("button", name="Show a pairing code")
            button.scroll_into_view_if_needed()
            button.click()
            shown = person.page.get_by_role("group", name="Pairing code")
            expect(shown).to_be_focused()
            expect(person.page.locator(".qr")).to_be_in_viewport(ratio=1)
            # Below the bar.
            bar = person.page.locator(".bar").bounding_box()
            self.assertGreaterEqual(shown.bounding_box()["y"], bar["y"] + bar["height"])

    def test_the_last_device_is_signed_out_with_what_brings_the_account_back(self):
        for width in (320, 1280):
            person = self.visitor(viewport={"width": width, "height": 640})
            person.make_account()
            person.go("Clipboard")
            person.page.get_by_label("New item").fill("a receipt")
            person.press("Add")
            person.is_in_sync()
            person.go("Devices")
            expect(person.page.get_by_text("This is the account's only device")).to_be_visible()
            person.press("Sign out of this browser")
            dialog = person.page.get_by_role("dialog", name="Sign out of the account's only")
            expect(dialog).to_contain_text("the recovery phrase")
            self.has_no_barrier(person, "last device")
            self.is_not_too_wide(person, "last device")
            dialog.get_by_role("button", name="Show the recovery phrase").click()
            self.assertEqual(len(person.reads_phrase()), 17)
            with person.page.expect_download() as download:
                dialog.get_by_role("button", name="Save a copy of everything").click()
            with open(download.value.path(), encoding="utf-8") as file:
                records = json.load(file)["records"]
            self.assertIn("a receipt", [it["fields"].get("content") for it in records])
            self.assertNotIn("Keys", [it["zone"] for it in records])
            dialog.get_by_role("button", name="Cancel").click()
            person.is_in_sync()
            person.press("Sign out of this browser")
            dialog.get_by_role("button", name="Sign out").click()
            expect(person.page.get_by_role("button", name="Make a new account")).to_be_visible()

    def test_one_of_two_devices_is_signed_out_without_more_ado(self):
        first, second = self.visitor(), self.visitor()
        first.make_account()
        second.pair(first.show_code())
        second.go("Devices")
        second.press("Sign out of this browser")
        dialog = second.page.get_by_role("dialog", name="Sign out of this browser?")
        expect(dialog).to_be_visible()
        dialog.get_by_role("button", name="Sign out").click()
        expect(second.page.get_by_role("button", name="Make a new account")).to_be_visible()

    def test_a_browser_that_was_removed_says_so_once_and_can_sign_out(self):
        first, second = self.visitor(), self.visitor()
        second.may_miss_the_relay = True
        first.make_account()
        code = first.show_code()
        link = code[:14]
        second.open(f"/#code={link}&keys")
        second.press("Pair", exact=True)
        second.page.get_by_label("Second half").fill(code[15:])
        second.press("Open the account")
        second.press("Done")
        second.is_in_sync()
        first.go("Devices")
        first.press("Remove Chrome on Linux 2")
        first.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        page = second.page
        expect(page.get_by_text("not a device of its account any more")).to_have_count(1)
        expect(page.get_by_text("A link brought a pairing code")).to_have_count(0)
        page.get_by_role("button", name="Sign out of this browser").click()
        page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("button", name="Make a new account")).to_be_visible()

    def test_a_browser_that_loses_its_network_says_so_and_goes_on_with_it(self):
        person = self.visitor()
        person.may_miss_the_relay = True
        person.make_account()
        person.context.set_offline(True)
        person.sees_sync("Offline")
        person.press("Sync:")
        expect(person.page.get_by_text("This browser has no network.")).to_be_visible()
        person.page.keyboard.press("Escape")
        person.context.set_offline(False)
        person.is_in_sync()

    def test_the_browser_is_asked_to_keep_what_a_new_device_holds(self):
        first, second = self.visitor(), self.visitor()
        for visitor in (first, second):
            visitor.context.add_init_script(f"({PERSIST})()")
        first.make_account()
        first.page.wait_for_function("() => window.asked === 1")
        second.pair(first.show_code())
        second.page.wait_for_function("() => window.asked === 1")
