"""The page's own files are cached, and a new version arrives complete."""

import http.server
import pathlib
import threading
import unittest

from playwright.sync_api import expect, sync_playwright

from page_files import file_at, policy
from stage import CHROMIUM, PAGES, PATIENCE_MILLISECONDS

FOLDER = PAGES or pathlib.Path(__file__).parents[3] / "Sources" / "WebClient"
# Script that only the older version has.
LATE = "page-0123456789abcdef.js"


class Files(http.server.BaseHTTPRequestHandler):
    """Serves the page's files as the relay does. A service worker's own requests cannot be
    intercepted in the browser."""

    newer = False

    def do_GET(self):
        found = file_at(FOLDER, self.path)
        body, kind = found or (b"", "text/plain")
        if self.newer and self.path == "/page/text/deviceText.js":
            body += b"// newer\n"
        if not self.newer and self.path == "/":
            link = f'<link rel="alternate" href="{LATE}"></head>'
            body = body.replace(b"</head>", link.encode())
        if not self.newer and self.path == f"/{LATE}":
            found, body, kind = True, b"// late\n", "text/javascript; charset=utf-8"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy(self.headers["Host"]))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ShellStories(unittest.TestCase):
    def setUp(self):
        self.playwright = sync_playwright().start()
        self.addCleanup(self.playwright.stop)
        browser = self.playwright.chromium.launch(executable_path=CHROMIUM)
        self.addCleanup(browser.close)
        self.page = browser.new_context().new_page()
        self.page.set_default_timeout(PATIENCE_MILLISECONDS)
        self.faults = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.port = 0
        self.files = type("TheseFiles", (Files,), {})
        self.serve()

    def serve(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.files)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def visit(self):
        self.page.goto(f"http://127.0.0.1:{self.port}/")
        self.page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")

    def kept(self):
        """Returns the paths of each cached shell."""
        return self.page.evaluate("""async () => {
          const names = (await caches.keys()).filter((it) => it.startsWith("lockstep shell "));
          return Promise.all(names.map(async (name) =>
            (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)));
        }""")

    def tearDown(self):
        self.close()
        self.assertEqual(self.faults, [])

    def test_all_files_are_kept_and_the_page_opens_without_a_connection(self):
        self.visit()
        folder = pathlib.Path(FOLDER)
        # The status page and the owner's page are for the relay's owner; the reference of the calls
        # is for makers of programs; the browser keeps the service worker's scripts itself, and
        # needs screenshots only to install the page; scripts and tests of other apps use the rest.
        others = {folder / name for name in
                  ["status", "admin", "docs", "worker", "screenshots", "node", "testing"]}
        files = {f"/{it.relative_to(folder)}" for it in folder.rglob("*")
                 if it.is_file() and others.isdisjoint(it.parents)
                 and not it.name.endswith((".d.ts", ".json", ".md"))}
        files -= {"/node.js", "/testing.js"}
        files = files - {"/index.html", "/serviceWorker.js"} | {"/"}
        self.assertEqual([set(it) for it in self.kept()], [files | {f"/{LATE}"}])
        self.close()
        self.page.reload()
        expect(self.page.get_by_role("button", name="Pair", exact=True)).to_be_visible()
        self.serve()

    def test_a_newer_version_is_told_of_and_comes_whole_with_the_next_opening(self):
        self.visit()
        self.files.newer = True
        self.page.reload()
        expect(self.page.get_by_text("A new version of Lockstep is here.")).to_be_visible()
        self.page.get_by_role("button", name="Reload").click()
        self.page.wait_for_function("""async () =>
          (await (await fetch("/page/text/deviceText.js")).text()).endsWith("// newer\\n")""")
        self.page.reload()
        self.assertEqual(len(self.kept()), 2)

    def test_a_page_of_the_version_before_still_gets_what_it_loads_late(self):
        self.visit()
        self.files.newer = True
        self.page.reload()
        expect(self.page.get_by_text("A new version of Lockstep is here.")).to_be_visible()
        # A browser stops a worker that has nothing to do; the next one knows no open page.
        session = self.page.context.new_cdp_session(self.page)
        session.send("ServiceWorker.enable")
        session.send("ServiceWorker.stopAllWorkers")
        late = self.page.evaluate(f"async () => (await fetch('/{LATE}')).text()")
        self.assertEqual(late, "// late\n")
