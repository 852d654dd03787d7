"""Figures of the timer: the same in the page and in a terminal, each focus once."""

from playwright.sync_api import expect

from stage import Story


class TimerStatisticsStories(Story):
    def test_a_focus_counts_once_in_the_page_and_in_the_terminal(self):
        person = self.visitor(viewport={"width": 320, "height": 568})
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("timer", "settings", "set", "focusMinutes=0.05", "shortBreakMinutes=5")
        person.is_in_sync()
        person.go("Timer")
        page = person.page
        page.get_by_text("Statistics", exact=True).click()
        rows = page.locator(".statistics tbody tr")
        expect(rows).to_have_count(7)
        expect(rows.first).to_contain_text("–")
        for count in ("1", "2"):
            # One begins in the page, the other in the terminal.
            if count == "1":
                person.press("Start focus")
            else:
                laptop.run("timer", "start")
            expect(page.locator(".timer-phase")).to_have_text("Break")
            expect(rows.locator("td:first-of-type").filter(has_text=count)).to_have_count(1)
            person.press("End break")
            person.is_in_sync()
            laptop.run("sync")
        self.has_no_barrier(person, "the statistics")
        self.is_not_too_wide(person, "the statistics")
        for unit, words, number in [
                ("day", "Days", 7), ("week", "Weeks", 8), ("month", "Months", 12),
                ("year", "Years", 5)]:
            page.get_by_role("button", name=words, exact=True).click()
            expect(rows).to_have_count(number)
            shown = rows.locator("td:first-of-type").all_inner_texts()
            figures = laptop.json("timer", "stats", "--by", unit)[0]["periods"]
            self.assertEqual(shown, [str(it["pomodoros"]) for it in reversed(figures)])
            self.assertEqual(sum(int(it) for it in shown), 2)

    def test_long_figures_fit_on_a_narrow_phone_in_each_language(self):
        person = self.visitor(viewport={"width": 320, "height": 568})
        person.make_account()
        page = person.page
        for language, length in [
                ("en", "12 h 30 min"), ("zh-Hans", "12 小时 30 分钟"), ("ja", "12時間30分")]:
            page.evaluate("(it) => localStorage.setItem('lockstep language', it)", language)
            page.goto(f"{person.url}/#timer")
            page.reload()
            expect(page.locator("html")).to_have_attribute("lang", language)
            page.locator(".statistics summary").click()
            rows = page.locator(".statistics tbody tr")
            for unit, number in [("day", 7), ("week", 8), ("month", 12), ("year", 5)]:
                page.locator(f"[data-unit={unit}]").click()
                expect(rows).to_have_count(number)
                rest = rows.first.evaluate("""(row, length) => {
                  row.children[1].textContent = "1234";
                  row.children[2].textContent = length;
                  const right = (node) => node.getBoundingClientRect().right;
                  return right(row.closest(".statistics")) - right(row);
                }""", length)
                self.assertGreater(rest, 0, f"{language} {unit}")
