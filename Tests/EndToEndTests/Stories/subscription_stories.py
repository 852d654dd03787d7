"""Rules of docs/protocol.md, "Subscriptions" and "Plans", that notification_stories does not cover:
matching, to the letter, and each call under a plan.

| sentence | story |
| --- | --- |
| At most 64, each named by an id, like a zone | bad_input: subscriptions_at_their_limits, wrong_names… |
| They belong to a device; a device without any is woken by all | notification: subscriptions_are_made…, a_socket_is_woken… |
| The kinds; `events`; a record that reappears counts as created | what_a_subscription_matches |
| `where`: equal as JSON, null, 32 KiB; not for a delete | what_a_query_asks_of_a_record |
| If a record was saved twice, each save is compared | each_save_is_looked_at_by_itself |
| Members of other kinds are ignored; the stored form | what_is_kept_of_a_subscription |
| The cursor stays; the next match sends all changes since, once | notification: a_socket_is_woken… |
| Missed changes come first; own saves are answered as usual | notification: changed_subscriptions…, a_socket_is_woken… |
| A long-poll: the newest version, either event, a page's backlog | what_a_long_poll_looks_at |
| After the wait an empty page; without it everything | notification: a_long_poll_answers_what_matches |
| Changes apply at once, on other nodes too; skipped changes | a_long_poll_looks_again, notification: changed_subscriptions… |
| Plans: a save outside is refused as a whole, reading is not | notification: a_plan_without_zones…, a_plan_bounds_saves_alone |
| A plan without zones: each call | every_call_under_a_plan_without_zones |
"""

import uuid

from bad_input_stories import documented
from notification_stories import PendingRequest, names, subscribe
from story import Connection, Person, Relay, expect, main, now, record, run, tombstone
from websocket_stories import Socket, play


async def check_nothing_received(socket):
    """Checks that nothing was sent to it; otherwise its cursor would have moved as well."""
    id = str(uuid.uuid4())
    await socket.send({"op": "time", "id": id, "t0": 1})
    message = await socket.receive()
    assert (message["op"], message["id"]) == ("time", id), message


async def check_matches(relay, subscription, saves):
    """A device with only this subscription receives exactly the saves that are to wake it, at once,
    with all changes since its cursor. `saves`: whether each wakes it, its zone and its record."""
    person = Person.new(relay)
    other = person.pair()
    subscribe(person, "s", **subscription)
    cursor = person.changes().json["token"]
    socket = await Socket.open(person, since=cursor)
    line = Connection(relay, other)
    for number, (is_woken, zone, wish) in enumerate(saves):
        answer = expect(line.save(wish, zone=zone), 200).json
        assert "tag" in answer["results"][0], answer
        if is_woken:
            page = await socket.receive("changes")
            assert (page["since"], page["token"]) == (cursor, answer["token"]), (
                number, subscription, page)
            cursor = page["token"]
        else:
            await check_nothing_received(socket)


def story_what_a_subscription_matches():
    """Each kind, and each event: a device receives what it subscribed to; a record that reappears
    counts as created."""
    def typed(name, type, **members):
        return {**record(name), "type": type, **members}

    async def scene(relay):
        saves = [
            ("A", typed("a", "T")), ("A", typed("a", "T")), ("B", typed("a", "T")),
            ("A", typed("b", "U")), ("A", tombstone("a")), ("A", typed("a", "T")), ("B", tombstone("a")),
            ("B", typed("a", "U")),
        ]
        every = [True] * len(saves)
        for wish, wanted in [
            ({"kind": "database"}, every),
            ({"kind": "zone", "zone": "A"}, [1, 1, 0, 1, 1, 1, 0, 0]),
            ({"kind": "zone", "zone": "a"}, [0] * 8),
            ({"kind": "query", "recordType": "T"}, [1, 1, 1, 0, 1, 1, 1, 0]),
            ({"kind": "query", "recordType": "t"}, [0] * 8),
            ({"kind": "query", "recordType": "T", "zone": "B"}, [0, 0, 1, 0, 0, 0, 1, 0]),
            ({"kind": "query", "recordType": "T", "events": ["create"]}, [1, 0, 1, 0, 0, 1, 0, 0]),
            ({"kind": "query", "recordType": "T", "events": ["update"]}, [0, 1, 0, 0, 0, 0, 0, 0]),
            ({"kind": "query", "recordType": "T", "events": ["delete"]}, [0, 0, 0, 0, 1, 0, 1, 0]),
            ({"kind": "query", "recordType": "T", "events": ["delete", "update", "delete"]},
             [0, 1, 0, 0, 1, 0, 1, 0]),
            ({"kind": "query", "recordType": "U", "zone": "B", "where": {}}, [0] * 7 + [1]),
        ]:
            await check_matches(relay, wish,
                                [(bool(each), *save) for each, save in zip(wanted, saves)])

    play(scene, "--loops", "2")


