"""Decisions of a person about a device: the data that it shares, its initial state, its export; and
messages if something cannot be done."""

import contextlib
import json
import os
import pty
import select
import subprocess
import time

from story import (
    LOCKSTEP,
    PATIENCE,
    Home,
    Relay,
    SmallDisk,
    folder,
    main,
    refused,
    run,
    terminal_decoder,
    wait_until,
)


@contextlib.contextmanager
def devices():
    """A relay, and two devices of one account."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone")
        yield directory, relay, phone, phone.pair(relay, directory, "laptop")


def contents(home):
    return [each["content"] for each in home.json("clipboard", "list")["items"]]


def at_terminal(home, *words, typed):
    """Runs the command with a person at its terminal: returns its exit code, and the terminal's
    text."""
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        [LOCKSTEP, "agent", *words, "--home", home.path], stdin=terminal, stdout=terminal,
        stderr=terminal, env={**os.environ, "TERM": "dumb"})
    os.close(terminal)
    text, answers, decoder = "", list(typed), terminal_decoder()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if select.select([person], [], [], 0.05)[0]:
            try:
                text += decoder.decode(os.read(person, 1 << 16))
            except OSError:
                break
        # A question ends with a question mark or colon and a space.
        if answers and text.endswith(("? ", ": ")):
            os.write(person, (answers.pop(0) + "\n").encode())
            text += "\n"
    os.close(person)
    return process.wait(timeout=PATIENCE), text.replace("\r", "")


def story_a_clipboard_that_is_off_keeps_to_itself_and_meets_the_others_when_it_is_on():
    with devices() as (_, relay, phone, laptop):
        phone.run("clipboard", "add", "before")
        assert contents(laptop) == ["before"]
        assert "is now off" in phone.run("clipboard", "off")
        assert "already off" in phone.run("clipboard", "off")
        told = run("agent", "clipboard", "add", "mine", home=phone.path)
        assert "switched off" in told.stderr, told
        laptop.run("clipboard", "add", "theirs")
        laptop.run("clipboard", "remove", "2")
        phone.run("memo", "add", "goes on")
        phone.run("sync")
        assert contents(phone) == ["mine", "before"]
        assert contents(laptop) == ["theirs"]
        assert laptop.json("memo", "list")["memos"]
        status = phone.json("clipboard", "status")
        assert status["clipboard"] == {"on": False, "items": 2, "waiting": 1}, status
        assert status["state"] == "inSync" and status["zonesOff"][0]["waiting"] == 1, status
        assert "clipboard off, 2 items; 1 waiting to be sent" in phone.run("clipboard", "status")
        # Also after a restart of everything, and with a process that keeps the home.
        relay.stop()
        relay.start()
        with phone.start_agent():
            wait_until(lambda: phone.status()["state"] == "inSync", "the phone to be in sync")
            assert contents(phone) == ["mine", "before"]
            assert "is now on" in phone.run("clipboard", "on")
            wait_until(lambda: contents(phone) == ["theirs", "mine"], lambda: contents(phone))
        assert contents(laptop) == ["theirs", "mine"]
        assert phone.json("clipboard", "status")["clipboard"] == \
            {"on": True, "items": 2, "waiting": 0}
        assert "already on" in phone.run("clipboard", "on")


def story_a_device_that_begins_with_nothing_is_asked_about_habits():
    """Nothing is shown and nothing overwritten before the answer; everything else continues."""
    with devices() as (_, _relay, phone, laptop):
        phone.run("habits", "add", "Run")
        phone.run("habits", "add", "Water", "--count", "--target", "8")
        phone.run("habits", "check", "run", "--day", "2026-03-01")
        for words in (("list",), ("day",), ("add", "Swim"), ("check", "run"), ("conflicts",),
                      ("remove", "run"), ("watch",)):
            laptop.refuses("habits", *words, says=["have 2 habits", "restore yes", "restore wipe"])
        laptop.run("memo", "add", "goes on")
        assert "restore yes|wipe" in laptop.run("habits", "status")
        assert laptop.status()["restore"] == [{"app": "habits", "count": 2}]
        refused("agent", "habits", "restore", "maybe", home=laptop.path, code=2,
                says="neither yes nor wipe")
        laptop.refuses("habits", "restore", "wipe", says=["2 habits on all devices", "--yes"])
        assert "2 habits accepted" in laptop.run("habits", "restore", "yes")
        habits = laptop.json("habits", "day", "2026-03-01")["habits"]
        assert [(each["title"], each["done"]) for each in habits] == \
            [("Run", True), ("Water", False)], habits
        assert laptop.status()["state"] == "inSync", laptop.status()
        assert "no decision is pending" in laptop.run("habits", "restore", "yes")
        laptop.refuses("habits", "restore", "wipe", "--yes", says="no decision is pending")
        assert len(phone.json("habits", "list")["habits"]) == 2


def story_habits_are_wiped_and_begun_anew():
    with devices() as (_, _relay, phone, laptop):
        phone.run("habits", "add", "Run")
        phone.run("memo", "add", "stays")
        assert "1 habit deleted" in laptop.run("habits", "restore", "wipe", "--yes")
        laptop.run("habits", "add", "Swim")
        for home in (laptop, phone):
            assert [each["title"] for each in home.json("habits", "list")["habits"]] == ["Swim"]
        assert len(laptop.json("memo", "list")["memos"]) == 1


def story_a_habit_that_was_made_before_the_first_sync_is_an_answer():
    with devices() as (_, relay, phone, laptop):
        phone.run("habits", "add", "Run")
        relay.stop()
        laptop.run("habits", "add", "Swim")
        relay.start()
        laptop.run("sync")
        assert [each["title"] for each in laptop.json("habits", "list")["habits"]] == \
            ["Run", "Swim"]


def story_a_person_at_a_terminal_is_asked_right_there():
    with devices() as (_, _relay, phone, laptop):
        phone.run("habits", "add", "Run")
        code, text = at_terminal(laptop, "habits", "list", typed=["what", "later"])
        assert code == 1 and text.count("yes, wipe or later?") == 2, text
        assert "have 1 habit" in text, text
        code, text = at_terminal(laptop, "habits", "list", typed=["wipe", "no"])
        assert code == 1 and "for good" in text, text
        code, text = at_terminal(laptop, "habits", "restore", "wipe", typed=["no"])
        assert code == 1 and "nothing was deleted" in text, text
        code, text = at_terminal(laptop, "habits", "list", typed=["yes"])
        assert code == 0 and "Run" in text, text
        code, text = at_terminal(laptop, "habits", "list", typed=[])
        assert code == 0 and "later" not in text, text


def story_a_home_is_written_out_as_files_that_anybody_can_read():
    """Works offline and while the home is in use; the export is of one moment, and without the
    token."""
    with devices() as (directory, relay, phone, laptop):
        phone.run("clipboard", "add", "an apple")
        run("agent", "memo", "add", home=phone.path, input="Milk/eggs\nand bread\n")
        run("agent", "memo", "add", home=phone.path, input="Milk/eggs\nand more\n")
        phone.run("habits", "add", "Run")
        phone.run("timer", "start")
        laptop.run("habits", "restore", "yes")
        relay.stop()
        phone.run("habits", "edit", "run", "--title", "Jog")
        laptop.run("habits", "edit", "run", "--title", "Swim")
        relay.start()
        phone.run("sync")
        laptop.run("sync", code=1)
        relay.stop()
        laptop.run("clipboard", "add", "not sent")
        with laptop.start_agent():
            path = os.path.join(directory, "out")
            told = json.loads(laptop.run("export", path, "--json"))
            assert told["memos"] == 2 and told["conflicts"] == 1, told
            laptop.refuses("export", path, says="not empty")
        files = {}
        for folder_, _, names in os.walk(path):
            for name in names:
                with open(os.path.join(folder_, name)) as file:
                    files[os.path.relpath(os.path.join(folder_, name), path)] = file.read()
        assert {"home.json", "timer.json", "clipboard.json", "memo.json", "habits.json",
                "vault.json", "conflicts.json"} <= set(files), files.keys()
        memos = sorted(name for name in files if name.startswith("memos/"))
        assert len(memos) == 2 and all("Milk-eggs" in name for name in memos), memos
        assert {files[name] for name in memos} == \
            {"Milk/eggs\nand bread\n", "Milk/eggs\nand more\n"}
        items = {each["fields"]["content"]: each for each in json.loads(files["clipboard.json"])}
        assert items["not sent"]["unsent"] and "unsent" not in items["an apple"], items
        [conflict] = json.loads(files["conflicts.json"])
        assert conflict["local"]["fields"]["title"] == "Swim", conflict
        assert conflict["cloud"]["fields"]["title"] == "Jog", conflict
        assert json.loads(files["timer.json"])[0]["fields"]["edits"][0]["stateType"] == "focus"
        assert json.loads(files["home.json"])["deviceName"] == "laptop"
        relay.start()
        token = laptop.person(relay).token
        assert not any(token in text for text in files.values())
        assert os.stat(path).st_mode & 0o077 == 0
        refused("agent", "export", path, home=directory + "/nowhere", says="there is no home")


def story_what_is_no_text_is_not_taken_for_another():
    """Invalid UTF-8 on the command line: nothing is changed."""
    with devices() as (_, _relay, phone, _laptop):
        for words in ((b"clipboard", b"add", b"\xff"), (b"memo", b"add", b"a\xc3"),
                      (b"habits", b"add", b"\xed\xa0\x80"), (b"rename", b"\xff")):
            done = subprocess.run(
                [LOCKSTEP.encode(), b"agent", *words, b"--home", phone.path.encode()],
                capture_output=True, timeout=PATIENCE)
            assert done.returncode == 2 and not done.stdout, done
            assert b"is not UTF-8 text; nothing was done" in done.stderr, done
        assert not contents(phone) and not phone.json("memo", "list")["memos"]
        assert not phone.json("habits", "list")["habits"]
        assert phone.status()["deviceName"] == "phone"


def story_what_makes_no_sense_is_said_with_the_next_step_and_changes_nothing():
    with devices() as (_, _relay, phone, _laptop):
        phone.run("habits", "add", "Water", "--count", "--target", "3")
        phone.run("memo", "add", "Milk")
        before = {app: phone.run(app, "list", "--json") for app in ("habits", "memo")}
        for words, says in [
                (("timer", "snooze"), "start the timer first"),
                (("timer", "pause"), "start the timer first"),
                (("timer", "settings", "set", "focusMinutes=-5"), "no value for the length of a focus"),
                (("clipboard", "copy", "1"), "there is no item"),
                (("memo", "show", "2"), "the last one is 1"),
                (("memo", "remove", "bread"), "give its number"),
                (("memo", "add", " "), "remove it instead"),
                (("habits", "add", ""), "1 to 200 characters"),
                (("habits", "add", "x" * 201), "1 to 200 characters"),
                (("habits", "check", "water"), "use count"),
                (("habits", "count", "water", "0"), "count by 1"),
                (("habits", "count", "water", "1", "--undo"), "only 0"),
                (("habits", "count", "water", "1", "--day", "2026-02-30"), "write it as"),
                (("habits", "day", "tomorrow"), "write it as"),
                (("habits", "list", "--day", "20260301"), "write it as"),
                (("habits", "keep", "local", "1"), "there is no conflict"),
                (("habits", "edit", "water"), "say what is to change")]:
            phone.refuses(*words, says=says)
        for words in [("timer", "start", "--minutes", "0"), ("timer", "start", "--minutes", "x"),
                      ("habits", "add", "x", "--target", "0"), ("habits", "count", "1", "1.5"),
                      ("habits", "restore"), ("clipboard", "maybe"), ("export",)]:
            refused("agent", *words, home=phone.path, code=2, says="")
        assert before == {app: phone.run(app, "list", "--json") for app in before}
        assert phone.timer("status")["stateType"] == "idle"


def story_a_full_disk_is_said_and_nothing_is_written_by_half():
    """A change in every app, and an export, are refused; with free space everything works again."""
    with Relay() as relay, SmallDisk(4096) as disk:
        if not disk.mounted:
            print("NOT RUN  a full disk: this process may not mount one", flush=True)
            return
        phone = Home.new(relay, disk.path, "phone")
        phone.run("memo", "add", "Milk")
        filler = os.path.join(disk.path, "filler")
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        large = "x" * (300 << 10)
        for words in (("clipboard", "add"), ("memo", "add")):
            done = subprocess.run(
                [LOCKSTEP, "agent", *words, "--home", phone.path], input=large, text=True,
                capture_output=True, timeout=PATIENCE)
            assert done.returncode == 1 and "free some" in done.stderr, done
            assert "added" not in done.stdout, done
        export = os.path.join(disk.path, "out")
        done = subprocess.run(
            [LOCKSTEP, "agent", "export", export, "--home", phone.path], text=True,
            capture_output=True, timeout=PATIENCE)
        assert done.returncode == 1 and done.stderr, done
        assert not os.path.exists(export) and not os.path.exists(export + ".partial")
        os.remove(filler)
        run("agent", "clipboard", "add", home=phone.path, input=large)
        phone.run("sync")
        assert [each["title"] for each in phone.json("memo", "list")["memos"]] == ["Milk"]
        assert len(contents(phone)) == 1


def story_a_relay_that_refuses_loses_nothing_and_is_quoted():
    """A plan without any zone: commands keep working, and report the error."""
    with folder() as directory, Relay(is_open=False) as relay:
        code = json.loads(run(
            "account", "create", "mum", "--store", relay.store, "--json").stdout)["code"]
        phone = Home(os.path.join(directory, "phone"))
        run("agent", "join", "--relay", relay.address, "--code", "-", home=phone.path,
            input=code + "\n")
        phone.run("sync")
        run("account", "plan", "mum", "--none", "--store", relay.store)
        for words in (("clipboard", "add", "x"), ("memo", "add", "y"), ("habits", "add", "z"),
                      ("timer", "start")):
            done = run("agent", *words, home=phone.path)
            assert "plan" in done.stdout + done.stderr, done
        phone.run("sync", code=1)
        assert phone.status()["waiting"] == 4, phone.status()
        run("account", "plan", "mum", "--all", "--store", relay.store)
        phone.run("sync")
        assert phone.status()["waiting"] == 0, phone.status()


if __name__ == "__main__":
    main(globals(), at_once=3)
