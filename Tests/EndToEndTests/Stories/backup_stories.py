"""`lockstep relay backup`, `restore` and `check`: a relay's owner protects the store against the
loss of a disk, and real devices bring back what came after a backup."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading

from restored_store_stories import live_records
from story import (
    Background, Connection, Home, Person, Relay, SmallDisk, expect, folder, main, record,
    refused, run, upload, wait_until)
from vault_stories import Device, running_agents


def back_up(store, place, *words):
    """Makes a backup; returns its folder, and the command's report."""
    told = json.loads(run("relay", "backup", place, "--store", store, "--json", *words).stdout)
    return told["backup"], told


def restore(backup, store, *words):
    return json.loads(
        run("relay", "restore", backup, "--store", store, "--json", *words).stdout)


def check(*words, code=0):
    return json.loads(run("relay", "check", "--json", *words, expect_code=code).stdout)


def chunk_files(path):
    """The files of chunks in a store or a backup."""
    return sorted(
        os.path.join(at, name) for at, _, names in os.walk(os.path.join(path, "chunks"))
        if not at.endswith("incoming") for name in names)


def flip(path, place=-100):
    """Changes one byte of a file; other hard links to the file keep the original."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[place] ^= 1
    os.remove(path)
    with open(path, "wb") as file:
        file.write(data)


@contextlib.contextmanager
def background_saves(person, saved):
    """Saves continuously in the background; `saved` has, for each name, the text acknowledged
    last."""
    ends = threading.Event()

    def save():
        line, number = Connection(person.relay, person), 0
        while not ends.is_set():
            name, text = f"load{number % 100}", str(number)
            expect(line.save(record(name, text)), 200)
            saved[name] = text
            number += 1

    thread = threading.Thread(target=save)
    thread.start()
    try:
        wait_until(lambda: len(saved) > 20, "the first saves")
        yield
    finally:
        ends.set()
        thread.join()


def saved_texts(writer):
    """The relay's records of that background load."""
    return {
        name: each["fields"]["text"] for (zone, name), each in live_records(writer).items()
        if zone == "Notes"}


def all_screens(home):
    """Memos, habits and clipboard as a person sees them."""
    return {
        "memos": sorted(each["title"] for each in home.json("memo", "list")["memos"]),
        "habits": sorted(
            (each["title"], each["done"]) for each in
            home.json("habits", "day", "2026-03-01")["habits"]),
        "items": [each["content"] for each in home.json("clipboard", "list")["items"]],
    }


# MARK: recovery by devices

