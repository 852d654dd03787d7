"""Fingers: swipes on the rows of lists do what the rows' buttons do."""

from playwright.sync_api import expect

from stage import Story


class Finger:
    """A finger on the screen, as the system reports it to the browser."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)

    def swipes(self, locator, by, down=0):
        """Moves over an element by a number of pixels, and lets go."""
        box = locator.bounding_box()
        x, y = box["x"] + box["width"] / 2 - by / 2, box["y"] + 16
        self._touch("touchStart", x, y)
        for step in range(1, 6):
            self._touch("touchMove", x + by * step / 5, y + down * step / 5)
        self.session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def _touch(self, kind, x, y):
        points = [{"x": x, "y": y}]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


class SwipeStories(Story):
    def phone(self, **options):
        person = self.visitor(
            viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, **options)
        person.make_account()
        self.finger = Finger(person.page)
        return person

    def test_a_clip_is_deleted_to_the_left_and_comes_back(self):
        person = self.phone()
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("Platform 9")
        person.press("Add")
        row = person.page.locator(".rows .row")
        expect(row).to_have_count(1)
        # Not far enough, and along the page: nothing.
        self.finger.swipes(row, -60)
        self.finger.swipes(row, -40, down=-120)
        expect(row).to_have_count(1)
        self.finger.swipes(row, -200)
        expect(row).to_have_count(0)
        person.press("Undo")
        expect(row).to_contain_text("Platform 9")
        self.is_not_too_wide(person, "after a swipe")

    def test_a_clip_is_copied_to_the_right(self):
        person = self.phone(permissions=["clipboard-read", "clipboard-write"])
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("Platform 9")
        person.press("Add")
        self.finger.swipes(person.page.locator(".rows .row"), 200)
        expect(person.page.get_by_text("Copied.")).to_be_visible()
        copied = person.page.evaluate("() => navigator.clipboard.readText()")
        self.assertEqual(copied, "Platform 9")

    def test_a_memo_is_deleted_and_not_opened_and_comes_back(self):
        person = self.phone()
        person.go("Memos")
        person.press("New memo")
        person.page.get_by_label("Memo", exact=True).fill("Shopping")
        person.press("Back to the list")
        row = person.page.locator(".memo-rows .row")
        self.finger.swipes(row, -200)
        expect(row).to_have_count(0)
        expect(person.page.get_by_label("Memo", exact=True)).to_be_hidden()
        person.press("Undo")
        expect(person.page.get_by_label("Memo", exact=True)).to_have_value("Shopping")

    def test_habits_are_counted_to_the_right_and_back(self):
        person = self.phone()
        person.go("Habits")
        for name, times in (("Run", "1"), ("Water", "8")):
            person.press("New habit")
            person.page.get_by_label("What you want to do").fill(name)
            person.page.get_by_label("Times a day").fill(times)
            person.press("Save")
        run, water = (person.page.locator(".habit").filter(has_text=it) for it in ("Run", "Water"))
        done = person.page.get_by_role("checkbox", name="Run")
        self.finger.swipes(run, 200)
        expect(done).to_be_checked()
        self.finger.swipes(run, -200)
        expect(done).not_to_be_checked()
        total = water.locator(".counter-total")
        for count in ("1 of 8", "2 of 8"):
            self.finger.swipes(water, 200)
            expect(total).to_have_text(count)
        self.finger.swipes(water, -200)
        expect(total).to_have_text("1 of 8")
        self.is_not_too_wide(person, "after a swipe")

    def test_a_person_who_wants_no_motion_sees_none(self):
        person = self.phone(reduced_motion="reduce")
        person.go("Clipboard")
        person.page.get_by_label("New item").fill("Platform 9")
        person.press("Add")
        row = person.page.locator(".rows .row")
        expect(row).to_have_css("transition-property", "none")
        self.finger.swipes(row, -200)
        expect(row).to_have_count(0)

    def test_a_device_that_may_only_read_deletes_nothing(self):
        owner = self.visitor()
        owner.make_account(is_sealed=False)
        laptop = self.relay.agent("laptop", owner.show_code())
        laptop.run("clipboard", "add", "Platform 9")
        laptop.run("sync")
        code = laptop.json("pair", "--read-only")[0]["code"]
        reader = self.visitor(
            viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        reader.pair(code)
        reader.go("Clipboard")
        row = reader.page.locator(".rows .row")
        expect(row).to_have_count(1)
        Finger(reader.page).swipes(row, -200)
        reader.press("Sync:")
        expect(row).to_have_count(1)
