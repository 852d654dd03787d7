"""Browsers join an account whose zones are sealed: the relay has its records, and cannot read
them."""

import json
import pathlib
import re
import urllib.request
import uuid

from playwright.sync_api import expect

from relay import Agent, run, wait_until
from stage import BROKEN_WORDS, Story, Visitor

SECOND = "C4VH-1EZB-83NW"
# Makes keys of an account, and wraps them with the page's own modules.
WRAP = """async ({ account, letters }) => {
  const [{ AccountKeys }, { SealingKeys }, { ZoneSet }, { scrypt },
    { newWrapSalt, wrap, wrapStretching }] = await Promise.all(
      ["accountKeys", "sealingKeys", "zoneSet", "scrypt", "wrappedKeys"]
        .map((name) => import(`/sealing/${name}.js`)));
  const random = (count) => crypto.getRandomValues(new Uint8Array(count));
  const keys = SealingKeys.ofAccount(AccountKeys.make(random), ZoneSet.allBut(["Keys", "Vault"]));
  const salt = newWrapSalt(random);
  const { password, parameters } = wrapStretching(letters, salt);
  return wrap(keys, { account, salt, key: scrypt(password, parameters) });
}"""
# The record of the keys, and the same keys for a code; they seal the memos alone.
SEAL_MEMOS = """async ({ account, letters }) => {
  const [{ AccountKeys }, { SealingKeys }, { ZoneSet }, { ringFields }, { scrypt },
    { newWrapSalt, wrap, wrapStretching }] = await Promise.all(
      ["accountKeys", "sealingKeys", "zoneSet", "keyRing", "scrypt", "wrappedKeys"]
        .map((name) => import(`/sealing/${name}.js`)));
  const random = (count) => crypto.getRandomValues(new Uint8Array(count));
  const keys = SealingKeys.ofAccount(AccountKeys.make(random), ZoneSet.only(["Memos"]));
  const salt = newWrapSalt(random);
  const { password, parameters } = wrapStretching(letters, salt);
  const wrapped = wrap(keys, { account, salt, key: scrypt(password, parameters) });
  return { wrapped, ring: ringFields(keys) };
}"""
TESTS = pathlib.Path(__file__).parents[2]
CHECKS = "/Tests/WebClientTests/sealing/sealChecks.js"
# Returns the cases of the vectors in which the page's modules give something else.
CHECK = """async ({ checks: file, lines }) => {
  const [{ checks }, { parse }, { serialize }] = await Promise.all(
    [file, "/json/jsonParser.js", "/json/jsonValue.js"].map((it) => import(it)));
  return lines.filter((line) => {
    const { kind, case: given, expect } = parse(line);
    return serialize(checks[kind](given, expect)) !== serialize(expect);
  });
}"""
MEMO = "The quick brown fox\nis a secret of this account"


