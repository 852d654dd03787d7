"""Rules of docs/protocol.md, "History": deletions and batch ids that expire, and a relay whose
store is an older copy. By curl, Python's `websockets` and the real device agent."""

import contextlib
import hashlib
import os
import shutil

from socket_stories import Socket, play
from story import (
    Home, Line, Person, Relay, expect, folder, main, new_id, now, record, wait_until)
from wake_stories import Stream, names

# Greater than any tag of a relay before a restore.
RAISED = 1 << 32


def gone(name, **members):
    return {"name": name, "deleted": True, "modifiedAt": now(), **members}


def tags(answer):
    return [each["tag"] for each in expect(answer, 200).json["results"]]


# MARK: expiry

def forget(person, since, **query):
    """Waits until a token is refused as too old. Deletions expire when others commit."""
    def is_expired():
        expect(person.save(record("filler"), zone="Other"), 200)
        return person.changes(since=since, **query).status == 410

    wait_until(is_expired, "the deletion to be forgotten")
    return expect(person.changes(since=since, **query), 410, "tokenExpired")


def story_a_deletion_is_forgotten_after_its_time():
    """A token from before the deletion is refused on every transport; one from after it stays valid
    for ever."""
    async def scene(relay):
        person = Person.new(relay)
        [tag] = tags(person.save(record("a"), zone="Notes"))
        before = person.changes().json["token"]
        of_zone = person.changes(zone="Notes").json["token"]
        of_other = person.changes(zone="Other").json["token"]
        after = expect(person.save(gone("a", baseTag=tag)), 200).json["token"]
        problem = forget(person, before).json
        assert set(problem) == {"type", "title", "status", "code", "detail"}, problem
        expect(person.changes(since=before, wait=50), 410, "tokenExpired")
        expect(person.changes(since=of_zone, zone="Notes"), 410, "tokenExpired")
        # The relay does not know the zone of the expired deletion.
        expect(person.changes(since=of_other, zone="Other"), 410, "tokenExpired")
        expect(person.call("GET", f"/v1/events?since={before}"), 410, "tokenExpired")
        expect(person.call("GET", "/v1/events", headers=[f"Last-Event-ID: {before}"]), 410)
        assert names(expect(person.changes(since=after), 200).json) == ["filler"]
        snapshot = expect(person.changes(), 200).json
        assert names(snapshot) == ["filler"], snapshot
        # For a record whose tombstone has expired, the relay has no information at all.
        stale = person.save(record("a", baseTag=tag)).json["results"][0]["conflict"]
        assert stale["deleted"] is True and stale["tag"] == stale["modifiedAt"] == 0, stale
        assert stale["fields"] is None and stale["name"] == "a" and stale["zone"] == "Notes", stale
        # On a socket: an error without an id, then hints, until a fetch gives a cursor.
        socket = await Socket.open(person, since=before)
        error = await socket.hear("error")
        assert error["code"] == "tokenExpired" and set(error) == {"op", "code", "detail"}, error
        hinted = person.save(record("b")).json["token"]
        assert (await socket.hear("changed"))["token"] == hinted
        await socket.say({"op": "fetch", "id": "f", "since": before})
        error = await socket.hear("error")
        assert error["code"] == "tokenExpired" and error["id"] == "f", error
        await socket.say({"op": "fetch", "id": "g"})
        page = await socket.hear("changes")
        assert sorted(names(page)) == ["b", "filler"], page
        person.save(record("c"))
        assert (await socket.hear("changes"))["since"] == page["token"]
        # Deleting a zone up to a token that is too old is refused too.
        expect(person.call("DELETE", f"/v1/zones/Notes?through={before}"), 410, "tokenExpired")

    play(scene, "--retention", "1s")


def story_a_snapshot_under_way_outlives_what_was_deleted_before_it_began():
    """In the middle of a snapshot only the deletions since its beginning count."""
    with Relay("--retention", "1s") as relay:
        person = Person.new(relay)
        expect(person.save(*[record(f"r{n}") for n in range(30)]), 200)
        deleted = tags(person.save(gone("r3")))[0]
        page = lasting = person.changes(limit=10).json
        expect(person.save(record("r21", "newer"), record("r22", "newer")), 200)

        def is_forgotten():
            expect(person.save(record("filler"), zone="Other"), 200)
            conflict = person.save(record("r3", baseTag=1)).json["results"][0]["conflict"]
            assert conflict["tag"] in (deleted, 0), conflict
            return conflict["tag"] == 0

        wait_until(is_forgotten, "the tombstone to go")
        found = names(page)
        while page["more"]:
            page = expect(person.changes(since=page["token"], limit=10), 200).json
            found += names(page)
        assert found == [f"r{n}" for n in range(30) if n not in (3, 21, 22)], found
        rest = names(expect(person.changes(since=page["token"]), 200).json)
        assert rest == ["r21", "r22", "filler"], rest
        # This deletion would be unknown to the snapshot's reader.
        expect(person.save(gone("r25")), 200)
        forget(person, lasting["token"])


