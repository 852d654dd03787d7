"""Takes the pictures of docs/pictures: python3 pictures.py FOLDER [--all | --manifest]

With --all takes each view at both sizes in light and dark, for a review. With --manifest takes
instead those that the page's manifest names, into Sources/WebClient as FOLDER. The picture of the
languages needs a font for Chinese and Japanese (apt-get install fonts-noto-cjk).
"""

import base64
import contextlib
import json
import pathlib
import subprocess
import sys

from playwright.sync_api import expect, sync_playwright

from clipboard_stories import PASTE_IMAGE, text_of
from relay import PROGRAM, Relay, run
from small_png import shrink
from stage import CHROMIUM, Visitor
from terminal import Terminal

SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 800}}
VIEWS = ["timer", "clipboard", "memos", "habits", "files", "devices"]
KEPT = [
    ("timer", "desktop", "light"), ("timer", "phone", "dark"), ("memos", "desktop", "light"),
    ("habits", "phone", "light"), ("clipboard", "phone", "dark"), ("devices", "desktop", "dark"),
    ("files", "phone", "light"),
]
# Accounts on the owner's page, and their devices.
OWNERS_ACCOUNTS = {
    "mum": ["laptop", "phone"], "dad": ["phone"], "Håkon": ["workstation", "phone"],
    "school band": ["tablet"], "workshop": ["laptop"], "Ben & Jo": ["phone"], "grandma": [],
}
# Icons of the manifest: the drawing, and the size in pixels.
ICONS = [("icon", 192), ("icon", 512), ("maskable", 512)]
SCREENSHOTS = [("timer", "phone"), ("habits", "phone"), ("memos", "desktop")]
# An image with few colours, as `shrink` keeps.
DRAWING = (pathlib.Path(__file__).resolve().parents[3] / "Sources" / "WebClient" / "page" / "icons"
           / "icon-192.png")
# After this time the lines of the status page have enough samples.
STATUS_SECONDS = 100

# Creates a focus that has run for a while, after two others, from a tab of the same device.
WORK_FOR_A_WHILE = """async () => {
  const { Lockstep } = await import("/lockstep.js");
  const { apps } = await import("/apps/appCatalog.js");
  const client = await Lockstep.open({ relay: location.origin, apps });
  await client.change(({ now, device }) => [{ zone: "Timer", name: "current", type: "TimerState",
    fields: { completedPomodoros: 2, edits: [{ deviceID: device, timestamp: now - 437_500,
      stateType: "focus", isPaused: false, remaining: 1_500_000, duration: 1_500_000 }] } }]);
  client.close();
}"""


class Studio:
    def __init__(self, browser):
        self.browser = browser


def fill(person, relay):
    """Fills an account as after some days of use."""
    person.make_account()
    rename(person, "Firefox on Linux")
    laptop = relay.agent("laptop", person.show_code())
    phone = relay.agent("phone", person.show_code())
    laptop.run("clipboard", "add", "git log --oneline --since=monday")
    phone.run("clipboard", "add", "Platform 9, 18:42, carriage 27")
    laptop.run("clipboard", "add", "https://example.org/plans/spring?view=week")
    phone.run("memo", "add", "Reading list\nThe Peregrine, A Timeless Way of Building #winter")
    laptop.run("memo", "add",
               "Ideas for the spring\nPaint the bench; ask Jo about the seeds #garden #house")
    laptop.run("memo", "add", "Shopping\n## Market\n- [x] Bread\n- [ ] A dozen eggs\n"
               "- [ ] The good coffee\n\n> Is the market **open** on Sunday? #house")
    for words in (["Read for half an hour"], ["Run"],
                  ["Glasses of water", "--count", "--target", "8"]):
        laptop.run("habits", "add", *words)
    laptop.run("sync")
    person.go("Habits")
    page = person.page
    expect(page.get_by_role("button", name="One more, Glasses of water")).to_be_visible()
    check_in(page)
    # The offer to take back the last check would be in the pictures.
    expect(page.locator(".notice")).to_be_hidden()
    person.go("Clipboard")
    expect(page.get_by_text("laptop,").first).to_be_visible()
    page.evaluate(PASTE_IMAGE, [text_of(DRAWING.read_bytes()), "#main"])
    expect(page.get_by_text("PNG image")).to_be_visible()
    page.locator(".clipboard-rows > .row").filter(has_text="Platform 9").get_by_role(
        "button", name="Pin").click()
    add_files(person)
    person.go("Timer")
    page.evaluate(WORK_FOR_A_WHILE)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def add_files(person):
    person.go("Files")
    person.page.locator("input[type=file]").first.set_input_files([
        {"name": name, "mimeType": "application/octet-stream", "buffer": bytes(size)}
        for name, size in [("passwords.kdbx", 61_300), ("insurance 2026.pdf", 412_000),
                           ("garden plan.png", 1_830_000)]])
    expect(person.page.get_by_text("In step")).to_have_count(3)
    expect(person.page.locator(".notice")).to_be_hidden()


