"""Keys and narrow screens: shortcuts, their sheet, and whole words."""

from playwright.sync_api import expect

from stage import BROKEN_WORDS, Story

VIEWS = ["Timer", "Clipboard", "Memos", "Habits", "Files", "Devices"]


class KeyStories(Story):
    def person(self, **options):
        person = self.visitor(**options)
        person.make_account()
        return person

    def test_the_letters_of_the_terminal_work_the_timer(self):
        person = self.person()
        page = person.page
        button = lambda name: page.get_by_role("button", name=name)
        page.keyboard.press("s")
        expect(button("Pause")).to_be_visible()
        page.keyboard.press("p")
        expect(button("Resume")).to_be_visible()
        page.keyboard.press("r")
        expect(button("Pause")).to_be_visible()
        page.keyboard.press("Space")
        expect(button("Resume")).to_be_visible()
        page.keyboard.press("k")
        expect(button("End break")).to_be_visible()
        page.keyboard.press("z")
        expect(button("Start break")).to_be_visible()
        page.keyboard.press("x")
        expect(button("Start focus")).to_be_visible()
        page.keyboard.press("p")
        expect(page.get_by_text("Nothing is running; start the timer first.")).to_be_visible()

    def test_space_on_a_button_presses_it_once(self):
        person = self.person()
        person.page.get_by_role("button", name="Start focus").focus()
        person.page.keyboard.press("Space")
        pause = person.page.get_by_role("button", name="Pause")
        expect(pause).to_be_focused()
        person.page.keyboard.press("Space")
        expect(person.page.get_by_role("button", name="Resume")).to_be_focused()

    def test_what_a_person_types_is_text(self):
        person = self.person()
        page = person.page
        page.keyboard.press("2")
        expect(page.get_by_role("heading", name="Clipboard")).to_be_visible()
        person.has_its_view()
        page.keyboard.press("n")
        field = page.get_by_label("New item")
        expect(field).to_be_focused()
        page.keyboard.type("n? 13 sxz")
        expect(field).to_have_value("n? 13 sxz")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".rows .row")).to_have_count(1)
        # A word that is being composed ends with keys that are no shortcuts.
        page.locator("h1").click()
        for event in ({"key": "1", "isComposing": True}, {"key": "1", "keyCode": 229},
                      {"key": "1", "ctrlKey": True}, {"key": "1", "altKey": True}):
            page.evaluate("(it) => document.body.dispatchEvent("
                          "new KeyboardEvent('keydown', { bubbles: true, ...it }))", event)
        expect(page.get_by_role("heading", name="Clipboard")).to_be_visible()

    def test_keys_go_through_lists(self):
        person = self.person()
        page = person.page
        person.go("Memos")
        for words in ("One", "Two", "Three"):
            expect(page.get_by_role("button", name="New memo")).to_be_visible()
            page.keyboard.press("n")
            text = page.get_by_label("Memo", exact=True)
            expect(text).to_be_focused()
            page.keyboard.type(words)
            person.go("Timer")
            person.go("Memos")
        expect(page.locator(".memo-rows .row")).to_have_count(3)
        rows = page.locator(".memo-row")
        for key, place in (("j", 0), ("j", 1), ("j", 2), ("j", 2), ("k", 1), ("g", 0)):
            page.keyboard.press(key)
            expect(rows.nth(place)).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_label("Search the memos")).to_be_focused()

    def test_keys_turn_the_pages_of_a_long_list(self):
        person = self.person(viewport={"width": 390, "height": 400})
        laptop = self.relay.agent("laptop", person.show_code())
        for count in range(12):
            laptop.run("clipboard", "add", f"item {count}")
        laptop.run("sync")
        person.go("Clipboard")
        expect(person.page.locator(".rows .row")).to_have_count(12)
        place = lambda: person.page.evaluate("() => scrollY")
        person.page.keyboard.press("Space")
        person.page.keyboard.press("Space")
        self.assertEqual(place(), 640)
        person.page.keyboard.press("b")
        self.assertEqual(place(), 320)

    def test_the_tab_key_goes_from_the_bar_to_the_view(self):
        person = self.person()
        page = person.page
        page.reload()
        person.is_in_sync()
        names = []
        for _ in range(12):
            page.keyboard.press("Tab")
            names.append(page.evaluate("() => document.activeElement.textContent.trim()"))
        self.assertEqual(names, [
            "Skip to the content", "Lockstep", *VIEWS, "Keyboard shortcuts", "In sync",
            "Start focus", "Float the countdown"])

    def test_the_sheet_lists_what_the_view_has_and_turns_letters_off(self):
        for width, scheme in ((1280, "light"), (320, "dark")):
            person = self.person(viewport={"width": width, "height": 700}, color_scheme=scheme)
            page = person.page
            page.keyboard.press("?")
            sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
            expect(sheet.get_by_text("Snooze: put the break off")).to_be_visible()
            # The timer below does not hear the keys.
            page.keyboard.press("s")
            self.has_no_barrier(person, "shortcuts")
            self.is_not_too_wide(person, "shortcuts")
            page.keyboard.press("?")
            expect(sheet).to_have_count(0)
            expect(page.get_by_role("button", name="Start focus")).to_be_visible()
            person.press("Keyboard shortcuts")
            sheet.get_by_label("Single letters are shortcuts").uncheck()
            sheet.get_by_role("button", name="Done").click()
            expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()
            page.reload()
            person.is_in_sync()
            page.keyboard.press("s")
            page.keyboard.press("?")
            expect(sheet).to_have_count(0)
            expect(page.get_by_role("button", name="Start focus")).to_be_visible()

    def test_no_word_is_broken_on_the_narrowest_phone(self):
        person = self.person(viewport={"width": 320, "height": 568})
        for view in VIEWS:
            person.go(view)
            if view == "Timer":
                for card in ("Lengths and breaks", "Sound and alerts"):
                    person.page.get_by_text(card).click()
            self.assertEqual(person.page.evaluate(BROKEN_WORDS), [], view)
        person.press("Show the recovery phrase")
        expect(person.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(17)
        self.assertEqual(person.page.evaluate(BROKEN_WORDS), [], "the recovery phrase")
