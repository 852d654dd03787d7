"""Views whose scripts come after the page: what goes on without them, and what a person sees until
they are there."""

import re
import unittest

from playwright.sync_api import expect

from clipboard_stories import PASTE_IMAGE, picture, text_of
from relay import wait_until
from speed import OBSERVER
from stage import Story

VIEWS = ["Clipboard", "Memos", "Habits", "Files", "Devices"]
LATER = re.compile(r"/page-[0-9a-f]{16}\.js$"
                   r"|/page/(clipboard|memos|habits|vault|devices)/\w+View\.js$")
# The largest part of the screen that may move, times how far.
SHIFT_MAX = 0.001


class LaterStories(Story):
    def person(self, **options):
        person = self.visitor(**options)
        person.make_account()
        return person

    def holds_views(self, person, speaks_english=True):
        """Holds the scripts of the views back, from the next opening on. Returns the function that
        lets them come. A page in another language asks for its texts first: those come."""
        first = person.page.locator('script[type="module"]').get_attribute("src")
        held = []
        is_held = True
        has_texts = speaks_english

        def answer(route):
            nonlocal has_texts
            is_view = LATER.search(route.request.url) and not route.request.url.endswith(first)
            if is_view and not has_texts and "/page-" in route.request.url:
                has_texts = True
                route.fallback()
            elif is_held and is_view:
                held.append(route)
            else:
                route.fallback()

        def release():
            nonlocal is_held
            is_held = False
            for route in held:
                route.fallback()

        person.page.route("**/*.js", answer)
        person.page.goto("about:blank")
        return release

    def test_images_are_sent_and_reminders_come_without_their_views(self):
        person = self.person()
        page = person.page
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("habits", "add", "Read")
        laptop.run("sync")
        person.go("Habits")
        person.press(re.compile("^Read, .*Show its days"))
        page.get_by_label("Time of the reminder").fill("23:59")
        page.get_by_label("Remind me in this browser").check()
        page.add_init_script("""
          if (location.protocol !== "about:") {
            const kept = JSON.parse(localStorage.getItem("lockstep habit reminders"));
            for (const it of Object.values(kept.habits)) it.time = "00:00";
            localStorage.setItem("lockstep habit reminders", JSON.stringify(kept));
          }
        """)
        person.go("Clipboard")
        person.may_miss_the_relay = True
        self.relay.stop()
        person.sees_sync("Offline")
        page.evaluate(PASTE_IMAGE, [text_of(picture()), "#main"])
        expect(page.get_by_text("Waits here until it is sent")).to_be_visible()
        release = self.holds_views(person)
        self.relay.start()
        page.goto(f"{person.url}/#timer")
        person.is_in_sync()
        expect(page.get_by_text("Not done yet today: “Read”.")).to_be_visible()
        wait_until(lambda: laptop.run("sync") and "image.png" in laptop.run("clipboard", "list"),
                   lambda: "the laptop does not list the image")
        release()

    def test_a_view_that_comes_late_moves_nothing(self):
        for viewport in ({"width": 390, "height": 844}, {"width": 1280, "height": 800}):
            person = self.person(viewport=viewport)
            page = person.page
            page.add_init_script(OBSERVER)
            for view in VIEWS:
                release = self.holds_views(person)
                page.goto(f"{person.url}/#{view.lower()}")
                expect(page.get_by_text("Loading this view")).to_be_visible()
                person.is_in_sync()
                heading = page.locator(".view :is(h1, .view-title):not(.visually-hidden)")
                before = heading.bounding_box()
                page.evaluate("() => { lockstepSpeed.shift = 0; }")
                release()
                expect(page.locator(".view[aria-busy]")).to_have_count(0)
                after = heading.bounding_box()
                for side in ("x", "y"):
                    self.assertAlmostEqual(before[side], after[side], delta=0.5, msg=view)
                # A frame later its shifts have been observed.
                page.evaluate("() => new Promise((it) => requestAnimationFrame(() => "
                              "setTimeout(it)))")
                self.assertLessEqual(page.evaluate("() => lockstepSpeed.shift"), SHIFT_MAX, view)
                page.unroute("**/*.js")
            person.close()

    def test_what_was_typed_survives_reloads_that_come_before_the_view(self):
        person = self.person()
        page = person.page
        person.go("Clipboard")
        page.get_by_label("New item").fill("platform 9")
        person.go("Devices")
        page.get_by_label("Language").select_option(label="日本語")
        expect(page.get_by_role("heading", level=1)).to_have_text("デバイス")
        release = self.holds_views(person, speaks_english=False)
        page.goto(f"{person.url}/#clipboard")
        expect(page.get_by_text("この画面を読み込み中")).to_be_visible()
        release()
        expect(page.get_by_label("新規項目")).to_have_value("platform 9")

    def test_the_title_is_that_of_the_view_as_soon_as_it_is_opened(self):
        person = self.person()
        for view in [*VIEWS, "Timer"]:
            title = person.page.evaluate("""(view) => new Promise((resolve) => {
              addEventListener("hashchange", () => resolve(document.title), { once: true });
              location.hash = view;
            })""", view.lower())
            self.assertIn(view if view != "Timer" else "Lockstep", title)

    def test_the_shortcuts_of_a_view_are_there_once_it_is(self):
        person = self.person()
        page = person.page
        release = self.holds_views(person)
        page.goto(f"{person.url}/#habits")
        expect(page.get_by_text("Loading this view")).to_be_visible()
        page.keyboard.press("?")
        sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        expect(sheet.get_by_role("heading", level=3)).to_have_text(["In every view"])
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        expect(page.get_by_role("dialog")).to_have_count(0)
        release()
        expect(page.get_by_role("button", name="New habit")).to_be_visible()
        page.keyboard.press("?")
        expect(sheet.get_by_role("heading", level=3)).to_have_text(["Habits", "In every view"])
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        expect(page.get_by_role("dialog", name="New habit")).to_be_visible()


if __name__ == "__main__":
    unittest.main()
