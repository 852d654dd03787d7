"""What the page may cost, and what browsers and people may expect of any page: counts that do not
depend on the machine. docs/performance.md has the list."""

import gzip
import re
import unittest
import urllib.request

from playwright.sync_api import expect

from speed import OBSERVER, PHONE, Chain, Meter
from stage import PAGES, Story

VIEWS = ["Timer", "Clipboard", "Memos", "Habits", "Files", "Devices"]
# Bytes on the line, headers included, until the countdown is usable, and with the copy that the
# service worker keeps.
BYTES_MAX = 150_000
BYTES_IN_TOTAL_MAX = 295_000
# Requests until the countdown is usable: the page, its script, styles, icon and manifest, the
# timer's worker, and the account's data.
REQUESTS_MAX = 12
CHAIN_MAX = 3
LAYOUT_SHIFT_MAX = 0.02
HASHED = re.compile(r"/page-[0-9a-f]{16}\.(js|css)$")


def answer_to(url, **fields):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip", **fields})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, answer.read()


def text_of(url):
    headers, body = answer_to(url)
    return (gzip.decompress(body) if headers["Content-Encoding"] == "gzip" else body).decode()


def links_of(page):
    return re.findall(r'(?:href|src)="([^"#:]+)"', page)


@unittest.skipIf(PAGES, "modules in a folder are not joined")
class CostStories(Story):
    """The page as a relay serves it."""

    def test_a_first_opening_is_small_and_waits_for_few_answers(self):
        meter = Meter(self.relay.url)
        self.addCleanup(meter.close)
        own, self.relay.url = self.relay.url, meter.url
        person = self.visitor(service_workers="allow", **PHONE)
        self.relay.url = own
        person.make_account()
        person.press("Start focus")
        person.is_in_sync()
        person.has_its_files_kept()
        person.closes()
        page = person.page = person.context.new_page()
        page.add_init_script(OBSERVER)
        session = person.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Storage.clearDataForOrigin", {
            "origin": meter.url, "storageTypes": "service_workers,cache_storage"})
        session.send("Network.clearBrowserCache")
        chain, before = Chain(session, meter.url), meter.bytes
        page.goto(f"{meter.url}/#timer", wait_until="commit")
        page.wait_for_function("() => window.lockstepSpeed?.usable")
        paths = [it.removeprefix(meter.url) for it in chain.depths][:REQUESTS_MAX * 2]
        self.assertLessEqual(len(chain.depths), REQUESTS_MAX, paths)
        linked = [f"{meter.url}/{it}" for it in links_of(text_of(meter.url + "/"))]
        # Without the scripts for later, which a slow machine may have begun to load.
        cost = page.evaluate("""(linked) => [...performance.getEntriesByType("navigation"),
            ...performance.getEntriesByType("resource")]
          .filter(({ name }) => linked.includes(name) || !/page-[0-9a-f]{16}/.test(name))
          .reduce((sum, { transferSize }) => sum + transferSize, 0)""", linked)
        self.assertLessEqual(cost, BYTES_MAX)
        self.assertLessEqual(max(chain.depths.values()), CHAIN_MAX, paths)
        person.has_its_files_kept()
        page.wait_for_load_state("networkidle")
        self.assertLessEqual(meter.bytes - before, BYTES_IN_TOTAL_MAX)
        self.assertLessEqual(page.evaluate("() => lockstepSpeed.shift"), LAYOUT_SHIFT_MAX)
        blocking = page.evaluate("""() => performance.getEntriesByType("resource")
          .filter((it) => it.renderBlockingStatus === "blocking").map((it) => it.initiatorType)""")
        self.assertEqual(blocking, ["link"])

    def test_files_are_compressed_and_kept_for_good_or_checked(self):
        index = text_of(self.relay.url + "/")
        linked = links_of(index)
        self.assertEqual(len([it for it in linked if HASHED.search("/" + it)]), 2, linked)
        paths = ["", "serviceWorker.js", "worker/wakes.js", "page/timerWorker.js", *linked]
        for path in paths:
            headers, _ = answer_to(f"{self.relay.url}/{path}")
            is_hashed = HASHED.search("/" + path)
            kept = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
            self.assertEqual(headers["Cache-Control"], kept, path)
            if is_hashed:
                # Chromium names the origin for a script of the page, and not for the worker's copy.
                named, _ = answer_to(f"{self.relay.url}/{path}", Origin=self.relay.url)
                self.assertEqual(named.get_all("Vary"), ["Accept-Encoding"], path)
                self.assertEqual(headers.get_all("Vary"), ["Accept-Encoding"], path)
            if not path.endswith(".png"):
                self.assertEqual(headers["Content-Encoding"], "gzip", path)
                self.assertEqual(headers["Vary"], "Accept-Encoding", path)


