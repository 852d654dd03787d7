"""Rules of docs/protocol.md, "Zones", by curl and Python's `websockets`."""

import hashlib

from notification_stories import PendingRequest, Stream, names, subscribe
from story import Connection, Person, Relay, curl, expect, main, now, record, run
from websocket_stories import Socket, play


def zones(person, query=""):
    listed = expect(person.call("GET", "/v1/zones" + query), 200).json
    assert set(listed) == {"zones", "more"}, listed
    assert all(set(each) == {"zone"} for each in listed["zones"]), listed
    return [each["zone"] for each in listed["zones"]], listed["more"]


def delete(person, zone, through=None):
    path = f"/v1/zones/{zone}" + (f"?through={through}" if through else "")
    return person.call("DELETE", path)


def is_deleted(person, zone, through=None):
    answer = expect(delete(person, zone, through), 204)
    assert answer.body == b"" and "content-type" not in answer.headers, answer


def story_zones_are_listed():
    """Zones with a live record, in the order of their names' bytes, page by page."""
    with Relay() as relay:
        person = Person.new(relay)
        assert zones(person) == ([], False)
        for zone in ("b", "a%2Fc", "d", "%C3%A9", "B"):
            expect(person.save(record("one"), record("two"), zone=zone), 200)
        assert zones(person) == (["B", "a/c", "b", "d", "é"], False)
        assert zones(person, "?limit=2") == (["B", "a/c"], True)
        assert zones(person, "?limit=2&after=a%2Fc") == (["b", "d"], True)
        assert zones(person, "?limit=2&after=d") == (["é"], False)
        assert zones(person, "?limit=3&after=a%2Fc") == (["b", "d", "é"], False)
        # The name after which a page continues need not exist any more.
        assert zones(person, "?after=a") == (["a/c", "b", "d", "é"], False)
        expect(person.save({"name": "one", "deleted": True, "modifiedAt": now()}, zone="b"), 200)
        assert "b" in zones(person)[0]
        expect(person.save({"name": "two", "deleted": True, "modifiedAt": now()}, zone="b"), 200)
        assert "b" not in zones(person)[0]
        expect(person.save(record("three"), zone="b"), 200)
        assert "b" in zones(person)[0]
        expect(curl(relay, "GET", "/v1/zones"), 401, "badToken")


def story_a_thousand_zones_are_an_answer():
    """At most a thousand at once; a greater limit counts as a thousand."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        for number in range(1_001):
            expect(line.save(record("r"), zone=f"z{number:04}"), 200)
        for query, count in [("", 1_000), ("?limit=999", 999), ("?limit=1000", 1_000),
                             ("?limit=1001", 1_000)]:
            found, more = zones(person, query)
            assert found == [f"z{number:04}" for number in range(count)] and more is True
        assert zones(person, "?after=z0999") == (["z1000"], False)
        assert zones(person, "?after=z0000")[1] is False


def story_a_deleted_zone_is_told_to_all_who_watch():
    """Its records become tombstones, one after the other: a socket, a stream and a long-poll
    receive them like any save; later readers find them."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        expect(person.save(record("a"), record("b"), record("c"), zone="Old"), 200)
        expect(person.save({"name": "b", "deleted": True, "modifiedAt": now()}, zone="Old"), 200)
        expect(person.save(record("kept"), zone="New"), 200)
        start = person.changes().json["token"]
        of_zone = person.changes(zone="Old").json["token"]
        socket, stream = await Socket.open(other, since=start), Stream(other, start)
        own = await Socket.open(person, since=start)
        poll = PendingRequest(other, f"/v1/changes?since={start}&wait=60")
        is_deleted(person, "Old")
        pages = [await socket.receive("changes"), stream.receive("changes"), poll.answer()[1],
                 await own.receive("changes"), person.changes(since=start).json]
        for page in pages:
            assert page["since"] == start and page["more"] is False, page
            assert [(each["name"], each["tag"]) for each in page["changes"]] == [
                ("a", 6), ("c", 7)], page
            for each in page["changes"]:
                assert each["deleted"] is True and each["fields"] is None, each
                assert each["zone"] == "Old" and each["type"] == "Note", each
                assert each["device"] == person.device, each
                assert abs(each["modifiedAt"] - now()) < 60_000, each
        token = pages[0]["token"]
        assert all(page["token"] == token for page in pages), pages
        assert names(person.changes(since=of_zone, zone="Old").json) == ["a", "c"]
        assert names(person.changes().json) == ["kept"]
        assert zones(person) == (["New"], False)
        expect(person.call("GET", "/v1/zones/Old/records/a"), 404, "notFound")
        # Deleting an empty or unknown zone succeeds too, and nothing is sent.
        for zone in ("Old", "Never", "a%2Fb"):
            is_deleted(person, zone)
        assert person.changes().json["token"] == token
        # A deleted record may be created again, and a stale save is a conflict.
        [stale, again] = person.save(
            record("a", baseTag=1), record("c", baseTag=0), zone="Old").json["results"]
        assert stale["conflict"]["deleted"] is True and stale["conflict"]["tag"] == 6, stale
        assert again["tag"] == 8, again
        assert names(await socket.receive("changes")) == ["c"]
        assert zones(person) == (["New", "Old"], False)

    play(scene)


