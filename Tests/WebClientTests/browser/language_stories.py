"""The page in the language of the person: of the browser, or as chosen."""

import re
import unittest

from playwright.sync_api import expect

from clipboard_stories import PASTE_IMAGE, picture, text_of
from stage import Story

# Names that no language translates, and what a person typed.
NAMES = re.compile(r"Lockstep|lockstep(?: agent [a-z ]+)?|Chrome|QR|https?|iPhone|iPad|Esc|Ctrl"
                   r"|Mac|PNG|JPEG|GIF|WebP|English|[Ll]inux|laptop|image\.png|keys\.kdbx"
                   r"|X{4}(?:-X{4})*|[KM]iB|Markdown|[Ww]eb|UTC|Space")
ENGLISH = re.compile(r"[A-Za-z]{3,}")
VIEWS = ["timer", "clipboard", "memos", "habits", "files", "devices"]
NARROW = {"width": 320, "height": 640}
# What a person sees or hears of a page: texts, and names of fields and buttons.
TEXTS = """(selector) => {
  const texts = [];
  const root = document.querySelector(selector);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement } = node;
    const isOwn = parentElement.closest("script, noscript, .code, .check-words, .device-name");
    if (!isOwn) texts.push(node.data.trim());
  }
  for (const it of root.querySelectorAll("[aria-label], [title], [placeholder]")) {
    if (it.closest(".row-actions")) continue;
    for (const name of ["aria-label", "title", "placeholder"]) {
      if (it.hasAttribute(name)) texts.push(it.getAttribute(name));
    }
  }
  return texts.filter((it) => it !== "");
}"""


# Least room between two names in the bar.
GAP = """() => {
  const names = [...document.querySelectorAll(".nav-link span")].map((it) => {
    const range = document.createRange();
    range.selectNodeContents(it);
    return range.getBoundingClientRect();
  });
  return Math.min(...names.slice(1).map(({ left }, index) => left - names[index].right));
}"""


class Words:
    """Words of a language that the stories press and read."""

    def __init__(self, language, new, done, synced, seal, views, shortcuts):
        self.language, self.new, self.done, self.synced = language, new, done, synced
        self.seal, self.views, self.shortcuts = seal, views, shortcuts


JAPANESE = Words("ja", "新しいアカウントを作成", "完了", "同期済み", "エンドツーエンドで暗号化",
                 ["タイマー", "クリップボード", "メモ", "習慣", "ファイル", "デバイス"], "ショートカットキー")
CHINESE = Words("zh-Hans", "新建账户", "完成", "已同步", "端到端加密",
                ["计时器", "剪贴板", "备忘录", "习惯", "文件", "设备"], "键盘快捷键")