class SealedStories(Story):
    def setUp(self):
        super().setUp()
        self.token = None
        self.account = self.ask("/v1/accounts", {
            "deviceName": "by hand", "platform": "shell", "appVersion": "1"})
        self.token = self.account["token"]

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            self.relay.url + path, headers=headers, data=body and json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def code(self, visitor: Visitor):
        """Returns the first half of a code that carries new keys."""
        visitor.open()
        wrapped = visitor.page.evaluate(WRAP, {
            "account": self.account["accountID"], "letters": SECOND.replace("-", "")})
        return self.ask("/v1/pairings", {"wrapped": wrapped})["code"]

    def sealed_visitor(self, **options):
        """A browser that has joined with the account's keys."""
        visitor = self.visitor(**options)
        self.join(visitor, f"{self.code(visitor)}-{SECOND}")
        return visitor

    def join(self, visitor, code):
        visitor.open()
        visitor.page.get_by_label("Pairing code").fill(code)
        visitor.press("Pair", exact=True)
        self.compares(visitor)

    def compares(self, visitor):
        """Closes the question after a join. Returns the words."""
        dialog = visitor.page.get_by_role("dialog", name="Compare six words")
        expect(dialog.get_by_role("listitem")).to_have_count(6)
        words = dialog.get_by_role("listitem").all_inner_texts()
        dialog.get_by_role("button", name="Done").click()
        visitor.is_in_sync()
        return words

    def writes_memo(self, visitor):
        visitor.go("Memos")
        visitor.press("New memo")
        visitor.page.get_by_label("Memo", exact=True).fill(MEMO)
        visitor.is_in_sync()

    def reads_memo(self, visitor):
        visitor.go("Memos")
        visitor.press(MEMO.split("\n", maxsplit=1)[0])
        expect(visitor.page.get_by_label("Memo", exact=True)).to_have_value(MEMO)

    def shown_words(self, visitor):
        words = visitor.page.locator(".compare li")
        expect(words).to_have_count(6)
        return words.all_inner_texts()

    def shows_words(self, visitor, words):
        """The view of the devices shows these check words, now or in a moment."""
        expect(visitor.page.locator(".compare li")).to_have_text(words)

    def devices(self):
        return [it["deviceName"] for it in self.ask("/v1/devices")["devices"]]

    def stored(self):
        """All bytes of the relay's store."""
        files = (self.relay.folder / "store").rglob("*")
        return b"".join(it.read_bytes() for it in files if it.is_file())

    def test_seals_in_a_browser_are_those_of_the_vectors(self):
        visitor = self.visitor(host="relay.test")
        visitor.context.route(f"{visitor.url}/Tests/**", lambda route: route.fulfill(
            body=(TESTS / "WebClientTests/sealing/sealChecks.js").read_text("utf-8"),
            content_type="text/javascript"))
        # The checks name the page's modules by their folder in the repository.
        source = f"{visitor.url}/Sources/WebClient"
        visitor.context.route(f"{source}/**", lambda route: route.fulfill(
            body=f'export * from "{route.request.url.removeprefix(source)}";',
            content_type="text/javascript"))
        visitor.open()
        text = (TESTS / "SealingTests/Vectors/Seals.jsonl").read_text("utf-8")
        lines = text.removesuffix("\n").split("\n")
        self.assertGreater(len(lines), 300)
        self.assertEqual(visitor.page.evaluate(CHECK, {"checks": CHECKS, "lines": lines}), [])

    def test_a_memo_reaches_a_browser_that_was_paired_and_the_relay_cannot_read_it(self):
        first = self.sealed_visitor(color_scheme="dark")
        self.writes_memo(first)
        code = first.show_code()
        self.assertRegex(code, r"^([0-9A-Z]{4}-){5}[0-9A-Z]{4}$")
        expect(first.page.get_by_text("have only the first half")).to_be_visible()
        self.has_no_barrier(first, "a code with keys")
        # A page over plain http has no cryptography of the browser's.
        second = self.visitor(host="relay.test", viewport={"width": 320, "height": 640})
        sent = []
        second.page.on("request", lambda it: sent.append(f"{it.url} {it.post_data}"))
        self.join(second, code.lower().replace("-", " "))
        self.reads_memo(second)
        letters = code.replace("-", "")[12:]
        self.assertFalse(any(letters in re.sub("[^0-9A-Z]", "", it.upper()) for it in sent))
        for visitor in (first, second):
            visitor.go("Devices")
            self.is_not_too_wide(visitor, "devices")
        self.assertEqual(self.shown_words(first), self.shown_words(second))
        self.has_no_barrier(second, "check words")
        # After a reload it still has the keys.
        second.page.reload()
        self.reads_memo(second)
        changes = self.ask("/v1/changes")["changes"]
        memos = [it["fields"] for it in changes if it["zone"] == "Memos"]
        self.assertEqual([sorted(it) for it in memos], [["key", "sealed"]])
        stored = self.stored()
        self.assertIn(b"by hand", stored)
        self.assertNotIn(b"quick brown fox", stored)
        self.assertNotIn(b"secret of this", stored)

    def test_a_link_brings_the_first_half_and_a_mistyped_second_half_is_typed_again(self):
        first = self.sealed_visitor()
        self.writes_memo(first)
        code = first.show_code()
        half, letters = code[:14], code[15:]
        wrong = letters[:-1] + ("0" if letters[-1] != "0" else "1")
        second = self.visitor(color_scheme="dark", viewport={"width": 390, "height": 844})
        page = second.page
        # The page does not take the second half from an address, which it could only lose.
        second.open(f"/#code={code}")
        expect(page.get_by_label("Pairing code")).to_have_value(half)
        self.assertNotIn("code", page.url)
        second.press("Pair", exact=True)
        asked = page.get_by_label("Second half")
        expect(asked).to_be_focused()
        expect(page.get_by_label("Pairing code")).to_be_hidden()
        self.has_no_barrier(second, "the second half")
        asked.fill("1234")
        second.press("Open the account")
        expect(page.get_by_role("alert")).to_contain_text("12 letters and digits")
        asked.fill(wrong)
        second.press("Open the account")
        expect(page.get_by_role("alert")).to_contain_text("4 tries left")
        self.has_no_barrier(second, "a wrong second half")
        # Nothing is here yet.
        page.evaluate("""async () => {
          const stored = await new Promise((resolve) => {
            const request = indexedDB.open("lockstep");
            request.onsuccess = () => {
              const values = request.result.transaction("values").objectStore("values");
              const keys = values.getAllKeys();
              keys.onsuccess = () => { request.result.close(); resolve(keys.result); };
            };
          });
          if (stored.includes("identity")) throw new Error("the account is stored");
        }""")
        asked.fill(letters.lower())
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_count(6)
        self.has_no_barrier(second, "six words")
        self.is_not_too_wide(second, "six words")
        words = self.compares(second)
        self.reads_memo(second)
        first.go("Devices")
        self.assertEqual(self.shown_words(first), words)
        self.assertEqual(len(self.devices()), 3)

    def test_the_first_phone_of_an_invited_person_seals_the_account(self):
        offer = json.loads(run("account", "create", "mum", "--store", self.relay.folder / "store",
                               "--public-url", self.relay.url, "--json"))
        first = self.visitor(viewport={"width": 390, "height": 844})
        first.open(offer["link"].removeprefix(self.relay.url))
        first.press("Pair", exact=True)
        expect(first.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(17)
        self.has_no_barrier(first, "the phrase")
        first.reads_phrase()
        first.is_in_sync()
        self.writes_memo(first)
        self.assertNotIn(b"quick brown fox", self.stored())
        self.assertEqual(len(first.show_code()), 29)

    def test_the_phrase_opens_the_account_when_all_devices_are_lost(self):
        first = self.sealed_visitor()
        self.writes_memo(first)
        first.go("Devices")
        first.press("Show the recovery phrase")
        words = first.reads_phrase()
        offer = json.loads(run("account", "pair", self.account["accountID"], "--store",
                               self.relay.folder / "store", "--public-url", self.relay.url,
                               "--json"))
        second = self.visitor(viewport={"width": 390, "height": 844})
        page = second.page
        second.open(offer["link"].removeprefix(self.relay.url))
        second.press("Pair", exact=True)
        # The words are asked for before anything else, also after a reload.
        typed = page.get_by_label("Recovery phrase")
        expect(typed).to_be_focused()
        expect(page.get_by_role("navigation")).to_be_hidden()
        self.has_no_barrier(second, "the form for the phrase")
        self.is_not_too_wide(second, "the form for the phrase")
        page.reload()
        expect(typed).to_be_visible()
        typed.fill(" ".join(words[:16]))
        expect(page.get_by_text("Words so far: 16 of 17.")).to_be_visible()
        second.press("Open", exact=True)
        expect(page.get_by_role("alert")).to_contain_text("85 letters in all; there are 80")
        typed.fill(" ".join(["cater", *words[1:]]))
        expect(page.get_by_text("Not a word of a phrase: “cater” (word 1).")).to_be_visible()
        second.press("Open", exact=True)
        expect(page.get_by_role("alert")).to_contain_text("“cater” (word 1)")
        self.has_no_barrier(second, "a wrong word")
        # As a list from a file has it.
        typed.fill("\n".join(f"{at}. {word.upper()}" for at, word in enumerate(words, 1)))
        second.press("Open", exact=True)
        second.is_in_sync()
        self.reads_memo(second)
        page.reload()
        second.is_in_sync()

    def test_who_has_no_phrase_at_hand_goes_on_and_opens_the_account_later(self):
        first = self.sealed_visitor()
        self.writes_memo(first)
        code = run("account", "pair", self.account["accountID"], "--store",
                   self.relay.folder / "store", "--json")
        second = self.visitor(color_scheme="dark", viewport={"width": 320, "height": 568})
        page = second.page
        second.open()
        page.get_by_label("Pairing code").fill(json.loads(code)["code"])
        second.press("Pair", exact=True)
        expect(page.get_by_label("Recovery phrase")).to_be_visible()
        self.has_no_barrier(second, "the form for the phrase")
        self.is_not_too_wide(second, "the form for the phrase")
        second.press("Not now")
        second.sees_sync("Keys missing")
        page.reload()
        second.sees_sync("Keys missing")
        # A key brings the button for shortcuts into the bar.
        page.keyboard.press("2")
        expect(page.get_by_role("heading", name="Clipboard")).to_be_visible()
        expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
        self.assertEqual(page.evaluate(BROKEN_WORDS), [])
        # The memos are there, and cannot be read here.
        second.go("Memos")
        expect(page.locator(".plan-note")).to_contain_text("Memos is sealed")
        expect(page.get_by_text("No memos yet")).to_be_hidden()
        second.go("Devices")
        page.get_by_label("whole code").fill(first.show_code())
        second.press("Open", exact=True)
        self.compares(second)
        self.reads_memo(second)

    def test_a_link_to_keys_joins_nobody_when_the_relay_leaves_them_out(self):
        first, second = self.visitor(), self.visitor()
        first.make_account(is_sealed=False)
        second.open(f"/#code={first.show_code()}&keys")
        # There is no record that the second half could open.
        second.may_miss_the_relay = True
        second.press("Pair", exact=True)
        expect(second.page.get_by_role("alert")).to_contain_text("the relay has given none")
        first.go("Devices")
        expect(first.page.locator(".row")).to_have_count(1)

    def test_who_gives_up_or_mistypes_too_often_leaves_no_device(self):
        first, second = self.sealed_visitor(), self.visitor()
        page = second.page
        second.open(f"/#code={first.show_code()}")
        second.press("Pair", exact=True)
        expect(page.get_by_label("Second half")).to_be_visible()
        self.assertEqual(len(self.devices()), 3)
        second.press("Cancel")
        expect(page.get_by_role("alert")).to_contain_text("make a new code")
        expect(page.get_by_label("Second half")).to_be_hidden()
        self.assertEqual(len(self.devices()), 2)
        page.get_by_label("Pairing code").fill(f"{first.show_code()[:14]}-0000-0000-0000")
        second.press("Pair", exact=True)
        for left in ("4 tries", "3 tries", "2 tries", "1 try"):
            expect(page.get_by_role("alert")).to_contain_text(f"{left} left")
            page.get_by_label("Second half").fill("0000-0000-0000")
            second.press("Open the account")
        expect(page.get_by_role("alert")).to_contain_text("wrong 5 times")
        self.assertEqual(len(self.devices()), 2)
        # The next code is a new beginning.
        self.join(second, first.show_code())
        self.assertEqual(len(self.devices()), 3)

    def test_terminals_and_a_page_give_each_other_the_keys(self):
        laptop = Agent(self.relay.folder / "laptop")
        laptop.run("join", "--relay", self.relay.url, "--new", "--sealed", "--name", "laptop")
        laptop.run("memo", "add", MEMO)
        laptop.run("sync")
        person = self.visitor()
        self.join(person, laptop.json("pair")[0]["code"])
        self.reads_memo(person)
        person.go("Devices")
        words = laptop.json("key", "words")[0]["words"]
        self.assertEqual(" ".join(self.shown_words(person)), words)
        tablet = self.relay.agent("tablet", person.show_code())
        tablet.run("sync")
        self.assertIn("The quick brown fox", tablet.run("memo", "list"))
        self.assertEqual(tablet.json("key", "words")[0]["words"], words)
        tablet.run("clipboard", "add", "from the tablet")
        tablet.run("sync")
        person.go("Clipboard")
        expect(person.page.get_by_text("from the tablet")).to_be_visible()
        stored = self.stored()
        self.assertNotIn(b"quick brown fox", stored)
        self.assertNotIn(b"from the tablet", stored)

    def test_devices_go_on_with_new_keys_after_a_page_removes_one(self):
        laptop = Agent(self.relay.folder / "laptop")
        laptop.run("join", "--relay", self.relay.url, "--new", "--sealed", "--name", "laptop")
        person = self.visitor()
        self.join(person, laptop.json("pair")[0]["code"])
        lost = self.relay.agent("lost", laptop.json("pair")[0]["code"])
        lost.run("sync")
        laptop.run("sync")
        person.go("Devices")
        page = person.page
        words = self.shown_words(person)
        page.get_by_role("button", name="Remove lost").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("new keys first")
        self.has_no_barrier(person, "the question before a removal")
        dialog.get_by_role("button", name="Remove").click()
        expect(page.get_by_text("“lost” is removed.")).to_be_visible()
        expect(page.get_by_text("The recovery phrase is another one now")).to_be_visible()
        expect(page.get_by_text("could not get")).to_have_count(0)
        expect(page.locator(".compare li").first).not_to_have_text(words[0])
        self.writes_memo(person)

        def has_memo():
            page.wait_for_timeout(100)
            laptop.run("sync")
            return "The quick brown fox" in laptop.run("memo", "list")

        wait_until(has_memo, lambda: "the laptop does not have the memo")
        person.go("Devices")
        self.shows_words(person, laptop.json("key", "words")[0]["words"].split())
        # Another rotation, by the terminal: the shown words follow.
        laptop.run("key", "rotate")
        laptop.run("clipboard", "add", "from the laptop")
        laptop.run("sync")
        self.shows_words(person, laptop.json("key", "words")[0]["words"].split())
        person.go("Clipboard")
        expect(page.get_by_text("from the laptop")).to_be_visible()

    def test_a_page_names_the_devices_that_cannot_get_new_keys(self):
        first, second = self.sealed_visitor(), self.visitor()
        self.join(second, first.show_code())
        first.go("Devices")
        page = first.page
        page.get_by_role("button", name="Remove Chrome on Linux").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.get_by_text("“by hand” could not get the account's new keys")).to_be_visible()
        self.has_no_barrier(first, "devices to pair again")

    def test_a_page_of_a_zone_that_is_sealed_later_takes_the_keys_and_goes_on(self):
        person = self.visitor(color_scheme="dark", viewport={"width": 390, "height": 844})
        page = person.page
        person.pair(self.ask("/v1/pairings", {})["code"])
        self.writes_memo(person)
        person.go("Timer")
        made = page.evaluate(SEAL_MEMOS, {
            "account": self.account["accountID"], "letters": SECOND.replace("-", "")})
        self.ask("/v1/zones/Keys/records", {"id": str(uuid.uuid4()), "records": [{
            "name": "ring", "type": "keyRing", "fields": made["ring"], "modifiedAt": 1,
            "baseTag": 0}]})
        person.sees_sync("Keys missing")
        person.go("Memos")
        expect(page.locator(".plan-note")).to_contain_text("Memos is sealed, and this browser")
        expect(page.get_by_role("button", name="New memo")).to_be_hidden()
        self.has_no_barrier(person, "a locked view")
        person.go("Clipboard")
        page.get_by_label("New item").fill("goes on")
        person.press("Add")
        person.go("Devices")
        page.get_by_label("whole code").fill("7Q2M-0XKD-9RTA")
        person.press("Open", exact=True)
        expect(page.get_by_role("alert")).to_contain_text("24 letters")
        self.has_no_barrier(person, "a card for the keys")
        self.is_not_too_wide(person, "a card for the keys")
        code = self.ask("/v1/pairings", {"wrapped": made["wrapped"]})["code"]
        page.get_by_label("whole code").fill(f"{code}-0000-0000-0000")
        person.press("Open", exact=True)
        page.get_by_label("Second half").fill(SECOND)
        person.press("Open the account")
        self.compares(person)
        expect(page.get_by_label("whole code")).to_be_hidden()
        expect(page.locator(".compare li")).to_have_count(6)
        self.assertEqual(len(self.devices()), 2)
        self.reads_memo(person)
        # It is sealed in the place of the plain record, and the rest stays plain.
        changes = self.ask("/v1/changes")["changes"]
        fields = [sorted(it["fields"]) for it in changes if it["zone"] == "Memos"]
        self.assertIn(["key", "sealed"], fields)
        self.assertEqual(len([it for it in changes if it["zone"] == "Clipboard"]), 1)
        second = self.visitor()
        self.join(second, person.show_code())
        self.reads_memo(second)

    def test_an_account_that_a_page_makes_is_sealed_unless_the_person_decides_otherwise(self):
        person = self.visitor(color_scheme="dark", viewport={"width": 320, "height": 640})
        person.open()
        person.press("Make a new account")
        dialog = person.page.get_by_role("dialog", name="The recovery phrase")
        expect(dialog).to_be_visible()
        # What the words are for is read before them.
        expect(dialog.get_by_role("heading")).to_be_in_viewport()
        self.has_no_barrier(person, "a recovery phrase")
        self.is_not_too_wide(person, "a recovery phrase")
        phrase = person.reads_phrase()
        self.writes_memo(person)
        laptop = self.relay.agent("laptop", person.show_code())
        self.assertEqual(laptop.json("key", "phrase", "--show")[0]["phrase"].split(), phrase)
        person.press("Show the recovery phrase")
        self.assertEqual(person.reads_phrase(), phrase)
        self.assertNotIn(b"quick brown fox", self.stored())
        plain = self.visitor()
        plain.make_account(is_sealed=False)
        self.writes_memo(plain)
        plain.go("Devices")
        expect(plain.page.get_by_role("button", name="Show the recovery phrase")).to_be_hidden()
        self.assertIn(b"quick brown fox", self.stored())

    def test_a_page_goes_on_while_a_terminal_seals_its_memos(self):
        laptop = self.relay.agent("laptop", self.ask("/v1/pairings", {})["code"])
        person = self.visitor()
        page = person.page
        person.pair(self.ask("/v1/pairings", {})["code"])
        self.writes_memo(person)
        laptop.run("sync")
        # The keys first: nothing is sealed before the devices have them.
        laptop.run("seal", "Memos", code=1)
        person.go("Devices")
        page.get_by_label("whole code").fill(laptop.json("pair")[0]["code"])
        person.press("Open", exact=True)
        words = self.compares(person)
        self.assertEqual(" ".join(words), laptop.json("key", "words")[0]["words"])
        self.reads_memo(person)
        laptop.run("sync")
        laptop.run("seal", "Memos", "--now")
        page.get_by_label("Memo", exact=True).fill(f"{MEMO}, and more")
        person.is_in_sync()

        def has_memo():
            page.wait_for_timeout(100)
            laptop.run("sync")
            return f"{MEMO}, and more" in laptop.json("memo", "show", "1")[0]["content"]

        wait_until(has_memo, lambda: "the laptop does not have the memo")
        person.is_in_sync()
        changes = self.ask("/v1/changes")["changes"]
        memos = [it["fields"] for it in changes if it["zone"] == "Memos" and "fields" in it]
        self.assertEqual([sorted(it) for it in memos], [["key", "sealed"]])
        page.reload()
        person.go("Memos")
        person.press(MEMO.split("\n", maxsplit=1)[0])
        expect(page.get_by_label("Memo", exact=True)).to_have_value(f"{MEMO}, and more")

    def test_a_code_for_some_apps_carries_their_keys_alone(self):
        first, second = self.sealed_visitor(), self.visitor()
        self.writes_memo(first)
        first.go("Devices")
        page = first.page
        page.get_by_text("Limit what the new device may do").click()
        page.get_by_label("Only some apps").check()
        page.get_by_role("group", name="Apps").get_by_label("Memos").check()
        first.press("Show a pairing code")
        code = page.locator(".code")
        expect(code).to_have_text(re.compile("^([0-9A-Z]{4}-){5}[0-9A-Z]{4}$"))
        second.pair(code.inner_text())
        self.reads_memo(second)
        expect(second.page.get_by_role("dialog")).to_have_count(0)
        second.go("Devices")
        expect(second.page.locator(".row")).to_have_count(1)
        expect(second.page.locator(".compare")).to_be_hidden()
