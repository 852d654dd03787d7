"""Notifications while the page is closed: the relay sends real pushes, to a push service of the
test, and the browser delivers them to the page's service worker."""

import json

from playwright.sync_api import expect

from push_service import PushBrowser, PushService
from stage import Story

SWITCH = "Notify me while Lockstep is closed"


class WakeStories(Story):
    def setUp(self):
        super().setUp()
        self.service = PushService(self.relay.folder / "certificates")
        self.addCleanup(self.service.close)
        self.restarts_with("--wake-allow", self.service.host)

    def restarts_with(self, *wakes):
        self.relay.stop()
        self.relay.wakes = wakes
        self.relay.environment = {"SSL_CERT_FILE": str(self.service.authority)}
        self.relay.start()

    def person_with_account(self, allowed="notifications"):
        """`allowed`: the only permission that the person gives; the browser denies the others."""
        person = self.visitor(service_workers="allow")
        person.context.grant_permissions([allowed], origin=person.url)
        self.pushes = PushBrowser(person, self.service)
        # What the worker tells of a sealed timer is less.
        person.make_account(is_sealed=False)
        person.has_its_files_kept()
        return person

    def person_who_is_told(self):
        """Returns a person with notifications turned on and proved."""
        person = self.person_with_account()
        person.go("Devices")
        person.page.get_by_role("switch", name=SWITCH).check()
        expect(person.page.get_by_text("Waiting for the first push")).to_be_visible()
        code = json.loads(self.pushes.gets_push())
        self.assertEqual([code["v"], type(code["c"])], [1, str])
        self.pushes.sees(r"Notifications work here\.")
        expect(person.page.get_by_text("Works, last proved just now.")).to_be_visible()
        return person

    def test_a_closed_page_tells_what_another_device_has_changed(self):
        person = self.person_who_is_told()
        laptop = self.relay.agent("laptop", person.show_code())
        person.closes()
        laptop.run("memo", "add", "Milk\nand a secret")
        laptop.run("sync")
        wake = json.loads(self.pushes.gets_push())
        self.assertEqual(sorted(wake), ["t", "v"])
        self.pushes.sees(r"1 memo changed\.")
        laptop.run("timer", "start")
        laptop.run("sync")
        self.pushes.gets_push()
        self.pushes.sees(r"Timer: focus until \d\d:\d\d\. 1 memo changed\.")
        person.opens_again("Memos")
        expect(person.page.get_by_text("Milk")).to_be_visible()
        self.pushes.sees("")
        self.assertTrue(self.service.pushes.empty(), "one push for each change")

    def test_a_page_in_view_is_not_disturbed(self):
        person = self.person_who_is_told()
        person.page.reload()
        person.page.bring_to_front()
        self.pushes.sees("")
        self.pushes.deliver('{"v":1,"t":"1.1"}')
        person.is_in_sync()
        self.pushes.sees("")

    def test_a_person_turns_notifications_off(self):
        person = self.person_who_is_told()
        self.pushes.has_registrations("verified")
        switch = person.page.get_by_role("switch", name=SWITCH)
        switch.uncheck()
        expect(person.page.get_by_text("last proved")).to_have_count(0)
        expect(switch).not_to_be_checked()
        self.pushes.has_registrations()
        person.page.reload()
        expect(switch).not_to_be_checked()

    def test_the_choice_is_kept_and_can_be_reached_by_all(self):
        person = self.person_who_is_told()
        person.page.reload()
        switch = person.page.get_by_role("switch", name=SWITCH)
        expect(switch).to_be_checked()
        expect(person.page.get_by_text("Works, last proved")).to_be_visible()
        self.has_no_barrier(person, "notifications")
        self.is_not_too_wide(person, "notifications")

    def test_a_renewal_that_the_closed_page_could_not_finish_is_finished_by_the_open_one(self):
        person = self.person_who_is_told()
        laptop = self.relay.agent("laptop", person.show_code())
        person.closes()
        laptop.run("memo", "add", "Milk")
        laptop.run("sync")
        self.pushes.gets_push()
        self.pushes.sees(r"1 memo changed\.")
        self.relay.replaces_wake_key()
        # The worker of this browser cannot subscribe: only pages have the push service of the test.
        self.assertIn("k", json.loads(self.pushes.gets_push()))
        self.pushes.sees(r"1 memo changed\.")
        self.pushes.page.evaluate("() => localStorage.removeItem('push')")
        person.opens_again("Devices")
        self.assertIn("c", json.loads(self.pushes.gets_push()))
        self.pushes.has_registrations("verified")
        expect(person.page.get_by_role("switch", name=SWITCH)).to_be_checked()
        expect(person.page.get_by_text("Works, last proved")).to_be_visible()
        self.pushes.sees("")
        person.closes()
        laptop.run("memo", "add", "Bread")
        laptop.run("sync")
        self.pushes.gets_push()
        self.pushes.sees(r"1 memo changed\.")

    def test_a_browser_that_blocks_them_says_so(self):
        person = self.person_with_account(allowed="geolocation")
        person.go("Devices")
        expect(person.page.get_by_text("This browser blocks notifications")).to_be_visible()
        expect(person.page.get_by_role("switch", name=SWITCH)).to_be_disabled()

    def test_a_relay_that_wakes_no_devices_says_so(self):
        self.restarts_with("--wakes", "off")
        person = self.person_with_account()
        person.go("Devices")
        expect(person.page.get_by_text("This relay sends none.")).to_be_visible()
        expect(person.page.get_by_role("switch", name=SWITCH)).to_be_disabled()

    def test_a_browser_that_signs_out_is_told_nothing_any_more(self):
        person = self.person_who_is_told()
        person.press("Sign out of this browser")
        person.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(person.page.get_by_role("button", name="Make a new account")).to_be_visible()
        self.pushes.page.wait_for_function("() => localStorage.getItem('push') === null")
        person.press("Make a new account")
        person.reads_phrase()
        person.go("Devices")
        expect(person.page.get_by_role("switch", name=SWITCH)).not_to_be_checked()

    def test_a_push_makes_no_store_where_the_browser_has_removed_it(self):
        person = self.person_who_is_told()
        person.closes()
        self.pushes.page.evaluate("""() => new Promise((resolve, reject) => {
          const removal = indexedDB.deleteDatabase("lockstep");
          [removal.onsuccess, removal.onerror] = [() => resolve(), reject];
        })""")
        self.pushes.deliver('{"v":1,"t":"1.1"}')
        self.pushes.sees(r"Something changed\.")
        stores = self.pushes.page.evaluate("() => indexedDB.databases()")
        self.assertNotIn("lockstep", [it["name"] for it in stores])
        person.opens_again("Devices")
        expect(person.page.get_by_role("button", name="Make a new account")).to_be_visible()
        self.pushes.page.wait_for_function("() => localStorage.getItem('push') === null")
