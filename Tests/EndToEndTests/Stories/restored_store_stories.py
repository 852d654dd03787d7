"""Rules of docs/protocol.md, "History": a relay whose store is an older copy. By curl, Python's
`websockets` and the real device agent."""

import contextlib
import hashlib
import os
import shutil

from notification_stories import names
from retention_stories import tags
from story import (
    Home, Person, Relay, expect, folder, main, new_id, record, tombstone, upload, wait_until)
from websocket_stories import Socket, play

# Greater than any tag of a relay before a restore.
RAISED = 1 << 32


def databases(store):
    return [name for name in os.listdir(store) if "sqlite" in name]


def copy_database(store, path):
    """Copies what a person copies who backs up only the database, not the chunks or other files."""
    os.mkdir(path)
    for name in databases(store):
        shutil.copyfile(os.path.join(store, name), os.path.join(path, name))


def put_back(relay, path):
    """Restores the copy in a stopped relay's store."""
    for name in databases(relay.store):
        os.remove(os.path.join(relay.store, name))
    for name in os.listdir(path):
        shutil.copyfile(os.path.join(path, name), os.path.join(relay.store, name))


def missing(person, *hashes):
    return expect(person.call("POST", "/v1/chunks/missing", {"hashes": list(hashes)}), 200).json[
        "missing"]


def is_restored(person, since, through):
    """Checks that the token is refused because the store is an older copy, and that the problem has
    the newest sequence of the copy."""
    problem = expect(person.changes(since=since), 410, "storeRestored").json
    assert set(problem) - {"lostThrough"} == {
        "type", "title", "status", "code", "detail", "restoredThrough", "token"}, problem
    assert problem.get("lostThrough", through + 1) > through, problem
    assert problem["restoredThrough"] == through, problem
    expect(person.changes(since=since, wait=50), 410, "storeRestored")
    expect(person.call("GET", f"/v1/events?since={since}"), 410, "storeRestored")
    expect(person.call("DELETE", f"/v1/zones/Notes?through={since}"), 410, "storeRestored")


async def is_restored_on_a_socket(person, since, through):
    socket = await Socket.open(person, since=since)
    error = await socket.receive("error")
    assert error["code"] == "storeRestored" and error["restoredThrough"] == through, error
    assert "id" not in error, error
    await socket.send({"op": "fetch", "id": "f", "since": since})
    error = await socket.receive("error")
    assert error["code"] == "storeRestored" and error["restoredThrough"] == through, error
    assert error["id"] == "f", error
    await socket.send({"op": "fetch", "id": "g"})
    return await socket.receive("changes")


