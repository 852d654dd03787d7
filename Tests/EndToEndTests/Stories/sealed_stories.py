"""Sealed accounts on the command line: docs/security.md; the keys with which devices seal the
records, and how other devices get them."""

import base64
import contextlib
import json
import os
import re
import select
import signal
import sqlite3
import subprocess

import qr_code
from account_stories import Owner
from backup_stories import back_up
from database_stories import Database
from sharing_and_export_stories import at_terminal
from sidecar_stories import Sidecar
from story import (
    LOCKSTEP, PATIENCE, Home, Relay, expect, folder, has_postgres, main, record, refused, run,
    wait_until)
from terminal_stories import Screen
from vault_key_stories import KEY, phrase as vault_phrase

WORDS = r"[a-z]{5}( [a-z]{5}){5}"
# Twelve letters that no code has, unless by a chance of 1 in 2^60.
WRONG = "0000-0000-0000"


def sealed_home(relay, directory, name="phone"):
    """The first device of a new sealed account."""
    home = Home(os.path.join(directory, name))
    run("agent", "join", "--relay", relay.address, "--new", "--name", name, home=home.path)
    return home


def join(relay, home, code, *words, expect_code=0):
    """Joins with the code on standard input."""
    return run("agent", "join", "--relay", relay.address, "--code", "-", "--name",
               os.path.basename(home.path), *words, home=home.path, input=code + "\n",
               expect_code=expect_code)


@contextlib.contextmanager
def sealed_account():
    """A relay, and a device of a sealed account."""
    with folder() as directory, Relay() as relay:
        yield directory, relay, sealed_home(relay, directory)


@contextlib.contextmanager
def account_without_devices():
    """A sealed account of which only the memos at the relay and the phrase are left; and a new
    device of it, with a code of the relay's owner."""
    with sealed_account() as (directory, relay, phone):
        for text in ("Milk", "Bread"):
            phone.run("memo", "add", text)
        words, phrase = check_words(phone), phrase_of(phone)
        account = phone.status()["account"]
        phone.run("leave", "--force")
        tablet = Home(os.path.join(directory, "tablet"))
        join(relay, tablet, Owner(relay.store).json("pair", account)["code"])
        yield directory, relay, tablet, phrase, words


def offer(home, *words):
    return home.json("pair", *words)


def halves(code):
    return code[:14], code[15:]


def check_words(home):
    words = home.run("key", "words").strip()
    assert re.fullmatch(WORDS, words), words
    return words


def phrase_of(home):
    return home.json("key", "phrase", "--show")["phrase"]


def restore(home, phrase, *words):
    return run("agent", "key", "restore", *words, home=home.path, input=phrase + "\n").stdout


def names(home):
    return sorted(each["deviceName"] for each in home.json("devices")["devices"])


def contents(home):
    return [each["content"] for each in home.json("clipboard", "list")["items"]]


def habits(home):
    return sorted(each["title"] for each in home.json("habits", "list")["habits"])


def accept_habits(home):
    """Answers what a device that begins with nothing is asked about the account's habits."""
    home.run("habits", "status")
    wait_until(lambda: home.status().get("restore"), "the habits to be read")
    home.run("habits", "restore", "yes")


def notes(home):
    """The table `notes` of the home's store."""
    path = os.path.join(home.path, "replica.sqlite")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return dict(database.execute("SELECT key, value FROM notes"))


def token_of(home):
    path = os.path.join(home.path, "replica.sqlite")
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT token FROM identity").fetchone()[0]


def key_texts(home):
    """The secrets among a home's keys, as they are stored, and as bytes."""
    keys = json.loads(notes(home)["seal.keys"])
    texts = [*keys["generations"], keys["names"]]
    return [text.encode() for text in texts] + [
        base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)) for text in texts]


def spellings(secret):
    """A second half as a person or a program may write it."""
    plain = secret.replace("-", "")
    return [each.encode() for each in (secret, plain, secret.lower(), plain.lower())]


# MARK: two devices

def story_two_devices_of_a_sealed_account_stay_in_step():
    """A second device joins with the code; it shows the same six words, and everything that either
    of them does comes to the other."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        laptop = Home(os.path.join(directory, "laptop"))
        told = join(relay, laptop, offer(phone)["code"]).stdout
        assert check_words(phone) == check_words(laptop)
        assert check_words(phone) in told and "the same six words" in told, told
        assert laptop.memos() == ["Milk"]
        laptop.run("memo", "add", "Bread")
        phone.run("habits", "add", "Run")
        laptop.run("habits", "check", "run", "--day", "2026-03-01")
        phone.run("clipboard", "add", "copied here")
        laptop.run("clipboard", "add", "copied there")
        phone.run("timer", "settings", "set", "focusMinutes=37")
        laptop.run("timer", "start")
        for home in (phone, laptop):
            home.run("sync")
            assert home.memos() == ["Bread", "Milk"], home.path
            [habit] = home.json("habits", "day", "2026-03-01")["habits"]
            assert (habit["title"], habit["done"]) == ("Run", True), habit
            assert contents(home) == ["copied there", "copied here"], home.path
            assert home.timer("status")["stateType"] == "focus", home.path
            assert "37" in home.run("timer", "settings", "get"), home.path
            status = home.status()
            assert (status["state"], status["waiting"]) == ("inSync", 0), status
        phone.run("timer", "stop")
        assert laptop.timer("status")["stateType"] == "idle"


def story_two_edits_at_once_are_both_kept():
    """Both devices change a sealed memo without the relay: the newer text stays, the other becomes
    a memo of its own, on both."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        laptop = Home(os.path.join(directory, "laptop"))
        join(relay, laptop, offer(phone)["code"])
        assert laptop.memos() == ["Milk"]
        relay.stop()
        for home, text in ((phone, "Milk and eggs"), (laptop, "Milk and bread")):
            run("agent", "memo", "edit", "Milk", home=home.path, input=text)
        relay.start()
        for home in (phone, laptop, phone, laptop):
            home.run("sync")
        assert phone.memos() == laptop.memos()
        shown = phone.run("memo", "list")
        assert "Milk and eggs" in shown and "Milk and bread" in shown, shown