def story_what_a_token_does_not_cover_stays():
    """`through`, a token of the account or of the zone: records saved after it stay."""
    with Relay() as relay:
        person, stranger = Person.new(relay), Person.new(relay)
        expect(person.save(record("a"), record("b"), record("c"), zone="Z"), 200)
        expect(stranger.save(record("a"), zone="Z"), 200)
        account = person.changes().json["token"]
        zone = person.changes(zone="Z").json["token"]
        other = person.changes(zone="Y").json["token"]
        foreign = stranger.changes().json["token"]
        for through, status, code in [
            (other, 410, "filterChanged"), (foreign, 400, "badChangeToken"),
            ("nonsense", 400, "badChangeToken"), ("%00", 400, "badChangeToken"),
        ]:
            expect(delete(person, "Z", through), status, code)
        expect(person.call("DELETE", f"/v1/zones/Z?through={account}&through={account}"), 400)
        assert len(person.changes(zone="Z").json["changes"]) == 3
        expect(person.save(record("b", "newer"), record("d"), zone="Z"), 200)
        is_deleted(person, "Z", account)
        assert names(person.changes(zone="Z").json) == ["b", "d"]
        is_deleted(person, "Z", zone)
        assert names(person.changes(zone="Z").json) == ["b", "d"]
        is_deleted(person, "Z", person.changes(zone="Z").json["token"])
        assert names(person.changes(zone="Z").json) == [] == zones(person)[0]
        assert names(stranger.changes().json) == ["a"]


