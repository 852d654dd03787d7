"""The page can be installed as an app: what a browser asks of it, and what its manifest names."""

import http.server
import json
import pathlib
import struct
import tempfile
import threading
import unittest

from playwright.sync_api import sync_playwright

from page_files import file_at
from shell_stories import FOLDER, Files
from stage import CHROMIUM, PATIENCE_MILLISECONDS

VIEWS = ["timer", "clipboard", "memos", "habits", "files", "devices"]


def size_of(body):
    """Returns width and height of a PNG."""
    assert body[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", body[16:24])


class ManifestStories(unittest.TestCase):
    def setUp(self):
        text = (pathlib.Path(FOLDER) / "manifest.webmanifest").read_text(encoding="utf-8")
        self.manifest = json.loads(text)

    def pictures(self):
        shortcuts = [icon for it in self.manifest["shortcuts"] for icon in it["icons"]]
        return [*self.manifest["icons"], *self.manifest["screenshots"], *shortcuts]

    def test_every_picture_is_there_and_as_large_as_it_says(self):
        for picture in self.pictures():
            body, kind = file_at(FOLDER, f"/{picture['src']}")
            self.assertEqual(kind, picture.get("type", kind))
            if kind == "image/png":
                size = "x".join(map(str, size_of(body)))
                self.assertEqual(size, picture["sizes"], picture["src"])

    def test_icons_are_of_the_sizes_that_systems_ask_for(self):
        icons = [(it["sizes"], it.get("purpose", "any")) for it in self.manifest["icons"]
                 if it["type"] == "image/png"]
        self.assertEqual(icons, [("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")])

    def test_screenshots_are_for_phones_and_desktops(self):
        forms = {it["form_factor"] for it in self.manifest["screenshots"]}
        self.assertEqual(forms, {"narrow", "wide"})
        for it in self.manifest["screenshots"]:
            width, height = map(int, it["sizes"].split("x"))
            self.assertGreaterEqual(min(width, height), 320)
            self.assertLessEqual(max(width, height) / min(width, height), 2.3)
            self.assertTrue(it["label"])

    def test_shortcuts_open_views_of_the_page(self):
        for it in self.manifest["shortcuts"]:
            self.assertIn(it["url"].removeprefix("/#"), VIEWS)


class InstallStories(unittest.TestCase):
    """A browser with a profile on disk: pages of a private window cannot be installed."""

    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory(prefix="lockstep-profile-")
        self.addCleanup(folder.cleanup)
        playwright = sync_playwright().start()
        self.addCleanup(playwright.stop)
        self.context = playwright.chromium.launch_persistent_context(
            folder.name, executable_path=CHROMIUM)
        self.addCleanup(self.context.close)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MILLISECONDS)
        self.page.goto(f"http://127.0.0.1:{self.server.server_port}/")
        self.page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")

    def test_chromium_finds_nothing_that_keeps_it_from_installing(self):
        session = self.context.new_cdp_session(self.page)
        told = session.send("Page.getAppManifest")
        self.assertEqual(told["errors"], [])
        self.assertEqual(json.loads(told["data"])["name"], "Lockstep")
        errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
        self.assertEqual(errors, [])

    def test_the_page_does_not_keep_the_screenshots(self):
        kept = self.page.evaluate("""async () => {
          const names = (await caches.keys()).filter((it) => it.startsWith("lockstep shell "));
          const cache = await caches.open(names[0]);
          return (await cache.keys()).map(({ url }) => new URL(url).pathname);
        }""")
        self.assertIn("/page/icons/icon-192.png", kept)
        self.assertEqual([path for path in kept if "screenshots" in path], [])