def story_a_terminal_shows_the_link_as_a_qr_code():
    """A camera reads the link with the whole code from it. There is none where it is not wanted,
    does not fit, or would not be dark on light; and never in a pipe."""
    with sealed_account() as (_, _, phone):
        def shown(*words, columns=80, **environment):
            with Screen(phone, "pair", *words, columns=columns,
                        environment={"NO_COLOR": "", **environment}) as screen:
                screen.shows(r"#code=(?s:.*)#code=[0-9A-Z-]{14}&keys\r?\n")
                assert screen.process.wait() == 0
                screen.read()
                return screen.text
        text = shown()
        [link] = re.findall(r"lockstep\+http://\S+", text)
        assert re.search("#code=[0-9A-Z]{4}(-[0-9A-Z]{4}){5}$", link), link
        code = qr_code.modules(text)
        assert qr_code.text_of(code) == link
        width = len(code) + 2 * qr_code.MARGIN
        assert qr_code.modules(shown(columns=width))
        for left_out in (shown("--no-qr"), shown(columns=width - 1), shown(NO_COLOR="1"),
                         shown(TERM="dumb"), phone.run("pair"), phone.run("pair", "--json")):
            assert "\x1b" not in left_out and "\u2588" not in left_out, left_out


# MARK: the relay

MEMO_TEXTS = [f"memo-{n} Räucherlachs und Zwieback {n * 7919}" for n in range(14)]
HABIT_TITLES = [f"habit-{n} Trompete üben {n * 6323}" for n in range(12)]
ITEMS = [f"clip-{n} https://kopiert.example/{n * 5381}" for n in range(14)]
FILE_NAMES = [f"steuer-{n}-{n * 4421}.txt" for n in range(5)]
FILE_TEXTS = [f"vault-{n} Kontonummer {n * 104729 + 31337}" for n in range(5)]
TEXTS = MEMO_TEXTS + HABIT_TITLES + ITEMS + FILE_NAMES + FILE_TEXTS
# The timer has no text; these members of its records are in no message of the protocol.
TIMER_MEMBERS = ["stateType", "completedPomodoros", "focusMinutes", "longBreakEvery"]


def write_texts(home, directory, *vault_words):
    """Does with every app what leaves the texts in its records."""
    for text in MEMO_TEXTS:
        home.run("memo", "add", text)
    for title in HABIT_TITLES:
        home.run("habits", "add", title)
    for text in ITEMS:
        home.run("clipboard", "add", text)
    os.makedirs(directory)
    for name, text in zip(FILE_NAMES, FILE_TEXTS):
        with open(os.path.join(directory, name), "w") as file:
            file.write(text)
        home.run("vault", "add", os.path.join(directory, name), *vault_words)
    home.run("timer", "settings", "set", "focusMinutes=37", "longBreakEvery=9")
    home.run("timer", "start")
    home.run("timer", "pause")


def assert_all_read(home, directory, *vault_words):
    """The device has all of the texts."""
    home.run("sync")
    assert len(home.memos()) == len(MEMO_TEXTS)
    assert habits(home) == sorted(HABIT_TITLES)
    assert sorted(contents(home)) == sorted(ITEMS)
    os.makedirs(directory, exist_ok=True)
    for name, text in zip(FILE_NAMES, FILE_TEXTS):
        path = os.path.join(directory, name)
        if not os.path.exists(path):
            home.run("vault", "add", path, *vault_words)
        with open(path) as file:
            assert file.read() == text
    assert home.timer("status")["stateType"] == "focus"


def files_in(path):
    """The bytes of all files in a folder, with their names."""
    found = []
    for at, _, file_names in os.walk(path):
        for name in file_names:
            found.append(name.encode())
            if os.path.isfile(os.path.join(at, name)):
                with open(os.path.join(at, name), "rb") as file:
                    found.append(file.read())
    return b"\n".join(found)


def memory_of(process):
    """The bytes of a running process that it can write: heap, stacks, buffers."""
    found = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            place, access = line.split()[:2]
            if not access.startswith("rw") or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                continue
            start, end = (int(each, 16) for each in place.split("-"))
            with contextlib.suppress(OSError, ValueError):
                memory.seek(start)
                while start < end:
                    data = memory.read(min(end - start, 1 << 24))
                    if not data:
                        break
                    found.append(data)
                    start += len(data)
    return b"".join(found)


def places(relay, directory):
    """Everything in which the relay may have left a text, by name."""
    backup, _ = back_up(relay.store, os.path.join(directory, "backups"))
    return {
        "store": files_in(relay.store), "backup": files_in(backup), "log": relay.text().encode(),
        "memory": memory_of(relay.id)}


def places_of_database(relay, database):
    """The same for a relay with a database: its files with the log of writes, its dump, and the
    logs of both."""
    database.run("psql", "--command=CHECKPOINT")
    dump = database.run("pg_dump")
    # The dump has bytes as hexadecimal digits.
    dump += b"\n".join(bytes.fromhex(digits.decode())
                       for digits in re.findall(rb"\\\\x((?:[0-9a-f]{2})+)", dump))
    with open(os.path.join(database.folder, "log"), "rb") as log:
        logs = log.read() + relay.text().encode()
    return {"store": files_in(os.path.join(database.folder, "data")), "backup": dump, "log": logs,
            "memory": memory_of(relay.id)}


def found(texts, data):
    return [text for text in texts if text.encode() in data]