def story_an_older_database_is_noticed():
    """A copy made while the relay was stopped is restored: tokens within the copy are valid, later
    ones get 410 with the copy's newest sequence, and no tag is issued twice."""
    async def scene(relay):
        with folder() as directory:
            backup = os.path.join(directory, "backup")
            person = Person.new(relay)
            other = person.pair()
            early, lately, wishes = new_id(), new_id(), [record("a"), record("b")]
            assert tags(person.save(*wishes, id=early)) == [1, 2]
            kept, lost = upload(person, b"kept" * 1_000), upload(person, b"gone" * 1_000)
            covered = person.changes().json["token"]
            half = person.changes(limit=1).json["token"]
            of_zone = person.changes(zone="Notes").json["token"]
            relay.stop()
            copy_database(relay.store, backup)
            relay.start()
            again = [record("c"), record("a", "newer")]
            third, fourth = tags(person.save(*again, id=lately))
            assert 2 < third == fourth - 1, (third, fourth)
            expect(person.save(tombstone("b")), 200)
            ahead = person.changes().json["token"]
            zone_ahead = person.changes(zone="Notes").json["token"]
            half_ahead = person.changes(limit=1).json["token"]
            late = person.pair()
            later = upload(person, b"late" * 1_000)
            os.remove(os.path.join(relay.store, "chunks", *chunk_path(relay, lost)))
            relay.stop()
            put_back(relay, backup)
            relay.start()
            assert "older copy" in relay.text(), relay.text()
            # Tokens that the copy covers stay valid.
            page = expect(person.changes(since=covered), 200).json
            assert page["changes"] == [] and page["since"] == covered, page
            assert names(expect(person.changes(since=half), 200).json) == ["b"]
            assert expect(person.changes(since=of_zone, zone="Notes"), 200).json["changes"] == []
            # Tokens beyond the copy are refused.
            for since in (ahead, half_ahead):
                is_restored(person, since, 2)
            expect(person.changes(since=zone_ahead, zone="Notes"), 410, "storeRestored")
            page = await is_restored_on_a_socket(other, ahead, 2)
            assert [(each["name"], each["tag"]) for each in page["changes"]] == [("a", 1), ("b", 2)]
            expect(late.changes(), 401, "badToken")
            # Tags continue above all that were ever issued.
            conflict = person.save(record("a", baseTag=fourth)).json["results"][0]["conflict"]
            assert (conflict["tag"], conflict["fields"]) == (1, {"text": "hello"}), conflict
            # A batch in the copy is recognised, and a lost one is saved again.
            assert tags(person.save(*wishes, id=early)) == [1, 2]
            saved = expect(person.save(*again, id=lately), 200).json
            assert saved["results"][0]["tag"] > RAISED, saved
            is_restored(person, ahead, 2)
            assert names(expect(person.changes(since=covered), 200).json) == ["c", "a"]
            # Chunks are available again after the relay has found their files; it reports the
            # others as missing.
            wait_until(lambda: missing(person, kept, lost, later) == [lost, later],
                       "the relay to find the chunk that stands")
            assert person.call("HEAD", f"/v1/chunks/{kept}").status == 200
            assert expect(person.call("GET", f"/v1/chunks/{kept}"), 200).body == b"kept" * 1_000
            expect(person.call("GET", f"/v1/chunks/{lost}"), 404, "notFound")
            upload(person, b"gone" * 1_000)
            assert missing(person, kept, lost, later) == [later]
            assert person.call("HEAD", f"/v1/chunks/{lost}").status == 200
            expect(person.save(record("d", chunks=[kept, lost])), 200)
            # The next start is a normal one.
            newest = person.changes(since=covered).json["token"]
            relay.stop()
            relay.start()
            assert "older copy" not in relay.text()
            assert expect(person.changes(since=newest), 200).json["changes"] == []
            # Restored once more: the history in between is lost completely.
            relay.stop()
            put_back(relay, backup)
            relay.start()
            expect(person.changes(since=newest), 400, "badChangeToken")
            is_restored(person, ahead, 2)
            assert expect(person.changes(since=covered), 200).json["changes"] == []
            again = tags(person.save(record("e")))[0]
            assert again > RAISED and again != saved["results"][0]["tag"], again

    play(scene)


