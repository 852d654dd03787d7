"""Memos in the page: preview, search, tags, undo, drafts, addresses, two and former versions."""

from playwright.sync_api import expect

from relay import wait_until
from stage import Story

TRIP = """Trip to the coast
## Pack
- [ ] tent
- [x] stove
  - [ ] gas
> Leave **early**, see [the map](https://example.org/map)

`tide` is low at 6 #trip/coast
[not a link](javascript:alert(1)) <b>bold</b>"""
# Reads what the browser stores for the page itself.
KEPT = """async (name) => {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("lockstep page");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const read = database.transaction([name]).objectStore(name).getAll();
  await new Promise((resolve) => { read.onsuccess = resolve; });
  database.close();
  return read.result;
}"""
# The page is not told that it ends, as in a crash.
CRASHES = """(() => {
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addOther(kind, ...rest) {
    if (!["pagehide", "visibilitychange", "blur"].includes(kind)) add.call(this, kind, ...rest);
  };
})()"""
# Typing never pauses: the page saves nothing until it ends.
TYPES_ON = """() => {
  const { setTimeout } = window;
  window.setTimeout = (act, wait) => setTimeout(act, wait === 700 ? 1e9 : wait);
}"""


# Closes a memo, and opens and closes the next before the browser has gone back. `opens`: opens one
# more.
HASTE = """async (opens) => {
  const act = async (selector, at = 0) => {
    document.querySelectorAll(selector)[at].click();
    for (let step = 0; step < 100; step += 1) await null;
  };
  await act(".memo-back");
  await act(".memo-row", 1);
  await act(".memo-back");
  if (opens) await act(".memo-row", 0);
}"""