class LanguageStories(Story):
    def has_no_english(self, person, place, within="body"):
        texts = person.page.evaluate(TEXTS, within)
        left = [text for text in texts if ENGLISH.search(NAMES.sub("", text))]
        self.assertEqual(left, [], place)

    def fits(self, person, place):
        self.has_no_barrier(person, place)
        self.is_not_too_wide(person, place)

    def makes_account(self, person, words):
        person.press(words.new)
        dialog = person.page.get_by_role("dialog")
        expect(dialog.get_by_role("listitem")).to_have_count(17)
        self.has_no_english(person, "the recovery phrase", within="dialog")
        dialog.get_by_role("button", name=words.done).click()
        person.sees_sync(words.synced)

    def opens_everything_in(self, locale, words):
        person = self.visitor(locale=locale, viewport=NARROW)
        page = person.open()
        expect(page.get_by_role("button", name=words.new)).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", words.language)
        expect(page.get_by_label(words.seal)).to_be_checked()
        self.has_no_english(person, "welcome", within=".welcome")
        self.fits(person, "welcome")
        self.makes_account(person, words)
        self.assertGreaterEqual(page.evaluate(GAP), 4)
        for view, name in zip(VIEWS, words.views, strict=True):
            page.get_by_role("navigation").get_by_role("link", name=name).click()
            expect(page.get_by_role("heading", level=1)).to_have_text(name)
            expect(page).to_have_title(re.compile(name))
            self.has_no_english(person, view)
            self.fits(person, view)
        page.locator(".sync-sign").click()
        expect(page.locator(".sync-panel")).to_be_visible()
        self.has_no_english(person, "the sync status", within=".sync-panel")
        return person

    def test_a_browser_in_japanese_shows_all_views_in_japanese(self):
        self.opens_everything_in("ja-JP", JAPANESE)

    def test_a_browser_in_chinese_shows_all_views_in_chinese(self):
        self.opens_everything_in("zh-CN", CHINESE)

    def person_with_things(self):
        """Returns a person who has something in every view, in no language of letters."""
        person = self.visitor(viewport=NARROW)
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("memo", "add", "買い物\n- [ ] 卵 #家")
        laptop.run("habits", "add", "読書")
        laptop.run("habits", "add", "水", "--count", "--target", "8")
        laptop.run("clipboard", "add", "九番線")
        laptop.run("timer", "start")
        laptop.run("sync")
        page = person.page
        person.go("Clipboard")
        expect(page.get_by_text("九番線")).to_be_visible()
        person.press("Pin")
        page.evaluate(PASTE_IMAGE, [text_of(picture()), "#main"])
        expect(page.get_by_text("PNG image")).to_be_visible()
        person.go("Files")
        page.locator("input[type=file]").first.set_input_files(
            {"name": "keys.kdbx", "mimeType": "application/octet-stream", "buffer": b"keys"})
        expect(page.get_by_text("In step")).to_be_visible()
        expect(page.locator(".notice")).to_be_hidden()
        return person

    def opens(self, person, view):
        person.page.evaluate("(view) => { location.hash = view; }", view)
        expect(person.page.locator(f'.nav-link[href="#{view}"]')).to_have_attribute(
            "aria-current", "page")
        expect(person.page.locator(".view[aria-busy]")).to_have_count(0)

    def opens_everything_that_is_there(self, person, words):
        """Opens what a person may open in the views, and returns the name of each in turn."""
        page = person.page
        self.opens(person, "timer")
        for card in page.locator("#main details > summary").all():
            card.click()
        yield "the timer's settings"
        self.opens(person, "clipboard")
        yield "the clipboard"
        self.opens(person, "memos")
        page.locator(".memo-row").click()
        expect(page.locator(".memo-text")).to_be_visible()
        yield "a memo"
        self.opens(person, "habits")
        page.locator('[data-name="open"]').first.click()
        expect(page.locator(".calendar")).to_be_visible()
        yield "the month of a habit"
        page.get_by_role("button", name="年", exact=True).click()
        yield "the year of a habit"
        self.opens(person, "files")
        yield "the files"
        self.opens(person, "devices")
        page.locator(".view .button.primary").filter(visible=True).first.click()
        expect(page.locator(".code")).to_be_visible()
        yield "the devices"
        page.locator(".sync-sign").click()
        yield "the sync status"
        page.keyboard.press("Escape")
        self.opens(person, "habits")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name=words.shortcuts)).to_be_visible()
        yield "the shortcuts"
        page.keyboard.press("Escape")

    def test_what_a_person_has_is_shown_in_each_language(self):
        person = self.person_with_things()
        for words in (JAPANESE, CHINESE):
            self.opens(person, "devices")
            person.page.locator(".language select").select_option(value=words.language)
            expect(person.page.locator("html")).to_have_attribute("lang", words.language)
            expect(person.page.get_by_role("heading", level=1)).to_have_text(words.views[-1])
            for place in self.opens_everything_that_is_there(person, words):
                self.has_no_english(person, f"{place}, {words.language}")
                self.fits(person, f"{place}, {words.language}")

    def test_a_choice_comes_before_the_browser_and_is_kept(self):
        person = self.visitor(locale="ja-JP")
        page = person.open()
        page.get_by_label("ペアリングコード").fill("7Q2M-0XKD-9RTA")
        page.get_by_label("言語").select_option(label="简体中文")
        expect(page.get_by_role("button", name="新建账户")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        # What was typed is still there, and goes with the next opening.
        expect(page.get_by_label("配对码", exact=True)).to_have_value("7Q2M-0XKD-9RTA")
        expect(page.get_by_label("语言")).to_have_value("zh-Hans")
        page.get_by_label("配对码", exact=True).fill("")
        self.makes_account(person, CHINESE)
        person.closes()
        person.opens_again("devices")
        page = person.page
        expect(page.get_by_role("heading", level=1)).to_have_text("设备")
        page.get_by_label("语言").select_option(label="English")
        expect(page.get_by_role("heading", level=1)).to_have_text("Devices")
        expect(page.locator("html")).to_have_attribute("lang", "en")
        page.get_by_label("Language").select_option(label="Browser's language")
        expect(page.get_by_role("heading", level=1)).to_have_text("デバイス")

    def test_a_browser_in_another_language_gets_english(self):
        page = self.visitor(locale="de-AT").open()
        expect(page.get_by_role("button", name="Make a new account")).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", "en")

    def test_a_wrong_code_is_explained_in_the_language(self):
        person = self.visitor(locale="ja-JP")
        page = person.open()
        page.get_by_label("ペアリングコード").fill("7Q2M-0XKD-9RTA")
        person.may_miss_the_relay = True
        person.press("ペアリング", exact=True)
        expect(page.get_by_role("alert")).to_contain_text("期限切れ")
        self.has_no_english(person, "a refusal", within=".welcome")

    def test_a_letter_that_an_input_method_composes_opens_nothing(self):
        person = self.visitor(locale="ja-JP")
        person.open()
        self.makes_account(person, JAPANESE)
        page = person.page
        page.evaluate("""() => {
          for (const sign of [{ isComposing: true }, { keyCode: 229 }]) {
            for (const key of ["?", "h", "2"]) {
              document.body.dispatchEvent(new KeyboardEvent("keydown",
                { key, bubbles: true, cancelable: true, ...sign }));
            }
          }
        }""")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_have_text("タイマー")
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="ショートカットキー")
        expect(dialog).to_be_visible()
        self.has_no_english(person, "the general shortcuts", within="dialog")


if __name__ == "__main__":
    unittest.main()