def assert_nothing_is_found(relay, directory, search):
    """Two devices of a sealed account write and read all texts. `search` gives the places in which
    the relay may have left them; none has any, nor a secret."""
    phone = sealed_home(relay, directory)
    write_texts(phone, os.path.join(directory, "files0"))
    codes = [offer(phone)["code"]]
    laptop = Home(os.path.join(directory, "laptop"))
    join(relay, laptop, codes[0])
    accept_habits(laptop)
    phrase = phrase_of(phone)
    codes.append(offer(phone)["code"])
    for home, files in ((phone, "files0"), (laptop, "files1"), (phone, "files0")):
        assert_all_read(home, os.path.join(directory, files))
    secrets = [each for code in codes for each in spellings(halves(code)[1])]
    secrets += key_texts(phone) + [phrase.encode(), phrase.replace(" ", "-").encode()]
    for place, data in search().items():
        assert found(TEXTS, data) == [], place
        if place != "memory":
            # The relay's program contains them, in the page that it serves.
            assert found(TIMER_MEMBERS, data) == [], place
            tokens = [token_of(home).encode() for home in (phone, laptop)]
            assert not any(token in data for token in tokens), place
        assert not any(secret in data for secret in secrets), place


def assert_all_is_found(relay, directory, search):
    """The same of an account that is not sealed: the search finds what is there."""
    phone = Home.new(relay, directory, "phone", "--plain")
    write_texts(phone, os.path.join(directory, "files0"), "--plain")
    laptop = phone.pair(relay, directory)
    accept_habits(laptop)
    assert_all_read(laptop, os.path.join(directory, "files1"), "--plain")
    control = search()
    for place in ("store", "backup"):
        assert found(TEXTS, control[place]) == TEXTS, place
        assert found(TIMER_MEMBERS, control[place]) == TIMER_MEMBERS, place
    assert len(found(TEXTS, control["memory"])) > 25, found(TEXTS, control["memory"])


def story_nothing_that_a_person_wrote_is_found_at_the_relay():
    """Fifty texts of four apps, and the members of the timer's records: none is in the store, in a
    backup, in the log of everything, or in the memory of the relay, after two devices have read
    them. The same search finds all of them at the relay of an account that is not sealed."""
    assert len(TEXTS) == len(set(TEXTS)) == 50
    for check in (assert_nothing_is_found, assert_all_is_found):
        with folder() as directory, Relay("--log-level", "trace") as relay:
            check(relay, directory, lambda: places(relay, directory))


def story_nothing_that_a_person_wrote_is_found_in_the_relays_database():
    """The same with PostgreSQL: in the files of the database, its dump and its log."""
    if not has_postgres():
        return
    for check in (assert_nothing_is_found, assert_all_is_found):
        with folder() as directory, contextlib.closing(Database()) as database:
            with Relay("--log-level", "trace", store=database.url) as relay:
                check(relay, directory, lambda: places_of_database(relay, database))


def story_secrets_are_in_no_command_line_log_or_link_for_browsers():
    """While a person types a code and a phrase, no process shows them; the agents' logs of
    everything have neither them nor the keys. The link for browsers has the first half alone."""
    with sealed_account() as (directory, relay, phone):
        laptop = Home(os.path.join(directory, "laptop"))
        logged = {"environment": {"LOCKSTEP_LOG_LEVEL": "trace"}}
        with phone.start_agent("--log-level", "trace") as agent:
            wait_until(lambda: phone.status()["state"] == "inSync", "the phone to be in sync")
            told = run("agent", "pair", "--json", home=phone.path, **logged)
            code = json.loads(told.stdout)
            first, second = halves(code["code"])
            assert code["link"] == f"{relay.address}/#code={first}&keys", code
            text = phone.run("pair")
            [typed] = re.findall(r"^([0-9A-Z]{4}(?:-[0-9A-Z]{4}){5})$", text, re.MULTILINE)
            [link] = re.findall(rf"^  ({relay.address}\S*)$", text, re.MULTILINE)
            assert link == f"{relay.address}/#code={halves(typed)[0]}&keys", text
            with Screen(laptop, "join", "--relay", relay.address, "--code", "-",
                        environment=logged["environment"]) as screen:
                shown = question(screen, "Code: ")
                screen.type(first + "\n")
                shown += question(screen, "12 letters: ")
                seen = command_lines()
                screen.type(second + "\n")
                screen.shows("the same six words")
                assert screen.process.wait() == 0
                shown += screen.process.stderr.read()
            phrase = phrase_of(phone)
            with Screen(phone, "key", "restore") as screen:
                question(screen, "Phrase: ")
                screen.type(phrase + "\n")
                seen += command_lines()
                screen.shows("this device has the account's keys")
            phone.run("memo", "add", "Milk")
        agent.complaints.join()
        log = "".join(agent.errors).encode()
        assert b"trace" in log, "a log of everything"
        secrets = [*spellings(second), *spellings(halves(typed)[1]), phrase.encode()]
        secrets += key_texts(phone) + key_texts(laptop)
        for data in (seen, log, told.stderr.encode(), shown):
            assert not any(secret in data for secret in secrets), data


def question(screen, text):
    """Waits for a question on standard error; returns what came there."""
    came = b""

    def is_asked():
        nonlocal came
        if select.select([screen.process.stderr], [], [], 0)[0]:
            came += os.read(screen.process.stderr.fileno(), 1 << 16)
        return came.endswith(text.encode())

    wait_until(is_asked, lambda: f"{text!r} in {came!r}")
    return came


def command_lines():
    """The command lines of all processes."""
    lines = []
    for each in os.listdir("/proc"):
        if each.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{each}/cmdline", "rb") as file:
                lines.append(file.read())
    return b"\n".join(lines)


# MARK: the second half

