"""Files of the vault in the page: added, opened, replaced, in conflict, with a terminal's agent."""

import hashlib

from playwright.sync_api import expect

from relay import wait_until
from stage import Story


def content(length, seed=1):
    """Returns bytes that look random."""
    blocks = (length + 31) // 32
    return b"".join(hashlib.sha256(b"%d %d" % (seed, block)).digest()
                    for block in range(blocks))[:length]


def given(name, data, kind="application/octet-stream"):
    return {"name": name, "mimeType": kind, "buffer": data}


class VaultStories(Story):
    def account(self, **options):
        """Returns a person with an account, in the files, and a laptop of that account."""
        person = self.visitor(**options)
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        person.go("Files")
        return person, laptop

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
        self.assertEqual(download.value.suggested_filename, name)
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