class PracticeStories(Story):
    def test_the_page_says_what_it_is_and_what_it_may_load(self):
        with urllib.request.urlopen(self.relay.url + "/", timeout=60) as answer:
            headers, index = answer.headers, answer.read().decode()
        self.assertLess(index.index('<meta charset="utf-8">'), 1024)
        self.assertIn("charset=utf-8", headers["Content-Type"])
        for part in ('<html lang="en">', "<title>Lockstep</title>", 'name="viewport"',
                     'name="description" content="A timer'):
            self.assertIn(part, index)
        self.assertNotIn("user-scalable", index)
        rules = dict(it.split(" ", 1) for it in headers["Content-Security-Policy"].split("; "))
        self.assertEqual(rules["default-src"], "'none'")
        self.assertEqual(rules["script-src"], "'self'")
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_no_view_uses_what_browsers_give_up_or_moves_while_it_is_read(self):
        person = self.visitor()
        person.page.add_init_script(OBSERVER)
        session = person.context.new_cdp_session(person.page)
        issues = []
        # Generic ones are advice for forms that browsers fill in; the page has none.
        session.on("Audits.issueAdded", lambda event: issues.extend(
            it for it in [event["issue"]["code"]] if it != "GenericIssue"))
        session.on("Log.entryAdded", lambda event: issues.append(event["entry"]["text"]))
        session.send("Audits.enable")
        session.send("Log.enable")
        person.make_account()
        for view in VIEWS:
            person.go(view)
            expect(person.page.get_by_role("heading", level=1, name=view)).to_be_attached()
            sizes = person.page.evaluate("""() => [...document.images]
              .filter((it) => !it.hasAttribute("width") || !it.hasAttribute("height"))
              .map((it) => it.outerHTML)""")
            self.assertEqual(sizes, [], view)
        self.assertEqual(issues, [])

    def test_over_plain_http_the_page_does_without_what_needs_https(self):
        person = self.visitor(host="relay.test", service_workers="allow")
        person.make_account(is_sealed=False)
        for view in VIEWS:
            person.go(view)
        expect(person.page.get_by_text("This page came over plain http")).to_be_visible()

    def test_every_view_opens_without_a_relay(self):
        person = self.visitor(service_workers="allow")
        person.make_account()
        person.has_its_files_kept()
        self.relay.stop()
        person.may_miss_the_relay = True
        person.page.reload()
        for view in VIEWS:
            person.go(view)
            expect(person.page.get_by_role("heading", level=1, name=view)).to_be_attached()
        person.go("Memos")
        expect(person.page.get_by_role("button", name="New memo")).to_be_visible()

    def test_a_view_whose_script_does_not_come_says_so_and_offers_to_reload(self):
        person = self.visitor(viewport={"width": 320, "height": 568})
        person.make_account()
        page = person.page
        first = page.locator('script[type="module"]').get_attribute("src")
        is_cut = True

        def answer(route):
            path = route.request.url.removeprefix(person.url + "/")
            is_later = HASHED.search("/" + path) and path != first
            if is_cut and (is_later or path == "page/memos/memosView.js"):
                route.abort()
            else:
                route.fallback()

        page.route("**/*.js", answer)
        person.may_miss_the_relay = True
        page.goto("about:blank")
        page.goto(person.url + "/#memos")
        expect(page.get_by_text("could not be loaded")).to_be_visible()
        self.has_no_barrier(person, "a view that is not there")
        self.is_not_too_wide(person, "a view that is not there")
        is_cut = False
        person.press("Reload")
        expect(page.get_by_role("button", name="New memo")).to_be_visible()