def story_a_mistyped_second_half_admits_nobody():
    """The account lists no new device; nothing of the account is in the home, and it joins with a
    new code. The first half alone is the same, where nobody can be asked."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        laptop = Home(os.path.join(directory, "laptop"))
        for typed, says in (
                (lambda first, second: f"{first}-{WRONG}", "the second half of that code is wrong"),
                (lambda first, second: first, "that code is its first half alone")):
            code = offer(phone)["code"]
            refused("agent", "join", "--relay", relay.address, "--code", "-", home=laptop.path,
                    input=typed(*halves(code)) + "\n",
                    says=[says, "has not joined", "lockstep agent pair"])
            assert names(phone) == ["phone"]
            laptop.refuses("memo", "list", says="has not joined an account")
            # The relay gives the keys of a code once.
            refused("agent", "join", "--relay", relay.address, "--code", "-", home=laptop.path,
                    input=code + "\n", says="unknown, used or too old")
        join(relay, laptop, offer(phone)["code"])
        assert laptop.memos() == ["Milk"] and names(phone) == ["laptop", "phone"]
        assert check_words(laptop) == check_words(phone)


def story_a_link_to_keys_admits_nobody_without_them():
    """The relay leaves the keys out of its answer: here, the code never had any."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = Home(os.path.join(directory, "laptop"))
        link = phone.json("pair")["link"]
        refused("agent", "join", "--code", f"{link}&keys", home=laptop.path,
                says=["that code is its first half alone", "has not joined"])
        assert names(phone) == ["phone"]
        laptop.refuses("memo", "list", says="has not joined an account")


def story_at_a_terminal_the_second_half_is_asked_for():
    """A wrong one and one that is too short are asked for again; the right one joins, in any
    spelling. Five wrong ones end it, and the account lists no new device."""
    with sealed_account() as (directory, relay, phone):
        laptop = Home(os.path.join(directory, "laptop"))
        first, second = halves(offer(phone)["code"])
        words = ["join", "--relay", relay.address, "--code", "-", "--name", "laptop"]
        code, text = at_terminal(
            laptop, *words, typed=[first, WRONG, "short", second.lower().replace("-", " ")])
        assert code == 0, text
        assert text.count("Second half of the code, 12 letters: ") == 3, text
        assert text.count("the second half of that code is wrong") == 1, text
        assert "twelve letters" in text and check_words(phone) in text, text
        assert check_words(laptop) == check_words(phone)
        tablet = Home(os.path.join(directory, "tablet"))
        first, _ = halves(offer(phone)["code"])
        code, text = at_terminal(tablet, *words, typed=[first] + [WRONG] * 5)
        assert code == 1 and "this device has not joined" in text, text
        assert names(phone) == ["laptop", "phone"]


def story_who_gives_up_at_the_question_leaves_no_device_behind():
    """By Ctrl-C, by the end of input, and by the end of the terminal."""
    with sealed_account() as (directory, relay, phone):
        for number, end in enumerate(("\x03", "\x04", None)):
            tablet = Home(os.path.join(directory, f"tablet{number}"))
            first, _ = halves(offer(phone)["code"])
            with Screen(tablet, "join", "--relay", relay.address, "--code", first) as screen:
                question(screen, "12 letters: ")
                if end == "\x04":
                    screen.type(end)
                else:
                    screen.process.send_signal(signal.SIGINT if end else signal.SIGHUP)
                screen.process.wait()
            assert names(phone) == ["phone"], (end, names(phone))


# MARK: parts of an account

def story_a_device_for_one_zone_has_the_key_of_that_zone_alone():
    """It reads and writes memos in step. Its home has the keys of the memos, and no secret of the
    account, from which the others follow."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        phone.run("clipboard", "add", "secret")
        tablet = Home(os.path.join(directory, "tablet"))
        told = join(relay, tablet, offer(phone, "--zones", "Memos")["code"]).stdout
        assert "It may read and change Memos, and nothing else of the account" in told, told
        assert "the keys of its sealed zones" in told, told
        tablet.run("memo", "add", "Bread")
        assert tablet.memos() == phone.memos() == ["Bread", "Milk"]
        [keys] = json.loads(notes(tablet)["seal.keys"])
        assert set(keys) == {"zone", "names", "generations"} and keys["zone"] == "Memos", keys
        home = files_in(tablet.path)
        assert not any(key in home for key in key_texts(phone))
        # What one zone needs cannot be written down or compared as the account's.
        tablet.refuses("key", "words", says=["paired for some zones", "the whole account"])
        tablet.refuses("key", "phrase", "--show", says=["paired for some zones"])
        refused("agent", "key", "restore", home=tablet.path, input=phrase_of(phone) + "\n",
                says=["paired for some zones", "the whole account"])
        # It gives on what it has, and no more.
        other = Home(os.path.join(directory, "other"))
        join(relay, other, offer(tablet)["code"])
        assert other.memos() == ["Bread", "Milk"]
        assert json.loads(notes(other)["seal.keys"]) == [keys]
        tablet.refuses("pair", "--zones", "Memos,Timer", says="no more than that")


def story_a_device_gets_more_zones_when_it_is_paired_again():
    """From one zone to two, and to the whole account."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        phone.run("timer", "start")
        tablet = Home(os.path.join(directory, "tablet"))
        join(relay, tablet, offer(phone, "--zones", "Memos")["code"])
        tablet.refuses("timer", "status", says="without the zone Timer")
        join(relay, tablet, offer(phone, "--zones", "Memos,Timer")["code"])
        assert tablet.timer("status")["stateType"] == "focus"
        zones = [each["zone"] for each in json.loads(notes(tablet)["seal.keys"])]
        assert sorted(zones) == ["Memos", "Timer"], zones
        join(relay, tablet, offer(phone)["code"])
        assert check_words(tablet) == check_words(phone)
        assert tablet.memos() == ["Milk"]


# MARK: recovery

