"""Files of the vault in the page: added, opened, replaced, in conflict, with a terminal's agent."""

import base64
import hashlib
import json
import re

from playwright.sync_api import expect

from relay import run, wait_until
from stage import Story

# A picture of one pixel.
DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
                       "hgGAWjR9awAAAABJRU5ErkJggg==")


def content(length, seed=1):
    """Returns bytes that look random."""
    blocks = (length + 31) // 32
    return b"".join(hashlib.sha256(b"%d %d" % (seed, block)).digest()
                    for block in range(blocks))[:length]


def given(name, data, kind="application/octet-stream"):
    return {"name": name, "mimeType": kind, "buffer": data}


class VaultStories(Story):
    def account(self, name="laptop", **options):
        """Returns a person with an account, in the files, and a laptop of that account."""
        person = self.visitor(**options)
        person.make_account()
        laptop = self.relay.agent(name, person.show_code())
        self.go_to_files(person)
        return person, laptop

    def go_to_files(self, person):
        person.go("Files")
        expect(person.page.get_by_role("heading", level=1, name="Files")).to_be_visible()

    def rows(self, person, text=None):
        rows = person.page.locator(".vault-rows > .row")
        return rows.filter(has_text=text) if text else rows

    def add(self, person, *files):
        with person.page.expect_file_chooser() as chosen:
            person.press("Add files")
        chosen.value.set_files(list(files))

    def is_in_step(self, person, name):
        expect(self.rows(person, name).locator(".vault-state").first).to_have_text("In step")
        person.is_in_sync()

    def saved(self, person, name):
        """Returns the bytes that the page gives the browser to keep."""
        with person.page.expect_download() as download:
            person.press(f"Download {name}", exact=True)
        # Browsers give the disk no name that hides a file, or that a system may refuse.
        shown = re.sub(r'[<>"]', "_", name).lstrip(".")
        self.assertEqual(download.value.suggested_filename, shown)
        with open(download.value.path(), "rb") as file:
            return file.read()

    def test_a_file_goes_from_the_page_to_a_terminal_and_back(self):
        person, laptop = self.account()
        expect(person.page.get_by_text("No files yet")).to_be_visible()
        data = content(1_500_000)
        self.add(person, given("vault.db", data), given("empty.txt", b""))
        self.is_in_step(person, "vault.db")
        self.is_in_step(person, "empty.txt")
        expect(self.rows(person, "vault.db")).to_contain_text("1.4 MiB, changed just now by this")
        path = self.relay.folder / "vault.db"
        laptop.run("vault", "add", str(path))
        self.assertEqual(path.read_bytes(), data)
        changed = b"first" + data
        path.write_bytes(changed)
        laptop.run("sync")
        expect(self.rows(person, "vault.db")).to_contain_text("by laptop")
        self.assertEqual(self.saved(person, "vault.db"), changed)
        self.assertEqual(self.saved(person, "empty.txt"), b"")

    def drop(self, person, *files):
        """Drops files on the page."""
        self.hand_over(person, "drop", files)

    def paste(self, person, *files):
        self.hand_over(person, "paste", files)

    def hand_over(self, person, kind, files):
        person.page.evaluate("""([kind, files]) => {
          const data = new DataTransfer();
          for (const { name, mimeType, text } of files) {
            data.items.add(new File([text], name, { type: mimeType }));
          }
          const options = { bubbles: true, cancelable: true };
          document.body.dispatchEvent(kind === "drop"
            ? new DragEvent(kind, { ...options, dataTransfer: data })
            : new ClipboardEvent(kind, { ...options, clipboardData: data }));
        }""", [kind, [{"name": name, "mimeType": "text/plain", "text": text}
                      for name, text in files]])

    def details(self, person, name):
        self.rows(person, name).locator(".vault-name").click()
        return person.page.get_by_role("dialog", name="File", exact=True)

    def replace(self, person, name, data):
        """Replaces a file by one of another name."""
        dialog = self.details(person, name)
        with person.page.expect_file_chooser() as chosen:
            dialog.get_by_role("button", name="Replace").click()
        chosen.value.set_files([given("other", data)])

    def shared(self, data, name="vault.db"):
        """Returns a person with a file that a laptop has too, and the laptop, and its path."""
        person, laptop = self.account(f"laptop {name}")
        self.add(person, given(name, data))
        self.is_in_step(person, name)
        path = self.relay.folder / name
        laptop.run("vault", "add", str(path))
        return person, laptop, path

    def notice(self, person, words):
        expect(person.page.locator(".notice")).to_contain_text(words)

    def test_files_are_dropped_pasted_and_have_any_name(self):
        person, laptop = self.account()
        names = ["密码 🔑.txt", "a <b>&\"' #1%2F.txt", ".hidden"]
        self.drop(person, *[(name, name) for name in names[:2]])
        self.paste(person, (names[2], names[2]))
        for name in names:
            self.is_in_step(person, name)
            laptop.run("vault", "add", str(self.relay.folder / name))
            self.assertEqual((self.relay.folder / name).read_text(), name)
            self.assertEqual(self.saved(person, name).decode(), name)
        # What no folder can have is refused, with the next step.
        self.drop(person, ("x" * 256, "text"))
        self.notice(person, "Rename the file, and add it again")
        # A file that misses the list does not replace the page.
        person.go("Timer")
        self.go_to_files(person)
        expect(self.rows(person)).to_have_count(3)

    def test_a_file_of_the_same_name_replaces_or_stands_beside(self):
        person, laptop, path = self.shared(b"first")
        dialog = person.page.get_by_role("dialog", name="There is a file of that name")
        self.add(person, given("vault.db", b"second"))
        dialog.get_by_role("button", name="Cancel").click()
        self.add(person, given("vault.db", b"second"))
        dialog.get_by_role("button", name="Keep both").click()
        self.is_in_step(person, "vault 2.db")
        self.add(person, given("vault.db", b"the third"))
        dialog.get_by_role("button", name="Replace").click()
        expect(self.rows(person, "vault.db")).to_contain_text("9 bytes, changed just now")
        self.is_in_step(person, "vault.db")
        laptop.run("sync")
        self.assertEqual(path.read_bytes(), b"the third")
        self.assertEqual(self.saved(person, "vault 2.db"), b"second")
        # The former version is listed, and can be restored while the relay has it.
        former = self.details(person, "vault.db").get_by_role("listitem")
        expect(former).to_have_count(1)
        former.get_by_role("button", name="Restore").click()
        self.notice(person, "is restored")
        person.is_in_sync()
        laptop.run("sync")
        self.assertEqual(path.read_bytes(), b"first")

    def test_a_version_that_the_person_had_not_seen_becomes_a_copy(self):
        person, laptop, path = self.shared(b"first")
        dialog = self.details(person, "vault.db")
        path.write_bytes(b"from the laptop")
        laptop.run("sync")
        expect(self.rows(person, "vault.db")).to_contain_text("by laptop")
        with person.page.expect_file_chooser() as chosen:
            dialog.get_by_role("button", name="Replace").click()
        chosen.value.set_files([given("new.db", b"from the page")])
        self.notice(person, "Both versions are kept")
        person.is_in_sync()
        copy = self.rows(person, "vault.db").locator(".vault-copy")
        expect(copy).to_contain_text("Another device changed vault.db at the same time")
        laptop.run("sync")
        self.assertEqual(path.read_bytes(), b"from the page")
        [beside] = self.relay.folder.glob("vault_conflict_*.db")
        self.assertEqual(beside.read_bytes(), b"from the laptop")
        with person.page.expect_download() as download:
            copy.get_by_role("button", name="Download this version").click()
        self.assertEqual(download.value.suggested_filename, beside.name)

    def conflict(self, number):
        """Two versions of a file, made without knowledge of each other."""
        person, laptop, path = self.shared(b"first", f"{number}.db")
        path.write_bytes(b"from the laptop")
        self.replace(person, f"{number}.db", b"from the page")
        expect(self.rows(person)).to_contain_text("13 bytes")
        self.is_in_step(person, f"{number}.db")
        laptop.run("sync")
        copy = self.rows(person).locator(".vault-copy")
        expect(copy).to_be_visible()
        self.has_no_barrier(person, "a conflict")
        return person, laptop, path, copy

    def contents(self, laptop, path):
        """Returns the files of the laptop after a sync, the file itself first."""
        laptop.run("sync")
        copies = sorted(path.parent.glob(f"{path.stem}_conflict_*"))
        return [it.read_bytes() for it in [path, *copies]]

    def test_a_conflict_ends_with_the_file_the_other_version_or_both(self):
        for keep, left in (("Keep the file", [b"page"]), ("Keep this version", [b"laptop"]),
                           ("Keep both", [b"page", b"laptop"])):
            with self.subTest(keep):
                person, laptop, path, copy = self.conflict(keep[5:])
                other = person.another_tab()
                other.get_by_role("link", name="Files").click()
                expect(other.locator(".vault-copy")).to_be_visible()
                ours = self.saved(person, path.name).removeprefix(b"from the ")
                if ours == b"laptop":
                    left = [{b"page": b"laptop", b"laptop": b"page"}[it] for it in left]
                copy.get_by_role("button", name=keep).click()
                expect(copy).to_have_count(0)
                expect(other.locator(".vault-copy")).to_have_count(0)
                person.is_in_sync()
                expect(self.rows(person)).to_have_count(len(left))
                self.assertEqual(self.contents(laptop, path), [b"from the " + left[0]])
                if len(left) == 2:
                    name = f"{path.stem} 2.db"
                    self.assertEqual(self.saved(person, name), b"from the " + left[1])

    def test_a_deleted_file_comes_back_on_all_devices(self):
        person, laptop, path = self.shared(b"first")
        person.press("Delete vault.db")
        expect(self.rows(person)).to_have_count(0)
        person.is_in_sync()
        laptop.run("sync")
        self.assertFalse(path.exists())
        person.press("Undo")
        self.is_in_step(person, "vault.db")
        self.assertIn("vault.db", laptop.run("vault", "list"))
        laptop.run("sync")
        laptop.run("vault", "add", str(path))
        self.assertEqual(path.read_bytes(), b"first")

    def test_an_upload_waits_for_the_relay_and_continues(self):
        person, laptop = self.account()
        person.may_miss_the_relay = True
        data = content(12_000_000)
        sent = []
        person.context.on("request", lambda it: it.method == "PUT" and sent.append(it.url))
        self.relay.stop()
        person.sees_sync("Offline")
        self.add(person, given("large.db", data), given("small.db", b"small"))
        waiting = person.page.get_by_role("list", name="On their way")
        expect(waiting).to_contain_text("The relay cannot be reached")
        self.has_no_barrier(person, "waiting files")
        self.relay.start()
        # The relay dies in the middle of the upload.
        wait_until(lambda: self.pumped(person) and len(sent) > 10, lambda: "nothing is sent")
        self.relay.kill()
        expect(waiting).to_contain_text("The relay cannot be reached")
        self.relay.start()
        self.is_in_step(person, "large.db")
        self.is_in_step(person, "small.db")
        # No chunk that had arrived was sent again.
        self.assertLessEqual(len(sent), len(set(sent)) + 4)
        laptop.run("vault", "add", str(self.relay.folder / "large.db"))
        self.assertEqual((self.relay.folder / "large.db").read_bytes(), data)

    def pumped(self, person):
        """Lets Playwright report what has happened."""
        return person.page.evaluate("() => true")

    def test_only_what_runs_nothing_is_opened(self):
        person, laptop = self.account()
        page = "<script>document.title = 'ran'</script>"
        self.drop(person, ("notes.txt", page), ("page.html", page), ("drawing.svg", page))
        for name in ("notes.txt", "page.html", "drawing.svg"):
            self.is_in_step(person, name)
        for name in ("page.html", "drawing.svg"):
            dialog = self.details(person, name)
            expect(dialog.get_by_role("button", name="Download")).to_be_visible()
            expect(dialog.get_by_role("button", name="Open")).to_have_count(0)
            dialog.get_by_role("button", name="Close").click()
        dialog = self.details(person, "notes.txt")
        self.has_no_barrier(person, "details of a file")
        with person.context.expect_page() as opened:
            dialog.get_by_role("button", name="Open").click()
        expect(opened.value.locator("body")).to_contain_text(page)
        self.assertNotEqual(opened.value.title(), "ran")
        # A picture is seen, although the page itself shows none from elsewhere.
        self.add(person, given("dot.png", DOT, "image/png"))
        self.is_in_step(person, "dot.png")
        with person.context.expect_page() as opened:
            self.details(person, "dot.png").get_by_role("button", name="Open").click()
        opened.value.wait_for_function("() => document.images[0]?.naturalWidth === 1")
        # The page's policy, which the tab has too, refuses the browser's own style around it.
        self.pumped(person)
        person.faults = [it for it in person.faults if not it.startswith("Applying inline style")]

    def test_what_the_relay_has_lost_or_changed_is_said_and_a_device_sends_it_again(self):
        person, laptop, path = self.shared(content(300_000))
        chunks = sorted((self.relay.folder / "store" / "chunks").glob("[!i]*/*"))
        self.assertGreater(len(chunks), 0)
        first, kept = chunks[0], chunks[0].read_bytes()
        # The browser reports each answer 404.
        person.may_miss_the_relay = True
        first.write_bytes(bytes([kept[0] ^ 1]) + kept[1:])
        person.press("Download vault.db")
        self.notice(person, "not that of the file")
        first.unlink()
        person.press("Download vault.db")
        self.notice(person, "does not have the whole content")
        expect(self.rows(person, "vault.db")).to_contain_text("Waits for a device")
        laptop.run("sync")
        person.go("Timer")
        person.go("Files")
        expect(self.rows(person, "vault.db")).to_contain_text("In step")
        self.assertEqual(self.saved(person, "vault.db"), path.read_bytes())

    def test_the_vault_of_a_plain_account_is_explained_and_opens_once_it_is_sealed(self):
        person = self.visitor()
        person.make_account(is_sealed=False)
        laptop = self.relay.agent("laptop", person.show_code())
        path = self.relay.folder / "vault.db"
        path.write_bytes(b"sealed with a key of its own")
        laptop.run("vault", "add", str(path))
        person.go("Files")
        limit = person.page.locator(".vault-limit")
        expect(limit).to_contain_text("This account is not sealed")
        expect(limit).to_contain_text("One file is sealed with the vault's own key")
        expect(person.page.get_by_role("button", name="Add files")).to_be_hidden()
        self.drop(person, ("a.txt", "not sent"))
        expect(self.rows(person)).to_have_count(0)
        self.has_no_barrier(person, "an account that is not sealed")
        laptop.run("seal", "Vault", "--now")
        expect(person.page.locator(".plan-note")).to_contain_text("Vault is sealed")
        code = laptop.json("pair")[0]["code"]
        person.go("Devices")
        person.page.get_by_label("Whole code").fill(code)
        person.press("Open", exact=True)
        words = person.page.get_by_role("dialog", name="Compare six words")
        words.get_by_role("button", name="Done").click()
        person.is_in_sync()
        self.go_to_files(person)
        self.is_in_step(person, "vault.db")
        self.assertEqual(self.saved(person, "vault.db"), path.read_bytes())
        self.replace(person, "vault.db", b"new")
        expect(self.rows(person)).to_contain_text("3 bytes")
        self.is_in_step(person, "vault.db")
        laptop.run("sync")
        self.assertEqual(path.read_bytes(), b"new")

    def test_a_reader_of_the_vault_alone_sees_files_and_changes_none(self):
        person, laptop, path = self.shared(b"first")
        reader = self.visitor()
        reader.pair(laptop.json("pair", "--zones", "Vault", "--read-only")[0]["code"])
        self.assertEqual(self.saved(reader, "vault.db"), b"first")
        expect(reader.page.get_by_role("button", name="Add files")).to_be_hidden()
        expect(reader.page.get_by_role("button", name="Delete vault.db")).to_be_hidden()
        expect(self.details(reader, "vault.db").get_by_role("button")).to_have_text(
            ["Download", "Close"])

    def test_a_phone_shows_the_files_whole(self):
        person, laptop = self.account(viewport={"width": 320, "height": 640},
                                      color_scheme="dark")
        self.drop(person, ("an unusually_long_name_of_a_file_" + "x" * 60 + ".txt", "text"))
        self.is_in_step(person, "unusually")
        self.is_not_too_wide(person, "the files")
        self.has_no_barrier(person, "the files on a phone")
        dialog = self.details(person, "unusually")
        self.has_no_barrier(person, "details on a phone")
        wide = dialog.evaluate("(it) => it.scrollWidth - it.clientWidth")
        self.assertLessEqual(wide, 0)

    def test_two_pages_and_a_terminal_agree_after_they_worked_apart(self):
        person, laptop, path = self.shared(b"first")
        other = self.visitor()
        other.pair(laptop.json("pair")[0]["code"])
        self.go_to_files(other)
        self.is_in_step(other, "vault.db")
        for page in (person, other):
            page.may_miss_the_relay = True
        # A change wins over a deletion that was made without knowledge of it.
        person.context.set_offline(True)
        person.sees_sync("Offline")
        person.press("Delete vault.db")
        expect(self.rows(person)).to_have_count(0)
        self.replace(other, "vault.db", b"of the other page")
        expect(self.rows(other)).to_contain_text("17 bytes")
        other.is_in_sync()
        person.context.set_offline(False)
        self.is_in_step(person, "vault.db")
        self.assertEqual(self.saved(person, "vault.db"), b"of the other page")
        self.assertEqual(self.contents(laptop, path), [b"of the other page"])
        # Both end one conflict in the same way at once.
        path.write_bytes(b"of the laptop")
        self.replace(person, "vault.db", b"of this page")
        expect(self.rows(person)).to_contain_text("12 bytes")
        person.is_in_sync()
        laptop.run("sync")
        copies = [self.rows(page).locator(".vault-copy") for page in (person, other)]
        for copy in copies:
            expect(copy).to_be_visible()
        for page, copy in zip((person, other), copies):
            page.context.set_offline(True)
            page.sees_sync("Offline")
            copy.get_by_role("button", name="Keep both").click()
            expect(copy).to_have_count(0)
        for page in (person, other):
            page.context.set_offline(False)
        for page in (person, other):
            page.is_in_sync()
            expect(self.rows(page)).to_have_count(2)
            expect(page.page.locator(".vault-copy")).to_have_count(0)
        kept = [self.saved(page, name) for page in (person, other)
                for name in ("vault.db", "vault 2.db")]
        self.assertEqual(kept[:2], kept[2:])
        self.assertEqual(sorted(kept[:2]), [b"of the laptop", b"of this page"])
        self.assertEqual(self.contents(laptop, path), kept[:1])

    def test_the_phrase_opens_the_files_after_the_loss_of_all_devices(self):
        person, laptop, path = self.shared(b"first")
        person.go("Devices")
        person.press("Show the recovery phrase")
        words = person.reads_phrase()
        store = ["--store", self.relay.folder / "store"]
        account = json.loads(run("account", "list", "--json", *store))["accountID"]
        code = json.loads(run("account", "pair", account, "--json", *store))["code"]
        person.closes()
        found = self.visitor()
        found.open()
        found.page.get_by_label("Pairing code").fill(code)
        found.press("Pair", exact=True)
        found.press("Not now")
        found.go("Files")
        expect(found.page.locator(".plan-note")).to_contain_text("Vault is sealed")
        expect(self.rows(found)).to_have_count(0)
        expect(found.page.get_by_role("button", name="Add files")).to_be_hidden()
        self.has_no_barrier(found, "files without keys")
        found.go("Devices")
        found.page.get_by_label("recovery phrase").fill(" ".join(words))
        found.press("Open", exact=True)
        compared = found.page.get_by_role("dialog", name="Compare six words")
        found.page.add_locator_handler(
            compared, lambda: compared.get_by_role("button", name="Done").click(), times=1)
        found.is_in_sync()
        self.go_to_files(found)
        self.is_in_step(found, "vault.db")
        self.assertEqual(self.saved(found, "vault.db"), b"first")
