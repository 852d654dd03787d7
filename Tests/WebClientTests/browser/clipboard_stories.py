"""The clipboard of a person with two browsers and a terminal: pastes, pins, undo, images, and what
other apps share with the installed page."""

import base64
import pathlib
import struct
import tempfile
import zlib

from playwright.sync_api import expect

from relay import wait_until
from stage import PAGES, Story

LIST = ".clipboard-rows > .row"
# Puts a picture into a paste event, as a browser does for a person who presses Ctrl+V.
PASTE_IMAGE = """([data, target]) => {
  const bytes = Uint8Array.from(atob(data), (it) => it.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "image.png", { type: "image/png" }));
  const event = new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true });
  document.querySelector(target).dispatchEvent(event);
}"""
PASTE_TEXT = """([text, target]) => {
  const transfer = new DataTransfer();
  transfer.setData("text/plain", text);
  const event = new ClipboardEvent("paste",
    { clipboardData: transfer, bubbles: true, cancelable: true });
  document.querySelector(target).dispatchEvent(event);
}"""
COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  const blob = await item.getType("image/png");
  const bitmap = await createImageBitmap(blob);
  return [item.types, bitmap.width, bitmap.height];
}"""
# Copies a picture as another program would.
COPY_IMAGE = """async (data) => {
  const bytes = Uint8Array.from(atob(data), (it) => it.charCodeAt(0));
  const blob = new Blob([bytes], { type: "image/png" });
  await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
}"""
# Sends a form as the system's share sheet does. `files`: name, type and Base64 of each.
SHARE = """({ url, fields, files }) => {
  const form = document.createElement("form");
  Object.assign(form, { action: url, method: "post", enctype: "multipart/form-data" });
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { name, value });
    form.append(input);
  }
  const transfer = new DataTransfer();
  for (const [name, type, data] of files) {
    const bytes = Uint8Array.from(atob(data), (it) => it.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type }));
  }
  const input = document.createElement("input");
  Object.assign(input, { type: "file", name: "images", multiple: true, files: transfer.files });
  form.append(input);
  document.body.append(form);
  form.submit();
}"""
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}


def picture(width=240, height=160, noise=0):
    """A PNG with coloured stripes. `noise`: bytes that make it larger."""
    rows = b"".join(b"\0" + b"".join(
        bytes((x * 255 // width, y * 255 // height, 160 if (x // 20) % 2 else 60))
        for x in range(width)) for y in range(height))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
              (b"IDAT", zlib.compress(rows)), (b"noSe", bytes(noise)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks)


def text_of(data):
    return base64.b64encode(data).decode()


class ClipboardStories(Story):
    def person(self, **options):
        person = self.visitor(**options)
        person.make_account()
        person.go("Clipboard")
        return person

    def second(self, person, **options):
        """Another browser of the same account, in the same view."""
        other = self.visitor(**options)
        other.pair(person.show_code())
        other.go("Clipboard")
        person.go("Clipboard")
        return other

    def adds(self, visitor, text):
        visitor.page.get_by_label("New item").fill(text)
        visitor.press("Add", exact=True)

    def row(self, visitor, text):
        return visitor.page.locator(LIST).filter(has_text=text)

    def acts(self, visitor, text, name):
        self.row(visitor, text).get_by_role("button", name=name, exact=True).click()

    def sees(self, visitor, *texts):
        """The rows in this order."""
        expect(visitor.page.locator(f"{LIST} .clip")).to_have_text(list(texts))

    def says(self, visitor, words):
        expect(visitor.page.locator(".notice")).to_contain_text(words)

    def undoes(self, visitor):
        visitor.page.locator(".notice").get_by_role("button", name="Undo").click()

    def pastes_image(self, visitor, data, target="#main"):
        visitor.page.evaluate(PASTE_IMAGE, [text_of(data), target])

    def test_two_browsers_and_a_terminal_are_in_step_through_pins_deletes_and_undo(self):
        one = self.person()
        two = self.second(one)
        laptop = self.relay.agent("laptop", one.show_code())
        one.go("Clipboard")
        for text in ("first", "second", "third"):
            self.adds(one, text)
        self.sees(two, "third", "second", "first")
        self.acts(two, "first", "Pin")
        self.says(two, "Pinned.")
        self.sees(one, "first", "third", "second")
        expect(self.row(one, "first")).to_contain_text("Pinned")
        laptop.run("sync")
        listed = laptop.run("clipboard", "list").splitlines()
        self.assertTrue(listed[0].endswith("[pinned] first"), listed)
        laptop.run("clipboard", "pin", "3")
        laptop.run("sync")
        self.sees(one, "second", "first", "third")
        # An undone unpin.
        self.acts(one, "first", "Unpin")
        self.says(one, "No longer pinned.")
        self.sees(two, "second", "third", "first")
        self.undoes(one)
        self.sees(two, "second", "first", "third")
        # A delete, undone, puts the item where it was.
        self.acts(two, "first", "Delete")
        self.sees(one, "second", "third")
        self.undoes(two)
        self.sees(one, "second", "first", "third")
        # All but the pinned items.
        one.press("Delete all")
        dialog = one.page.get_by_role("dialog")
        expect(dialog).to_contain_text("Pinned items stay.")
        dialog.get_by_role("button", name="Delete all").click()
        self.says(one, "Deleted 1 item.")
        self.sees(two, "second", "first")
        self.undoes(one)
        self.sees(two, "second", "first", "third")
        laptop.run("clipboard", "clear")
        laptop.run("sync")
        self.sees(two, "second", "first")
        # If only pinned items are left, they go.
        two.press("Delete all")
        dialog = two.page.get_by_role("dialog", name="Delete all pinned items?")
        dialog.get_by_role("button", name="Delete all").click()
        self.sees(one)
        self.undoes(two)
        self.sees(one, "second", "first")
        laptop.run("sync")
        self.assertEqual([it["content"] for it in laptop.json("clipboard", "list")[0]["items"]],
                         ["second", "first"])

    def test_devices_that_were_apart_agree_on_pins_and_deletes(self):
        one = self.person()
        laptop = self.relay.agent("laptop", one.show_code())
        one.go("Clipboard")
        for text in ("kept", "pinned away", "deleted"):
            self.adds(one, text)
        self.sees(one, "deleted", "pinned away", "kept")
        one.is_in_sync()
        laptop.run("sync")
        one.may_miss_the_relay = True
        one.context.set_offline(True)
        one.sees_sync("Offline")
        self.acts(one, "pinned away", "Pin")
        self.acts(one, "kept", "Pin")
        self.sees(one, "pinned away", "kept", "deleted")
        laptop.run("clipboard", "remove", "1")
        laptop.run("clipboard", "add", "from the laptop")
        one.context.set_offline(False)
        self.sees(one, "pinned away", "kept", "from the laptop")
        one.is_in_sync()
        laptop.run("sync")
        listed = laptop.json("clipboard", "list")[0]["items"]
        self.assertEqual([(it["content"], it["pinned"]) for it in listed],
                         [("pinned away", True), ("kept", True), ("from the laptop", False)])

    def test_a_blank_text_is_not_added(self):
        one = self.person()
        for text in ("", "  \n\t "):
            self.adds(one, text)
            self.says(one, "There is nothing to add: the text is blank.")
        self.sees(one)
        laptop = self.relay.agent("laptop", one.show_code())
        said = laptop.run("clipboard", "add", " \n", code=1)
        self.assertIn("there is nothing to add: the text is blank", said)

    def test_the_paste_button_adds_a_text_or_an_image_that_was_copied(self):
        one = self.person(**CLIPBOARD)
        one.page.evaluate("() => navigator.clipboard.writeText('copied elsewhere')")
        one.press("Paste")
        self.says(one, "Added to the clipboard.")
        self.sees(one, "copied elsewhere")
        self.undoes(one)
        self.sees(one)
        one.page.evaluate(COPY_IMAGE, text_of(picture()))
        one.press("Paste")
        self.says(one, "Added the image.")
        expect(self.row(one, "PNG image")).to_contain_text("this browser")

    def test_where_the_page_may_not_read_the_person_is_asked_to_paste(self):
        one = self.person()
        # A browser that is not asked for leave refuses.
        one.page.evaluate("""() => {
          navigator.clipboard.read = () => Promise.reject(new DOMException("", "NotAllowedError"));
        }""")
        one.press("Paste")
        self.says(one, "This browser does not let the page read what you copied.")
        expect(one.page.get_by_label("New item")).to_be_focused()
        # Over plain http there is no such interface at all.
        plain = self.visitor(host="relay.test")
        plain.pair(one.show_code())
        plain.go("Clipboard")
        plain.press("Paste")
        self.says(plain, "Paste it into the field.")
        self.pastes_image(plain, picture(), "textarea")
        expect(self.row(plain, "image.png")).to_contain_text("PNG image")

    def test_a_paste_anywhere_in_the_view_is_an_item_and_one_into_a_field_stays_there(self):
        one = self.person(**CLIPBOARD)
        one.page.evaluate("() => navigator.clipboard.writeText('anywhere')")
        one.page.locator("h1").click()
        one.page.keyboard.press("Control+V")
        self.sees(one, "anywhere")
        one.page.get_by_label("New item").focus()
        one.page.keyboard.press("Control+V")
        expect(one.page.get_by_label("New item")).to_have_value("anywhere")
        one.page.get_by_placeholder("Search the clipboard").focus()
        one.page.keyboard.press("Control+V")
        self.sees(one, "anywhere")
        one.page.get_by_placeholder("Search the clipboard").fill("")
        # In another view a paste is none of the clipboard's business.
        one.go("Devices")
        one.page.evaluate(PASTE_TEXT, ["elsewhere", "#main"])
        one.go("Clipboard")
        self.sees(one, "anywhere")

    def test_an_image_is_on_all_devices_with_a_small_picture_and_goes_back_as_an_image(self):
        one = self.person(**CLIPBOARD)
        two = self.second(one, **CLIPBOARD)
        laptop = self.relay.agent("laptop", one.show_code())
        one.go("Clipboard")
        data = picture(noise=5_000_000)
        self.pastes_image(one, data)
        self.says(one, "Added the image.")
        for visitor in (one, two):
            expect(self.row(visitor, "PNG image, 5.1 MB")).to_contain_text("image.png")
            expect(visitor.page.locator(f"{LIST} img")).to_have_js_property("naturalWidth", 160)
        one.is_in_sync()
        self.acts(two, "image.png", "Copy")
        self.says(two, "Copied the image.")
        self.assertEqual(two.page.evaluate(COPIED), [["image/png"], 240, 160])
        with two.page.expect_download() as download:
            self.acts(two, "image.png", "Download")
        self.assertEqual(download.value.suggested_filename, "image.png")
        self.assertEqual(pathlib.Path(download.value.path()).read_bytes(), data)
        laptop.run("sync")
        listed = laptop.run("clipboard", "list")
        self.assertIn("[image, 4.8 MiB, PNG] image.png", listed)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.png"
            laptop.run("clipboard", "get", "1", "--output", path)
            self.assertEqual(path.read_bytes(), data)
            said = laptop.run("clipboard", "get", "1", "--output", path, code=1)
            self.assertIn("is there already", said)
        self.assertIn("is an image", laptop.run("clipboard", "copy", "1", code=1))
        # The relay has none of it in the clear.
        stored = (self.relay.folder / "store").rglob("*")
        self.assertNotIn(b"noSe", b"".join(it.read_bytes() for it in stored if it.is_file()))
        laptop.run("clipboard", "pin", "1")
        laptop.run("sync")
        expect(self.row(one, "image.png")).to_contain_text("Pinned")
        self.acts(one, "image.png", "Delete")
        self.sees(two)
        self.undoes(one)
        expect(self.row(two, "image.png")).to_contain_text("Pinned")
        self.acts(two, "image.png", "Copy")
        self.says(two, "Copied the image.")

    def test_an_image_that_was_added_offline_waits_and_is_sent_later(self):
        one = self.person(service_workers="allow")
        one.has_its_files_kept()
        two = self.second(one)
        one.may_miss_the_relay = two.may_miss_the_relay = True
        self.relay.stop()
        one.sees_sync("Offline")
        self.pastes_image(one, picture())
        expect(self.row(one, "image.png")).to_contain_text("Waits here until it is sent")
        one.page.reload()
        expect(self.row(one, "image.png")).to_contain_text("Waits here until it is sent")
        expect(one.page.locator(f"{LIST} img")).to_have_js_property("naturalWidth", 160)
        # A delete and its undo work meanwhile.
        self.acts(one, "image.png", "Delete")
        self.sees(one)
        self.undoes(one)
        expect(self.row(one, "image.png")).to_contain_text("Waits here until it is sent")
        self.relay.start()
        one.is_in_sync()
        for visitor in (one, two):
            expect(self.row(visitor, "image.png")).to_have_count(1)
            expect(self.row(visitor, "image.png")).not_to_contain_text("Waits")

    def test_what_waits_in_a_browser_goes_with_its_account(self):
        one = self.person()
        two = self.second(one)
        one.may_miss_the_relay = True
        one.context.set_offline(True)
        one.sees_sync("Offline")
        self.pastes_image(one, picture())
        expect(self.row(one, "image.png")).to_contain_text("Waits here")
        kept = """() => new Promise((resolve, reject) => {
          const opening = indexedDB.open("lockstep page");
          opening.onerror = reject;
          opening.onsuccess = () => {
            const store = opening.result.transaction("images").objectStore("images");
            const counting = store.count();
            counting.onsuccess = () => {
              opening.result.close();
              resolve(counting.result);
            };
          };
        })"""
        self.assertEqual(one.page.evaluate(kept), 1)
        two.is_in_sync()
        one.context.set_offline(False)
        expect(self.row(two, "image.png")).to_have_count(1)
        wait_until(lambda: one.page.evaluate(kept) == 0, lambda: "the image is kept")

    def test_what_is_no_image_or_too_large_is_refused_in_a_sentence(self):
        one = self.person()
        self.pastes_image(one, b"no picture")
        self.says(one, "This browser cannot read that image.")
        self.pastes_image(one, b"")
        self.says(one, "This image is empty")
        self.pastes_image(one, picture(noise=17 << 20))
        self.says(one, "This image has 17.9 MB, and an item has room for 16 MB.")
        self.sees(one)

    def shares(self, visitor, fields=None, files=()):
        """Sends the form of a share. It comes from no page of the relay's."""
        page = visitor.context.new_page()
        page.goto("about:blank")
        visitor.page.close()
        visitor.page = page
        page.evaluate(SHARE, {"url": f"{visitor.url}/share", "fields": fields or {},
                              "files": [[name, kind, text_of(data)] for name, kind, data in files]})
        page.wait_for_url(f"{visitor.url}/#clipboard")

    def installed(self):
        """A person whose browser has the page's service worker."""
        if PAGES:
            self.relay.stop()
            self.relay.pages = PAGES
            self.relay.start()
        one = self.person(service_workers="allow")
        one.has_its_files_kept()
        return one

    def test_what_another_app_shares_is_an_item_once(self):
        one = self.installed()
        self.shares(one, {"title": "A page", "text": "worth reading",
                          "url": "https://example.org/a?b=c"})
        self.says(one, "Added what was shared.")
        self.sees(one, "A page\nworth reading\nhttps://example.org/a?b=c")
        one.page.reload()
        self.sees(one, "A page\nworth reading\nhttps://example.org/a?b=c")
        self.shares(one, {"title": "", "text": "see https://example.org/", "url": ""},
                    [("lake.png", "image/png", picture()), ("ätna.gif", "image/gif", b"none")])
        expect(self.row(one, "see https://example.org/")).to_be_visible()
        expect(self.row(one, "lake.png")).to_contain_text("PNG image")
        expect(one.page.locator(LIST)).to_have_count(3)
        one.page.reload()
        expect(one.page.locator(LIST)).to_have_count(3)

    def test_what_is_shared_offline_is_kept_at_once_and_sent_later(self):
        one = self.installed()
        two = self.second(one)
        one.may_miss_the_relay = two.may_miss_the_relay = True
        self.relay.stop()
        one.sees_sync("Offline")
        self.shares(one, {"text": "shared on a train"}, [("lake.png", "image/png", picture())])
        expect(self.row(one, "shared on a train")).to_be_visible()
        expect(self.row(one, "lake.png")).to_contain_text("Waits here until it is sent")
        self.relay.start()
        expect(self.row(two, "shared on a train")).to_be_visible()
        expect(self.row(two, "lake.png")).to_be_visible()
        expect(self.row(one, "lake.png")).not_to_contain_text("Waits")

    def test_what_is_shared_before_the_pairing_waits_for_it(self):
        first = self.installed()
        code = first.show_code()
        other = self.visitor(service_workers="allow")
        other.open()
        other.has_its_files_kept()
        self.shares(other, {"text": "early"})
        expect(other.page.get_by_role("button", name="Pair", exact=True)).to_be_visible()
        other.pair(code)
        other.go("Clipboard")
        expect(self.row(other, "early")).to_be_visible()
        first.go("Clipboard")
        expect(self.row(first, "early")).to_be_visible()

    def test_the_view_has_no_barriers_and_fits_a_narrow_phone(self):
        for scheme in ("light", "dark"):
            one = self.person(color_scheme=scheme, viewport={"width": 320, "height": 640})
            self.adds(one, "https://example.org/" + "long" * 40)
            self.adds(one, "pinned text")
            self.acts(one, "pinned text", "Pin")
            self.pastes_image(one, picture())
            expect(self.row(one, "image.png")).to_contain_text("this browser")
            one.may_miss_the_relay = True
            one.context.set_offline(True)
            one.sees_sync("Offline")
            self.pastes_image(one, picture(90, 300))
            expect(self.row(one, "Waits here")).to_be_visible()
            for width in (320, 1280):
                one.page.set_viewport_size({"width": width, "height": 900})
                self.is_not_too_wide(one, f"{scheme} {width}")
                self.has_no_barrier(one, f"{scheme} {width}")