def phone_of(studio, relay, person):
    """Returns another device of a person: a phone has no mouse, and no floating windows."""
    phone = Visitor(studio, relay, has_touch=True, is_mobile=True, viewport=SIZES["phone"])
    phone.context.add_init_script("delete window.documentPictureInPicture")
    phone.pair(person.show_code())
    rename(phone, "Safari on iPhone")
    return phone


def check_in(page):
    """Checks in a typical week."""
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
        person.press("Preview")
    if view == "devices":
        person.show_code()
    page.mouse.move(0, 0)
    page.screenshot(path=folder / f"{view}-{size}-{scheme}.png")


def take_languages(studio, folder, phone):
    """Takes the first view in Chinese, and the timer in Japanese."""
    if not subprocess.run(["fc-list", ":lang=ja"], capture_output=True, check=True).stdout:
        print("There is no font for Japanese: the picture of the languages stays as it is.")
        return
    options = {"color_scheme": "light", "device_scale_factor": 2, "locale": "zh-CN"}
    visitor = Visitor(studio, phone.relay, viewport={"width": 390, "height": 740}, **options)
    visitor.open()
    expect(visitor.page.locator("html")).to_have_attribute("lang", "zh-Hans")
    page = phone.page
    page.set_viewport_size({"width": 390, "height": 740})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    phone.go("Timer")
    page.evaluate("() => localStorage.setItem('lockstep language', 'ja')")
    page.reload()
    expect(page.locator(".sync-sign")).to_contain_text("同期済み")
    lay_out(studio, [page_figure(visitor.page.screenshot()), page_figure(page.screenshot())],
            folder / "languages.png")
    visitor.close()


def take_beside(studio, folder):
    """Takes a picture of the page and a terminal, at one moment."""
    with contextlib.closing(Relay()) as relay:
        phone = Visitor(studio, relay, color_scheme="light", device_scale_factor=2,
                        has_touch=True, is_mobile=True, viewport={"width": 390, "height": 740})
        phone.context.add_init_script("delete window.documentPictureInPicture")
        phone.make_account()
        laptop = relay.agent("laptop", phone.show_code())
        tablet = relay.agent("tablet", phone.show_code())
        rename(phone, "phone")
        watch = [PROGRAM, "agent", "timer", "watch", "--no-notify", "--home", laptop.home]
        with contextlib.closing(Terminal(relay.folder, watch, 72, 23)) as terminal:
            phone.go("Timer")
            until(phone.page, lambda: "in sync" in terminal.text())
            phone.page.evaluate(WORK_FOR_A_WHILE)
            tablet.run("timer", "pause")
            tablet.run("timer", "resume")
            expect(phone.page.get_by_role("button", name="Pause")).to_be_visible()
            until(phone.page, lambda: "tablet goes on" in terminal.text())
            shot, drawn = together(phone.page, terminal)
        phone.close()
    lay_out(studio, [page_figure(shot), terminal_figure("lockstep timer watch", drawn)],
            folder / "page-and-terminal.png")


def page_figure(shot, kind="page"):
    """`kind`: `page`, as on a phone, or `window`."""
    image = base64.b64encode(shot).decode()
    return f'<figure class="{kind}"><img src="data:image/png;base64,{image}" alt=""></figure>'


def terminal_figure(title, drawn):
    return (f'<figure class="terminal"><header><i></i><i></i><i></i><span>{title}</span></header>'
            f"<pre>{drawn}</pre></figure>")


