"""A person looks back over a habit's months, arranges habits, takes things back and is reminded."""

import csv
import datetime
import io
import json
import re

from playwright.sync_api import expect

from stage import Story


def day_before(days):
    return datetime.date.today() - datetime.timedelta(days=days)


def words_of(date):
    """Returns a date as the page writes it: Monday, 2 March 2026."""
    return f"{date:%A}, {date.day} {date:%B} {date.year}"


class HabitStories(Story):
    def started(self, home="laptop", **options):
        """Returns a person with three habits, and the laptop on which they were made."""
        person = self.visitor(**options)
        person.make_account()
        laptop = self.relay.agent(home, person.show_code())
        laptop.run("habits", "add", "Read")
        laptop.run("habits", "add", "Run")
        laptop.run("habits", "add", "Glasses of water", "--count", "--target", "8")
        for days in (1, 2, 3, 5):
            laptop.run("habits", "check", "Run", "--day", str(day_before(days)))
        laptop.run("habits", "count", "Glasses", "3", "--day", str(day_before(1)))
        laptop.run("sync")
        person.go("Habits")
        expect(person.page.get_by_role("checkbox", name="Run")).to_be_visible()
        return person, laptop

    def opens(self, person, title):
        person.press(re.compile(f"^{title}, .*Show its days"))
        expect(person.page.get_by_role("heading", level=2, name=title)).to_be_visible()

    def day(self, person, date):
        return person.page.get_by_role("button", name=re.compile(f"^{words_of(date)}: "))

    def titles(self, person):
        return person.page.locator(".habit:visible .habit-title").all_inner_texts()

    def test_the_figures_of_a_habit_are_those_of_the_terminal(self):
        person, laptop = self.started()
        self.opens(person, "Run")
        stats = {it["title"]: it for it in laptop.json("habits", "stats")[0]["habits"]}["Run"]
        self.assertEqual((stats["streak"], stats["longestStreak"]), (3, 3))
        figures = person.page.locator(".figures")
        expect(figures).to_contain_text(f"Streak{stats['streak']} days")
        expect(figures).to_contain_text(f"Longest streak{stats['longestStreak']} daysfrom")
        expect(figures).to_contain_text(
            f"{stats['ratePercent']} %{stats['reached']} of {stats['days']} days")
        expect(figures).to_contain_text(f"In all{stats['reachedInAll']} days")

    def test_a_month_is_walked_with_the_keyboard_and_a_forgotten_day_is_filled_in(self):
        person, laptop = self.started()
        self.opens(person, "Run")
        page = person.page
        today, forgotten = day_before(0), day_before(4)
        expect(page.get_by_role("button", name="All habits")).to_be_focused()
        self.day(person, today).focus()
        for _ in range(4):
            page.keyboard.press("ArrowLeft")
        expect(self.day(person, forgotten)).to_be_focused()
        expect(self.day(person, forgotten)).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".detail-row")).to_contain_text(words_of(forgotten))
        page.locator(".detail-row").get_by_role("checkbox").click()
        expect(page.get_by_role("button", name=f"{words_of(forgotten)}: done")).to_be_visible()
        expect(page.locator(".figures")).to_contain_text("Streak5 days")
        page.keyboard.press("Tab")
        self.day(person, forgotten).focus()
        page.keyboard.press("PageUp")
        before = (forgotten.replace(day=1) - datetime.timedelta(days=1))
        expect(page.get_by_role("grid", name=f"{before:%B} {before.year}")).to_be_visible()
        page.keyboard.press("PageDown")
        # Tomorrow is not there yet, also not for the keyboard.
        for _ in range(40):
            page.keyboard.press("ArrowRight")
        expect(self.day(person, today)).to_be_focused()
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(laptop.json("habits", "day", str(forgotten))[0]["habits"][2]["done"], True)

    def test_a_year_shows_its_months_and_leads_to_each(self):
        person, _ = self.started()
        self.opens(person, "Run")
        page = person.page
        page.get_by_role("button", name="Year", exact=True).click()
        months = page.locator(".year-month")
        expect(months).to_have_count(12)
        page.get_by_role("button", name="Previous year").click()
        last = day_before(0).year - 1
        page.get_by_role("button", name=f"March {last}: 0 of 31 days. Show the month").click()
        expect(page.get_by_role("grid", name=f"March {last}")).to_be_visible()
        expect(page.get_by_role("button", name="Month", exact=True)).to_have_attribute(
            "aria-pressed", "true")

    def test_the_back_button_closes_a_habit_and_leads_to_it_again(self):
        person, _ = self.started()
        self.opens(person, "Run")
        person.page.go_back()
        expect(person.page.get_by_role("checkbox", name="Read")).to_be_visible()
        expect(person.page.get_by_role("button", name="Run, Once a day")).to_be_focused()
        person.page.go_forward()
        expect(person.page.get_by_role("heading", level=2, name="Run")).to_be_visible()
        person.page.reload()
        expect(person.page.get_by_role("heading", level=2, name="Run")).to_be_visible()
        person.go("Timer")
        person.go("Habits")
        expect(person.page.get_by_role("checkbox", name="Read")).to_be_visible()

    def test_habits_are_arranged_and_archived_and_the_terminal_follows(self):
        person, laptop = self.started()
        page = person.page
        self.assertEqual(self.titles(person), ["Glasses of water", "Read", "Run"])
        person.press("Arrange")
        page.get_by_role("button", name="Move Run up").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Move Run up")).to_be_focused()
        expect(page.get_by_text("“Run” is number 2 now.")).to_be_visible()
        page.keyboard.press("Enter")
        # The first one cannot go up; its other button has the focus.
        expect(page.get_by_role("button", name="Move Run down")).to_be_focused()
        person.press("Archive Read")
        expect(page.get_by_text("“Read” is archived.")).to_be_visible()
        person.press("Done")
        self.assertEqual(self.titles(person), ["Run", "Glasses of water"])
        person.is_in_sync()
        laptop.run("sync")
        listed = laptop.json("habits", "list")[0]["habits"]
        self.assertEqual([it["title"] for it in listed], ["Run", "Glasses of water"])
        self.assertIn("Read", laptop.run("habits", "list", "--archived"))
        # The other way round.
        laptop.run("habits", "unarchive", "Read")
        laptop.run("habits", "move", "Read", "1")
        laptop.run("sync")
        expect(page.get_by_role("checkbox", name="Read")).to_be_visible()
        self.assertEqual(self.titles(person), ["Read", "Run", "Glasses of water"])

    def test_two_arrange_apart_and_nobody_is_asked(self):
        person, laptop = self.started()
        person.may_miss_the_relay = True
        person.press("Arrange")
        person.press("Move Run up")
        person.is_in_sync()
        laptop.run("sync")
        person.context.set_offline(True)
        laptop.run("habits", "move", "Glasses", "3")
        laptop.run("sync")
        person.press("Move Run up")
        person.press("Archive Read")
        person.press("Done")
        person.context.set_offline(False)
        person.is_in_sync()
        expect(person.page.locator(".conflict")).to_have_count(0)
        laptop.run("sync")
        listed = laptop.json("habits", "list")[0]["habits"]
        self.assertEqual([it["title"] for it in listed], ["Run", "Glasses of water"])
        self.assertEqual(self.titles(person), ["Run", "Glasses of water"])

    def test_what_was_pressed_by_mistake_is_taken_back(self):
        person, laptop = self.started()
        page = person.page
        run = page.get_by_role("checkbox", name="Run")
        run.click()
        expect(page.get_by_text("“Run”: done today.")).to_be_visible()
        person.press("Undo")
        expect(run).to_have_attribute("aria-checked", "false")
        person.press("One more, Glasses of water")
        expect(page.get_by_text("“Glasses of water”: 1 of 8 today.")).to_be_visible()
        person.press("Undo")
        expect(page.get_by_role("button", name="One less, Glasses of water")).to_be_disabled()
        self.opens(person, "Run")
        person.press("Edit")
        person.press("Delete")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("“Run” was deleted.")).to_be_visible()
        expect(page.get_by_role("checkbox", name="Run")).to_have_count(0)
        person.press("Undo")
        expect(page.get_by_role("checkbox", name="Run")).to_be_visible()
        # Its days have come back with it.
        expect(page.get_by_text("3 days in a row")).to_be_visible()
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(laptop.json("habits", "stats")[0]["habits"][2]["streak"], 3)

    def test_a_person_is_reminded_while_the_page_is_open_and_once_a_day(self):
        person, _ = self.started(permissions=["notifications"])
        page = person.page
        page.evaluate("""() => {
          window.shown = [];
          window.Notification = class { static permission = "granted";
            constructor(title, options) { window.shown.push(options.body); } };
        }""")
        self.opens(person, "Read")
        expect(page.get_by_text("only while Lockstep is open here")).to_be_visible()
        # Midnight is past at any time of the day: the reminder is due at once.
        page.get_by_label("Time of the reminder").fill("00:00")
        page.get_by_label("Remind me in this browser").check()
        page.reload()
        expect(page.get_by_text("Not done yet today: “Read”.")).to_be_visible()
        person.go("Timer")
        page.reload()
        person.is_in_sync()
        expect(page.get_by_text("Not done yet today")).to_have_count(0)
        person.go("Habits")
        expect(page.get_by_text("Once a day · reminder 00:00")).to_be_visible()

    def test_a_browser_that_is_signed_out_keeps_no_reminders(self):
        person, _ = self.started()
        self.opens(person, "Read")
        person.page.get_by_label("Remind me in this browser").check()
        key = "() => localStorage.getItem('lockstep habit reminders')"
        self.assertIn("20:00", person.page.evaluate(key))
        person.go("Devices")
        person.press("Sign out of this browser")
        person.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        person.page.wait_for_function(
            "() => localStorage.getItem('lockstep habit reminders') === null")

    def test_all_habits_are_saved_as_files(self):
        person, _ = self.started()
        person.press("Export")
        with person.page.expect_download() as download:
            person.press("CSV, for a spreadsheet")
        self.assertRegex(download.value.suggested_filename, r"^lockstep-habits-[\d-]+\.csv$")
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(io.StringIO(file.read())))
        self.assertEqual([row["habit"] for row in rows], ["Glasses of water"] + ["Run"] * 4)
        self.assertEqual((rows[0]["day"], rows[0]["total"]), (str(day_before(1)), "3"))
        person.press("Export")
        with person.page.expect_download() as download:
            person.press("JSON, with figures")
        with open(download.value.path(), encoding="utf-8") as file:
            habits = json.load(file)["habits"]
        self.assertEqual([it["title"] for it in habits], ["Glasses of water", "Read", "Run"])
        self.assertEqual(habits[2]["streak"], 3)

    def test_every_part_is_accessible_and_fits_the_narrowest_phone(self):
        for scheme in ("light", "dark"):
            person, laptop = self.started(
                scheme, color_scheme=scheme, viewport={"width": 320, "height": 568})
            laptop.run("habits", "archive", "Read")
            laptop.run("sync")
            person.page.get_by_text("Archived habits").click()
            self.looks_right(person, "archived")
            person.press("One more, Glasses of water")
            undo = person.page.get_by_role("button", name="Undo")
            # The word stands in one line beside a sentence of two.
            self.assertLess(undo.bounding_box()["height"], 50)
            person.press("Arrange")
            self.looks_right(person, "arranging")
            person.press("Done")
            person.press("Export")
            self.looks_right(person, "export")
            person.press("Cancel")
            for title in ("Run", "Glasses of water"):
                self.opens(person, title)
                self.looks_right(person, title)
                person.page.get_by_role("button", name="Year", exact=True).click()
                self.looks_right(person, f"{title}, year")
                person.press("All habits")

    def looks_right(self, person, place):
        # Below the bar, which stays when the page is scrolled, Axe takes a day for a small target.
        person.page.evaluate("() => scrollTo(0, 0)")
        self.has_no_barrier(person, place)
        self.is_not_too_wide(person, place)
