"""A store and a home after the program was replaced by a newer or an older one."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3

from story import ROOT, Home, Relay, expect, folder, main, refused, run

FIXTURES = os.path.join(ROOT, "Tests", "StorageSQLiteTests", "Fixtures")


def restore_fixture(fixture, path, relay=None):
    """A database as a program of an earlier version left it; `relay` is the relay's current
    address."""
    with open(os.path.join(FIXTURES, fixture)) as file:
        script = file.read()
    if relay:
        script = re.sub(r"http://127\.0\.0\.1:\d+", relay.address, script)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(script)


def version(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("PRAGMA user_version").fetchone()[0]


def story_an_old_relay_and_an_old_home_go_on():
    """Both were left by version 1 of their schemas, the home with an unsent memo and an unsent
    press. With today's program they sync: nothing is missing, and no action is needed."""
    with folder() as directory, Relay() as relay:
        relay.stop()
        shutil.rmtree(relay.store)
        database = os.path.join(relay.store, "zones.sqlite")
        restore_fixture("zones-1.sql", database)
        assert version(database) == 1
        # Before the upgrade, with the new program: a backup of the unchanged store.
        place = os.path.join(directory, "backups")
        backup = json.loads(
            run("relay", "backup", place, "--store", relay.store, "--json").stdout)
        assert backup["schema"] == version(database) == 1, backup
        phone = Home(os.path.join(directory, "phone"))
        path = os.path.join(phone.path, "replica.sqlite")
        restore_fixture("replica-1.sql", path, relay)
        assert phone.status()["waiting"] == 2 and phone.timer("status")["isPaused"]
        assert version(path) > 1
        relay.start()
        assert version(database) > 1 and "older copy" not in relay.text()
        # The app asks this question on each device that has not answered it yet.
        phone.run("habits", "restore", "yes")
        phone.run("sync")
        status = phone.status()
        assert (status["state"], status["waiting"], status["parked"]) == ("inSync", 0, 0), status
        laptop = phone.pair(relay, directory, "new")
        laptop.run("habits", "restore", "yes")
        laptop.run("sync")
        for home in (phone, laptop):
            titles = {each["title"] for each in home.json("memo", "list")["memos"]}
            assert titles == {"Seen by all", "Not sent yet"}, titles
            assert home.timer("status")["isPaused"], home.timer("status")
        notes = phone.person(relay).call("GET", "/v1/changes?zone=Notes").json["changes"]
        assert {each["name"]: each["fields"]["text"] for each in notes} == {
            "kept": "hello", "changed": "new"}, notes
        assert json.loads(run("relay", "check", "--store", relay.store, "--json").stdout)["isWhole"]
        # Restored: later changes come back from the devices.
        relay.stop()
        run("relay", "restore", place, "--store", relay.store, "--force")
        assert version(database) == 1
        relay.start()
        assert "older copy" in relay.text()
        phone.run("sync")
        names = {each["type"] for each in phone.person(relay).changes().json["changes"]}
        assert {"Memo", "TimerState", "Note", "Habit"} <= names, names
        memos = phone.person(relay).call("GET", "/v1/changes?zone=Memos").json["changes"]
        assert len(memos) == 2, memos


def story_a_tablet_for_two_zones_keeps_them_after_an_upgrade():
    """A relay and a tablet as the first program with scopes left them: the tablet sends the memo
    that waited, and has its two zones and nothing else, as before."""
    with folder() as directory, Relay() as relay:
        relay.stop()
        shutil.rmtree(relay.store)
        restore_fixture("zones-7.sql", os.path.join(relay.store, "zones.sqlite"))
        relay.start()
        tablet = Home(os.path.join(directory, "tablet"))
        restore_fixture("replica-5.sql", os.path.join(tablet.path, "replica.sqlite"), relay)
        tablet.run("sync")
        status = tablet.status()
        assert (status["state"], status["waiting"]) == ("inSync", 0), status
        assert status["scope"] == {"zones": ["Memos", "Timer"], "access": "write"}, status
        assert tablet.memos() == ["Not sent yet", "Seen by all"]
        tablet.refuses("clipboard", "list", says="without the zone Clipboard")
        person = tablet.person(relay)
        zones = expect(person.call("GET", "/v1/zones"), 200).json["zones"]
        assert [each["zone"] for each in zones] == ["Memos", "Timer"], zones
        expect(person.call("GET", "/v1/changes?zone=Clipboard"), 403, "outOfScope")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def story_what_a_newer_program_wrote_is_left_alone():
    """A store and a home of an unknown version: exit code 1, a sentence that names the version, and
    not a byte is changed."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        person = phone.person(relay)
        place = os.path.join(directory, "backups")
        run("relay", "backup", place, "--store", relay.store)
        relay.stop()
        store = os.path.join(relay.store, "zones.sqlite")
        home = os.path.join(phone.path, "replica.sqlite")
        known = {path: version(path) for path in (store, home)}
        for path in (store, home):
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("PRAGMA user_version = 99")
        before = {path: digest(path) for path in (store, home)}
        says = ["schema 99", "knows up to", "newer lockstep"]
        for words in [["--listen", "127.0.0.1:0"], ["backup", place], ["check"]]:
            refused("relay", *words, "--store", relay.store, says=says + [store])
        refused("account", "list", "--store", relay.store, says=says)
        for words in [["status"], ["timer", "start"], ["sync"], ["run"]]:
            refused("agent", *words, home=phone.path, says=says + [home])
        assert {path: digest(path) for path in (store, home)} == before
        # After their version is restored, both work as before.
        for path in (store, home):
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute(f"PRAGMA user_version = {known[path]}")
        relay.start()
        phone.run("sync")
        expect(person.changes(), 200)


if __name__ == "__main__":
    main(globals())