def lay_out(studio, figures, path):
    """Takes a picture of the figures, side by side."""
    layout = pathlib.Path(__file__).with_name("beside.html").read_text(encoding="utf-8")
    page = studio.browser.new_page(device_scale_factor=2)
    page.set_content(layout.replace("FIGURES", "\n".join(figures)))
    page.locator("body").screenshot(path=path)
    page.close()


def take_setup(studio, folder):
    """Takes pictures of a setup with its QR code beside the phone that has opened the link, and of
    the steps by which a second phone joins the sealed account."""
    with contextlib.closing(Relay()) as relay:
        setup = [PROGRAM, "setup", "--yes", "--no-start", "--public-url", relay.url, "--account",
                 "mum", "--settings", "relay.conf", "--store", "store"]
        shell = ["sh", "-c", 'cd "$0"; "$@"; exec sleep 600', relay.folder, *setup]
        with contextlib.closing(Terminal(relay.folder, shell, 68, 36)) as terminal:
            phone = Visitor(studio, relay, color_scheme="light", device_scale_factor=2,
                            viewport={"width": 390, "height": 740})
            until(phone.page, lambda: "#code=" in terminal.text())
            phone.page.wait_for_timeout(500)
            [link] = [line.strip() for line in terminal.text().splitlines() if "#code=" in line]
            phone.open(link.removeprefix(relay.url))
            lay_out(studio, [terminal_figure("lockstep setup", terminal.drawn()),
                             page_figure(phone.page.screenshot())], folder / "setup-and-phone.png")
            phone.press("Pair", exact=True)
            phone.page.get_by_role("dialog").get_by_role("button").last.click()
            phone.is_in_sync()
        take_second_half(studio, relay, phone, folder)
        phone.close()


def take_second_half(studio, relay, phone, folder):
    code = phone.show_code()
    other = Visitor(studio, relay, color_scheme="light", device_scale_factor=2,
                    viewport={"width": 390, "height": 740})
    other.open(f"/#code={code[:14]}&keys")
    shots = [other.page.screenshot()]
    other.press("Pair", exact=True)
    other.page.get_by_label("Second half").fill(code[15:])
    expect(other.page.get_by_label("Second half")).to_be_visible()
    shots.append(other.page.screenshot())
    other.press("Open the account")
    expect(other.page.get_by_role("dialog").get_by_role("listitem")).to_have_count(6)
    shots.append(other.page.screenshot())
    lay_out(studio, [page_figure(shot) for shot in shots], folder / "second-half.png")
    other.close()


def together(page, terminal):
    """Returns both as they are within one second of the countdown."""
    clock = page.get_by_role("timer")
    while True:
        expect(clock).not_to_have_text(clock.inner_text())
        # After this wait a screen that is a few milliseconds late has changed too.
        page.wait_for_timeout(250)
        before = clock.inner_text()
        drawn, shot = terminal.drawn(), page.screenshot()
        if clock.inner_text() == before:
            return shot, drawn


def until(page, holds):
    while not holds():
        page.wait_for_timeout(50)


def rename(person, name):
    person.go("Devices")
    person.press("Rename Chrome")
    person.page.get_by_role("textbox", name="Name").fill(name)
    person.press("Save")
    expect(person.page.get_by_role("button", name=f"Rename {name}")).to_be_visible()


