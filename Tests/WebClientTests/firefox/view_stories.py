"""The views of the page in Firefox: files, the clipboard, memos, habits and languages."""

import os
import pathlib
import shutil
import tempfile
import unittest

from firefox import Firefox
from page_server import PageServer
from relay import Relay, wait_until

# If set, the page's files come from this folder, not from the relay.
PAGES = os.environ.get("LOCKSTEP_PAGES")
PICTURE = (pathlib.Path(__file__).resolve().parents[3]
           / "Sources" / "WebClient" / "page" / "icons" / "icon-192.png")
CLIPS = "return [...document.querySelectorAll('.clip')].map((it) => it.innerText)"
MEMO = "return document.querySelector('.memo-text').value"
PICTURES = """return [...document.querySelectorAll(".clip-picture img")]
  .filter((it) => it.complete && it.naturalWidth > 0).length"""


class ViewStories(unittest.TestCase):
    def setUp(self):
        self.relay = Relay()
        self.addCleanup(self.relay.close)
        url = self.relay.url
        if PAGES:
            server = PageServer(PAGES, self.relay)
            self.addCleanup(server.close)
            url = server.url
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-downloads-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.person = Firefox(url, **{
            "browser.download.folderList": 2, "browser.download.dir": str(self.folder),
            "browser.download.useDownloadDir": True,
            "browser.download.alwaysOpenPanel": False,
        })
        self.addCleanup(self.person.close)

    def laptop(self):
        return self.relay.agent("laptop", self.person.shows_code())

    def changes(self, device, *words, said=""):
        device.run(*words, said=said)
        device.run("sync")

    def has_clips(self, *texts):
        wait_until(lambda: self.person.in_page(CLIPS) == list(texts),
                   lambda: f"the page has {self.person.in_page(CLIPS)}, not {texts}")

    def test_a_file_is_added_downloaded_and_brought_back(self):
        person = self.person
        person.makes_account(is_sealed=True)
        person.goes_to("Files")
        content = bytes(range(256)) * 4_000
        (self.folder / "keys.kdbx").write_bytes(content)
        person.types("//input[@type='file']", self.folder / "keys.kdbx")
        person.sees("In step")
        (self.folder / "keys.kdbx").unlink()
        person.clicks("//button[@aria-label='Download keys.kdbx']")
        saved = self.folder / "keys.kdbx"
        wait_until(lambda: saved.exists() and saved.read_bytes() == content,
                   lambda: f"there are {sorted(self.folder.iterdir())}")
        person.clicks("//button[@aria-label='Delete keys.kdbx']")
        person.sees("No files yet")
        person.presses("Undo")
        person.sees("keys.kdbx")
        self.assertNotIn("No files yet", person.text)

    def test_a_paste_is_an_item_that_is_pinned_and_taken_back(self):
        person = self.person
        person.makes_account()
        laptop = self.laptop()
        person.goes_to("Clipboard")
        person.pastes("platform 9")
        self.has_clips("platform 9")
        self.changes(laptop, "clipboard", "add", "carriage 27")
        self.has_clips("carriage 27", "platform 9")
        person.clicks("//li[contains(., 'platform 9')]//button[@aria-label='Pin']")
        self.has_clips("platform 9", "carriage 27")
        person.presses("Undo")
        self.has_clips("carriage 27", "platform 9")
        person.clicks("//li[contains(., 'carriage 27')]//button[@aria-label='Delete']")
        self.has_clips("platform 9")
        person.presses("Undo")
        self.has_clips("carriage 27", "platform 9")
        person.types("//input[@type='file']", PICTURE)
        person.sees("PNG image, ")
        wait_until(lambda: person.in_page(PICTURES) == 1, lambda: "the image has no small picture")
        person.sees_no_longer("Waits here")

    def test_a_memo_gets_a_former_version_back(self):
        person = self.person
        person.makes_account()
        laptop = self.laptop()
        self.changes(laptop, "memo", "add", "Shopping\nbread")
        person.goes_to("Memos")
        person.clicks("//button[contains(@class, 'memo-row')]")
        wait_until(lambda: person.in_page(MEMO) == "Shopping\nbread",
                   lambda: "the memo is not open")
        self.changes(laptop, "memo", "edit", "Shopping", said="Shopping\nsalt")
        wait_until(lambda: person.in_page(MEMO) == "Shopping\nsalt",
                   lambda: f"the memo is {person.in_page(MEMO)}")
        person.clicks("//button[@aria-label='Former versions']")
        person.clicks("//dialog//ul//button")
        person.presses("Restore this version")
        wait_until(lambda: person.in_page(MEMO) == "Shopping\nbread",
                   lambda: f"the memo is {person.in_page(MEMO)}")

    def test_a_forgotten_day_is_filled_in_a_habits_month(self):
        person = self.person
        person.makes_account()
        laptop = self.laptop()
        self.changes(laptop, "habits", "add", "Read")
        person.goes_to("Habits")
        person.clicks("//button[@data-name='open']")
        person.sees("Longest streak")
        # The first days of a month have no earlier one in it.
        person.clicks("//button[@aria-label='Previous month']")
        person.clicks("//table//button[normalize-space()='15']")
        person.clicks("//div[@class='detail-row']//*[@role='checkbox']")
        person.sees("In all\n1 day")
        person.presses("Year")
        person.sees("1 of ")
        # The browser's Back button closes the habit.
        person.in_page("history.back()")
        person.sees_no_longer("Longest streak")

    def test_a_person_chooses_the_language(self):
        person = self.person
        person.opens()
        person.types("//input[@autocapitalize='characters']", "7Q2M")
        person.clicks("//select/option[@value='ja']")
        person.sees("新しいアカウントを作成")
        self.assertEqual(person.in_page("return document.documentElement.lang"), "ja")
        # What was typed is still there.
        wait_until(lambda: person.in_page(
            "return [...document.querySelectorAll('input')].some((it) => it.value === '7Q2M')"),
            lambda: "the code is gone")
        person.opens("/#timer")
        person.sees("新しいアカウントを作成")
        person.clicks("//select/option[@value='en']")
        person.sees("Make a new account")


if __name__ == "__main__":
    unittest.main()