def chunk_path(relay, hash):
    """Path of the chunk's file below the chunks folder; found by its bytes, because its name is
    internal to the relay."""
    root = os.path.join(relay.store, "chunks")
    for at, _, found in os.walk(root):
        for name in found:
            with open(os.path.join(at, name), "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() == hash:
                    return os.path.relpath(os.path.join(at, name), root).split(os.sep)
    raise AssertionError(f"no file has the bytes of {hash}")


def story_a_copy_of_a_running_relays_database_is_noticed_too():
    """Copied during operation, restored after a kill: handled like a copy of a stopped relay."""
    with Relay() as relay, folder() as directory:
        person = Person.new(relay)
        assert tags(person.save(record("a"))) == [1]
        covered = person.changes().json["token"]
        copy_database(relay.store, os.path.join(directory, "backup"))
        assert tags(person.save(record("b"))) == [2]
        ahead = person.changes().json["token"]
        relay.stop()
        put_back(relay, os.path.join(directory, "backup"))
        relay.start()
        assert expect(person.changes(since=covered), 200).json["changes"] == []
        is_restored(person, ahead, 1)
        assert tags(person.save(record("c")))[0] > RAISED
        is_restored(person, ahead, 1)


def story_a_whole_folder_that_was_put_back_is_seen_by_its_tokens():
    """A machine snapshot: clients with a token of lost history get an error, and no tag is issued
    twice. After one start with --restored, it is handled like an older database that the relay has
    detected itself."""
    for is_told in (False, True):
        with Relay() as relay, folder() as directory:
            backup = os.path.join(directory, "backup")
            person = Person.new(relay)
            chunk = upload(person, b"piece" * 1_000)
            assert tags(person.save(record("a", chunks=[chunk]))) == [1]
            covered = person.changes().json["token"]
            relay.stop()
            shutil.copytree(relay.store, backup)
            relay.start()
            [lost] = tags(person.save(record("b")))
            ahead = person.changes().json["token"]
            relay.stop()
            shutil.rmtree(relay.store)
            shutil.copytree(backup, relay.store)
            if is_told:
                relay.options.append("--restored")
            relay.start()
            assert ("older copy" in relay.text()) == is_told, relay.text()
            assert expect(person.changes(since=covered), 200).json["changes"] == []
            wait_until(lambda: missing(person, chunk) == [], "the relay to find the chunk")
            is_restored(person, ahead, 1)
            [tag] = tags(person.save(record("c")))
            assert tag > lost, (tag, lost)
            is_restored(person, ahead, 1)
            if not is_told:
                continue
            assert tag > RAISED, tag
            newest = person.changes().json["token"]
            # An unnecessary --restored starts another history, and does no other harm; then it is
            # omitted.
            for _ in range(2):
                relay.stop()
                relay.start()
                assert expect(person.changes(since=newest), 200).json["changes"] == []
                is_restored(person, ahead, 1)
                [next] = tags(person.save(record(f"d{tag}")))
                assert next > tag, (tag, next)
                tag, newest = next, person.changes().json["token"]
                if "--restored" in relay.options:
                    relay.options.remove("--restored")


# MARK: devices

@contextlib.contextmanager
def devices():
    """A relay with a phone and a laptop, and a folder for copies."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = phone.pair(relay, directory)
        for home in (phone, laptop):
            home.run("sync")
        yield relay, phone, laptop, os.path.join(directory, "backup")


def live_records(person):
    page = expect(person.changes(), 200).json
    assert page["more"] is False
    return {(each["zone"], each["name"]): each for each in page["changes"]}


def story_a_device_brings_back_what_the_relay_lost():
    """Records, versions and deletions saved after the copy come back from a device that had read
    them, whichever device saved them; an edit known only to its own device is kept too."""
    for is_told in (False, True):
        with devices() as (relay, phone, laptop, backup):
            writer = phone.person(relay).pair("writer")
            expect(writer.save(record("kept"), record("changed", "old"), record("deleted")), 200)
            for home in (phone, laptop):
                home.run("sync")
            relay.stop()
            shutil.copytree(relay.store, backup) if is_told else copy_database(relay.store, backup)
            relay.start()
            expect(writer.save(record("changed", "new"), record("made"), tombstone("deleted")), 200)
            laptop.run("timer", "start", "--minutes", "30")
            phone.run("sync")
            relay.stop()
            # No other device has this edit yet.
            phone.run("timer", "pause")
            assert phone.status()["waiting"] == 1
            if is_told:
                shutil.rmtree(relay.store)
                shutil.copytree(backup, relay.store)
                relay.options.append("--restored")
            else:
                put_back(relay, backup)
            relay.start()
            before = live_records(writer)
            assert ("Notes", "made") not in before and ("Notes", "deleted") in before, before
            phone.run("sync")
            after = live_records(writer)
            assert after["Notes", "changed"]["fields"] == {"text": "new"}, after
            assert after["Notes", "made"]["fields"] == {"text": "hello"}, after
            assert ("Notes", "deleted") not in after, after
            assert after["Notes", "kept"]["tag"] == before["Notes", "kept"]["tag"], after
            for name in ("changed", "made"):
                assert after["Notes", name]["tag"] > RAISED, after
            assert phone.timer("status")["isPaused"], phone.timer("status")
            laptop.run("sync")
            phone.run("sync")
            # The second device only had to send its own press, which the app resolves.
            assert {key: each for key, each in live_records(writer).items() if key[0] == "Notes"} == {
                key: each for key, each in after.items() if key[0] == "Notes"}
            screens = [home.timer("status") for home in (phone, laptop)]
            assert screens[0]["stateType"] == screens[1]["stateType"] == "focus", screens
            assert screens[0]["isPaused"] == screens[1]["isPaused"], screens
            for home in (phone, laptop):
                status = home.status()
                assert status["state"] == "inSync" and status["waiting"] == 0, status
                assert status["parked"] == 0, status


def story_a_running_agent_notices_by_itself():
    """`agent run` continues through the restart: it brings back the lost records without any action
    by a person."""
    with devices() as (relay, phone, laptop, backup):
        writer = phone.person(relay).pair("writer")
        expect(writer.save(record("a")), 200)
        relay.stop()
        copy_database(relay.store, backup)
        relay.start()
        with phone.start_agent() as agent:
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            expect(writer.save(record("lost")), 200)
            token = writer.changes().json["token"]
            laptop.run("timer", "start")
            wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the change to show")
            relay.stop()
            put_back(relay, backup)
            relay.start()
            wait_until(lambda: ("Notes", "lost") in live_records(writer), "what was lost")
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            is_restored(writer, token, 1)
            assert agent.stop() == 0
        laptop.run("sync")
        assert laptop.timer("status")["stateType"] == "focus"


if __name__ == "__main__":
    main(globals())