def story_a_phrase_brings_the_memos_back_when_all_devices_are_lost():
    """A new device joins with a code of the relay's owner, and restores the keys from the phrase;
    in any spelling."""
    with account_without_devices() as (directory, relay, tablet, phrase, words):
        told = restore(tablet, phrase.upper().replace(" ", "-"), "--phrase", "-")
        assert words in told, told
        assert tablet.memos() == ["Bread", "Milk"]
        assert check_words(tablet) == words
        # It is a device like those that were lost.
        assert phrase_of(tablet) == phrase
        laptop = Home(os.path.join(directory, "laptop"))
        join(relay, laptop, offer(tablet)["code"])
        laptop.run("memo", "add", "Eggs")
        assert tablet.memos() == laptop.memos() == ["Bread", "Eggs", "Milk"]


def story_a_phrase_that_is_wrong_changes_nothing():
    """A word that cannot be, one that is another, two swapped, one missing, none; and the phrase of
    another account. Afterwards the right one still works."""
    with account_without_devices() as (directory, relay, tablet, phrase, words):
        parts = phrase.split()
        swap = next(n for n in range(len(parts)) if parts[n] != parts[n + 1])
        swapped = [*parts[:swap], parts[swap + 1], parts[swap], *parts[swap + 2:]]
        other = phrase_of(sealed_home(relay, directory, "other"))
        last = parts[-1][:4] + ("b" if parts[-1][4] != "b" else "d")
        before = notes(tablet)
        for text, says in (
                (" ".join(["xxxxx", *parts[1:]]), "word 1 is misspelt"),
                (" ".join([*parts[:-1], last]), "the checksum is wrong"),
                (" ".join(swapped), ["the checksum is wrong", "two are swapped"]),
                (" ".join(parts[1:]), ["17 words of five letters", "this has 80"]),
                ("", "this has 0"), (other, "the phrase of another account")):
            told = refused("agent", "key", "restore", home=tablet.path, input=text + "\n",
                           says=says)
            assert "nothing was changed" in told, told
            assert notes(tablet).get("seal.keys") == before.get("seal.keys") is None
        refused("agent", "key", "restore", "--phrase", phrase, home=tablet.path, code=2,
                says=["can be seen by others", "standard input"])
        restore(tablet, phrase)
        assert tablet.memos() == ["Bread", "Milk"] and check_words(tablet) == words


def story_a_phrase_is_shown_on_a_terminal_or_on_demand():
    """A file or a pipe does not get it by accident."""
    with sealed_account() as (_, _relay, phone):
        phone.refuses("key", "phrase", says=["not a terminal", "--show"])
        code, text = at_terminal(phone, "key", "phrase", typed=[])
        assert code == 0 and " ".join(text.split()).startswith(phrase_of(phone)), text
        assert " ".join(phone.run("key", "phrase", "--show").split()).startswith(phrase_of(phone))


def story_a_phrase_is_pasted_at_a_terminal_as_it_was_printed():
    """In its three lines; none of them is left for the shell."""
    with account_without_devices() as (_, _relay, tablet, phrase, words):
        parts = phrase.split()
        lines = "\n".join(" ".join(parts[at:at + 6]) for at in range(0, len(parts), 6))
        code, text = at_terminal(tablet, "key", "restore", typed=[lines])
        assert code == 0 and words in text, text
        assert tablet.memos() == ["Bread", "Milk"]


def story_a_device_without_the_keys_says_so():
    """A new device with a code of the relay's owner: joining and the status name the keys that it
    needs, and how to bring them back; no list looks as if the account were empty."""
    with account_without_devices() as (directory, relay, tablet, _phrase, _words):
        other = Home(os.path.join(directory, "other"))
        code = Owner(relay.store).json("pair", tablet.status()["account"])["code"]
        tells = {
            "join": join(relay, other, code).stdout, "status": tablet.run("status")}
        done = subprocess.run(
            [LOCKSTEP, "agent", "memo", "list", "--home", tablet.path], capture_output=True,
            text=True, timeout=PATIENCE)
        tells["memo list"] = done.stdout + done.stderr
        silent = [each for each, text in tells.items() if "lockstep agent key restore" not in text]
        assert not silent, silent


def story_a_device_without_the_keys_sends_nothing_that_the_relay_can_read():
    """Before the phrase is typed, a person adds a memo, copies a text, starts the timer: refused,
    or kept until there are keys. The phrase then works, and so does a code of another device."""
    for with_phrase in (True, False):
        with sealed_account() as (directory, relay, phone):
            phone.run("memo", "add", "Milk")
            phrase, account = phrase_of(phone), phone.status()["account"]
            tablet = Home(os.path.join(directory, "tablet"))
            join(relay, tablet, Owner(relay.store).json("pair", account)["code"])
            for words in (("memo", "add", "PLAIN MEMO"), ("clipboard", "add", "PLAIN CLIP"),
                          ("habits", "add", "PLAIN HABIT"), ("timer", "start")):
                subprocess.run(
                    [LOCKSTEP, "agent", *words, "--home", tablet.path], capture_output=True,
                    stdin=subprocess.DEVNULL, timeout=PATIENCE)
            assert b"PLAIN" not in files_in(relay.store)
            if with_phrase:
                restore(tablet, phrase)
            else:
                join(relay, tablet, offer(phone)["code"])
            assert "Milk" in tablet.memos()
            assert phone.status()["state"] == "inSync", phone.status()


def story_a_record_that_is_not_sealed_does_not_make_the_phrase_useless():
    """Somebody at the relay plants a memo that is not sealed. A new device restores the keys, reads
    the other memos, and does not take this one."""
    with account_without_devices() as (directory, relay, tablet, phrase, words):
        expect(tablet.person(relay).save({
            **record("planted"), "type": "Memo",
            "fields": {"title": "Planted", "content": "Planted", "date": 1}}, zone="Memos"), 200)
        late = Home(os.path.join(directory, "late"))
        code = Owner(relay.store).json("pair", tablet.status()["account"])["code"]
        join(relay, late, code)
        for home in (late, tablet):
            assert words in restore(home, phrase)
            assert home.memos() == ["Bread", "Milk"]


