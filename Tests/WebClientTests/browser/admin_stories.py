"""The relay's owner manages its accounts in a browser."""

import json
import re
import tarfile

from playwright.sync_api import expect

from relay import run
from stage import Story

PHONE = {"width": 390, "height": 844}
SIZES = [{"width": 1280, "height": 800}, PHONE, {"width": 320, "height": 640}]


class AdminStories(Story):
    @property
    def store(self):
        return ["--store", self.relay.folder / "store"]

    def link(self):
        """Returns the path of a new link to sign in."""
        url = json.loads(run("relay", "admin", "--json", *self.store))["url"]
        self.assertTrue(url.startswith(self.relay.owners_url), url)
        return url.removeprefix(self.relay.owners_url)

    def owner(self, **options):
        """Returns a person who has signed in by a link."""
        owner = self.visitor(is_owner=True, **options)
        owner.open(self.link())
        expect(owner.page.get_by_role("heading", level=1, name="Accounts")).to_be_visible()
        return owner

    def accounts(self):
        listed = run("account", "list", "--json", *self.store).splitlines()
        return [json.loads(line) for line in listed]

    def make_account(self, owner, name):
        """Makes an account in the page. Returns the link that the page shows."""
        page = owner.page
        owner.go("Accounts")
        page.get_by_role("link", name="New account").click()
        page.get_by_label("Name", exact=True).fill(name)
        owner.press("Make the account")
        expect(page.get_by_role("heading", name=f"“{name}” is made")).to_be_focused()
        return page.locator(".code-link").inner_text()

    def open_account(self, owner, name):
        owner.go("Accounts")
        owner.page.get_by_role("table").get_by_role("link", name=name, exact=True).click()
        expect(owner.page.get_by_role("heading", level=1, name=name)).to_be_visible()

    def join(self, link):
        """Returns a person whose phone has joined by a link of the owner."""
        phone = self.visitor(viewport=PHONE)
        phone.open(link.removeprefix(self.relay.url))
        phone.press("Pair", exact=True)
        phone.reads_phrase()
        phone.is_in_sync()
        return phone

    def test_a_phone_joins_by_the_link_of_a_new_account_and_is_revoked(self):
        owner = self.owner()
        page = owner.page
        self.assertNotIn("code", page.url)
        expect(page.get_by_text("No account yet")).to_be_visible()
        link = self.make_account(owner, "mum")
        expect(page.get_by_role("img", name="Link as a QR code")).to_be_visible()
        self.assertTrue(link.startswith(f"{self.relay.url}/#code="), link)
        page.get_by_role("link", name="Open the account").click()
        expect(page.get_by_text("No device has joined yet")).to_be_visible()
        phone = self.join(link)
        row = page.get_by_role("listitem").filter(has_text="Connected now")
        expect(row).to_contain_text("Chrome on Linux")
        expect(row).to_contain_text("The whole account")
        owner.go("Accounts")
        cells = page.get_by_role("row").filter(has_text="mum").get_by_role("cell")
        expect(cells.nth(0)).to_have_text("1")
        expect(cells.nth(1)).to_have_text(re.compile("just now|min ago"))
        self.open_account(owner, "mum")
        owner.press("Revoke Chrome on Linux")
        question = page.get_by_role("dialog", name="Revoke “Chrome on Linux”?")
        self.has_no_barrier(owner, "the question")
        phone.may_miss_the_relay = True
        question.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("No device has joined yet")).to_be_visible()
        expect(phone.page.get_by_role("button", name="Pair", exact=True)).to_be_visible()

    def test_a_double_click_makes_one_account_and_no_second_of_the_same_name(self):
        owner = self.owner()
        page = owner.page
        page.get_by_role("link", name="New account").click()
        owner.press("Make the account")
        expect(page.get_by_role("alert")).to_contain_text("Give the account a name")
        page.get_by_label("Name", exact=True).fill("  mum ")
        page.get_by_role("button", name="Make the account").dblclick()
        expect(page.get_by_role("heading", name="“mum” is made")).to_be_visible()
        owner.press("Another account")
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type("mum")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("“mum” already")
        self.assertEqual([it["label"] for it in self.accounts()], ["mum"])

    def test_a_plan_is_changed_and_what_is_typed_stays_until_it_is_saved(self):
        owner = self.owner()
        page = owner.page
        self.make_account(owner, "mum")
        self.open_account(owner, "mum")
        page.get_by_label("Only these zones").check()
        page.get_by_label("Memos").check()
        page.get_by_label("Other zones").fill("Recipes")
        page.get_by_label("Room for records").fill("lots")
        with page.expect_response(re.compile("/devices$")):
            pass
        owner.press("Save the plan")
        expect(page.get_by_role("alert")).to_contain_text("a number of MiB")
        expect(page.get_by_label("Room for records")).to_be_focused()
        page.get_by_label("Room for records").fill("0.5")
        owner.press("Save the plan")
        expect(page.get_by_text("The plan is saved.")).to_be_visible()
        self.assertEqual(self.accounts()[0]["plan"],
                         {"zones": ["Memos", "Recipes"], "recordBytes": 1 << 19})
        page.reload()
        expect(page.get_by_label("Room for records")).to_have_value("0.5")
        expect(page.get_by_label("Other zones")).to_have_value("Recipes")

    def test_a_new_code_lets_a_terminal_in_when_all_devices_are_lost(self):
        owner = self.owner()
        page = owner.page
        self.make_account(owner, "mum")
        self.open_account(owner, "mum")
        page.get_by_label("The code is valid for").select_option("7 days")
        owner.press("Make a code")
        code = page.locator(".code")
        expect(code).to_be_visible()
        laptop = self.relay.agent("laptop", code.inner_text())
        laptop.run("memo", "add", "seen by nobody else")
        laptop.run("sync")
        expect(page.get_by_role("listitem").filter(has_text="laptop")).to_be_visible()
        self.assertNotIn("seen by nobody else", page.inner_text("body"))
        owner.go("Accounts")
        self.open_account(owner, "mum")
        expect(code).to_be_hidden()

    def test_an_export_is_the_one_of_the_terminal(self):
        owner = self.owner()
        page = owner.page
        self.make_account(owner, "mum")
        self.open_account(owner, "mum")
        owner.press("Make a code")
        expect(page.locator(".code")).to_be_visible()
        laptop = self.relay.agent("laptop", page.locator(".code").inner_text())
        file = self.relay.folder / "photo"
        # Two chunks.
        file.write_bytes(bytes(range(256)) * 20_000)
        laptop.run("memo", "add", "Bread, butter")
        laptop.run("vault", "add", file)
        laptop.run("sync")
        with page.expect_download() as kept:
            owner.press("Export the account")
        expect(page.get_by_text(re.compile("^Done: "))).to_be_visible()
        self.assertRegex(kept.value.suggested_filename, r"^lockstep-mum-\d{4}-\d\d-\d\d\.tar$")
        path = self.relay.folder / "mum.tar"
        kept.value.save_as(path)
        account = self.accounts()[0]["accountID"]
        folder = self.relay.folder / "export"
        run("account", "export", account, folder, *self.store)
        with tarfile.open(path) as archive:
            files = {it.name: archive.extractfile(it).read() for it in archive.getmembers()}
        told = {str(it.relative_to(folder)): it.read_bytes()
                for it in folder.rglob("*") if it.is_file()}
        root = f"lockstep-{account}/"
        self.assertEqual({name.removeprefix(root) for name in files}, set(told))
        self.assertGreater(len(told), 4)
        for name, content in told.items():
            if name != "account.json":
                self.assertEqual(self.timeless(files[root + name]), self.timeless(content), name)
        facts = [json.loads(it) for it in (files[root + "account.json"], told["account.json"])]
        for it in facts:
            self.assertGreater(it.pop("exportedAt"), 0)
        self.assertEqual(*facts)

    def timeless(self, content):
        """The last contact of a device may be later in the second export."""
        return re.sub(rb'"lastSeen":\d+', b"", content)

    def test_an_account_is_removed_once_its_name_is_typed(self):
        owner = self.owner()
        page = owner.page
        self.make_account(owner, "mum")
        self.make_account(owner, "dad")
        self.open_account(owner, "mum")
        owner.press("Remove …")
        asked = page.get_by_role("dialog", name="Remove “mum”?")
        name = asked.get_by_role("textbox")
        expect(name).to_be_focused()
        name.fill("dad")
        page.keyboard.press("Enter")
        expect(asked.get_by_role("alert")).to_contain_text("Nothing was removed")
        self.has_no_barrier(owner, "the removal")
        name.fill("mum")
        page.keyboard.press("Enter")
        expect(page.get_by_text("“mum” is removed.")).to_be_visible()
        expect(page.get_by_role("table").get_by_role("link")).to_have_text(["dad"])
        self.assertEqual([it["label"] for it in self.accounts()], ["dad"])

    def test_a_link_works_once_and_signing_out_ends_the_session(self):
        link = self.link()
        owner = self.visitor(is_owner=True)
        page = owner.page
        owner.open(link)
        expect(page.get_by_role("heading", level=1, name="Accounts")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", level=1, name="Accounts")).to_be_visible()
        owner.press("Sign out")
        expect(page.get_by_text("You are signed out.")).to_be_visible()
        # The browser reports each answer that is a refusal.
        owner.may_miss_the_relay = True
        page.reload()
        expect(page.get_by_role("heading", name="Sign in with a link")).to_be_visible()
        owner.open("/")
        owner.open(link)
        said = page.get_by_role("alert")
        expect(said).to_contain_text("used already")
        expect(said).to_contain_text("lockstep relay admin")
        self.has_no_barrier(owner, "a used link")
        page.get_by_label("Link or code").fill("no link")
        page.keyboard.press("Enter")
        expect(said).to_contain_text("no link to this page")
        page.get_by_label("Link or code").fill(self.relay.owners_url + self.link())
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1, name="Accounts")).to_be_visible()

    def test_a_session_that_ends_is_noticed_and_nothing_of_it_stays_on_the_screen(self):
        owner = self.owner()
        page = owner.page
        self.make_account(owner, "mum")
        self.open_account(owner, "mum")
        other = page.context.new_page()
        other.goto(self.relay.owners_url + self.link())
        expect(other.get_by_role("heading", level=1, name="Accounts")).to_be_visible()
        owner.may_miss_the_relay = True
        # The relay forgets the session, as after a restart.
        token = page.evaluate("() => sessionStorage.getItem('lockstep-owner')")
        other.evaluate("""(token) => fetch("/v1/admin/sessions",
          { method: "DELETE", headers: { Authorization: `Bearer ${token}` } })""", token)
        expect(page.get_by_text("Your session has ended")).to_be_visible()
        self.assertNotIn("mum", page.inner_text("body"))
        # The other tab has a session of its own.
        other.reload()
        expect(other.get_by_role("link", name="mum")).to_be_visible()

    def test_the_store_and_the_live_figures_are_shown(self):
        owner = self.owner()
        page = owner.page
        owner.go("Store")
        backup = page.get_by_role("region", name="Last backup")
        expect(backup).to_contain_text("None yet")
        run("relay", "backup", *self.store, self.relay.folder / "backups")
        page.reload()
        expect(backup).to_contain_text("Made just now")
        expect(page.get_by_text("SQLite")).to_be_visible()
        owner.go("Live figures")
        expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
        expect(page.locator("[data-text=accounts]")).to_have_text("of 0 accounts; 0 in the store")
        owner.press("Pause")
        expect(page.get_by_role("status").filter(has_text="Paused")).to_be_visible()

    def test_a_relay_that_is_away_is_told_with_a_next_step(self):
        owner = self.owner()
        page = owner.page
        owner.may_miss_the_relay = True
        owner.context.set_offline(True)
        owner.go("Store")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")
        page.get_by_role("link", name="Accounts").click()
        page.get_by_role("link", name="New account").click()
        page.get_by_label("Name", exact=True).fill("mum")
        owner.press("Make the account")
        expect(page.get_by_role("alert")).to_contain_text("try again")
        # What was typed is there.
        owner.context.set_offline(False)
        owner.press("Make the account")
        expect(page.get_by_role("heading", name="“mum” is made")).to_be_visible()

    def test_the_page_works_with_the_keyboard_alone(self):
        owner = self.owner()
        page = owner.page
        page.keyboard.press("Tab")
        self.reach(page, "New account")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type("mum")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="“mum” is made")).to_be_focused()
        self.reach(page, "Open the account")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1, name="mum")).to_be_visible()
        self.reach(page, "Remove …")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Remove …")).to_be_focused()

    def reach(self, page, words):
        """Moves the focus by Tab until it is on the control with these words."""
        for _ in range(60):
            if page.evaluate("() => document.activeElement.textContent") == words:
                return
            page.keyboard.press("Tab")
        self.fail(f"{words} is not reached")

    def test_axe_finds_nothing_and_no_view_is_too_wide(self):
        for size in SIZES:
            for scheme in ("light", "dark"):
                with self.subTest(size=size["width"], scheme=scheme):
                    self.views(self.owner(viewport=size, color_scheme=scheme),
                               f"{size['width']} {scheme}")

    def views(self, owner, place):
        page = owner.page
        self.make_account(owner, f"mum's account of {place}, whose name is long")
        self.checked(owner, f"a new account, {place}")
        page.get_by_role("link", name="Open the account").click()
        owner.press("Make a code")
        expect(page.locator(".code")).to_be_visible()
        page.get_by_label("Only these zones").check()
        self.checked(owner, f"an account, {place}")
        owner.go("Accounts")
        self.checked(owner, f"accounts, {place}")
        owner.go("Store")
        expect(page.get_by_role("region", name="Last check")).to_be_visible()
        self.checked(owner, f"the store, {place}")
        owner.go("Live figures")
        expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
        self.checked(owner, f"live figures, {place}")
        owner.press("Sign out")
        self.checked(owner, f"sign in, {place}")

    def checked(self, owner, place):
        self.has_no_barrier(owner, place)
        self.is_not_too_wide(owner, place)

    def test_the_page_at_the_public_address_takes_nothing_of_other_pages(self):
        self.relay.stop()
        self.relay.has_admin_page = True
        self.relay.start()
        owner = self.visitor(service_workers="allow")
        page = owner.open()
        owner.has_its_files_kept()
        # A script of another page of this origin has put its own file among those that are kept.
        page.evaluate("""async () => {
          for (const name of await caches.keys()) {
            const cache = await caches.open(name);
            for (const { url } of await cache.keys()) {
              if (!url.endsWith("controls.js")) continue;
              const headers = { "Content-Type": "text/javascript" };
              await cache.put(url, new Response("globalThis.isOthers = true;", { headers }));
            }
          }
        }""")
        url = json.loads(run("relay", "admin", "--json", *self.store))["url"]
        self.assertTrue(url.startswith(self.relay.url), url)
        owner.open(url.removeprefix(self.relay.url))
        expect(page.get_by_role("heading", level=1, name="Accounts")).to_be_visible()
        self.assertIsNone(page.evaluate("() => globalThis.isOthers ?? null"))
