"""Notifications while the page is closed, in Firefox, with nothing replaced but the push service
and the desktop: Firefox itself subscribes, decrypts, starts the worker, and shows what it says."""

import os
import queue
import re
import signal
import unittest

from autopush import Autopush
from firefox import Firefox
from page_server import PageServer
from relay import Relay

# If set, the page's files come from this folder, not from the relay.
PAGES = os.environ.get("LOCKSTEP_PAGES")
# The person sees it once, and after that news alone.
GREETING = "Notifications work here."
SWITCH = "//input[@role='switch' and not(@disabled)]"
PROVED = "Works, last proved just now."
# A wake that is sent wrongly comes three seconds after the device's last contact.
SILENCE_SECONDS = 5


def give_up(*_):
    """Ends a story that takes too long like one that fails, so that it leaves nothing running."""
    raise AssertionError("the story was ended from outside")


signal.signal(signal.SIGTERM, give_up)


class WakeStories(unittest.TestCase):
    def setUp(self):
        self.relay = Relay()
        self.addCleanup(self.relay.close)
        self.service = Autopush(self.relay.folder / "certificates")
        self.addCleanup(self.service.close)
        self.relay.stop()
        self.relay.wakes = ["--wake-allow", self.service.host]
        self.relay.environment = {"SSL_CERT_FILE": str(self.service.authority)}
        self.relay.start()
        url = self.relay.url
        if PAGES:
            server = PageServer(PAGES, self.relay)
            self.addCleanup(server.close)
            url = server.url
        self.person = Firefox(url, self.service.url)
        self.addCleanup(self.person.close)

    def tearDown(self):
        self.assertEqual(self.service.faults, [])

    def laptop_of_person_who_is_told(self):
        """Turns notifications on, and proves them. Returns another device."""
        person = self.person
        person.makes_account()
        person.has_its_files_kept()
        laptop = self.relay.agent("laptop", person.shows_code())
        person.clicks(SWITCH)
        person.is_told(re.escape(GREETING))
        person.sees(PROVED)
        self.service.gets_push()
        self.service.has_delivered()
        return laptop

    def changes(self, device, *words):
        device.run(*words)
        device.run("sync")

    def closes_the_page(self):
        """Firefox ends what was in the tab later. What is sent to it until then wakes nobody."""
        self.person.closes_the_page()
        self.relay.has_no_connected_device()

    def gets_no_push(self):
        with self.assertRaises(queue.Empty):
            self.service.pushes.get(timeout=SILENCE_SECONDS)

    def test_a_closed_page_tells_what_another_device_has_changed(self):
        person, service = self.person, self.service
        laptop = self.laptop_of_person_who_is_told()
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Milk\nand a secret")
        service.gets_push()
        service.has_delivered()
        person.is_told(r"1 memo changed\.")
        # The worker has answered that wake, so a later change gets one, and only one.
        service.keeps_pushes_back()
        self.changes(laptop, "memo", "add", "Bread")
        service.gets_push()
        self.changes(laptop, "memo", "add", "Salt")
        self.gets_no_push()
        service.delivers_again()
        service.has_delivered()
        person.is_told(r"3 memos changed\.")
        self.changes(laptop, "timer", "start")
        service.gets_push()
        service.has_delivered()
        person.is_told(r"Timer: focus until \d\d:\d\d\. 3 memos changed\.")
        person.clicks_notification()
        person.turns_to_page()
        person.goes_to("Memos")
        for title in ["Milk", "Bread", "Salt"]:
            person.sees(title)
        person.is_told("")
        self.assertTrue(service.pushes.empty(), "one push for each change")

    def test_a_closed_page_opens_without_a_relay_after_a_push(self):
        person = self.person
        laptop = self.laptop_of_person_who_is_told()
        self.changes(laptop, "memo", "add", "Milk")
        person.goes_to("Memos")
        person.sees("Milk")
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Bread")
        self.service.has_delivered()
        person.is_told(r"1 memo changed\.")
        self.relay.stop()
        person.opens("/#memos")
        person.sees("Offline")
        # The worker has read it before.
        person.sees("Bread")
        self.relay.start()
        self.changes(laptop, "memo", "add", "Salt")
        person.sees("Salt")
        person.is_told("")

    def test_a_push_to_a_browser_that_is_closed_is_told_at_its_next_start(self):
        person = self.person
        laptop = self.laptop_of_person_who_is_told()
        person.quit()
        self.changes(laptop, "memo", "add", "Milk")
        self.service.gets_push()
        person.start()
        self.service.has_delivered()
        person.is_told(r"1 memo changed\.")

    def laptop_of_person_who_has_news(self):
        """Turns notifications on, and closes the page. Returns another device, whose change the
        person was told of."""
        laptop = self.laptop_of_person_who_is_told()
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Milk")
        self.service.gets_push()
        self.service.has_delivered()
        self.person.is_told(r"1 memo changed\.")
        return laptop

    def has_renewed(self, former):
        """Waits until a subscription in place of the former ones is registered and proved."""
        self.person.has_called(r"POST /v1/wakes/page/verification 204", times=2)
        self.assertEqual(len(self.service.subscriptions), 1)
        self.assertTrue(former.isdisjoint(self.service.subscriptions))

    def test_a_subscription_that_the_push_service_has_lost_is_replaced(self):
        laptop = self.laptop_of_person_who_has_news()
        former = set(self.service.subscriptions)
        self.service.forgets_its_browsers()
        self.has_renewed(former)
        self.changes(laptop, "memo", "add", "Bread")
        self.person.is_told(r"2 memos changed\.")
        self.assertEqual(self.person.was_told(),
                         [GREETING, "1 memo changed.", "2 memos changed."])

    def test_a_new_key_of_the_relay_replaces_the_subscription_and_no_news(self):
        laptop = self.laptop_of_person_who_has_news()
        former = set(self.service.subscriptions)
        self.relay.replaces_wake_key()
        self.has_renewed(former)
        self.changes(laptop, "memo", "add", "Bread")
        self.person.is_told(r"2 memos changed\.")
        self.assertEqual(self.person.was_told(),
                         [GREETING, *["1 memo changed."] * 2, "2 memos changed."])

    def test_a_new_key_of_a_relay_that_is_not_reachable_then_ends_no_wakes(self):
        person, service = self.person, self.service
        laptop = self.laptop_of_person_who_has_news()
        former = set(service.subscriptions)
        service.keeps_pushes_back()
        self.relay.replaces_wake_key()
        service.gets_push()
        self.relay.stop()
        service.delivers_again()
        service.has_delivered()
        person.is_told(r"Something changed\.")
        self.assertEqual(set(service.subscriptions), former)
        # The page makes up for it.
        self.relay.start()
        person.opens("/#memos")
        self.has_renewed(former)
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Bread")
        person.is_told(r"1 memo changed\.")
        self.assertEqual(person.was_told().count(GREETING), 1)

    def test_a_page_in_view_is_not_disturbed(self):
        person, service = self.person, self.service
        laptop = self.laptop_of_person_who_is_told()
        service.keeps_pushes_back()
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Milk")
        service.gets_push()
        person.opens("/#memos")
        person.sees("Milk")
        person.is_told("")
        service.delivers_again()
        service.has_delivered()
        person.is_told("")

    def test_a_page_that_is_left_by_a_link_tells_the_relay_what_it_has(self):
        # Otherwise the relay would announce again half an hour later what it has sent.
        person = self.person
        person.makes_account()
        laptop = self.relay.agent("laptop", person.shows_code())
        self.changes(laptop, "memo", "add", "Milk")
        person.goes_to("Memos")
        person.sees("Milk")
        # Firefox closes the socket at once, and tells the page when the relay has answered. A page
        # that hears of it while it is still shown would connect again, and close that socket
        # itself with what it has; so the relay answers after the page is left.
        person.has_its_files_kept()
        self.addCleanup(self.relay.continues)
        self.relay.halts()
        person.leaves_by_link("/page/icons/icon.svg")
        self.relay.continues()
        person.has_called(r"HEAD /v1/changes\?since=[^&]+&limit=1 200")

    def test_a_person_turns_notifications_off(self):
        person = self.person
        laptop = self.laptop_of_person_who_is_told()
        person.clicks(SWITCH)
        person.sees_no_longer(PROVED)
        self.assertEqual(self.service.subscriptions, {})
        self.closes_the_page()
        self.changes(laptop, "memo", "add", "Milk")
        self.gets_no_push()


if __name__ == "__main__":
    unittest.main()
