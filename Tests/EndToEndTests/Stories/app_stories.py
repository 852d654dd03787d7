"""Clipboard, memos and habits, used by a person on two real devices and a relay."""

import contextlib
import datetime
import json
import os
import pty
import subprocess

from story import (
    LOCKSTEP, PATIENCE, Home, Relay, expect, folder, main, now, refused, run, upload,
    wait_until)


@contextlib.contextmanager
def devices(*words):
    """A relay, and two devices of one account."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", *words)
        yield relay, phone, phone.pair(relay, directory, "laptop")


def run_with_input(home, *words, input):
    return run("agent", *words, home=home.path, input=input)


def story_what_is_copied_on_one_device_is_there_on_the_other():
    """Items from the command line and from standard input arrive byte for byte, the newest
    first."""
    with devices() as (_, phone, laptop):
        phone.run("clipboard", "add", "one")
        run_with_input(phone, "clipboard", "add", input="two\n\tlines 电脑\n")
        items = laptop.json("clipboard", "list")["items"]
        assert [each["content"] for each in items] == ["two\n\tlines 电脑\n", "one"], items
        copied = subprocess.run(
            [LOCKSTEP, "agent", "clipboard", "copy", "1", "--home", laptop.path],
            capture_output=True, check=True, timeout=PATIENCE).stdout
        assert "phone" in laptop.run("clipboard", "list")
        assert copied == "two\n\tlines 电脑\n".encode(), copied
        assert "removed: one" in laptop.run("clipboard", "remove", "2")
        assert len(phone.json("clipboard", "list")["items"]) == 1
        assert "1 item removed" in phone.run("clipboard", "clear")
        assert "nothing was copied" in laptop.run("clipboard", "list")


def on_terminal(home, *words):
    """Output of a command whose output and errors are a terminal."""
    main_end, terminal = pty.openpty()
    try:
        done = subprocess.run([LOCKSTEP, "agent", *words, "--home", home.path], timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
        os.close(terminal)
        terminal = None
        seen = b""
        with contextlib.suppress(OSError):
            while part := os.read(main_end, 65_536):
                seen += part
        return done.returncode, seen.decode().replace("\r\n", "\n")
    finally:
        os.close(main_end)
        if terminal is not None:
            os.close(terminal)


def story_a_terminal_is_not_driven_by_what_was_copied_elsewhere():
    """Escapes, C1 controls and direction marks are shown as text, not executed; a pipe gets the
    exact bytes."""
    evil = "a\x1b]0;title\x07b\x9b2Jc\u202ed\u2066e\rf\n\tend"
    shown_as = "a\\u001b]0;title\\u0007b\\u009b2Jc\\u202ed\\u2066e\\u000df\n\tend"
    with devices() as (_, phone, laptop):
        run_with_input(phone, "clipboard", "add", input=evil)
        laptop.run("sync")
        code, seen = on_terminal(laptop, "clipboard", "copy", "1")
        assert (code, seen) == (0, shown_as + "\n") or (code, seen) == (0, shown_as), seen
        copied = subprocess.run(
            [LOCKSTEP, "agent", "clipboard", "copy", "1", "--home", laptop.path],
            capture_output=True, check=True, timeout=PATIENCE).stdout
        assert copied == evil.encode(), copied
        run_with_input(phone, "memo", "add", input=evil)
        laptop.run("sync")
        for words in [("clipboard", "list"), ("clipboard", "list", "--json"),
                      ("clipboard", "copy", "1", "--json"), ("memo", "list"), ("memo", "show", "1"),
                      ("memo", "list", "--json"), ("memo", "show", "no\x9b2J\u202esuch")]:
            _, seen = on_terminal(laptop, *words)
            for sign in ["\x1b", "\x07", "\x9b", "\u202e", "\u2066"]:
                assert sign not in seen, (words, seen)
            if "--json" in words:
                json.loads(seen)


def story_the_hundred_newest_items_stand():
    """The limit also holds if both devices copied without a relay."""
    with devices("--plain") as (relay, phone, laptop):
        relay.stop()
        for home in (phone, laptop):
            with home.start_agent():
                for number in range(55):
                    run_with_input(home, "clipboard", "add", input=f"{number}")
        relay.start()
        for home in (phone, laptop, phone, laptop):
            home.run("sync")
        lists = [home.json("clipboard", "list")["items"] for home in (phone, laptop)]
        assert [len(each) for each in lists] == [100, 100], lists
        assert lists[0] == lists[1]
        # Not only hidden: the relay has tombstones for the ten oldest.
        person = phone.person(relay)
        left = person.call("GET", "/v1/changes?zone=Clipboard").json["changes"]
        assert len(left) == 100, len(left)


def story_a_pinned_item_stands_first_and_stays_when_others_go():
    """Pins are on all devices; they outlive a hundred newer items, and `clear`."""
    with devices() as (_, phone, laptop):
        for text in ("address", "other"):
            phone.run("clipboard", "add", text)
        assert "pinned: address" in laptop.run("clipboard", "pin", "2")
        assert "already pinned" in laptop.run("clipboard", "pin", "1")
        first = phone.run("clipboard", "list").splitlines()[0]
        assert first.endswith("[pinned] address"), first
        with laptop.start_agent():
            for number in range(101):
                laptop.run("clipboard", "add", f"{number}")
            laptop.run("sync")
        items = phone.json("clipboard", "list")["items"]
        assert len(items) == 100 and items[0]["content"] == "address", items[:2]
        assert "1 pinned item stays" in phone.run("clipboard", "clear")
        left = laptop.json("clipboard", "list")["items"]
        assert [each["content"] for each in left] == ["address"], left
        assert "no longer pinned: address" in laptop.run("clipboard", "unpin", "1")
        phone.run("clipboard", "pin", "1")
        assert "1 item removed" in phone.run("clipboard", "clear", "--all")
        assert "nothing was copied" in laptop.run("clipboard", "list")


def story_an_image_of_a_page_is_listed_as_such_and_written_to_a_file():
    """The terminal neither prints its bytes nor breaks on it; it gets them from the relay."""
    with devices("--plain") as (relay, phone, laptop):
        person = phone.person(relay)
        parts = [os.urandom(4 << 20), os.urandom(300_000)]
        names = [upload(person, part) for part in parts]
        image = {"name": "lake.png", "bytes": sum(map(len, parts)), "chunks": names}
        expect(person.save({
            "name": "lake", "type": "ClipboardItem", "modifiedAt": now(), "baseTag": "any",
            "fields": {"content": "lake.png", "image": image, "imageType": "image/png"},
            "chunks": names}, zone="Clipboard"), 200)
        assert "[image, 4.2 MiB, PNG] lake.png" in laptop.run("clipboard", "list")
        laptop.refuses("clipboard", "copy", "1", says="clipboard get ITEM --output FILE")
        code, seen = on_terminal(laptop, "clipboard", "get", "1")
        assert code == 1 and "--output FILE" in seen, seen
        path = os.path.join(laptop.path, "lake.png")
        said = laptop.run("clipboard", "get", "1", "--output", path)
        assert f"wrote {image['bytes']} bytes" in said, said
        with open(path, "rb") as file:
            assert file.read() == b"".join(parts)
        laptop.refuses("clipboard", "get", "1", "--output", path, says="is there already")
        piped = subprocess.run([LOCKSTEP, "clipboard", "get", "lake", "--home", laptop.path],
                               capture_output=True, check=True, timeout=PATIENCE).stdout
        assert piped == b"".join(parts)
        laptop.run("clipboard", "pin", "1")
        [held] = [it for it in person.call("GET", "/v1/changes?zone=Clipboard").json["changes"]
                  if it["name"] == "lake"]
        assert held["fields"]["image"] == image and sorted(held["chunks"]) == sorted(names), held
        # A text is written byte for byte, too.
        run_with_input(phone, "clipboard", "add", input="two\nlines")
        text = os.path.join(laptop.path, "text")
        laptop.run("clipboard", "get", "2", "--output", text)
        with open(text, encoding="utf-8") as file:
            assert file.read() == "two\nlines"
        relay.stop()
        laptop.refuses("clipboard", "get", "1", "--output", text + ".png", says="")
        assert not os.path.exists(text + ".png")


def story_what_cannot_be_copied_is_refused_and_nothing_changes():
    with devices("--plain") as (_, phone, _laptop):
        for blank in ("", " \n\t"):
            phone.refuses("clipboard", "add", blank, says="nothing to add: the text is blank")
        phone.refuses("clipboard", "pin", "1", says="there is no item")
        phone.refuses("clipboard", "remove", "1", says="there is no item")
        refused("agent", "clipboard", "add", home=phone.path, input="x" * ((1 << 20) + 1),
                says="over 1048576 bytes")
        answer = subprocess.run(
            [LOCKSTEP, "agent", "clipboard", "add", "--home", phone.path], input=b"\xff\xfe",
            capture_output=True, timeout=PATIENCE)
        assert answer.returncode == 1 and b"not UTF-8" in answer.stderr, answer
        # The largest text that fits into a record, as JSON.
        run_with_input(phone, "clipboard", "add", input="x" * ((1 << 20) - 14))
        refused("agent", "clipboard", "add", home=phone.path, input="x" * ((1 << 20) - 13),
                says="the limit is")
        assert len(phone.json("clipboard", "list")["items"]) == 1


def story_a_memo_is_written_found_and_removed_on_any_device():
    with devices() as (_, phone, laptop):
        run_with_input(phone, "memo", "add", input="Milk\nand eggs\n")
        phone.run("memo", "add", "Plan")
        assert [each["title"] for each in laptop.json("memo", "list")["memos"]] == ["Plan", "Milk"]
        assert [each["title"] for each in laptop.json("memo", "search", "EGGS", "milk")["memos"]] \
            == ["Milk"]
        run_with_input(laptop, "memo", "edit", "milk", input="Bread\n")
        assert phone.run("memo", "show", "bread") == "Bread\n"
        laptop.run("memo", "remove", "plan")
        assert len(phone.json("memo", "list")["memos"]) == 1
        phone.refuses("memo", "show", "plan", says="there is no memo")


def story_two_devices_write_one_memo_and_both_texts_are_kept():
    """Both devices are offline: the newer text stays, and the other is kept as a marked copy, on
    both devices."""
    with devices() as (relay, phone, laptop):
        phone.run("memo", "add", "Shared")
        assert len(laptop.json("memo", "list")["memos"]) == 1
        relay.stop()
        run_with_input(phone, "memo", "edit", "1", input="From the phone")
        run_with_input(laptop, "memo", "edit", "1", input="From the laptop")
        relay.start()
        for home in (phone, laptop, phone):
            home.run("sync")
        memos = [home.json("memo", "list")["memos"] for home in (phone, laptop)]
        assert memos[0] == memos[1], memos
        assert {each["title"] for each in memos[0]} == {"From the phone", "From the laptop"}
        [kept] = [each for each in memos[0] if "copyOf" not in each]
        [copy] = [each for each in memos[0] if "copyOf" in each]
        assert kept["title"] == "From the laptop" and copy["copyOf"] == kept["name"], memos
        assert "other version" in phone.run("memo", "list")


def story_an_editor_writes_a_memo():
    """$EDITOR gets the text, and its result becomes the memo; a text that cannot be saved is not
    lost."""
    with devices() as (_, phone, laptop):
        phone.run("memo", "add", "Milk")
        editor = os.path.join(os.path.dirname(phone.path), "editor")

        def edit(script):
            with open(editor, "w") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(editor, 0o700)
            main_end, terminal = pty.openpty()
            try:
                return subprocess.run(
                    [LOCKSTEP, "agent", "memo", "edit", "1", "--home", phone.path],
                    stdin=terminal, capture_output=True, text=True, timeout=PATIENCE,
                    env={**os.environ, "EDITOR": editor, "VISUAL": ""})
            finally:
                os.close(main_end)
                os.close(terminal)

        answer = edit('sed -i s/Milk/Bread/ "$1"')
        assert answer.returncode == 0 and "changed: Bread" in answer.stdout, answer
        assert laptop.run("memo", "show", "1") == "Bread\n"
        assert "nothing was changed" in edit("exit 0").stdout
        answer = edit("exit 3")
        assert answer.returncode == 1 and "failed" in answer.stderr, answer
        answer = edit('printf "  " > "$1"')
        assert answer.returncode == 1, answer
        path = answer.stderr.rsplit("is in ", 1)[1].strip()
        with open(path) as file:
            assert file.read() == "  "
        os.remove(path)
        assert phone.run("memo", "show", "1") == "Bread\n"


def story_a_habit_is_counted_on_two_devices_and_nothing_is_counted_twice():
    """Both devices are offline; the sums are the same whichever device syncs first."""
    with devices() as (relay, phone, laptop):
        # What has a goal of more than one is counted.
        phone.run("habits", "add", "Water", "--target", "8")
        phone.run("habits", "add", "Run")
        laptop.run("habits", "restore", "yes")
        laptop.run("habits", "count", "water", "+2", "--day", "2026-03-01")
        phone.run("sync")
        relay.stop()
        phone.run("habits", "count", "water", "3", "--day", "2026-03-01")
        phone.run("habits", "check", "run", "--day", "2026-03-01")
        laptop.run("habits", "count", "water", "+4", "--day", "2026-03-01")
        laptop.run("habits", "count", "water", "1", "--undo", "--day", "2026-03-01")
        relay.start()
        for home in (phone, laptop, phone):
            home.run("sync")
        for home in (phone, laptop):
            run_, water = home.json("habits", "day", "2026-03-01")["habits"]
            assert (water["title"], water["total"], water["done"]) == ("Water", 8, True), water
            assert run_["done"] is True, run_
            assert "8 of 8" in home.run("habits", "day", "2026-03-01")
        phone.refuses("habits", "count", "water", "9", "--undo", "--day", "2026-03-01",
                      says="only 8")
        phone.refuses("habits", "check", "run", "--day", "2026-02-30", says="is no day")
        today = datetime.date.today().isoformat()
        assert today in phone.run("habits", "day") or \
            datetime.date.today().isoformat() in phone.run("habits", "day")


def story_a_day_that_has_not_begun_is_not_checked():
    """A wrong year is refused with the day; an earlier day is taken, and a mark of another device
    can be taken back."""
    with devices() as (_, phone, _):
        today = datetime.date.today()
        past, later = today - datetime.timedelta(2), today + datetime.timedelta(2)
        phone.run("habits", "add", "Run")
        phone.run("habits", "add", "Water", "--target", "3")
        for words in [("check", "run"), ("count", "water"), ("count", "water", "2")]:
            refused("agent", "habits", *words, "--day", str(later), home=phone.path, code=2,
                    says=[f"{later} has not begun yet", str(today)])
            phone.run("habits", *words, "--day", str(past))
        phone.run("habits", "uncheck", "run", "--day", str(later))
        phone.refuses("habits", "check", "run", "--day", "soon", says="is no day")


def story_habits_are_arranged_on_two_devices_at_once_and_nobody_is_asked():
    """Both devices are offline; each move counts, and an edit of a habit meets no conflict."""
    with devices() as (relay, phone, laptop):
        for title in ("Draw", "Read", "Run", "Write"):
            phone.run("habits", "add", title)
        laptop.run("habits", "restore", "yes")
        told = phone.run("habits", "move", "run", "1")
        assert "moved: Run, now number 1" in told, told
        for home in (phone, laptop):
            home.run("sync")
        relay.stop()
        phone.run("habits", "move", "write", "1")
        phone.run("habits", "archive", "draw")
        laptop.run("habits", "move", "read", "9")
        laptop.run("habits", "edit", "run", "--title", "Run far")
        relay.start()
        for home in (phone, laptop, phone):
            home.run("sync")
        for home in (phone, laptop):
            titles = [habit["title"] for habit in home.json("habits", "list")["habits"]]
            assert titles == ["Write", "Run far", "Read"], titles
            assert len(home.json("habits", "stats")["habits"]) == 3
            assert "  4  Draw" in home.run("habits", "list", "--archived")
            assert home.json("habits", "conflicts")["conflicts"] == []
        laptop.refuses("habits", "move", "draw", "1", says="is archived; unarchive it first")
        laptop.refuses("habits", "move", "nothing", "1", says="nothing")
        laptop.run("habits", "unarchive", "draw")
        titles = [habit["title"] for habit in laptop.json("habits", "list")["habits"]]
        assert sorted(titles) == ["Draw", "Read", "Run far", "Write"], titles


def story_a_habit_changed_on_two_devices_waits_for_the_person():
    """Nothing is overwritten, other habits keep syncing, and the choice reaches all devices."""
    with devices() as (relay, phone, laptop):
        phone.run("habits", "add", "Run")
        laptop.run("habits", "restore", "yes")
        relay.stop()
        phone.run("habits", "edit", "run", "--title", "Jog")
        laptop.run("habits", "edit", "run", "--title", "Swim")
        relay.start()
        phone.run("sync")
        laptop.run("habits", "check", "swim", "--day", "2026-03-01")
        [conflict] = laptop.json("habits", "conflicts")["conflicts"]
        assert conflict["local"]["fields"]["title"] == "Swim", conflict
        assert conflict["cloud"]["fields"]["title"] == "Jog", conflict
        told = laptop.run("habits", "conflicts")
        assert "local  Swim" in told and "cloud  Jog" in told and "ago" in told + "ago", told
        [habit] = phone.json("habits", "day", "2026-03-01")["habits"]
        assert (habit["title"], habit["done"]) == ("Jog", True), habit
        laptop.refuses("habits", "keep", "both", "1", says="keep local or cloud")
        laptop.run("habits", "keep", "local", "swim")
        laptop.run("sync")
        for home in (phone, laptop):
            [habit] = home.json("habits", "day", "2026-03-01")["habits"]
            assert habit["title"] == "Swim", habit
        assert "no habit waits" in laptop.run("habits", "conflicts")


def story_a_watcher_sees_what_the_other_device_does():
    with devices() as (_, phone, laptop):
        for words, act, seen in [
                (("clipboard", "watch"), ("clipboard", "add", "x"), lambda view: view["items"]),
                (("memo", "watch"), ("memo", "add", "y"), lambda view: view["memos"]),
                (("habits", "watch"), ("habits", "add", "z"), lambda view: view["habits"])]:
            with laptop.background(*words) as watcher:
                assert not seen(json.loads(watcher.line()))
                phone.run(*act)
                view = json.loads(watcher.line())
                assert len(seen(view)) == 1, view


def story_settings_of_the_timer_hold_on_all_devices():
    with devices() as (relay, phone, laptop):
        told = phone.run("timer", "settings", "set", "focusMinutes=50", "autoStart=false")
        assert "focusMinutes          50" in told, told
        laptop.run("timer", "start")
        assert phone.timer("status")["remaining"] > 49 * 60_000
        phone.refuses("timer", "settings", "set", "focusMinutes=soon",
                      says="no value for the length of a focus")
        phone.refuses("timer", "settings", "set", "theme=dark", says="there is no setting")
        refused("agent", "timer", "settings", "set", "focus", home=phone.path, code=2,
                says="NAME=VALUE")
        # Both sides change at once: each keeps the settings that the other did not change.
        relay.stop()
        phone.run("timer", "settings", "set", "focusMinutes=40")
        laptop.run("timer", "settings", "set", "snoozeMinutes=9")
        relay.start()
        for home in (phone, laptop, phone):
            home.run("sync")
        for home in (phone, laptop):
            settings = home.json("timer", "settings", "get")
            assert (settings["focusMinutes"], settings["snoozeMinutes"]) == (40, 9), settings


def story_devices_are_listed_and_renamed():
    with devices() as (relay, phone, laptop):
        with laptop.start_agent():
            wait_until(lambda: laptop.status()["state"] == "inSync", "the laptop to be in sync")
            listed = {each["deviceName"]: each for each in phone.json("devices")["devices"]}
            assert set(listed) == {"phone", "laptop"} and listed["laptop"]["connected"], listed
            assert "(this one)" in phone.run("devices")
            phone.run("rename", "pocket")
            phone.run("rename", "desk", "--device", listed["laptop"]["deviceID"])
            names = {each["deviceName"] for each in laptop.json("devices")["devices"]}
            assert names == {"pocket", "desk"}, names
        phone.refuses("rename", "x", "--device", "0" * 16, says="")
        phone.refuses("rename", "x" * 256, says="")
        relay.stop()
        phone.refuses("devices", says="cannot be reached")


def story_a_lost_device_is_taken_out():
    """A revoked device is rejected at once, keeps its unsent changes, and prints the next step."""
    with devices() as (relay, phone, laptop):
        laptop.run("memo", "add", "mine")
        phone.refuses("revoke", "tablet", says="has no device")
        phone.refuses("revoke", "phone", says="lockstep agent leave")
        with laptop.start_agent():
            wait_until(lambda: laptop.status()["state"] == "inSync", "the laptop to be in sync")
            assert "laptop" in phone.run("revoke", "laptop")
            wait_until(lambda: laptop.status()["state"] == "failed", "the laptop to be told")
        assert "join the account again" in laptop.run("sync", code=1)
        assert len(laptop.json("memo", "list")["memos"]) == 1
        assert [each["deviceName"] for each in phone.json("devices")["devices"]] == ["phone"]
        phone.refuses("revoke", laptop.status()["device"], says="has no device")
        other = phone.pair(relay, os.path.dirname(phone.path), "tablet")
        again = phone.pair(relay, os.path.dirname(phone.path), "spare")
        phone.run("rename", "tablet", "--device", again.status()["device"])
        phone.refuses("revoke", "tablet", says="2 devices have that name")
        told = json.loads(phone.run("revoke", other.status()["device"], "--json"))
        assert told["revoked"] == other.status()["device"], told


def story_a_plan_without_habits_says_so_and_the_rest_goes_on():
    with folder() as directory, Relay(is_open=False) as relay:
        code = json.loads(run(
            "account", "create", "mum", "--store", relay.store, "--json").stdout)["code"]
        phone = Home(os.path.join(directory, "phone"))
        run("agent", "join", "--relay", relay.address, "--code", "-", home=phone.path,
            input=code + "\n")
        run("account", "plan", "mum", "--zones", "Timer,Memos", "--store", relay.store)
        phone.run("habits", "add", "Run")
        phone.run("memo", "add", "Milk")
        status = wait_until(
            lambda: phone.status() if phone.status().get("blockedZones") else None, "the plan's word")
        assert status["blockedZones"] == ["Habits"] and status["state"] == "needsPerson", status
        assert "plan does not include Habits" in phone.run("habits", "status")
        run("account", "plan", "mum", "--all", "--store", relay.store)
        phone.run("sync")
        assert phone.status()["state"] == "inSync", phone.status()


if __name__ == "__main__":
    main(globals(), at_once=4)