def story_devices_bring_back_what_came_after_the_backup():
    """A backup is made during saves; then more is saved, and the store is lost. After the restore,
    every device has everything again, a new one too, without any action by a person."""
    with folder() as directory, Relay() as relay:
        backups = os.path.join(directory, "backups")
        phone = Device(Home.new(relay, directory, "phone", "--plain"), os.path.join(directory, "files0"))
        phone.write(os.urandom(300_000), "early.db")
        phone.add("early.db")
        laptop = Device(phone.home.pair(relay, directory), os.path.join(directory, "files1"))
        tablet = phone.home.pair(relay, directory, "tablet")
        phone.home.run("memo", "add", "Early")
        phone.home.run("habits", "add", "Run")
        for home in (laptop.home, tablet):
            home.run("habits", "restore", "yes")
            home.run("sync")
        writer = phone.home.person(relay).pair("writer")
        saved = {}
        with running_agents(phone, laptop), background_saves(writer, saved):
            backup, manifest = back_up(relay.store, backups)
            before = dict(saved)
            wait_until(lambda: saved != before, "saves after the backup")
        assert manifest["pieces"] > 0 and manifest["linked"] == manifest["pieces"], manifest
        with running_agents(phone, laptop):
            # Any device that has received the memo has received this record, which came before it.
            expect(writer.save(record("load late", "late")), 200)
            saved["load late"] = "late"
            phone.home.run("memo", "add", "Late")
            laptop.home.run("habits", "check", "run", "--day", "2026-03-01")
            laptop.home.run("clipboard", "add", "copied late")
            phone.write(os.urandom(400_000), "late.db")
            phone.add("late.db")
            wait_until(
                lambda: all(
                    home.status()["state"] == "inSync" and home.status()["waiting"] == 0
                    and all_screens(home)["memos"] == ["Early", "Late"]
                    for home in (phone.home, laptop.home)), "both to hold all")
            stood = len(live_records(writer))
            relay.kill()
            shutil.rmtree(relay.store)
            # Done while there is no relay, and while the device has no contact with it.
            laptop.home.run("memo", "add", "Meanwhile")
            tablet.run("memo", "add", "From afar")
            assert restore(backups, relay.store)["records"] == manifest["records"] < stood
            relay.start()
            assert "older copy" in relay.text(), relay.text()
            for home in (phone.home, laptop.home):
                wait_until(lambda: all_screens(home)["memos"] == ["Early", "Late", "Meanwhile"] and
                           home.status()["state"] == "inSync", "a device to be in sync", 60)
            wait_until(lambda: saved_texts(writer) == saved, "what was lost to be back")
        # It was offline the whole time.
        tablet.run("sync")
        fresh = Device(
            phone.home.pair(relay, directory, "fresh"), os.path.join(directory, "files2"))
        fresh.home.run("habits", "restore", "yes")
        for home in (phone.home, laptop.home, tablet):
            home.run("sync")
        wanted = {
            "memos": ["Early", "From afar", "Late", "Meanwhile"], "habits": [("Run", True)],
            "items": ["copied late"]}
        for home in (phone.home, laptop.home, tablet, fresh.home):
            assert all_screens(home) == wanted, (home.path, all_screens(home))
            status = home.status()
            assert (status["state"], status["waiting"], status["parked"]) == ("inSync", 0, 0), status
        for name in ("early.db", "late.db"):
            fresh.add(name)
        with running_agents(fresh):
            wait_until(
                lambda: all(fresh.read(name) == phone.read(name) for name in ("early.db", "late.db")),
                "the files on the new device", 60)
        found = check("--store", relay.store)
        assert found["isWhole"] and found["faults"] == [] and found["pieces"] > 0, found
        # The same backup again starts a new history again.
        relay.stop()
        restore(backup, relay.store, "--force")
        relay.start()
        phone.home.run("sync")
        assert saved_texts(writer) == saved


def story_a_backup_put_back_after_a_crash_right_behind_it_is_an_older_copy():
    """Only a little was written after the backup, and the relay was killed: tags that it issued are
    not issued again."""
    with folder() as directory, Relay() as relay:
        person = Person.new(relay)
        expect(person.save(record("a")), 200)
        back_up(relay.store, directory)
        token = expect(person.save(record("b")), 200).json["token"]
        relay.kill()
        restore(directory, relay.store, "--force")
        relay.start()
        expect(person.changes(since=token), 410, "storeRestored")
        [saved] = expect(person.save(record("c")), 200).json["results"]
        assert saved["tag"] > 1 << 32, saved


# MARK: contents of a backup