class MemoStories(Story):
    def account(self, crashes=False, **options):
        """Returns a person with an account, in the memos, and a laptop of that account."""
        person = self.visitor(**options)
        if crashes:
            person.context.add_init_script(CRASHES)
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        person.go("Memos")
        return person, laptop

    def add(self, person, laptop, *texts):
        """Adds memos in the terminal, and waits until the page shows the last."""
        for text in texts:
            laptop.run("memo", "add", text)
        laptop.run("sync")
        title = texts[-1].split("\n")[0]
        expect(self.rows(person).filter(has_text=title)).to_be_visible()

    def rows(self, person):
        return person.page.locator(".memo-rows .row")

    def text(self, person):
        return person.page.get_by_label("Memo", exact=True)

    def opens(self, person, title):
        self.rows(person).filter(has_text=title).get_by_role("button").click()

    def saved(self, person):
        expect(person.page.get_by_text("Saved", exact=True)).to_be_visible()

    def shown_to_laptop(self, laptop, *words):
        laptop.run("sync")
        return laptop.run(*words)

    def test_a_memo_is_read_as_markdown_and_a_ticked_task_is_ticked_everywhere(self):
        person, laptop = self.account()
        self.add(person, laptop, TRIP)
        self.opens(person, "Trip")
        person.press("Preview")
        preview = person.page.get_by_role("region", name="Preview")
        expect(preview.get_by_role("heading", level=2)).to_have_text("Trip to the coast")
        expect(preview.get_by_role("heading", level=3)).to_have_text("Pack")
        link = preview.get_by_role("link", name="the map")
        expect(link).to_have_attribute("href", "https://example.org/map")
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        expect(preview.get_by_role("link")).to_have_count(1)
        expect(preview.locator("b, script, img")).to_have_count(0)
        expect(preview.get_by_text("[not a link](javascript:alert(1)) <b>bold</b>")).to_be_visible()
        expect(preview.get_by_role("checkbox", name="stove")).to_be_checked()
        gas = preview.get_by_role("checkbox", name="gas")
        gas.focus()
        person.page.keyboard.press("Space")
        self.saved(person)
        expect(gas).to_be_checked()
        expect(gas).to_be_focused()
        person.is_in_sync()
        self.assertIn("- [x] gas", self.shown_to_laptop(laptop, "memo", "show", "1"))
        laptop.run("memo", "edit", "1", said=TRIP.replace("[ ] tent", "[x] tent"))
        laptop.run("sync")
        expect(preview.get_by_role("checkbox", name="tent")).to_be_checked()
        expect(gas).not_to_be_checked()
        self.has_no_barrier(person, "a preview")
        person.press("Preview")
        expect(self.text(person)).to_have_value(TRIP.replace("[ ] tent", "[x] tent"))

    def test_a_search_marks_its_words_and_a_tag_filters(self):
        person, laptop = self.account()
        self.add(person, laptop, "Bread\nTwo cups of FLOUR #food", "Paint\nwhite #house #Food",
                 "Plan\n" + "words " * 80 + "flour at the end")
        search = person.page.get_by_role("searchbox")
        search.fill("flour")
        expect(self.rows(person)).to_have_count(2)
        expect(person.page.locator("mark")).to_have_text(["flour", "FLOUR"])
        self.assertIn("Bread", laptop.run("memo", "search", "flour"))
        self.opens(person, "Bread")
        person.press("Preview")
        expect(person.page.get_by_role("region", name="Preview").locator("mark")).to_have_text(
            "FLOUR")
        search.fill("nowhere")
        expect(person.page.get_by_text("Nothing found")).to_be_visible()
        search.fill("")
        tags = person.page.get_by_role("list", name="Tags")
        expect(tags.get_by_role("button")).to_have_text(["#Food, 2", "#house, 1"])
        tags.get_by_role("button", name="#house").click()
        expect(self.rows(person)).to_have_count(1)
        self.assertIn("Paint", laptop.run("memo", "search", "#house"))
        # The tag goes with its last memo, and all memos are shown again.
        laptop.run("memo", "edit", "2", said="Paint\nwhite")
        laptop.run("sync")
        expect(self.rows(person)).to_have_count(3)
        expect(tags.get_by_role("button")).to_have_text(["#food, 1"])
        self.has_no_barrier(person, "tags")

    def test_a_deleted_memo_comes_back_as_the_same_memo_on_all_devices(self):
        person, laptop = self.account()
        self.add(person, laptop, "Keys\nunder the stone")
        before = laptop.json("memo", "list")[0]["memos"]
        self.opens(person, "Keys")
        person.press("Delete this memo")
        expect(self.rows(person)).to_have_count(0)
        person.is_in_sync()
        self.assertNotIn("Keys", self.shown_to_laptop(laptop, "memo", "list"))
        person.press("Undo")
        expect(self.text(person)).to_have_value("Keys\nunder the stone")
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(laptop.json("memo", "list")[0]["memos"], before)

    def test_undo_waits_for_a_person_who_points_at_it(self):
        person, laptop = self.account()
        self.add(person, laptop, "Keys")
        person.page.clock.install()
        person.page.reload()
        self.opens(person, "Keys")
        person.press("Delete this memo")
        undo = person.page.get_by_role("button", name="Undo")
        undo.hover()
        person.page.clock.fast_forward(60_000)
        expect(undo).to_be_visible()
        person.page.mouse.move(0, 0)
        undo.focus()
        person.page.clock.fast_forward(60_000)
        expect(undo).to_be_visible()
        person.page.get_by_role("button", name="New memo").focus()
        person.page.clock.fast_forward(10_000)
        expect(undo).to_be_hidden()

    def test_a_memo_deleted_and_brought_back_without_a_relay_is_there_for_all(self):
        person, laptop = self.account()
        self.add(person, laptop, "Keys")
        other = person.another_tab()
        other.get_by_role("link", name="Memos").click()
        expect(other.locator(".memo-rows .row")).to_have_count(1)
        person.may_miss_the_relay = True
        self.relay.stop()
        person.sees_sync("Offline")
        self.opens(person, "Keys")
        person.press("Delete this memo")
        expect(other.locator(".memo-rows .row")).to_have_count(0)
        person.press("Undo")
        expect(other.locator(".memo-rows .row")).to_have_count(1)
        self.relay.start()
        person.is_in_sync()
        self.assertIn("Keys", self.shown_to_laptop(laptop, "memo", "list"))

    def test_a_tab_that_does_not_lead_deletes_brings_back_and_decides(self):
        person, laptop = self.has_two_versions()
        other = person.another_tab()
        other.get_by_role("link", name="Memos").click()
        original = other.locator(".memo-rows .row", has_not=other.locator(".badge"))
        original.get_by_role("button").click()
        other.get_by_role("button", name="Compare").click()
        other.get_by_role("button", name="Keep both").click()
        for page in (other, person.page):
            expect(page.locator(".memo-rows .row")).to_have_count(2)
            expect(page.locator(".badge")).to_have_count(0)
        other.get_by_role("button", name="Delete this memo").click()
        expect(self.rows(person)).to_have_count(1)
        other.get_by_role("button", name="Undo").click()
        expect(self.rows(person)).to_have_count(2)
        expect(other.locator(".memo-rows .row")).to_have_count(2)
        person.is_in_sync()
        self.assertEqual(len(self.contents(laptop)), 2)

    def test_back_closes_a_memo_and_a_reload_opens_it_again(self):
        person, laptop = self.account()
        self.add(person, laptop, "One", "Two")
        self.opens(person, "One")
        expect(self.text(person)).to_have_value("One")
        person.page.reload()
        expect(self.text(person)).to_have_value("One")
        self.opens(person, "Two")
        expect(self.text(person)).to_have_value("Two")
        person.page.go_back()
        expect(self.text(person)).to_be_hidden()
        expect(self.rows(person)).to_have_count(2)
        person.page.go_forward()
        expect(self.text(person)).to_have_value("Two")
        person.go("Timer")
        person.page.go_back()
        expect(self.text(person)).to_have_value("Two")
        name = person.page.url.split("#memo=")[1]
        person.closes()
        person.page = person.context.new_page()
        person.open(f"/#memo={name}")
        expect(self.text(person)).to_have_value("Two")
        person.open("/#memo=nothing")
        person.page.reload()
        expect(person.page.get_by_text("That memo is not here.")).to_be_visible()
        expect(self.rows(person)).to_have_count(2)

    def test_on_a_phone_back_leads_from_a_memo_to_the_list(self):
        person, laptop = self.account(viewport={"width": 320, "height": 568})
        self.add(person, laptop, "One\n" + "x" * 300)
        self.opens(person, "One")
        expect(self.rows(person)).to_be_hidden()
        self.is_not_too_wide(person, "a memo")
        person.page.go_back()
        expect(self.rows(person)).to_be_visible()
        self.opens(person, "One")
        person.press("Back to the list")
        expect(self.rows(person)).to_be_visible()
        self.assertTrue(person.page.url.endswith("#memos"))
        person.press("New memo")
        self.text(person).fill("Written at once")
        person.page.go_back()
        expect(self.rows(person)).to_have_count(2)
        self.assertTrue(person.page.url.endswith("#memos"))
        person.page.wait_for_url("**/#memos")

    def test_on_a_phone_a_memo_is_opened_to_be_read_and_a_new_one_to_be_written(self):
        person, laptop = self.account(
            viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        self.add(person, laptop, "Bread\nrye")
        self.opens(person, "Bread")
        expect(self.text(person)).to_have_value("Bread\nrye")
        # No keyboard covers the text; a screen reader begins above it.
        expect(person.page.get_by_role("button", name="Back to the list")).to_be_focused()
        self.text(person).tap()
        expect(self.text(person)).to_be_focused()
        person.press("Back to the list")
        person.press("New memo")
        expect(self.text(person)).to_be_focused()
        desk = self.visitor()
        desk.pair(person.show_code())
        desk.go("Memos")
        self.opens(desk, "Bread")
        expect(self.text(desk)).to_be_focused()

    def test_haste_between_the_list_and_memos_leads_nowhere_else(self):
        person, laptop = self.account(viewport={"width": 390, "height": 844})
        self.add(person, laptop, "One", "Two")
        for opens in (False, True, False):
            self.opens(person, "One")
            person.page.wait_for_url("**/#memo=*")
            person.page.evaluate(HASTE, opens)
            if opens:
                expect(self.text(person)).to_have_value("Two")
                person.page.wait_for_url("**/#memo=*")
                person.page.go_back()
            person.page.wait_for_url("**/#memos")
            expect(self.rows(person)).to_have_count(2)
            expect(self.rows(person).first).to_be_visible()

    def types_without_a_pause(self, person, text):
        """Types a text that the page has not saved yet, as a draft that it has kept."""
        person.page.evaluate(TYPES_ON)
        self.text(person).fill(text)
        person.page.wait_for_function(
            f"async (text) => (await ({KEPT})('drafts')).some((it) => it.content === text)",
            arg=text)

    def crashes(self, person, path):
        """Ends the page, and opens it again."""
        person.closes()
        person.page = person.context.new_page()
        person.open(path)

    def test_what_was_typed_before_a_crash_is_there_and_becomes_the_memo(self):
        person, laptop = self.account(crashes=True)
        person.press("New memo")
        self.types_without_a_pause(person, "A thought\nhalf w")
        self.crashes(person, f"/#{person.page.url.split('#')[1]}")
        expect(self.text(person)).to_have_value("A thought\nhalf w")
        self.saved(person)
        person.is_in_sync()
        self.assertEqual(self.shown_to_laptop(laptop, "memo", "list").count("A thought"), 1)
        self.assertEqual(person.page.evaluate(KEPT, "drafts"), [])
        # Opened elsewhere after a crash, it is in the list.
        person.press("New memo")
        expect(self.text(person)).to_have_value("")
        self.types_without_a_pause(person, "Another thought")
        self.crashes(person, "/#memos")
        row = self.rows(person).filter(has_text="Another thought")
        expect(row.get_by_text("Draft")).to_be_visible()
        row.get_by_role("button").click()
        self.saved(person)
        expect(self.rows(person)).to_have_count(2)
        expect(person.page.get_by_text("Draft")).to_have_count(0)

    def test_a_change_from_elsewhere_while_typing_keeps_the_draft_and_the_change(self):
        person, laptop = self.account(crashes=True)
        self.add(person, laptop, "Shopping\nbread")
        self.opens(person, "Shopping")
        expect(self.text(person)).to_have_value("Shopping\nbread")
        self.types_without_a_pause(person, "Shopping\nbread and butter")
        laptop.run("memo", "edit", "1", said="Shopping\nmilk")
        laptop.run("sync")
        expect(self.rows(person).filter(has_text="milk")).to_be_visible()
        expect(self.text(person)).to_have_value("Shopping\nbread and butter")
        self.crashes(person, f"/#{person.page.url.split('#')[1]}")
        expect(self.text(person)).to_have_value("Shopping\nbread and butter")
        self.saved(person)
        expect(person.page.get_by_text("there is another version")).to_be_visible()
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(len(laptop.json("memo", "list")[0]["memos"]), 2)

    def test_a_reload_in_the_middle_of_a_word_loses_nothing(self):
        person, laptop = self.account()
        person.press("New memo")
        expect(self.text(person)).to_be_visible()
        self.types_without_a_pause(person, "A thou")
        person.page.reload()
        expect(self.text(person)).to_have_value("A thou")
        wait_until(lambda: self.shown_to_laptop(laptop, "memo", "list").count("A thou") == 1,
                   lambda: "the memo is not on the laptop")
        self.assertEqual(person.page.evaluate(KEPT, "drafts"), [])

    def test_a_text_that_cannot_be_saved_lets_the_person_go_and_stays_a_draft(self):
        person, _ = self.account()
        person.press("New memo")
        self.text(person).fill("Too long\n" + "x" * (1 << 20))
        expect(person.page.get_by_text("shorten it")).to_be_visible()
        person.page.go_back()
        expect(person.page.get_by_text("kept here as a draft")).to_be_visible()
        person.page.reload()
        self.rows(person).filter(has_text="Too long").get_by_role("button").click()
        self.assertEqual(len(self.text(person).input_value()), len("Too long\n") + (1 << 20))
        self.text(person).fill("Short")
        self.saved(person)
        self.assertEqual(person.page.evaluate(KEPT, "drafts"), [])

    def test_a_draft_that_cannot_be_saved_is_deleted_and_brought_back(self):
        person, laptop = self.account()
        self.add(person, laptop, "Keys")
        for title in ("Too long", "Keys"):
            if title == "Keys":
                self.opens(person, title)
                expect(self.text(person)).to_have_value("Keys")
            else:
                person.press("New memo")
                expect(self.text(person)).to_have_value("")
            text = f"{title}\n" + "x" * (1 << 20)
            self.text(person).fill(text)
            expect(person.page.get_by_text("shorten it")).to_be_visible()
            person.press("Delete this memo")
            expect(self.rows(person).filter(has_text=title)).to_have_count(0)
            self.assertEqual(person.page.evaluate(KEPT, "drafts"), [])
            person.press("Undo")
            expect(self.text(person)).to_be_visible()
            self.assertEqual(self.text(person).input_value(), text)
            self.text(person).fill(f"{title}, short")
            self.saved(person)
            self.assertEqual(person.page.evaluate(KEPT, "drafts"), [])

    def has_two_versions(self, **options):
        """A memo is written here and on the laptop without the relay; both are kept."""
        person, laptop = self.account(**options)
        self.add(person, laptop, "Shopping\nbread\nmilk")
        self.opens(person, "Shopping")
        person.may_miss_the_relay = True
        self.relay.stop()
        person.sees_sync("Offline")
        laptop.run("memo", "edit", "1", said="Shopping\nbread\neggs")
        self.text(person).fill("Shopping\nbutter\nmilk")
        self.saved(person)
        self.relay.start()
        person.is_in_sync()
        laptop.run("sync")
        person.is_in_sync()
        expect(person.page.get_by_text("Changed in two places: there is another version.")
               ).to_be_visible()
        return person, laptop

    def decides(self, person, answer):
        """Compares the lines that differ, and decides. Returns both texts, the memo's first."""
        text = self.text(person).input_value()
        butter, bread = "Shopping\nbutter\nmilk", "Shopping\nbread\neggs"
        texts = (butter, bread) if text == butter else (bread, butter)
        person.press("Compare")
        dialog = person.page.get_by_role("dialog", name="Two versions of this memo")
        expect(dialog.locator("mark")).to_have_text(
            [line for it in texts for line in it.split("\n")[1:]])
        dialog.get_by_role("button", name=answer).click()
        expect(person.page.locator(".badge")).to_have_count(0)
        person.is_in_sync()
        return texts

    def contents(self, laptop):
        laptop.run("sync")
        count = len(laptop.json("memo", "list")[0]["memos"])
        return sorted(laptop.run("memo", "show", str(at + 1)).strip() for at in range(count))

    def test_of_two_versions_a_person_keeps_this_one(self):
        person, laptop = self.has_two_versions()
        text, _ = self.decides(person, "Keep this")
        expect(self.text(person)).to_have_value(text)
        self.assertEqual(self.contents(laptop), [text])

    def test_of_two_versions_a_person_keeps_the_other_and_finds_the_first_again(self):
        person, laptop = self.has_two_versions()
        text, other = self.decides(person, "Keep the other")
        expect(self.text(person)).to_have_value(other)
        self.assertEqual(self.contents(laptop), [other])
        person.press("Former versions")
        dialog = person.page.get_by_role("dialog", name="Former versions")
        dialog.get_by_role("listitem").first.get_by_role("button").click()
        expect(dialog.get_by_role("region", name="Then")).to_contain_text(text.split("\n")[1])
        dialog.get_by_role("button", name="Restore this version").click()
        expect(self.text(person)).to_have_value(text)

    def test_two_devices_that_keep_both_versions_have_two_memos_and_not_three(self):
        person, laptop = self.has_two_versions()
        tablet = self.visitor()
        tablet.pair(person.show_code())
        for one in (person, tablet):
            one.go("Memos")
            one.may_miss_the_relay = True
            expect(self.rows(one)).to_have_count(2)
            self.rows(one).filter(has_not=one.page.locator(".badge")).get_by_role("button").click()
        self.relay.stop()
        for one in (person, tablet):
            one.sees_sync("Offline")
            one.press("Compare")
            one.press("Keep both")
            expect(one.page.locator(".badge")).to_have_count(0)
        self.relay.start()
        for one in (person, tablet):
            one.is_in_sync()
            expect(self.rows(one)).to_have_count(2)
        self.assertEqual(self.contents(laptop),
                         ["Shopping\nbread\neggs", "Shopping\nbutter\nmilk"])

    def test_a_decision_on_a_text_that_changed_meanwhile_is_asked_again(self):
        person, laptop = self.has_two_versions()
        person.press("Compare")
        dialog = person.page.get_by_role("dialog", name="Two versions of this memo")
        expect(dialog).to_be_visible()
        memos = laptop.json("memo", "list")[0]["memos"]
        original = next(it["memo"] for it in memos if "copyOf" not in it)
        laptop.run("memo", "edit", str(original), said="Shopping\nsalt")
        laptop.run("sync")
        expect(self.text(person)).to_have_value("Shopping\nsalt")
        dialog.get_by_role("button", name="Keep the other").click()
        expect(person.page.get_by_text("compare them again")).to_be_visible()
        self.assertIn("Shopping\nsalt", self.contents(laptop))

    def test_the_comparison_has_no_barrier_on_a_narrow_phone(self):
        person, _ = self.has_two_versions(viewport={"width": 320, "height": 568},
                                          color_scheme="dark")
        person.press("Compare")
        self.has_no_barrier(person, "a comparison")
        self.is_not_too_wide(person, "a comparison")
        person.page.keyboard.press("Escape")
        person.press("Former versions")
        dialog = person.page.get_by_role("dialog", name="Former versions")
        dialog.get_by_role("listitem").first.get_by_role("button").click()
        self.has_no_barrier(person, "former versions")
        self.is_not_too_wide(person, "former versions")

    def test_a_former_version_is_restored_as_a_new_edit_and_that_is_undone(self):
        person, laptop = self.account()
        self.add(person, laptop, "Plan\nfirst")
        laptop.run("memo", "edit", "1", said="Plan\nsecond")
        laptop.run("sync")
        self.opens(person, "Plan")
        expect(self.text(person)).to_have_value("Plan\nsecond")
        self.text(person).fill("Plan\nthird")
        self.saved(person)
        person.page.reload()
        person.press("Former versions")
        dialog = person.page.get_by_role("dialog", name="Former versions")
        expect(dialog.get_by_role("listitem")).to_have_count(2)
        expect(dialog.get_by_text("the relay and your other devices do not have them")
               ).to_be_visible()
        dialog.get_by_role("listitem").nth(1).get_by_role("button").click()
        expect(dialog.locator("mark")).to_have_text(["first", "third"])
        dialog.get_by_role("button", name="Restore this version").click()
        expect(self.text(person)).to_have_value("Plan\nfirst")
        person.is_in_sync()
        self.assertIn("first", self.shown_to_laptop(laptop, "memo", "show", "1"))
        person.press("Undo")
        expect(self.text(person)).to_have_value("Plan\nthird")

    def test_a_tab_that_takes_over_from_another_keeps_the_former_versions(self):
        person, laptop = self.account()
        self.add(person, laptop, "Plan\nfirst")
        laptop.run("memo", "edit", "1", said="Plan\nsecond")
        laptop.run("sync")
        expect(self.rows(person).filter(has_text="second")).to_be_visible()
        other = person.another_tab()
        person.closes()
        person.page = other
        person.go("Memos")
        laptop.run("memo", "edit", "1", said="Plan\nthird")
        laptop.run("sync")
        expect(self.rows(person).filter(has_text="third")).to_be_visible()
        other.reload()
        self.opens(person, "Plan")
        person.press("Former versions")
        expect(other.get_by_role("dialog").get_by_role("listitem")).to_have_count(1)

    def test_drafts_and_versions_go_when_the_person_signs_out(self):
        person, laptop = self.account()
        self.add(person, laptop, "Secret\none")
        laptop.run("memo", "edit", "1", said="Secret\ntwo")
        laptop.run("sync")
        expect(self.rows(person).filter(has_text="two")).to_be_visible()
        person.page.wait_for_function(f"async () => (await ({KEPT})('versions')).length === 1")
        person.go("Devices")
        person.press("Sign out of this browser")
        person.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
        expect(person.page.get_by_role("button", name="Pair", exact=True)).to_be_visible()
        for name in ("versions", "drafts"):
            person.page.wait_for_function(
                f"async () => (await ({KEPT})('{name}')).length === 0")

    def test_nothing_of_a_sealed_memo_leaves_the_browser_in_plain(self):
        person = self.visitor()
        sent = []
        person.context.on("request", lambda request: sent.append(
            request.url + (request.post_data or "")))
        person.page.on("websocket", lambda socket: socket.on(
            "framesent", lambda data: sent.append(str(data))))
        person.make_account()
        person.go("Memos")
        person.press("New memo")
        self.text(person).fill("Zanzibar #quokka\n- [ ] xylophone")
        self.saved(person)
        person.press("Preview")
        person.page.get_by_role("checkbox", name="xylophone").check()
        person.page.get_by_role("searchbox").fill("zanzibar")
        expect(person.page.locator(".memo-rows mark")).to_have_text("Zanzibar")
        person.press("Delete this memo")
        person.press("Undo")
        expect(person.page.get_by_role("checkbox", name="xylophone")).to_be_checked()
        person.is_in_sync()
        told = "\n".join(sent)
        self.assertIn("/v1/", told)
        for word in ("Zanzibar", "zanzibar", "quokka", "xylophone", "memo="):
            self.assertNotIn(word, told)

    def test_two_thousand_memos_are_searched_while_a_countdown_runs(self):
        person, _ = self.account()
        person.page.evaluate("""async () => {
          const { Lockstep } = await import("/lockstep.js");
          const { memosApp } = await import("/apps/memos/memosApp.js");
          const lockstep = await Lockstep.open({ relay: location.origin, apps: [memosApp] });
          for (let part = 0; part < 20; part += 1) {
            await lockstep.change(() => Array.from({ length: 100 }, (_, at) => {
              const number = part * 100 + at;
              const content = `Memo ${number} #t${number % 7}\\n${"some words ".repeat(40)}`;
              return { zone: "Memos", name: `m${number}`, type: "Memo",
                fields: { title: `Memo ${number}`, content, date: number } };
            }));
          }
        }""")
        person.page.reload()
        expect(self.rows(person).first).to_contain_text("Memo 1999")
        expect(self.rows(person)).to_have_count(100)
        self.rows(person).last.scroll_into_view_if_needed()
        expect(self.rows(person)).to_have_count(200)
        person.page.get_by_role("searchbox").press_sequentially("memo 1777")
        expect(self.rows(person)).to_have_count(1)
        person.page.get_by_role("searchbox").fill("")
        person.page.get_by_role("list", name="Tags").get_by_role("button", name="#t3").click()
        expect(self.rows(person).first).to_contain_text("Memo 1998")
        self.has_no_barrier(person, "many memos")