def story_a_batch_is_recognised_until_its_time_is_over():
    """Its id can be reused after the retention; until then other content is refused."""
    with Relay("--retention", "3s") as relay:
        person = Person.new(relay)
        line = Line(relay, person)
        id = new_id()
        [first] = tags(person.save(record("a", baseTag=0), id=id))
        expect(person.save(record("b"), id=id), 422, "batchMismatch")

        def is_free():
            expect(line.save(record("filler")), 200)
            return person.save(record("b"), id=id).status == 200

        wait_until(is_free, "the id to be forgotten")
        [second] = [each["tag"] for each in person.changes().json["changes"] if each["name"] == "b"]
        assert second > first
        assert {each["name"] for each in person.changes().json["changes"]} == {"a", "b", "filler"}


def story_a_stream_ends_where_its_cursor_is_forgotten():
    """The stream's subscription matched nothing while deletions expired: the next matching change
    sends an `error`; a socket receives the same and continues; a long-poll is answered with it."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        expect(person.call("PUT", "/v1/subscriptions/s", {"kind": "zone", "zone": "Loud"}), 201)
        start = other.save(record("a"), zone="Quiet").json["token"]
        stream = Stream(person, start)
        socket = await Socket.open(person, since=start)
        expect(other.save(gone("a"), zone="Quiet"), 200)
        forget(other, start)
        woken = other.save(record("b"), zone="Loud").json["token"]
        problem = stream.hear("error")
        assert (problem["code"], problem["status"]) == ("tokenExpired", 410), problem
        assert stream.hear(None) is None
        error = await socket.hear("error")
        assert error["code"] == "tokenExpired" and "id" not in error, error
        after = expect(other.save(record("c"), zone="Loud"), 200).json["token"]
        hint = await socket.hear("changed")
        assert hint["token"] in (woken, after), (hint, woken, after)
        await socket.say({"op": "fetch", "id": "f"})
        page = await socket.hear("changes")
        assert sorted(names(page)) == ["b", "c", "filler"], page

    play(scene, "--retention", "1s")


# MARK: an older copy

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


def upload(person, data):
    hash = hashlib.sha256(data).hexdigest()
    expect(person.call("PUT", f"/v1/chunks/{hash}", raw=data), 201)
    return hash


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
    error = await socket.hear("error")
    assert error["code"] == "storeRestored" and error["restoredThrough"] == through, error
    assert "id" not in error, error
    await socket.say({"op": "fetch", "id": "f", "since": since})
    error = await socket.hear("error")
    assert error["code"] == "storeRestored" and error["restoredThrough"] == through, error
    assert error["id"] == "f", error
    await socket.say({"op": "fetch", "id": "g"})
    return await socket.hear("changes")


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
            expect(person.save(gone("b")), 200)
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
            piece = upload(person, b"piece" * 1_000)
            assert tags(person.save(record("a", chunks=[piece]))) == [1]
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
            wait_until(lambda: missing(person, piece) == [], "the relay to find the chunk")
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
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        for home in (phone, laptop):
            home.run("sync")
        yield relay, phone, laptop, os.path.join(directory, "backup")


def live(person):
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
            expect(writer.save(record("changed", "new"), record("made"), gone("deleted")), 200)
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
            before = live(writer)
            assert ("Notes", "made") not in before and ("Notes", "deleted") in before, before
            phone.run("sync")
            after = live(writer)
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
            assert {key: each for key, each in live(writer).items() if key[0] == "Notes"} == {
                key: each for key, each in after.items() if key[0] == "Notes"}
            screens = [home.timer("status") for home in (phone, laptop)]
            assert screens[0]["stateType"] == screens[1]["stateType"] == "focus", screens
            assert screens[0]["isPaused"] == screens[1]["isPaused"], screens
            for home in (phone, laptop):
                status = home.status()
                assert status["state"] == "inSync" and status["waiting"] == 0, status
                assert status["parked"] == 0, status


def story_a_device_that_is_kept_notices_by_itself():
    """`agent run` continues through the restart: it brings back the lost records without any action
    by a person."""
    with devices() as (relay, phone, laptop, backup):
        writer = phone.person(relay).pair("writer")
        expect(writer.save(record("a")), 200)
        relay.stop()
        copy_database(relay.store, backup)
        relay.start()
        with phone.kept() as kept:
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            expect(writer.save(record("lost")), 200)
            token = writer.changes().json["token"]
            laptop.run("timer", "start")
            wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the change to show")
            relay.stop()
            put_back(relay, backup)
            relay.start()
            wait_until(lambda: ("Notes", "lost") in live(writer), "what was lost")
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            is_restored(writer, token, 1)
            assert kept.stop() == 0
        laptop.run("sync")
        assert laptop.timer("status")["stateType"] == "focus"


if __name__ == "__main__":
    main(globals())
