"""The relay's owner looks at the status page."""

from playwright.sync_api import expect

from stage import Story


class StatusStories(Story):
    def owner(self, **options):
        return self.visitor(is_owner=True, **options)

    def works(self):
        """Creates a person with two devices, so that there is something to see."""
        person = self.visitor()
        person.make_account()
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("clipboard", "add", "seen by nobody else")
        return person

    def test_the_owner_sees_what_people_do_but_not_what_they_write(self):
        owner = self.owner()
        page = owner.open("/status")
        expect(page.get_by_role("status")).to_contain_text("Live")
        self.works()
        expect(page.locator("[data-text=accounts]")).to_have_text("of 1 accounts; 1 in the store")
        expect(page.locator("[data-text=devices]")).to_have_text("1")
        expect(page.locator("[data-text=lagSummary]")).to_contain_text("in the last minute")
        self.assertNotIn("seen by nobody else", page.inner_text("body"))
        self.assertNotIn("laptop", page.inner_text("body"))

    def test_a_relay_that_is_away_is_told_and_found_again(self):
        owner = self.owner()
        page = owner.open("/status")
        said = page.get_by_role("status")
        expect(said).to_contain_text("Live")
        owner.may_miss_the_relay = True
        owner.context.set_offline(True)
        expect(said).to_contain_text("No answer")
        owner.context.set_offline(False)
        expect(said).not_to_contain_text("No answer")
        page.get_by_role("button", name="Pause").click()
        expect(said).to_contain_text("Paused")

    def test_axe_finds_nothing_in_light_and_dark(self):
        self.works()
        for scheme in ("light", "dark"):
            owner = self.owner(color_scheme=scheme)
            page = owner.open("/status")
            expect(page.locator("[data-text=devices]")).to_have_text("1")
            page.get_by_text("As a table").click()
            self.has_no_barrier(owner, f"the status page, {scheme}")

    def test_it_is_not_wider_than_the_narrowest_phone(self):
        owner = self.owner(viewport={"width": 320, "height": 568})
        page = owner.open("/status")
        expect(page.get_by_role("status")).to_contain_text("Live")
        self.is_not_too_wide(owner, "the status page")
