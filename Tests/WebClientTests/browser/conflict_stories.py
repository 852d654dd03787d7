"""Two offline devices change the same thing, in each app; also the conflict rules themselves."""

import json
import pathlib

from playwright.sync_api import expect

from stage import Story

VECTORS = pathlib.Path(__file__).parents[2] / "AppsTests" / "Vectors"
RESOLVE = """async (lines) => {
  const [{ resolverFor }, { parse }, { serialize }, { withoutStamps }] = await Promise.all(
    ["/apps/appCatalog.js", "/json/jsonParser.js", "/json/jsonValue.js", "/model/stamps.js"]
      .map((it) => import(it)));
  return lines.map(parse).filter(({ case: { type, base, local, server }, expect }) => {
    const { ask, merged, copies } = resolverFor(type).resolve({ base, local, server });
    const answer = ask
      ? { outcome: "ask", fields: null, deleted: false, copies: [] }
      : { outcome: "merged", fields: withoutStamps(merged),
        deleted: merged === null, copies };
    return serialize(answer) !== serialize(expect);
  }).length;
}"""


class ConflictStories(Story):
    def setUp(self):
        super().setUp()
        self.person = self.visitor()
        self.person.make_account()
        self.laptop = self.relay.agent("laptop", self.person.show_code())

    def parts(self):
        """Separates the page and the laptop: from now on each works without the other's changes."""
        self.relay.stop()
        self.person.may_miss_the_relay = True
        self.person.sees_sync("Offline")

    def meets_after_the_laptop(self, view):
        """Opens the browser after the laptop has synced: the page finds the conflict."""
        self.person.closes()
        self.relay.start()
        self.laptop.run("sync")
        self.person.opens_again(view)

    def meets_before_the_laptop(self):
        """Syncs the page first: the laptop finds the conflict."""
        self.relay.start()
        self.person.is_in_sync()

    def test_one_memo_written_twice_is_kept_twice(self):
        person = self.person
        self.laptop.run("memo", "add", "Shopping")
        person.go("Memos")
        person.press("Shopping")
        text = person.page.get_by_label("Memo", exact=True)
        self.parts()
        self.laptop.run("memo", "edit", "1", said="Shopping\nmilk only")
        text.fill("Shopping\nbread and butter")
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()
        self.meets_after_the_laptop("Memos")
        person.is_in_sync()
        expect(person.page.locator(".memo-rows .row")).to_have_count(2)
        expect(person.page.locator(".memo-rows .badge")).to_have_count(1)
        self.laptop.run("sync")
        self.assertEqual(len(self.laptop.run("memo", "list").strip().splitlines()), 2)

    def test_a_memo_that_is_written_here_and_deleted_there_stays(self):
        person = self.person
        self.laptop.run("memo", "add", "Shopping")
        person.go("Memos")
        person.press("Shopping")
        text = person.page.get_by_label("Memo", exact=True)
        self.parts()
        self.laptop.run("memo", "remove", "1")
        text.fill("Shopping\nbread")
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()
        self.meets_after_the_laptop("Memos")
        person.is_in_sync()
        person.press("Shopping")
        expect(person.page.get_by_label("Memo", exact=True)).to_have_value("Shopping\nbread")
        self.laptop.run("sync")
        self.assertIn("Shopping", self.laptop.run("memo", "list"))

    def has_a_habit_of_two_names(self):
        person = self.person
        self.laptop.run("habits", "add", "Run")
        self.laptop.run("sync")
        person.go("Habits")
        expect(person.page.get_by_role("checkbox", name="Run")).to_be_visible()
        self.parts()
        self.laptop.run("habits", "edit", "1", "--title", "Swim")
        self.person_renames_it("Jog")

    def person_renames_it(self, title):
        person = self.person
        person.press("Run, Once a day. Show its days")
        person.press("Edit")
        person.page.get_by_label("What you want to do").fill(title)
        person.press("Save")
        expect(person.page.get_by_role("checkbox", name=title)).to_be_visible()

    def test_a_habit_changed_twice_is_asked_about_and_settled_everywhere(self):
        person = self.person
        self.has_a_habit_of_two_names()
        self.meets_after_the_laptop("Habits")
        person.sees_sync("Waits for you")
        question = person.page.get_by_role("region", name="was changed in two places")
        expect(question.get_by_text("Swim", exact=True)).to_be_visible()
        question.get_by_role("button", name="Keep “Swim”").click()
        person.is_in_sync()
        expect(person.page.get_by_role("checkbox", name="Swim")).to_be_visible()
        expect(question).to_have_count(0)
        self.laptop.run("sync")
        self.assertIn("Swim", self.laptop.run("habits", "list"))

    def test_a_habit_changed_twice_is_settled_by_the_terminal_if_that_comes_second(self):
        person = self.person
        self.has_a_habit_of_two_names()
        self.meets_before_the_laptop()
        self.assertIn("waits for you", self.laptop.run("sync", code=1))
        self.assertIn("Jog", self.laptop.run("habits", "conflicts"))
        self.laptop.run("habits", "keep", "local", "Swim")
        self.laptop.run("sync")
        expect(person.page.get_by_role("checkbox", name="Swim")).to_be_visible()

    def test_a_habit_deleted_there_and_changed_here_is_what_the_person_says(self):
        person = self.person
        self.laptop.run("habits", "add", "Run")
        self.laptop.run("sync")
        person.go("Habits")
        expect(person.page.get_by_role("checkbox", name="Run")).to_be_visible()
        self.parts()
        self.laptop.run("habits", "remove", "1")
        self.person_renames_it("Jog")
        self.meets_after_the_laptop("Habits")
        person.sees_sync("Waits for you")
        person.press("Keep “Deleted”")
        person.is_in_sync()
        expect(person.page.get_by_text("No habits yet")).to_be_visible()

    def test_checks_and_counts_of_both_add_up(self):
        person = self.person
        self.laptop.run("habits", "add", "Water", "--count", "--target", "8")
        self.laptop.run("sync")
        person.go("Habits")
        more = person.page.get_by_role("button", name="One more, Water")
        expect(more).to_be_visible()
        self.parts()
        self.laptop.run("habits", "count", "1", "2")
        for count in (1, 2, 3):
            more.click()
            expect(person.page.locator(".counter-total")).to_have_text(f"{count} of 8")
        self.relay.start()
        self.laptop.run("sync")
        expect(person.page.locator(".counter-total")).to_have_text("5 of 8")

    def test_two_settings_changed_apart_both_hold(self):
        person = self.person
        person.go("Timer")
        person.page.get_by_text("Lengths and breaks").click()
        self.parts()
        self.laptop.run("timer", "settings", "set", "shortBreakMinutes=7")
        person.page.get_by_label("Focus (min)").fill("50")
        person.press("Save")
        expect(person.page.get_by_role("timer")).to_have_text("50:00")
        self.meets_after_the_laptop("Timer")
        person.is_in_sync()
        expect(person.page.get_by_role("timer")).to_have_text("50:00")
        person.page.get_by_text("Lengths and breaks").click()
        expect(person.page.get_by_label("Break (min)", exact=True)).to_have_value("7")

    def test_of_two_orders_to_the_timer_the_newer_stands_on_both(self):
        person = self.person
        person.go("Timer")
        person.press("Start focus")
        person.is_in_sync()
        self.laptop.run("sync")
        self.parts()
        self.laptop.run("timer", "pause")
        person.press("Stop")
        expect(person.page.get_by_role("button", name="Start focus")).to_be_visible()
        self.relay.start()
        self.laptop.run("sync")
        person.is_in_sync()
        self.laptop.run("sync")
        shown = self.laptop.json("timer", "status")[0]
        name = {"idle": "Start focus", "focus": "Resume"}[shown["stateType"]]
        expect(person.page.get_by_role("button", name=name)).to_be_visible()

    def test_an_item_deleted_here_is_gone_there(self):
        person = self.person
        self.laptop.run("clipboard", "add", "a password")
        person.go("Clipboard")
        expect(person.page.get_by_text("a password")).to_be_visible()
        person.press("Delete", exact=True)
        expect(person.page.get_by_text("Nothing copied yet")).to_be_visible()
        person.is_in_sync()
        self.laptop.run("sync")
        self.assertNotIn("a password", self.laptop.run("clipboard", "list"))

    def test_an_item_deleted_on_both_and_one_added_meanwhile(self):
        person = self.person
        self.laptop.run("clipboard", "add", "a password")
        person.go("Clipboard")
        expect(person.page.get_by_text("a password")).to_be_visible()
        self.parts()
        self.laptop.run("clipboard", "clear")
        person.press("Delete", exact=True)
        person.page.get_by_label("New item").fill("added meanwhile")
        person.press("Add")
        expect(person.page.get_by_text("added meanwhile")).to_be_visible()
        self.meets_after_the_laptop("Clipboard")
        person.is_in_sync()
        expect(person.page.locator(".row")).to_have_count(1)
        self.laptop.run("sync")
        held = self.laptop.run("clipboard", "list")
        self.assertIn("added meanwhile", held)
        self.assertNotIn("a password", held)

    def test_the_rules_give_in_a_browser_what_the_vectors_say(self):
        seen = 0
        for file in sorted(VECTORS.glob("*.jsonl")):
            if file.stem == "VaultFile":
                continue
            lines = file.read_text(encoding="utf-8").strip().splitlines()
            kind = {"ClipboardPins": "ClipboardItem"}.get(file.stem, file.stem.removesuffix("Acts"))
            self.assertEqual(json.loads(lines[0])["case"]["type"], kind)
            self.assertEqual(self.person.page.evaluate(RESOLVE, lines), 0, file.stem)
            seen += 1
        self.assertEqual(seen, 8)