def story_no_program_takes_the_force_from_a_phrase():
    """A program on the home's socket can neither remove nor replace the record of the keys, nor
    save its own records in their zone, where nothing is sealed."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        phrase, account = phrase_of(phone), phone.status()["account"]
        with phone.start_agent(), Sidecar(phone) as program:
            for words in ({"do": "delete", "name": "ring"},
                          {"do": "save", "name": "ring", "type": "T", "fields": {"a": "PLAIN"}},
                          {"do": "save", "name": "other", "type": "T", "fields": {"a": "PLAIN"}}):
                answer = program.ask(words.pop("do"), zone="Keys", **words)
                assert "error" in answer, answer
            wait_until(program.is_in_sync, "the phone to be in sync")
        table = os.path.join(directory, "rules.json")
        with open(table, "w") as file:
            json.dump({"zone": "Keys", "types": {"Todo": {"conflict": "ask"}}}, file)
        refused("agent", "run", "--rules", table, home=phone.path, says="Keys")
        assert b"PLAIN" not in files_in(relay.store)
        tablet = Home(os.path.join(directory, "tablet"))
        join(relay, tablet, Owner(relay.store).json("pair", account)["code"])
        restore(tablet, phrase)
        assert tablet.memos() == ["Milk"]


def story_the_last_device_does_not_leave_with_keys_that_nobody_wrote_down():
    """Otherwise the account's records could never be read again. With --force it leaves."""
    with sealed_account() as (_, _relay, phone):
        phone.run("memo", "add", "Milk")
        phone.refuses("leave", says=["lockstep agent key phrase", "--force"])
        assert phone.memos() == ["Milk"]
        phone.run("leave", "--force")


# MARK: the vault

@contextlib.contextmanager
def shared_vault(*others):
    """A sealed account whose devices keep a file the same, each in a folder of its own. Yields the
    relay, the phone, the other homes, and the path of a home's file."""
    with sealed_account() as (directory, relay, phone):
        def path(home, name="vault.db"):
            os.makedirs(home.path + "-files", exist_ok=True)
            return os.path.join(home.path + "-files", name)

        write(path(phone), "the first text")
        phone.run("vault", "add", path(phone))
        homes = []
        for name in others:
            home = Home(os.path.join(directory, name))
            join(relay, home, offer(phone)["code"])
            home.run("vault", "add", path(home))
            assert text_in(path(home)) == "the first text"
            homes.append(home)
        yield relay, phone, homes, path


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def text_in(path):
    with open(path) as file:
        return file.read()


def story_a_vault_has_the_keys_of_its_account():
    """Two terminals share a file, both ways. No home has a key of the vault alone, no code carries
    one, and the commands for such a key name the account's."""
    with shared_vault("laptop") as (relay, phone, (laptop,), path):
        write(path(laptop), "written on the laptop")
        laptop.run("sync")
        phone.run("sync")
        assert text_in(path(phone)) == "written on the laptop"
        for home in (phone, laptop):
            assert not os.path.exists(os.path.join(home.path, "vault.key")), home.path
            for command in ("phrase --show", "unlock --code 0000", "new-key --instead-of 0000"):
                home.refuses("vault", *command.split(), says=["account's keys", "agent key"])
        refused("agent", "vault", "restore", home=phone.path, input=vault_phrase(KEY) + "\n",
                says=["account's keys", "agent key"])
        refused("agent", "pair", "--no-vault", home=phone.path, code=2, says="--zones")
        write(path(phone, "open.db"), "open")
        phone.refuses("vault", "add", path(phone, "open.db"), "--plain", says="without --plain")
        status, store = phone.status(), files_in(relay.store)
        assert status.get("unreadable", 0) == 0, status
        for text in ("the first text", "written on the laptop", "vault.db"):
            assert text.encode() not in store, text


def story_a_device_for_the_vault_alone_has_its_keys():
    """It shares the file, and has no other key; a device for memos has no file."""
    with shared_vault() as (relay, phone, _, path):
        shelf, pad = (Home(phone.path + name) for name in ("-shelf", "-pad"))
        join(relay, shelf, offer(phone, "--zones", "Vault")["code"])
        join(relay, pad, offer(phone, "--zones", "Memos")["code"])
        shelf.run("vault", "add", path(shelf))
        write(path(shelf), "written on the shelf")
        shelf.run("sync")
        phone.run("sync")
        assert text_in(path(phone)) == "written on the shelf"
        zones = [each["zone"] for each in json.loads(notes(shelf)["seal.keys"])]
        assert zones == ["Vault"], zones
        pad.refuses("vault", "add", path(pad), says="without the zone Vault")


def story_a_removed_device_reads_no_file_that_changes_afterwards():
    """Not even if the relay lets it in again, with all that it stores: it has only the keys of
    before. The devices that stay go on."""
    with shared_vault("laptop", "tablet") as (relay, phone, (laptop, tablet), path):
        account = phone.status()["account"]
        phone.run("revoke", "laptop")
        write(path(phone), "after the laptop was gone")
        write(path(phone, "new.db"), "also new")
        phone.run("sync")
        phone.run("vault", "add", path(phone, "new.db"))
        for home in (tablet, phone):
            home.run("sync")
            assert text_in(path(home)) == "after the laptop was gone"
        tablet.run("vault", "add", path(tablet, "new.db"))
        assert text_in(path(tablet, "new.db")) == "also new"
        join(relay, laptop, Owner(relay.store).json("pair", account)["code"])
        laptop.run("sync", code=1)
        assert laptop.status()["unreadable"] >= 2, laptop.status()
        assert text_in(path(laptop)) == "the first text"
        laptop.refuses("vault", "add", path(laptop, "new.db"), says="none called new.db")
        shown = json.loads(laptop.run("vault", "list", "--json"))
        assert [each["file"] for each in shown["files"]] == ["vault.db"], shown
        write(path(tablet), "the others go on")
        tablet.run("sync")
        phone.run("sync")
        assert text_in(path(phone)) == "the others go on"


