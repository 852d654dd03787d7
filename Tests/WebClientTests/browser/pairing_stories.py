"""A browser becomes a device of an account, and all its devices show the same countdown."""

from playwright.sync_api import expect

from stage import Story, Visitor

# Records each change of the countdown, with its wall clock time.
WATCH = """() => {
  const place = document.querySelector(".timer-time");
  window.turns = [];
  new MutationObserver(() => turns.push([place.textContent, Date.now()]))
    .observe(place, { childList: true, characterData: true, subtree: true });
}"""
STEP_MILLISECONDS = 200


class PairingStories(Story):
    def test_an_account_with_one_press_and_a_terminal_that_joins_it(self):
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        expect(person.page.get_by_text("laptop", exact=True)).to_be_visible()
        person.go("Clipboard")
        laptop.run("clipboard", "add", "from the terminal")
        expect(person.page.get_by_text("from the terminal")).to_be_visible()
        person.page.get_by_label("New item").fill("from the page")
        person.press("Add")
        person.is_in_sync()
        laptop.run("sync")
        self.assertIn("from the page", laptop.run("clipboard", "list"))

    def test_who_joined_a_moment_ago_is_called_by_name(self):
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        person.go("Clipboard")
        laptop.run("clipboard", "add", "from a newcomer")
        expect(person.page.get_by_text("laptop, just now")).to_be_visible()

    def test_a_relay_whose_owner_makes_the_accounts_offers_no_new_one(self):
        self.relay.stop()
        self.relay.is_open = False
        self.relay.start()
        person = self.visitor(service_workers="allow")
        person.may_miss_the_relay = True
        person.open()
        hint = person.page.get_by_text("The owner of this relay makes the accounts")
        create = person.page.get_by_role("button", name="Make a new account")
        expect(hint).to_be_visible()
        expect(create).to_be_hidden()
        expect(person.page.get_by_label("Seal it")).to_be_hidden()
        # Without an answer nothing is known, and it is offered.
        person.has_its_files_kept()
        self.relay.stop()
        person.page.reload()
        expect(create).to_be_visible()
        expect(hint).to_be_hidden()
        self.relay.is_open = True
        self.relay.start()
        person.page.reload()
        person.press("Make a new account")
        person.reads_phrase()
        person.is_in_sync()

    def test_a_link_brings_a_code_and_is_followed_by_one_press(self):
        first, second = self.visitor(), self.visitor()
        first.make_account(is_sealed=False)
        code = first.show_code()
        # The twelve further letters open a vault, which a page does not use.
        second.open(f"/#code={code}-C4VH-1EZB-83NW")
        expect(second.page.get_by_label("Pairing code")).to_have_value(code)
        self.assertNotIn("code", second.page.url)
        second.press("Pair", exact=True)
        second.is_in_sync()
        second.go("Devices")
        expect(second.page.locator(".row")).to_have_count(2)

    def test_a_wrong_code_is_told_and_sent_only_where_it_may_be_one(self):
        person = self.visitor()
        person.may_miss_the_relay = True
        person.open()
        asked = []
        person.page.on(
            "request", lambda request: "/v1/devices" in request.url and asked.append(request))
        person.page.get_by_label("Pairing code").fill("1234")
        person.press("Pair", exact=True)
        expect(person.page.get_by_role("alert")).to_contain_text("no pairing code")
        self.assertEqual(asked, [])
        person.page.get_by_label("Pairing code").fill("0000-0000-0000")
        person.press("Pair", exact=True)
        expect(person.page.get_by_role("alert")).to_contain_text("wrong, used or too old")

    def test_two_pages_and_a_terminal_count_down_in_step(self):
        first, second = self.visitor(), self.visitor()
        first.make_account()
        second.pair(first.show_code())
        laptop = self.relay.agent("laptop", first.show_code())
        for visitor in (first, second):
            visitor.go("Timer")
            expect(visitor.page.locator(".timer-time")).to_be_attached()
            visitor.page.evaluate(WATCH)
        laptop.run("timer", "start")
        shown = laptop.json("timer", "status")[0]
        zero_at = shown["at"] + shown["remaining"]
        for visitor in (first, second):
            visitor.page.wait_for_function("() => window.turns.length >= 5")
            self.assertLess(self.least_off(visitor, zero_at), STEP_MILLISECONDS)
        first.press("Pause")
        expect(second.page.get_by_role("button", name="Resume")).to_be_visible()
        times = [it.page.get_by_role("timer").inner_text() for it in (first, second)]
        self.assertEqual(times[0], times[1])

    def least_off(self, visitor: Visitor, zero_at):
        """Returns the difference between a page's changes and the instants of the terminal's
        countdown: the smallest one, because a busy machine may delay any of them."""
        offs = []
        for text, at in visitor.page.evaluate("() => window.turns")[1:]:
            minutes, seconds = map(int, text.split(":"))
            offs.append(abs(zero_at - 1_000 * (60 * minutes + seconds) - at))
        return min(offs)

    def test_the_countdown_stands_in_the_title_and_in_the_sign(self):
        person = self.visitor()
        person.make_account()
        person.press("Start focus")
        person.page.wait_for_function(
            "() => /^2[45]:\\d\\d Focus · Lockstep$/.test(document.title)")
        sign = person.page.locator('link[rel="icon"]').get_attribute("href")
        self.assertTrue(sign.startswith("data:image/svg+xml,"))
        person.press("Skip")
        expect(person.page.get_by_text("Break", exact=True)).to_be_visible()
        person.press("Snooze")
        expect(person.page.get_by_text("Snooze", exact=True).first).to_be_visible()
        person.press("Stop")
        expect(person.page.get_by_role("button", name="Start focus")).to_be_visible()
        person.page.wait_for_function("() => document.title === 'Timer · Lockstep'")

    def test_over_plain_http_it_says_so_and_works(self):
        person = self.visitor(host="relay.test")
        person.make_account()
        self.assertFalse(person.page.evaluate("() => isSecureContext"))
        expect(person.page.get_by_text("This page came over plain http")).to_be_visible()
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.page.reload()
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.is_in_sync()

    def test_lengths_are_set_and_nonsense_is_refused_in_words(self):
        person = self.visitor()
        person.make_account()
        person.page.get_by_text("Lengths and breaks").click()
        person.page.get_by_label("Focus (min)").fill("50")
        person.press("Save")
        expect(person.page.get_by_role("timer")).to_have_text("50:00")
        person.page.get_by_label("Focus (min)").fill("-3")
        person.press("Save")
        expect(person.page.get_by_role("alert")).to_contain_text("focusMinutes")
