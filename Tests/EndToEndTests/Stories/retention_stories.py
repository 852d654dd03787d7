"""Rules of docs/protocol.md, "History": deletions and batch ids expire after the retention. By curl
and Python's `websockets`."""

from notification_stories import Stream, names
from story import Connection, Person, Relay, expect, main, new_id, record, tombstone, wait_until
from websocket_stories import Socket, play


def tags(answer):
    return [each["tag"] for each in expect(answer, 200).json["results"]]


def wait_expired(person, since, **query):
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
        after = expect(person.save(tombstone("a", baseTag=tag)), 200).json["token"]
        problem = wait_expired(person, before).json
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
        error = await socket.receive("error")
        assert error["code"] == "tokenExpired" and set(error) == {"op", "code", "detail"}, error
        hinted = person.save(record("b")).json["token"]
        assert (await socket.receive("changed"))["token"] == hinted
        await socket.send({"op": "fetch", "id": "f", "since": before})
        error = await socket.receive("error")
        assert error["code"] == "tokenExpired" and error["id"] == "f", error
        await socket.send({"op": "fetch", "id": "g"})
        page = await socket.receive("changes")
        assert sorted(names(page)) == ["b", "filler"], page
        person.save(record("c"))
        assert (await socket.receive("changes"))["since"] == page["token"]
        # Deleting a zone up to a token that is too old is refused too.
        expect(person.call("DELETE", f"/v1/zones/Notes?through={before}"), 410, "tokenExpired")

    play(scene, "--retention", "1s")


def story_a_snapshot_under_way_outlives_what_was_deleted_before_it_began():
    """In the middle of a snapshot only the deletions since its beginning count."""
    with Relay("--retention", "1s") as relay:
        person = Person.new(relay)
        expect(person.save(*[record(f"r{n}") for n in range(30)]), 200)
        deleted = tags(person.save(tombstone("r3")))[0]
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
        expect(person.save(tombstone("r25")), 200)
        wait_expired(person, lasting["token"])


def story_a_batch_is_recognised_until_its_time_is_over():
    """Its id can be reused after the retention; until then other content is refused."""
    with Relay("--retention", "3s") as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
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
        expect(other.save(tombstone("a"), zone="Quiet"), 200)
        wait_expired(other, start)
        woken = other.save(record("b"), zone="Loud").json["token"]
        problem = stream.receive("error")
        assert (problem["code"], problem["status"]) == ("tokenExpired", 410), problem
        assert stream.receive(None) is None
        error = await socket.receive("error")
        assert error["code"] == "tokenExpired" and "id" not in error, error
        after = expect(other.save(record("c"), zone="Loud"), 200).json["token"]
        hint = await socket.receive("changed")
        assert hint["token"] in (woken, after), (hint, woken, after)
        await socket.send({"op": "fetch", "id": "f"})
        page = await socket.receive("changes")
        assert sorted(names(page)) == ["b", "c", "filler"], page

    play(scene, "--retention", "1s")


if __name__ == "__main__":
    main(globals())