def story_a_large_zone_goes_by_a_hint():
    """400 tombstones are pushed; for more there is a hint, and a fetch returns them all."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        line = Connection(relay, person)
        for count in (399, 400, 401, 900):
            for first in range(0, count, 300):
                expect(line.save(*[record(f"r{n}") for n in range(first, min(first + 300, count))],
                                 zone="Large"), 200)
            start = line.request("GET", "/v1/changes").json["token"]
            expect(line.request("GET", "/v1/changes?limit=1"), 200)
            while (page := line.request("GET", f"/v1/changes?since={start}").json)["changes"]:
                start = page["token"]
            socket, stream = await Socket.open(other, since=start), Stream(other, start)
            is_deleted(person, "Large")
            if count <= 400:
                # Like any save: with the records if they fit into 64 KiB.
                message = await socket.receive()
                assert message["op"] in ("changes", "changed"), message
                if message["op"] == "changes":
                    assert len(message["changes"]) == count, message
                    assert len(stream.receive("changes")["changes"]) == count
                else:
                    assert stream.receive("changed") == {"token": message["token"]}
            else:
                hint = await socket.receive("changed")
                assert stream.receive("changed") == {"token": hint["token"]}
                await socket.send({"op": "fetch", "id": "f", "since": start})
                page = await socket.receive("changes")
                assert len(page["changes"]) == count and page["token"] == hint["token"]
                assert all(each["deleted"] for each in page["changes"])
            assert zones(person) == ([], False)

    play(scene)


def story_a_deleted_zone_wakes_those_who_asked_for_deletions():
    """By the zone, and by the type with deletions; not by another zone or type, nor by
    subscriptions to creations. Also if there are too many to be sent one by one."""
    async def scene(relay):
        person = Person.new(relay)
        wishes = [
            (True, {"kind": "zone", "zone": "Z"}), (True, {"kind": "database"}),
            (True, {"kind": "query", "recordType": "Note", "events": ["delete"]}),
            (True, {"kind": "query", "recordType": "Note", "where": {"text": "no"}}),
            (False, {"kind": "query", "recordType": "Note", "events": ["create", "update"]}),
            (False, {"kind": "query", "recordType": "Note", "zone": "Y"}),
            (False, {"kind": "zone", "zone": "Y"}),
        ]
        people = []
        for number, (_, wish) in enumerate(wishes):
            people.append(person.pair(f"d{number}"))
            subscribe(people[-1], "s", **wish)
        for count in (3, 450):
            for first in range(0, count, 400):
                expect(person.save(*[record(f"r{n}") for n in range(first, min(first + 400, count))],
                                   zone="Z"), 200)
            start = person.save(record("last"), zone="Elsewhere").json["token"]
            sockets = [await Socket.open(each, since=start) for each in people]
            is_deleted(person, "Z")
            for socket, (is_woken, wish) in zip(sockets, wishes):
                if is_woken:
                    assert (await socket.receive())["op"] in ("changes", "changed"), wish
            for socket, (is_woken, wish) in zip(sockets, wishes):
                # Anything else sent to it would come before this answer.
                await socket.send({"op": "time", "id": "t", "t0": 1})
                assert (await socket.receive())["op"] == "time", wish

    play(scene)


def story_the_chunks_of_a_deleted_zone_are_released():
    """They are kept for a day, as after any deletion, and the plan has no effect on that."""
    with Relay() as relay:
        person = Person.new(relay)
        data = b"a chunk" * 1_000
        hash = hashlib.sha256(data).hexdigest()
        expect(person.call("PUT", f"/v1/chunks/{hash}", raw=data), 201)
        expect(person.save(record("a", chunks=[hash]), zone="Z"), 200)
        run("account", "plan", person.account, "--zones", "Other", "--store", relay.store)
        expect(person.save(record("b"), zone="Z"), 402, "planRequired")
        is_deleted(person, "Z")
        assert zones(person) == ([], False)
        assert expect(person.call("GET", f"/v1/chunks/{hash}"), 200).body == data
        run("account", "plan", person.account, "--none", "--store", relay.store)
        expect(delete(person, "Z"), 402, "planRequired")


def story_who_may_delete_a_zone():
    """A device of the account, with a valid name; no other client learns anything."""
    with Relay() as relay:
        person, stranger = Person.new(relay), Person.new(relay)
        expect(person.save(record("a"), zone="Mine"), 200)
        expect(curl(relay, "DELETE", "/v1/zones/Mine"), 401, "badToken")
        is_deleted(stranger, "Mine")
        assert names(person.changes().json) == ["a"]
        for name in ("%00", "n" * 256, "%C2%80"):
            expect(delete(person, name), 400, "badName")
        is_deleted(person, "n" * 255)
        allow = curl(relay, "OPTIONS", "/v1/zones/Mine").headers["allow"]
        assert sorted(allow.split(", ")) == ["DELETE", "OPTIONS"], allow
        expect(person.call("GET", "/v1/zones/Mine"), 405, "methodNotAllowed")


if __name__ == "__main__":
    main(globals())