def story_a_backup_is_whole_private_and_tells_what_it_is():
    """Made while a relay runs, without a relay, after a crash, and from an empty store."""
    with folder() as directory, Relay() as relay:
        place = os.path.join(directory, "backups")
        empty, manifest = back_up(relay.store, place)
        assert manifest["accounts"] == manifest["records"] == manifest["pieces"] == 0, manifest
        person = Person.new(relay)
        hash = upload(person, b"piece" * 10_000)
        expect(person.save(record("a", chunks=[hash])), 200)
        running_, told_ = back_up(relay.store, place)
        relay.stop()
        resting, _ = back_up(relay.store, place)
        relay.start()
        expect(person.save(record("b")), 200)
        relay.kill()
        crashed, after = back_up(relay.store, place)
        assert sorted(os.listdir(place)) == sorted(
            os.path.basename(path) for path in (empty, running_, resting, crashed))
        assert [told_["records"], after["records"]] == [1, 2], (told_, after)
        for path in (empty, running_, resting, crashed):
            assert sorted(os.listdir(path)) == ["backup.json", "chunks", "zones.sqlite"]
            assert os.stat(path).st_mode & 0o777 == 0o700
            for name in ("backup.json", "zones.sqlite"):
                assert os.stat(os.path.join(path, name)).st_mode & 0o777 == 0o600
            assert check(path)["isWhole"]
            assert sorted(os.listdir(path)) == ["backup.json", "chunks", "zones.sqlite"]
            with open(os.path.join(path, "backup.json")) as file:
                manifest = json.load(file)
            digest = subprocess.run(
                ["sha256sum", os.path.join(path, "zones.sqlite")], capture_output=True, text=True)
            assert digest.stdout.split()[0] == manifest["databaseSha256"]
        [chunk] = chunk_files(crashed)
        assert os.stat(chunk).st_nlink == 4 and os.stat(chunk).st_mode & 0o777 == 0o600
        # The newest three are kept; `check` uses the newest if it gets the folder.
        newest, told_ = back_up(relay.store, place, "--keep", "3", "--quick")
        assert told_["removed"] == [os.path.basename(path) for path in (empty, running_)], told_
        assert len(os.listdir(place)) == 3 and check(place)["folder"] == newest
        # As text.
        text = run("relay", "backup", place, "--store", relay.store).stdout
        assert "1 account, 1 device, 2 records" in text and "1 linked, 0 copied" in text, text
        assert "no faults" in run("relay", "check", "--store", relay.store).stdout


def story_an_empty_store_goes_to_another_machine():
    """A backup is copied to another machine, and restored into a folder that does not exist yet: it
    has the same accounts and the same devices."""
    with folder() as directory, Relay() as relay:
        elsewhere = os.path.join(directory, "elsewhere")
        empty, _ = back_up(relay.store, directory)
        person = Person.new(relay)
        hash = upload(person, b"piece" * 10_000)
        expect(person.save(record("a", chunks=[hash])), 200)
        backup, _ = back_up(relay.store, directory)
        shutil.copytree(backup, elsewhere)
        relay.stop()
        with Relay(store=os.path.join(directory, "new", "store")) as other:
            other.stop()
            shutil.rmtree(other.store)
            text = run("relay", "restore", elsewhere, "--store", other.store).stdout
            assert "1 account, 1 device, 1 record" in text and "done" in text, text
            assert check("--store", other.store)["isWhole"]
            other.start()
            there = Person(other, {
                "accountID": person.account, "deviceID": person.device, "token": person.token})
            assert list(live_records(there)) == [("Notes", "a")]
            assert there.call("GET", f"/v1/chunks/{hash}").body == b"piece" * 10_000
            other.stop()
            outcome = restore(empty, other.store, "--force")
            other.start()
            expect(there.changes(), 401)
            # The replaced store is kept as a complete store.
            other.stop()
            assert check("--store", outcome["replaced"])["records"] == 1


# MARK: refusals

def story_restore_refuses_what_would_lose_something():
    """A store that a relay has locked, a store that exists, and a folder that is not a backup."""
    with folder() as directory, Relay() as relay:
        person = Person.new(relay)
        expect(person.save(record("a")), 200)
        place = os.path.join(directory, "backups")
        backup, _ = back_up(relay.store, place)
        before = sorted(os.listdir(relay.store))
        refused("relay", "restore", backup, "--store", relay.store, says=["--force", relay.store])
        refused("relay", "restore", backup, "--store", relay.store, "--force",
                says=[f"process {relay.id}", "stop it"])
        assert sorted(os.listdir(relay.store)) == before
        expect(person.save(record("b")), 200)
        relay.stop()
        refused("relay", "restore", directory, "--store", relay.store, says="no backup in")
        refused("relay", "restore", relay.store, "--store", relay.store, says="no backup in")
        refused("relay", "backup", place, "--store", directory, says=["no store", "--store"])
        refused("relay", "check", "--store", directory, says=["no store", "--store"])
        refused("relay", "bakup", "x", code=2, says="did you mean backup")
        relay.start()
        assert len(live_records(person)) == 2