def story_a_vault_with_a_key_of_its_own_moves_into_the_sealed_zone():
    """A file that does not change keeps its seal, and a device that joins afterwards opens it: it
    gets the vault's former key in a sealed record. A file that changes is sealed with the account's
    keys, in the same record, so that no file is there twice."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        for name in ("kept.db", "changed.db", "open.db"):
            write(os.path.join(directory, name), f"the first {name}")
        phone.run("vault", "add", os.path.join(directory, "open.db"), "--plain")
        phone.refuses("seal", "Vault", says=["open.db", "without --plain"])
        os.remove(os.path.join(directory, "open.db"))
        phone.run("sync")
        wait_until(lambda: "open.db" not in vault_files(phone), "the file to be deleted")
        for name in ("kept.db", "changed.db"):
            phone.run("vault", "add", os.path.join(directory, name))
        phone.run("seal", "Vault")
        phone.run("sync")
        tablet = Home(os.path.join(directory, "tablet"))
        join(relay, tablet, offer(phone)["code"])
        assert not os.path.exists(os.path.join(tablet.path, "vault.key"))
        os.mkdir(os.path.join(directory, "files"))
        paths = {name: os.path.join(directory, "files", name) for name in ("kept.db", "changed.db")}
        for name, path in paths.items():
            tablet.run("vault", "add", path)
            assert text_in(path) == f"the first {name}"
        write(paths["changed.db"], "written on the tablet")
        tablet.run("sync")
        phone.run("sync")
        assert text_in(os.path.join(directory, "changed.db")) == "written on the tablet"
        for home in (phone, tablet):
            assert sorted(vault_files(home)) == ["changed.db", "kept.db"]
            home.refuses("vault", "phrase", "--show", says="agent key")
        phone.run("revoke", "tablet")
        write(os.path.join(directory, "changed.db"), "after the tablet was gone")
        phone.run("sync")
        account = phone.status()["account"]
        join(relay, tablet, Owner(relay.store).json("pair", account)["code"])
        tablet.run("sync", code=1)
        assert text_in(paths["changed.db"]) == "written on the tablet"


def story_a_sync_does_not_end_before_it_knows_the_files():
    """The list of the home's files is read on another thread, which is slow here."""
    with sealed_account() as (directory, relay, phone):
        laptop = Home(os.path.join(directory, "laptop"))
        join(relay, laptop, offer(phone)["code"])
        path, copy = (os.path.join(directory, name) for name in ("vault.db", "copy.db"))
        write(path, "the first text")
        phone.run("vault", "add", path)
        write(path, "written while nothing ran")
        slowly = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=openat", "-P",
                  os.path.join(phone.path, "vault.json"), "-e",
                  "inject=openat:delay_enter=300000"]
        done = subprocess.run([*slowly, LOCKSTEP, "agent", "sync", "--home", phone.path],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0 and "in sync" in done.stdout, done
        laptop.run("vault", "add", copy, "--name", "vault.db")
        assert text_in(copy) == "written while nothing ran"


def vault_files(home):
    """The names of the vault's files that the home can read."""
    shown = json.loads(home.run("vault", "list", "--json"))
    assert shown["others"] == [], shown
    return [each["file"] for each in shown["files"]]


def story_a_device_without_the_keys_makes_no_vault():
    """It joined with a code of the relay's owner: its file stays where it is, and the relay gets
    nothing of it."""
    with sealed_account() as (directory, relay, phone):
        tablet = Home(os.path.join(directory, "tablet"))
        join(relay, tablet, Owner(relay.store).json("pair", phone.status()["account"])["code"])
        for name, text in (("sealed.db", "PLAIN one"), ("open.db", "PLAIN two")):
            write(os.path.join(directory, name), text)
        tablet.refuses("vault", "add", os.path.join(directory, "sealed.db"),
                       says=["account's keys", "agent key restore"])
        tablet.refuses("vault", "add", os.path.join(directory, "open.db"), "--plain",
                       says="does not have the keys")
        assert not os.path.exists(os.path.join(tablet.path, "vault.key"))
        assert b"PLAIN" not in files_in(relay.store)


# MARK: for programs

def story_programs_are_told_of_keys():
    """The JSON of join, pair, and key; in a sealed account and in one that is not."""
    with folder() as directory, Relay() as relay:
        homes = {name: Home(os.path.join(directory, name)) for name in (
            "phone", "laptop", "tablet", "plain")}
        told = run("agent", "join", "--relay", relay.address, "--new", "--sealed", "--name",
                   "phone", "--json", home=homes["phone"].path).stdout
        phone = homes["phone"]
        made = json.loads(told)
        words = check_words(phone)
        assert made == {
            "accountID": made["accountID"], "deviceID": made["deviceID"], "deviceName": "phone",
            "relay": relay.address, "scope": {"access": "write"}, "hasKeys": True,
            "isLocked": False, "opensVault": True, "words": words,
            "home": homes["phone"].path}, made
        key = phone.json("key", "words")
        assert key == {"words": words, "key": key["key"]}, key
        assert re.fullmatch("[0-9a-f]{16}", key["key"]), key
        phrase = phone.json("key", "phrase", "--show")
        assert phrase == {"phrase": phrase["phrase"], "key": key["key"]}, phrase
        code = offer(phone)
        assert code == {
            "code": code["code"], "expiresAt": code["expiresAt"], "scope": {"access": "write"},
            "opensVault": True, "carriesKeys": True, "words": words,
            "link": f"{relay.address}/#code={code['code'][:14]}&keys",
            "deviceLink": f"lockstep+{relay.address}/#code={code['code']}"}, code
        joined = json.loads(join(relay, homes["laptop"], code["code"], "--json").stdout)
        assert (joined["hasKeys"], joined["words"]) == (True, words), joined
        assert joined["accountID"] == made["accountID"], joined
        zones = offer(phone, "--zones", "Memos")
        assert zones["carriesKeys"] is True and "words" not in zones, zones
        joined = json.loads(join(relay, homes["tablet"], zones["code"], "--json").stdout)
        assert joined["hasKeys"] is True and "words" not in joined, joined
        restored = json.loads(restore(homes["laptop"], phrase["phrase"], "--json"))
        assert restored == {"words": words, "key": key["key"]}, restored
        told = run("agent", "join", "--relay", relay.address, "--new", "--plain",
                   "--json", home=homes["plain"].path).stdout
        assert "words" not in json.loads(told) and not json.loads(told).get("hasKeys"), told
        plain = offer(homes["plain"])
        assert not plain.get("carriesKeys") and "words" not in plain, plain
        assert len(plain["code"]) == 14, plain


def story_sealed_is_for_new_accounts():
    """With a code, and without one, --sealed is refused with the reason, before anything is made;
    on a relay that takes no new accounts no account is made."""
    with folder() as directory, Relay(is_open=False) as relay:
        home = Home(os.path.join(directory, "home"))
        owner = Owner(relay.store)
        code = owner.json("create", "mum")["code"]
        refused("agent", "join", "--relay", relay.address, "--sealed", "--code", code,
                home=home.path, code=2, says="--sealed makes the keys of a new account")
        refused("agent", "join", "--relay", relay.address, "--sealed", home=home.path, code=2,
                says="--new")
        refused("agent", "join", "--relay", relay.address, "--new", "--sealed", home=home.path,
                says=["accepts no new accounts", "ask its owner"])
        assert [each["devices"] for each in owner.list()] == [0]
        join(relay, home, code)


# MARK: homes that are held

def story_the_commands_work_with_a_holder_and_without():
    """Words, phrase, code, joining and restoring: the same with `agent run` and without."""
    with sealed_account() as (directory, relay, phone):
        phone.run("memo", "add", "Milk")
        words, phrase = check_words(phone), phrase_of(phone)
        account = phone.status()["account"]
        for number, is_held in enumerate((False, True)):
            with phone.start_agent() if is_held else contextlib.nullcontext():
                assert check_words(phone) == words and phrase_of(phone) == phrase
                code = offer(phone)
                assert code["words"] == words, code
                home = Home(os.path.join(directory, f"joined{number}"))
                join(relay, home, code["code"])
                assert check_words(home) == words and home.memos() == ["Milk"]
                assert words in restore(phone, phrase)
            home = Home(os.path.join(directory, f"restored{number}"))
            join(relay, home, Owner(relay.store).json("pair", account)["code"])
            with home.start_agent() if is_held else contextlib.nullcontext():
                assert words in restore(home, phrase)
                assert check_words(home) == words
                wait_until(lambda: home.memos() == ["Milk"], "the memo to be read")
        held = Home(os.path.join(directory, "joined1"))
        with held.start_agent():
            refused("agent", "join", "--relay", relay.address, "--code", "-", home=held.path,
                    input=offer(phone)["code"], says="another process holds the home")


def story_a_revoked_device_joins_again_with_what_it_had_not_sent():
    """It has the account's keys, so a code that carries the same ones is enough."""
    with sealed_account() as (directory, relay, phone):
        laptop = Home(os.path.join(directory, "laptop"))
        join(relay, laptop, offer(phone)["code"])
        phone.run("revoke", "laptop")
        laptop.run("memo", "add", "Bread")
        first, _ = halves(offer(phone)["code"])
        refused("agent", "join", "--relay", relay.address, "--code", "-", home=laptop.path,
                input=f"{first}-{WRONG}", says="the second half of that code is wrong")
        assert names(phone) == ["phone"] and laptop.memos() == ["Bread"]
        join(relay, laptop, offer(phone)["code"])
        laptop.run("sync")
        assert phone.memos() == ["Bread"] and check_words(laptop) == check_words(phone)


def story_a_device_of_the_whole_account_is_not_paired_down_in_silence():
    """It has the account's keys already; a code for one zone is refused with the next step, and
    the account lists no new device."""
    with sealed_account() as (directory, relay, phone):
        laptop = Home(os.path.join(directory, "laptop"))
        join(relay, laptop, offer(phone)["code"])
        phone.run("revoke", "laptop")
        refused("agent", "join", "--relay", relay.address, "--code", "-", home=laptop.path,
                input=offer(phone, "--zones", "Memos")["code"] + "\n",
                says=["lockstep agent leave"])
        assert names(phone) == ["phone"]


def story_two_devices_join_at_once():
    """With a code each, both get the keys; with the same code, one of them."""
    with sealed_account() as (directory, relay, phone):
        codes = [offer(phone)["code"] for _ in range(3)]
        screens = []
        with contextlib.ExitStack() as stack:
            for number, code in enumerate((codes[0], codes[1], codes[2], codes[2])):
                home = Home(os.path.join(directory, f"home{number}"))
                screens.append((home, stack.enter_context(Screen(
                    home, "join", "--relay", relay.address, "--name", f"home{number}", "--code",
                    code))))
            ends = [screen.process.wait() for _, screen in screens]
        assert ends[:2] == [0, 0] and sorted(ends[2:]) == [0, 1], ends
        for (home, _), end in zip(screens, ends):
            if end == 0:
                assert check_words(home) == check_words(phone)
        assert len(names(phone)) == 4, names(phone)


if __name__ == "__main__":
    main(globals(), at_once=4)
