"""Accessibility: keyboard, screen reader, narrow phone, light and dark."""

from playwright.sync_api import expect

from stage import Story

VIEWS = ["Timer", "Clipboard", "Memos", "Habits", "Files", "Devices"]


class AccessStories(Story):
    def filled(self, **options):
        """Returns a person with content in every view."""
        person = self.visitor(**options)
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("clipboard", "add", "https://example.org/" + "long" * 40)
        laptop.run("memo", "add", "Shopping\nbread")
        laptop.run("habits", "add", "Run")
        laptop.run("habits", "add", "Glasses of water", "--count", "--target", "8")
        laptop.run("sync")
        person.go("Habits")
        expect(person.page.get_by_role("checkbox", name="Run")).to_be_visible()
        return person

    def check_views(self, person):
        for view in VIEWS:
            person.go(view)
            expect(person.page.get_by_role("heading", level=1, name=view)).to_be_attached()
            if view == "Memos":
                person.press("Shopping")
            if view == "Devices":
                person.show_code()
            self.has_no_barrier(person, view)
        person.press("Sync:")
        self.has_no_barrier(person, "the sync's panel")
        person.page.keyboard.press("Escape")
        person.go("Habits")
        person.press("New habit")
        self.has_no_barrier(person, "a dialog")

    def test_axe_finds_nothing_in_the_light(self):
        self.check_views(self.filled(color_scheme="light"))

    def test_axe_finds_nothing_in_the_dark_on_a_phone(self):
        self.check_views(
            self.filled(color_scheme="dark", viewport={"width": 390, "height": 844}))

    def test_axe_finds_nothing_where_a_person_begins(self):
        person = self.visitor()
        person.open()
        person.press("Pair", exact=True)
        self.has_no_barrier(person, "welcome")

    def test_nothing_is_wider_than_the_narrowest_phone(self):
        person = self.filled(viewport={"width": 320, "height": 568})
        for view in VIEWS:
            person.go(view)
            if view == "Devices":
                person.show_code()
            if view == "Memos":
                person.press("Shopping")
            self.is_not_too_wide(person, view)

    def test_a_person_with_a_keyboard_starts_the_timer_and_writes(self):
        person = self.visitor()
        person.make_account()
        page = person.page
        page.reload()
        person.is_in_sync()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Start focus")).to_be_focused()
        page.keyboard.press("Enter")
        # The pressed button was replaced, and its successor has the focus.
        expect(page.get_by_role("button", name="Pause")).to_be_focused()
        person.go("Clipboard")
        page.get_by_label("New item").press_sequentially("by keys")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("by keys")).to_be_visible()
        expect(page.get_by_label("New item")).to_be_focused()

    def test_a_countdown_does_not_chatter(self):
        person = self.visitor()
        person.make_account()
        person.press("Start focus")
        # The beginning of the focus is announced once.
        expect(person.page.get_by_text("Focus of 25 min began.")).to_be_attached()
        person.page.evaluate("""() => {
          window.said = [];
          new MutationObserver((changes) => said.push(...changes
            .map(({ target }) => target.parentElement?.closest?.("[role=status], [aria-live]")
              ?? target.closest?.("[role=status], [aria-live]"))
            .filter((it) => it && it.getAttribute("aria-live") !== "off")
            .map((it) => it.textContent)))
            .observe(document.body, { childList: true, characterData: true, subtree: true });
        }""")
        clock = person.page.get_by_role("timer")
        for _ in range(3):
            expect(clock).not_to_have_text(clock.inner_text())
        self.assertEqual(person.page.evaluate("() => said"), [])
