"""Takes the pictures of docs/pictures: python3 pictures.py FOLDER [--all]

With --all each view at both sizes in light and dark, for a critical eye."""

import pathlib
import sys

from playwright.sync_api import expect, sync_playwright

from relay import Relay
from stage import CHROMIUM, Visitor

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}
VIEWS = ["timer", "clipboard", "memos", "habits", "devices"]
KEPT = [
    ("timer", "desktop", "light"), ("timer", "phone", "dark"), ("memos", "desktop", "light"),
    ("habits", "phone", "light"), ("clipboard", "phone", "dark"), ("devices", "desktop", "dark"),
]


class Studio:
    def __init__(self, browser):
        self.browser = browser


def fill(person, relay):
    """An account as a person has it after some days."""
    person.make_account()
    person.go("Devices")
    person.press("Rename")
    person.page.get_by_role("textbox", name="Name").fill("Firefox on Linux")
    person.press("Save")
    laptop = relay.agent("laptop", person.show_code())
    phone = relay.agent("phone", person.show_code())
    laptop.run("clipboard", "add", "git log --oneline --since=monday")
    phone.run("clipboard", "add", "Platform 9, 18:42, carriage 27")
    laptop.run("clipboard", "add", "https://example.org/plans/spring?view=week")
    phone.run("memo", "add", "Reading list\nThe Peregrine, A Timeless Way of Building")
    laptop.run("memo", "add", "Ideas for the spring\nPaint the bench; ask Jo about the seeds")
    laptop.run("memo", "add", "Shopping\nBread\nButter\nA dozen eggs\nThe good coffee\n\n"
               "Ask whether the market is open on Sunday.")
    for words in (["Read for half an hour"], ["Run"],
                  ["Glasses of water", "--count", "--target", "8"]):
        laptop.run("habits", "add", *words)
    laptop.run("sync")
    person.go("Habits")
    page = person.page
    expect(page.get_by_role("button", name="One more, Glasses of water")).to_be_visible()
    check_in(page)
    person.go("Timer")
    phone.run("timer", "start")
    phone.run("sync")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    return laptop, phone


def check_in(page):
    """A week that went as weeks go."""
    days = page.locator(".day")
    for day, (read, run, glasses) in enumerate(
            [(1, 0, 8), (1, 1, 6), (0, 1, 8), (1, 0, 7), (1, 1, 8), (1, 1, 8), (0, 1, 5)]):
        days.nth(day).click()
        for name, done in (("Read", read), ("Run", run)):
            if done:
                box = page.get_by_role("checkbox", name=name)
                box.click()
                expect(box).to_be_checked()
        for count in range(glasses):
            page.get_by_role("button", name="One more, Glasses of water").click()
            expect(page.locator(".counter-total")).to_have_text(f"{count + 1} of 8")


def take(person, folder, view, size, scheme):
    page = person.page
    page.set_viewport_size(SIZES[size])
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    person.go(view.capitalize())
    if view == "memos" and size == "desktop":
        person.press("Shopping")
    if view == "devices":
        person.show_code()
    page.mouse.move(0, 0)
    page.screenshot(path=folder / f"{view}-{size}-{scheme}.png")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = KEPT
    if "--all" in sys.argv:
        wanted = [(view, size, scheme) for view in VIEWS for size in SIZES
                  for scheme in ("light", "dark")]
    relay = Relay()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--disable-features=LocalNetworkAccessChecks"])
            person = Visitor(Studio(browser), relay)
            fill(person, relay)
            for picture in wanted:
                take(person, folder, *picture)
            browser.close()
    finally:
        relay.remove()


if __name__ == "__main__":
    main()