def story_a_damaged_backup_is_refused_and_nothing_is_changed():
    """A changed byte of the database, a changed byte of a chunk, a missing chunk, a missing
    manifest: `check` and `restore` name each."""
    with folder() as directory, Relay() as relay:
        person = Person.new(relay)
        hash = upload(person, os.urandom(100_000))
        expect(person.save(record("a", chunks=[hash])), 200)
        backup, _ = back_up(relay.store, os.path.join(directory, "backups"))
        relay.stop()
        before = sorted(os.listdir(relay.store))
        cases = [
            ("pieceDamaged", lambda path: flip(chunk_files(path)[0])),
            ("pieceMissing", lambda path: os.remove(chunk_files(path)[0])),
            ("databaseDiffers", lambda path: flip(os.path.join(path, "zones.sqlite"))),
            ("databaseDiffers", lambda path: os.remove(os.path.join(path, "zones.sqlite"))),
        ]
        for number, (code, damage) in enumerate(cases):
            damaged = os.path.join(directory, f"damaged{number}")
            shutil.copytree(backup, damaged)
            damage(damaged)
            found = check(damaged, code=1)
            assert [each["code"] for each in found["faults"]] == [code], found
            done = run(
                "relay", "restore", damaged, "--store", relay.store, "--force", expect_code=1)
            assert code in done.stderr and "nothing was changed" in done.stderr, done.stderr
            assert sorted(os.listdir(relay.store)) == before
        os.remove(os.path.join(damaged, "backup.json"))
        refused("relay", "restore", damaged, "--store", relay.store, says="no backup in")
        relay.start()
        assert list(live_records(person)) == [("Notes", "a")]


def story_a_store_that_is_not_whole_is_told():
    """`check` finds damage while the relay runs; a backup is made anyway and reports it; devices
    bring back the missing chunk."""
    with folder() as directory, Relay() as relay:
        phone = Person.new(relay)
        data = os.urandom(100_000)
        hash, whole = upload(phone, data), upload(phone, b"whole" * 1_000)
        expect(phone.save(record("a", chunks=[hash, whole])), 200)
        assert check("--store", relay.store)["isWhole"]
        [chunk] = [path for path in chunk_files(relay.store) if os.path.getsize(path) == 100_000]
        flip(chunk)
        found = check("--store", relay.store, code=1)
        assert [each["code"] for each in found["faults"]] == ["pieceDamaged"], found
        assert found["faults"][0]["account"] == phone.account, found
        done = run("relay", "backup", directory, "--store", relay.store, expect_code=1)
        assert "pieceDamaged" in done.stderr and "was made" in done.stderr, done.stderr
        relay.stop()
        restore(directory, relay.store, "--force")
        found = check("--store", relay.store)
        assert found["isWhole"] and found["lostPieces"] == 1, found
        relay.start()
        lacking = phone.call("POST", "/v1/chunks/missing", {"hashes": [hash, whole]}).json["missing"]
        assert hash in lacking, lacking
        upload(phone, data)
        assert phone.call("GET", f"/v1/chunks/{hash}").body == data
        found = check("--store", relay.store)
        assert found["isWhole"] and found["lostPieces"] == 0, found
        relay.stop()
        # Another program writes a wrong number.
        with contextlib.closing(sqlite3.connect(os.path.join(relay.store, "zones.sqlite"))) as file:
            file.execute("UPDATE accounts SET newest = 0")
            file.execute("UPDATE chunks SET uses = 7 WHERE bytes = 100000")
            file.execute("CREATE TABLE mine (a)")
            file.commit()
        found = check("--store", relay.store, code=1)
        assert {each["code"] for each in found["faults"]} == {"schemaDiffers"}, found
        with contextlib.closing(sqlite3.connect(os.path.join(relay.store, "zones.sqlite"))) as file:
            file.execute("DROP TABLE mine")
            file.commit()
        found = check("--store", relay.store, code=1)
        assert {each["code"] for each in found["faults"]} == {
            "tagBeyondNewest", "forgottenBeyondNewest", "pieceUses"} - {
                "forgottenBeyondNewest"}, found