def story_what_a_query_asks_of_a_record():
    """`where`, member by member: equal as JSON, at the top level, all of them; a delete matches
    without being compared."""
    async def scene(relay):
        long = "x" * (32 << 10)
        for where, fields, is_met in [
            ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"a": "1"}, False), ({"a": 1}, {"b": 1}, False),
            ({"a": 100}, {"a": 1e2}, True), ({"a": 0}, {"a": -0.0}, True), ({"a": True}, {"a": 1}, False),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1, "c": 3}, True), ({"a": 1, "b": 2}, {"a": 1}, False),
            ({"a": None}, {"a": None}, True), ({"a": None}, {}, False), ({"a": None}, {"a": 0}, False),
            ({"a": {"x": 1, "y": [1, 2]}}, {"a": {"y": [1, 2.0], "x": 1}}, True),
            ({"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}, False), ({"a": [1, 2]}, {"a": [2, 1]}, False),
            ({"a": []}, {"a": []}, True), ({"a": {}}, {"a": []}, False),
            ({"a": {"b": 1}}, {"b": 1}, False), ({"b": 1}, {"a": {"b": 1}}, False),
            ({"a": "é"}, {"a": "\u00e9"}, True), ({"a": "é"}, {"a": "e\u0301"}, False),
            ({"a": "A"}, {"a": "a"}, False), ({"": ""}, {"": ""}, True),
            ({"a.b": 1}, {"a": {"b": 1}}, False), ({"a": False}, {"a": None}, False),
            ({"a": "x"}, {"a": "x", "long": long}, True), ({"a": long[:100]}, {"a": long}, False),
            ({"a": 9007199254740993}, {"a": 9007199254740993}, True),
        ]:
            wish = {"kind": "query", "recordType": "Note", "where": where}
            await check_matches(relay, wish, [
                (is_met, "Z", {**record("a"), "fields": fields}), (True, "Z", tombstone("a"))])
            await check_matches(relay, {**wish, "events": ["create", "update"]}, [
                (False, "Z", {**record("a"), "fields": {"other": 1}}),
                (is_met, "Z", {**record("a"), "fields": fields}), (False, "Z", tombstone("a"))])

    play(scene)


def story_a_value_of_more_than_32_kib_equals_nothing():
    """In any spelling: the same number, with a long tail of zeros, matches nothing."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        subscribe(person, "s", kind="query", recordType="T", where={"a": 1})
        socket = await Socket.open(person, since=person.changes().json["token"])
        line = Connection(relay, other)
        for zeros, is_woken in [(1_000, True), ((32 << 10) - 2, True), ((32 << 10) - 1, False)]:
            raw = ('{"id":"%s","records":[{"name":"n%d","type":"T","modifiedAt":1,"fields":{"a":1.%s}}]}'
                   % (uuid.uuid4(), zeros, "0" * zeros))
            expect(line.request("POST", "/v1/zones/Z/records", raw=raw.encode()), 200)
            if is_woken:
                assert names(await socket.receive("changes")) == [f"n{zeros}"]
            else:
                await check_nothing_received(socket)

    play(scene)


def story_each_save_is_looked_at_by_itself():
    """A record that matched, but no longer does when it is read, has woken the device."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        subscribe(person, "s", kind="query", recordType="Note", where={"text": "yes"})
        cursor = person.changes().json["token"]
        socket = await Socket.open(person, since=cursor)
        line = Connection(relay, other)
        for number in range(20):
            expect(line.save(record("a", "yes")), 200)
            expect(line.save(record("a", "no")), 200)
        received, tags = 0, []
        newest = line.save(record("b", "yes")).json["token"]
        while cursor != newest:
            page = await socket.receive("changes")
            assert page["since"] == cursor
            cursor, received = page["token"], received + 1
            tags += [each["tag"] for each in page["changes"]]
        # Each matching save woke it: none waited for the last one.
        assert received >= 2 and tags == sorted(set(tags)), (received, tags)

    play(scene)


def story_what_is_kept_of_a_subscription():
    """Members of other kinds and unknown members are ignored; the answer is complete, and the
    subscription survives a restart."""
    with Relay() as relay:
        person = Person.new(relay)
        junk = {"id": "other", "unknown": [1], "device": "x"}
        for body, kept in [
            ({"kind": "database", "zone": "Z", "recordType": "T", "events": ["create"]},
             {"kind": "database"}),
            ({"kind": "zone", "zone": "Z", "where": {"a": 1}, "events": 5}, {"kind": "zone", "zone": "Z"}),
            ({"kind": "query", "recordType": "T", "events": ["delete", "create"]},
             {"kind": "query", "recordType": "T", "events": ["create", "delete"]}),
            ({"kind": "query", "recordType": "T", "zone": "Z", "where": {"a": None, "b": {"c": [1]}}},
             {"kind": "query", "recordType": "T", "zone": "Z", "where": {"a": None, "b": {"c": [1]}},
              "events": ["create", "update", "delete"]}),
        ]:
            id = str(uuid.uuid4())
            made = expect(person.call("PUT", f"/v1/subscriptions/{id}", {**junk, **body}), 201).json
            assert made == {"id": id, **kept}, made
            assert expect(person.call("GET", f"/v1/subscriptions/{id}"), 200).json == made
        listed = person.call("GET", "/v1/subscriptions").json
        assert len(listed["subscriptions"]) == 4
        relay.kill()
        relay.start()
        assert person.call("GET", "/v1/subscriptions").json == listed


def story_what_a_long_poll_looks_at():
    """Of changes already present only the newest version is compared, as created and as updated; a
    backlog of more than a page always answers."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        line = Connection(relay, other)
        start = line.request("GET", "/v1/changes").json["token"]
        expect(line.save(record("a", "yes")), 200)
        expect(line.save(record("a", "no")), 200)
        expect(line.save(record("b", "yes"), record("c", "no")), 200)
        expect(line.save(tombstone("b")), 200)
        query = {"kind": "query", "recordType": "Note", "where": {"text": "yes"}}

        def answered(since, **wish):
            """True if something matched, which is answered at once; otherwise the page is empty,
            after the wait."""
            status = person.call("PUT", "/v1/subscriptions/s", {**query, **wish}).status
            assert status in (200, 201), status
            page = expect(person.changes(since=since, wait=1), 200).json
            if not page["changes"]:
                assert page["token"] == page["since"] == since, page
            return bool(page["changes"])

        assert answered(start) is True, "the deletion matches"
        assert answered(start, events=["create", "update"]) is False
        for event in ("create", "update"):
            assert answered(start, where={"text": "no"}, events=[event]) is True, event
        assert answered(start, where={"text": "no"}, events=["delete"]) is True
        assert answered(start, where={"text": "no"}, zone="Other") is False
        # A page that says that there is more is an answer.
        for batch in range(3):
            expect(line.save(*[record(f"r{batch}-{n}", "no") for n in range(400)]), 200)
        assert answered(start, events=["create", "update"]) is True
        page = person.changes(since=start, limit=5, wait=1).json
        assert len(page["changes"]) == 5 and page["more"] is True, page


def story_a_long_poll_looks_again():
    """While it waits, its subscriptions change, on any loop: changes that did not match before are
    compared again, and it is answered."""
    with Relay("--loops", "2") as relay:
        person = Person.new(relay)
        other = person.pair()
        for turn, change in enumerate([
            ("DELETE", "s", None), ("PUT", "s", {"kind": "zone", "zone": "Here"}),
            ("PUT", "t", {"kind": "query", "recordType": "Note"}),
        ] * 3):
            for id in ("s", "t"):
                person.call("DELETE", f"/v1/subscriptions/{id}")
            subscribe(person, "s", kind="zone", zone="Elsewhere")
            start = person.changes().json["token"]
            waiting = PendingRequest(person, f"/v1/changes?since={start}&wait=60")
            plain = PendingRequest(other, f"/v1/changes?since={start}&wait=60")
            expect(other.save(record(f"r{turn}"), zone="Here"), 200)
            assert names(plain.answer()[1]) == [f"r{turn}"]
            assert waiting.is_pending
            method, id, body = change
            assert person.call(method, f"/v1/subscriptions/{id}", body).status in (200, 201, 204)
            status, page = waiting.answer()
            assert status == 200 and names(page) == [f"r{turn}"] and page["since"] == start, page


# MARK: plans

def story_a_plan_bounds_saves_alone():
    """Zones outside the plan can be read, watched and deleted; a save there is refused as a whole,
    whatever else it contains; chunks can be uploaded as long as the plan has a zone."""
    async def scene(relay):
        person = Person.new(relay)
        expect(person.save(record("kept"), zone="Out"), 200)
        start = person.changes().json["token"]
        run("account", "plan", person.account, "--zones", "In", "--store", relay.store)
        for wish in ([record("a")], [record("a"), {**record("b"), "modifiedAt": now() + 60_000}],
                     [tombstone("kept")], []):
            for atomic in (False, True):
                expect(person.save(*wish, zone="Out", atomic=atomic), 402, "planRequired")
        # As for any batch: faults of records are reported if the zone is included.
        expect(person.save(record("a"), zone="In"), 200)
        socket = await Socket.open(person, since=start)
        assert names(await socket.receive("changes")) == ["a"]
        id = await socket.save(record("b"), zone="Out")
        error = await socket.receive("error")
        assert (error["code"], error["id"]) == ("planRequired", id), error
        await socket.send({"op": "fetch", "id": "f", "zone": "Out"})
        assert names(await socket.receive("changes")) == ["kept"]
        expect(person.call("GET", "/v1/zones/Out/records/kept"), 200)
        assert [each["zone"] for each in person.call("GET", "/v1/zones").json["zones"]] == ["In", "Out"]
        subscribe(person, "s", kind="zone", zone="Out")
        expect(person.call("DELETE", "/v1/zones/Out"), 204)
        assert names(await socket.receive("changes")) == ["kept"]

    play(scene)


def story_every_call_under_a_plan_without_zones():
    """402 from every call with a token, except for devices and pairings; open calls work as usual;
    a new device may join, and is refused in the same way."""
    with Relay() as relay:
        person = Person.new(relay)
        expect(person.save(record("kept")), 200)
        expect(person.call("PUT", "/v1/subscriptions/s", {"kind": "database"}), 201)
        run("account", "plan", person.account, "--none", "--store", relay.store)
        joined = person.pair("late")
        bodies = {"/v1/zones/Notes/records": {"id": str(uuid.uuid4()), "records": [record("x")]},
                  "/v1/chunks/missing": {"hashes": []}, "/v1/subscriptions/s": {"kind": "database"}}
        told = 0
        for by in (person, joined):
            line = Connection(relay, by)
            for path, calls in documented():
                for method, is_signed in calls.items():
                    if not is_signed or path == "/v1/socket" or "/v1/devices" in path or (
                            path == "/v1/pairings"):
                        continue
                    body = bodies.get(path) if method in ("POST", "PUT") else None
                    raw = b"x" if method == "PUT" and not body else None
                    answer = line.request(method, path, body, raw=raw)
                    assert answer.status == 402, (method, path, answer)
                    if method != "HEAD":
                        expect(answer, 402, "planRequired")
                    told += 1
        assert told >= 24, told
        expect(person.call("GET", "/v1/devices"), 200)
        expect(person.call("POST", "/v1/pairings"), 201)
        expect(person.call("PATCH", f"/v1/devices/{joined.device}", {"deviceName": "x"}), 200)
        expect(person.call("DELETE", f"/v1/devices/{joined.device}"), 204)
        for path in ("/v1/time", "/v1/limits", "/livez", "/readyz"):
            expect(person.call("GET", path), 200)
        expect(person.call("GET", "/nothing"), 404, "notFound")
        run("account", "plan", person.account, "--all", "--store", relay.store)
        assert names(person.changes().json) == ["kept"]
        assert len(person.call("GET", "/v1/subscriptions").json["subscriptions"]) == 1


if __name__ == "__main__":
    main(globals())