def take_status(studio, folder):
    """Takes the status page in both schemes, while simulated people put load on the relay."""
    with contextlib.closing(Relay()) as relay:
        owners = {scheme: Visitor(studio, relay, is_owner=True, color_scheme=scheme,
                                  viewport={"width": 1280, "height": 1000})
                  for scheme in ("light", "dark")}
        for owner in owners.values():
            owner.open("/status")
        with subprocess.Popen(
                [PROGRAM, "agent", "simulate", "--relay", relay.url, "--app", "memo",
                 "--accounts", "12", "--seconds", str(STATUS_SECONDS + 30)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as people:
            owners["light"].page.wait_for_timeout(1_000 * STATUS_SECONDS)
            for scheme, owner in owners.items():
                owner.page.screenshot(path=folder / f"status-desktop-{scheme}.png", full_page=True)
                owner.close()
            people.terminate()


def take_owner(studio, folder):
    """Takes the owner's page: the accounts and one of them side by side, and both on a phone."""
    with contextlib.closing(Relay()) as relay:
        store = ["--store", relay.folder / "store"]
        for name, devices in OWNERS_ACCOUNTS.items():
            code = json.loads(run("account", "create", name, "--json", *store))["code"]
            for device in devices:
                agent = relay.agent(f"{name} {device}", code)
                agent.run("rename", device)
                agent.run("memo", "add", f"Written on the {device}")
                agent.run("sync")
                [offer] = agent.json("pair")
                code = offer["code"]
        run("account", "plan", "school band", "--zones", "memo,clipboard", *store)
        run("relay", "backup", *store, relay.folder / "backups")
        window = {"width": 900, "height": 1000}
        take_owners_views(studio, relay, folder / "owner-page.png", "window",
                          viewport=window, color_scheme="light")
        take_owners_views(studio, relay, folder / "owner-page-phone.png", "page",
                          viewport=SIZES["phone"], color_scheme="dark")


def take_owners_views(studio, relay, path, kind, **options):
    owner = Visitor(studio, relay, is_owner=True, reduced_motion="reduce", device_scale_factor=2,
                    **options)
    page = owner.page
    link = json.loads(run("relay", "admin", "--json", "--store", relay.folder / "store"))["url"]
    owner.open(link.removeprefix(relay.owners_url))
    expect(page.get_by_role("link", name="mum")).to_be_visible()
    shots = [page.screenshot()]
    page.get_by_role("link", name="mum").click()
    page.get_by_label("The code is valid for").select_option("7 days")
    owner.press("Make a code")
    expect(page.locator(".code")).to_be_visible()
    page.mouse.move(0, 0)
    if kind == "page":
        page.evaluate("() => scrollTo(0, 0)")
        shots.append(page.screenshot())
        page.locator(".part-code").evaluate("(it) => it.scrollIntoView()")
    else:
        page.evaluate("() => scrollTo(0, 0)")
    shots.append(page.screenshot())
    owner.close()
    lay_out(studio, [page_figure(shot, kind) for shot in shots], path)


def take_icons(studio, folder):
    """Draws the icons of some systems that do not take drawings."""
    for name, size in ICONS:
        drawing = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
        page = studio.browser.new_page(viewport={"width": size, "height": size})
        page.set_content(f'<body style="margin:0"><img width="{size}" height="{size}" alt="" '
                         f'src="data:image/svg+xml;base64,{drawing}">')
        page.screenshot(path=folder / f"{name}-{size}.png", omit_background=True)
        page.close()


def take_for_manifest(studio, folder):
    take_icons(studio, folder / "page" / "icons")
    with contextlib.closing(Relay()) as relay:
        person = Visitor(studio, relay)
        fill(person, relay)
        page = studio.browser.new_page()
        phone = phone_of(studio, relay, person)
        for view, size in SCREENSHOTS:
            take(phone if size == "phone" else person, folder / "screenshots", view, size, "light")
            taken = folder / "screenshots" / f"{view}-{size}-light.png"
            shrink(page, taken.rename(taken.with_name(f"{view}-{size}.png")))
        phone.close()
        person.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if "--manifest" in sys.argv:
        with sync_playwright() as playwright:
            studio = Studio(playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--disable-features=LocalNetworkAccessChecks"]))
            take_for_manifest(studio, folder)
            studio.browser.close()
        return
    wanted = KEPT
    if "--all" in sys.argv:
        wanted = [(view, size, scheme) for view in VIEWS for size in SIZES
                  for scheme in ("light", "dark")]
    with sync_playwright() as playwright, contextlib.closing(Relay()) as relay:
        studio = Studio(playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-features=LocalNetworkAccessChecks"]))
        take_beside(studio, folder)
        take_setup(studio, folder)
        person = Visitor(studio, relay)
        fill(person, relay)
        phone = phone_of(studio, relay, person)
        for view, size, scheme in wanted:
            take(phone if size == "phone" else person, folder, view, size, scheme)
        take_languages(studio, folder, phone)
        phone.close()
        person.close()
        take_status(studio, folder)
        take_owner(studio, folder)
        page = studio.browser.new_page()
        for path in sorted(folder.glob("*.png")):
            shrink(page, path)
        studio.browser.close()


if __name__ == "__main__":
    main()