def story_what_is_interrupted_leaves_nothing_behind():
    """Ctrl-C during a backup or a restore; also kill -9, whose remains the next backup removes."""
    with folder() as directory, Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        for n in range(40):
            expect(line.save(*[record(f"r{n}-{m}", os.urandom(20_000).hex()) for m in range(40)]), 200)
        place = os.path.join(directory, "backups")
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            # A backup that completed before the signal proves nothing; it is repeated.
            for _ in range(20):
                shutil.rmtree(place, ignore_errors=True)
                with Background("relay", "backup", place, "--store", relay.store) as work:
                    wait_until(
                        lambda: work.process.poll() is not None or os.path.exists(place)
                        and os.listdir(place), "the backup to begin")
                    code = work.stop(how)
                if code != 0:
                    break
            if how == signal.SIGKILL:
                [left] = os.listdir(place)
                assert left.endswith(".partial"), left
                refused("relay", "restore", place, "--store", directory, says="no backup in")
            else:
                assert code == 1 and "interrupted" in "".join(work.errors), (code, work.errors)
                assert not os.path.exists(place)
        backup, _ = back_up(relay.store, place)
        assert os.listdir(place) == [os.path.basename(backup)]
        relay.stop()
        target = os.path.join(directory, "target")
        with Background("relay", "restore", backup, "--store", target) as work:
            wait_until(
                lambda: work.process.poll() is not None or os.path.exists(target), "the restore")
            code = work.stop(signal.SIGINT)
        if code == 1:
            assert "interrupted" in "".join(work.errors), work.errors
            assert os.listdir(target) == ["lock"], os.listdir(target)
        # A restore that was killed while it replaced the store: no relay accepts the incomplete
        # store.
        open(os.path.join(relay.store, "restoring"), "w").close()
        refused("relay", "--store", relay.store, "--listen", "127.0.0.1:0",
                says=["did not finish", "restore"])
        refused("relay", "backup", place, "--store", relay.store, says="did not finish")
        restore(backup, relay.store, "--force")
        relay.start()
        assert expect(person.changes(), 200).json["changes"]


def story_a_full_disk_is_told_and_left_as_it_was():
    """The disk of the backups becomes full, or the disk of the store during a restore."""
    with folder() as directory, Relay() as relay, SmallDisk(4_000) as disk:
        if not disk.mounted:
            print("      NOT RUN: this user may not mount a small file system")
            return
        person = Person.new(relay)
        line = Connection(relay, person)
        hash = upload(person, os.urandom(3_000_000))
        expect(person.save(record("a", chunks=[hash])), 200)
        place = os.path.join(disk.path, "backups")
        for n in range(3):
            expect(line.save(record(f"r{n}", "x" * 900_000)), 200)
        refused("relay", "backup", place, "--store", relay.store, says=["no space", place])
        assert os.listdir(disk.path) == []
        expect(person.save(record("goes on")), 200)
        backup, told_ = back_up(relay.store, directory)
        store = os.path.join(disk.path, "store")
        done = run("relay", "restore", backup, "--store", store, expect_code=1)
        assert "no space" in done.stderr.lower() or "No space" in done.stderr, done.stderr
        assert os.listdir(store) == ["lock"], os.listdir(store)
        disk.grow(20_000)
        # On another file system chunks are copied, except for those that an earlier backup has.
        _, told_ = back_up(relay.store, place)
        assert (told_["linked"], told_["copied"]) == (0, 1), told_
        _, told_ = back_up(relay.store, place)
        assert (told_["linked"], told_["copied"]) == (1, 0), told_
        restore(place, store)
        assert check("--store", store)["isWhole"]


if __name__ == "__main__":
    main(globals())
