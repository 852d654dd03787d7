"""A maker of a program reads the reference of the relay's calls."""

import json
import subprocess
import urllib.request

from playwright.sync_api import expect

from stage import Story


class DocsStories(Story):
    def reader(self, hash="", **options):
        visitor = self.visitor(**options)
        page = visitor.open("/docs" + hash)
        expect(page.get_by_role("heading", name="POST /v1/accounts")).to_be_attached()
        return visitor

    def opens_all(self, visitor):
        visitor.page.evaluate("""() => {
          for (const it of document.querySelectorAll("details")) it.open = true;
        }""")

    def article(self, page, name):
        return page.get_by_role("article", name=name, exact=True)

    def shell(self, line, **environment):
        """Runs a line as a person pastes it; returns the answer as JSON."""
        done = subprocess.run(["sh", "-c", line + " --silent --show-error --fail-with-body"],
                              capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout) if done.stdout else None

    def line(self, page, call):
        """Copies the line of a call; returns what a person would paste."""
        page.locator(f"#{call}").get_by_role("button", name="Copy the curl line").click()
        expect(page.get_by_role("status")).to_have_text("The line is copied.")
        return page.evaluate("() => navigator.clipboard.readText()")

    def test_every_call_of_the_document_is_shown_with_its_members_and_refusals(self):
        page = self.reader().page
        with urllib.request.urlopen(self.relay.url + "/openapi.json") as answer:
            document = json.load(answer)
        calls = [operation for item in document["paths"].values()
                 for method, operation in item.items() if method != "parameters"]
        expect(page.get_by_role("article")).to_have_count(len(calls))
        expect(page.get_by_role("navigation").get_by_role("link")).to_have_count(len(calls))
        expect(page.get_by_role("status")).to_have_text(f"{len(calls)} calls")
        save = self.article(page, "POST /v1/zones/{zone}/records")
        expect(save).to_contain_text("Percent-encoded; decoded after the path is split.")
        save.get_by_text("Members").first.click()
        expect(save.get_by_text("records[].baseTag").first).to_be_visible()
        save.get_by_text("Refusals:").click()
        expect(save.get_by_text("badToken")).to_be_visible()

    def test_lines_are_copied_and_do_what_they_say(self):
        page = self.reader(permissions=["clipboard-read", "clipboard-write"]).page
        token = self.shell(self.line(page, "createAccount"))["token"]
        saved = self.shell(self.line(page, "saveRecords"), TOKEN=token)
        self.assertIn("tag", saved["results"][0])
        changed = self.shell(self.line(page, "putRecord"), TOKEN=token)
        self.assertEqual(changed["fields"], {"text": "Milk"})
        records = self.shell(self.line(page, "listRecords"), TOKEN=token)["records"]
        self.assertEqual([each["name"] for each in records], ["shopping"])
        changes = self.shell(self.line(page, "getChanges"), TOKEN=token)["changes"]
        self.assertEqual([each["name"] for each in changes], ["shopping"])
        self.shell(self.line(page, "deleteRecord"), TOKEN=token)
        self.assertIn("code", self.shell(self.line(page, "issuePairing"), TOKEN=token))
        self.shell(self.line(page, "putSubscription"), TOKEN=token)

    def test_a_search_finds_calls_and_an_address_opens_one(self):
        page = self.reader("#renameDevice").page
        all = page.get_by_role("article").count()
        expect(page.locator("#renameDevice")).to_be_in_viewport()
        page.keyboard.press("/")
        expect(page.get_by_label("Search")).to_be_focused()
        page.keyboard.type("chunks put")
        expect(page.get_by_role("status")).to_contain_text(f" of {all} calls")
        expect(self.article(page, "PUT /v1/chunks/{sha256}")).to_be_visible()
        expect(page.locator("#renameDevice")).to_be_hidden()
        expect(page.get_by_role("navigation").get_by_role("link", name="/v1/time")).to_be_hidden()
        page.get_by_label("Search").fill("nothing has this name")
        expect(page.get_by_role("status")).to_contain_text("0 of")
        # An address of no call changes nothing; one that the search hides ends the search.
        page.evaluate("() => { location.hash = '#%'; }")
        page.evaluate("() => { location.hash = '#words'; }")
        page.evaluate("() => { location.hash = '#getTime'; }")
        expect(page.locator("#getTime")).to_be_in_viewport()
        expect(page.get_by_label("Search")).to_have_value("")

    def test_without_a_document_or_without_scripts_a_sentence_names_the_next_step(self):
        blind = self.visitor(java_script_enabled=False)
        page = blind.open("/docs")
        link = page.get_by_text("This page draws with JavaScript").get_by_role("link")
        expect(link).to_have_attribute("href", "/openapi.json")
        visitor = self.visitor()
        visitor.may_miss_the_relay = True
        visitor.context.route("**/openapi.json", lambda route: route.abort("connectionrefused"))
        page = visitor.open("/docs")
        expect(page.get_by_role("alert")).to_contain_text("Load the page again")

    def test_the_page_of_the_account_does_not_keep_it(self):
        visitor = self.visitor(service_workers="allow")
        visitor.open()
        visitor.has_its_files_kept()
        page = visitor.open("/docs")
        expect(page.get_by_role("heading", name="POST /v1/accounts")).to_be_attached()
        kept = page.evaluate("""async () => {
          const paths = [];
          for (const name of await caches.keys()) {
            for (const { url } of await (await caches.open(name)).keys()) {
              paths.push(new URL(url).pathname);
            }
          }
          return paths;
        }""")
        self.assertIn("/manifest.webmanifest", kept)
        self.assertEqual([it for it in kept if it.startswith(("/docs", "/openapi"))], [])

    def test_axe_finds_nothing_in_light_and_dark(self):
        for scheme, width in (("light", 1280), ("dark", 390)):
            visitor = self.reader(color_scheme=scheme, viewport={"width": width, "height": 844})
            self.opens_all(visitor)
            self.has_no_barrier(visitor, f"the reference, {scheme}, {width}")

    def test_it_is_not_wider_than_the_narrowest_phone(self):
        visitor = self.reader(viewport={"width": 320, "height": 568})
        self.opens_all(visitor)
        self.is_not_too_wide(visitor, "the reference")
