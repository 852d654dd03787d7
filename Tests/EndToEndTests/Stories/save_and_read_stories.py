"""Rules of docs/protocol.md, "Terms", "Saving" and "Reading", beyond the table of calls: data that
is kept unchanged, answers to retries, contents of a page. By curl and by raw requests.

| sentence | story |
| --- | --- |
| Two names are the same if their bytes are | names_are_their_bytes |
| `fields` is any JSON object, and is not interpreted | fields_come_back_as_they_went |
| `device` is set from the token; a tombstone's form | bad_input: what_a_record_cannot_be, websocket_rule: messages_have… |
| A tag increases by one per saved record, and is never reused | tags_rise_by_one_a_record |
| Tokens are opaque, stay valid, in the order of saves | retention: …, every_token_ever_given_is_good |
| A delete may name the type | a_delete_may_name_a_type |
| `baseTag` 0, n | curl: a_save_on_an_old_version_is_a_conflict |
| `baseTag` absent or "any", `tag`, no `modifiedAt` | plain_http_stories |
| `results` in order; conflicts; a tombstone that is not kept | curl, websocket_rule, retention |
| Beyond 2 MiB of conflicts: `conflictTooLarge` | conflicts_have_two_mebibytes |
| Atomic: all or none | curl: an_atomic_batch…, an_atomic_batch_with_any_fault |
| `since` is the newest token before, `token` the one after | websocket_rule: messages_have…, tags_rise_by_one_a_record |
| The answer comes when the batch is durable | durability: an_answer_waits_for_its_fsync |
| A retry gives the same tags and codes, only for its device | a_retry_gives_what_the_first_gave |
| … on HTTP and WebSocket alike, and after a crash | curl: a_retry_changes_nothing…, websocket: a_refused_request… |
| Oldest first, each record once, in its newest version | a_page_has_each_record_once |
| A page: up to about 2 MiB, 1,000 records | a_page_has_two_mebibytes, bad_input: numbers_at_their_limits |
| A snapshot, as of one token, without tombstones | curl: a_snapshot_comes_in_pages… |
| Long-poll and polling | curl: a_long_poll…, a_long_poll_of_one_zone |
| A zone's tokens are valid only for that zone | curl: a_token_of_one_zone… |
"""

import json
import unicodedata
import urllib.parse

from notification_stories import PendingRequest, names, subscribe
from story import Connection, Person, Relay, expect, main, new_id, now, record, tombstone
from websocket_stories import Socket, play

MEBIBYTE = 1 << 20


def results(answer, status=200):
    return expect(answer, status).json["results"]


def story_names_are_their_bytes():
    """Letters that look alike, or differ in case or in spaces, are different names; an escaped name
    in a path equals the plain name in a body."""
    with Relay() as relay:
        line = Connection(relay, Person.new(relay))
        composed = "Café Ω"
        alike = [composed, unicodedata.normalize("NFD", composed), composed.lower(), composed + " ",
                 " " + composed, "Cafe Ω", composed.replace("Ω", "\u2126")]
        assert len(set(alike)) == len(alike)
        for zone in (composed, unicodedata.normalize("NFD", composed)):
            path = urllib.parse.quote(zone, safe="")
            saved = results(line.save(*[record(name, name, baseTag=0) for name in alike], zone=path))
            assert len({each["tag"] for each in saved}) == len(alike), saved
            for name, result in zip(alike, saved):
                assert result["name"] == name
                one = line.request("GET", f"/v1/zones/{path}/records/{urllib.parse.quote(name, safe='')}")
                assert expect(one, 200).json["tag"] == result["tag"], (name, one)
                assert one.json["zone"] == zone
        # A name with every letter escaped, in lower and upper case digits, is the same name.
        full = "".join(f"%{byte:02x}" for byte in composed.encode())
        for path in (full, full.upper().replace("%", "%")):
            one = expect(line.request("GET", f"/v1/zones/{path}/records/{path}"), 200)
            assert one.json["name"] == composed
        listed = [each["zone"] for each in line.request("GET", "/v1/zones").json["zones"]]
        assert listed == sorted(set(listed), key=str.encode) and len(listed) == 2, listed


def story_fields_come_back_as_they_went():
    """Numbers beyond any type, order of members, white space: the app may need all of it."""
    odd = [
        b'{}', b'{"b":1,"a":2,"":3}', b'{"n":1.50,"m":1e400,"k":-0,"l":123456789012345678901234567890}',
        b'{"t":"\\u0000\\ud83d\\ude00\\/ \xe2\x80\xa8"}', b'{"deep":[[[[{"x":[]}]]]]}',
        b'{"tag":5,"deleted":true,"name":"no"}', b'{"c":"' + b"QUJD" * 50_000 + b'"}',
        b'{ "x" :\t[ 1 ,2 ] }',
    ]
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        for number, fields in enumerate(odd):
            raw = (b'{"records":[{"modifiedAt":1,"fields":' + fields + b',"type":"T","name":"r%d"}],'
                   b'"id":"%s"}' % (number, new_id().encode()))
            expect(line.request("POST", "/v1/zones/Z/records", raw=raw), 200)
            one = expect(line.request("GET", f"/v1/zones/Z/records/r{number}"), 200)
            page = expect(line.request("GET", "/v1/changes?limit=1000"), 200)
            for body in (one.body, page.body):
                assert b'"fields":' + fields in body, (fields[:60], body[:200])
            assert one.json["modifiedAt"] == 1


def story_fields_repeat_no_name():
    """Some readers take the first value, some the last, and some refuse the record: the relay
    keeps no such record, whichever way it comes."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        for fields in [b'{"a":1,"a":2}', b'{"l":[{"b":{"c":1,"c":1}}]}', b'{"a":1,"\\u0061":2}']:
            raw = (b'{"records":[{"modifiedAt":1,"fields":' + fields + b',"type":"T","name":"r"}],'
                   b'"id":"%s"}' % new_id().encode())
            expect(line.request("POST", "/v1/zones/Z/records", raw=raw), 400, "badJSON")
            raw = b'{"type":"T","baseTag":"any","fields":' + fields + b"}"
            expect(line.request("PUT", "/v1/zones/Z/records/r", raw=raw), 400, "badJSON")
        expect(line.request("GET", "/v1/zones/Z/records/r"), 404)


def story_tags_rise_by_one_a_record():
    """Over batches, devices and zones. A failed save uses no tag, and the `token` of a batch
    without a change is its `since`."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        last, token = 0, person.changes().json["token"]
        for number in range(12):
            saver, zone = [(person, "A"), (other, "B"), (other, "A")][number % 3]
            answer = expect(saver.save(
                record(f"new{number}", baseTag=0), record("same"), record("stale", baseTag=99),
                {**record(f"ahead{number}"), "modifiedAt": now() + 60_000}, tombstone(f"old{number}"),
                zone=zone), 200).json
            tags = [each["tag"] for each in answer["results"] if "tag" in each]
            assert tags == list(range(last + 1, last + 1 + len(tags))) and len(tags) >= 2, answer
            assert answer["since"] == token, answer
            last, token = tags[-1], answer["token"]
        idle = expect(person.save(record("stale", baseTag=99), zone="A"), 200).json
        assert idle["since"] == idle["token"] == token, idle
        assert person.changes(since=token).json["changes"] == []
        again = results(person.save(tombstone("same"), zone="A")) + results(
            person.save(record("same", baseTag=0), zone="A"))
        assert [each["tag"] for each in again] == [last + 1, last + 2], again


def story_every_token_ever_given_is_good():
    """Tokens of answers, pages, pushes and unfinished snapshots: from each, all later saves are
    returned, once."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        tokens = [(line.request("GET", "/v1/changes").json["token"], 0)]
        for number in range(1, 30):
            saved = line.save(record(f"r{number}")).json
            tokens.append((saved["token"], number))
            page = line.request("GET", f"/v1/changes?since={tokens[number // 2][0]}&limit=3").json
            tokens.append((page["token"], page["changes"][-1]["tag"]))
        for token, covered in tokens:
            page = expect(line.request("GET", f"/v1/changes?since={token}"), 200).json
            assert names(page) == [f"r{n}" for n in range(covered + 1, 30)], (token, covered)
            assert page["since"] == token
        relay.kill()
        relay.start()
        line = Connection(relay, person)
        for token, covered in tokens[::7]:
            assert len(line.request("GET", f"/v1/changes?since={token}").json["changes"]) == 29 - covered


def story_conflicts_have_two_mebibytes():
    """Four large records in conflict: those that fit are returned, the others are errors; a retry
    returns the same, and after a fetch all can be resolved."""
    async def scene(relay):
        person = Person.new(relay)
        line = Connection(relay, person)
        text = "x" * (MEBIBYTE - 100)
        for number in range(4):
            expect(line.save(record(f"r{number}", text)), 200)
        wishes = [record(f"r{number}", "mine", baseTag=0) for number in range(4)]
        id = new_id()
        for _ in range(2):
            answer = line.request("POST", "/v1/zones/Notes/records", {"id": id, "records": wishes})
            told = results(answer)
            kinds = ["conflict" if "conflict" in each else each["error"]["code"] for each in told]
            assert kinds.count("conflictTooLarge") >= 1 and kinds[0] == "conflict", kinds
            assert len(answer.body) < 2 * MEBIBYTE + 10_000, len(answer.body)
            for each, kind in zip(told, kinds):
                if kind != "conflict":
                    assert set(each["error"]) == {"type", "title", "status", "code", "detail"}, each
                    assert each["error"]["status"] == 409, each
        socket = await Socket.open(person)
        await socket.save(*wishes, id=id)
        saved = await socket.receive("saved")
        assert ["conflict" if "conflict" in each else each["error"]["code"]
                for each in saved["results"]] == kinds
        # An atomic batch fails in the same way.
        batch = {"id": new_id(), "atomic": True, "records": [*wishes, record("new")]}
        told = results(line.request("POST", "/v1/zones/Notes/records", batch), 409)
        assert told[-1]["error"]["code"] == "batchAborted", told[-1]
        assert [each.get("error", {}).get("code", "conflict") for each in told[:-1]] == kinds
        based = [{**wish, "baseTag": number + 1} for number, wish in enumerate(wishes)]
        assert [each["tag"] for each in results(line.save(*based))] == [5, 6, 7, 8]

    play(scene)


def story_an_atomic_batch_with_any_fault():
    """A conflict, a stamp in the future, a large record, missing chunks: the other records are
    `batchAborted`, and none of the batch is stored."""
    with Relay() as relay:
        person = Person.new(relay)
        expect(person.save(record("there"), record("other")), 200)
        token = person.changes().json["token"]
        for fault, code in [
            (record("there", baseTag=0), None), ({**record("x"), "modifiedAt": now() + 60_000}, "clockAhead"),
            (record("x", "x" * MEBIBYTE), "recordTooLarge"), (record("x", chunks=["0" * 64]), "chunksMissing"),
        ]:
            batch = [record("a"), fault, tombstone("other")]
            answer = expect(person.save(*batch, atomic=True), 409).json
            first, failed, last = answer["results"]
            assert first["error"]["code"] == last["error"]["code"] == "batchAborted", answer
            assert ("conflict" in failed) if code is None else failed["error"]["code"] == code, answer
            assert answer["since"] == answer["token"] == token, answer
            assert answer["results"][0]["error"]["status"] == 409
        assert person.changes().json["token"] == token
        assert [each["tag"] for each in results(person.save(
            record("a", baseTag=0), tombstone("other"), atomic=True))] == [3, 4]


def story_a_retry_gives_what_the_first_gave():
    """Tags and codes stay the same, whatever happened to the records, the clock and the chunks
    meanwhile; a record in a conflict has its current version. The same id from another device is
    another batch."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        expect(person.save(record("there", "one")), 200)
        id, stamp = new_id(), now() + 9_000
        wishes = [record("made", baseTag=0), record("there", "mine", baseTag=0),
                  {**record("ahead"), "modifiedAt": stamp},
                  record("pieces", chunks=["ab" * 32]), record("large", "x" * MEBIBYTE)]
        first = results(person.save(*wishes, id=id))
        assert first[0] == {"name": "made", "tag": 2}
        assert first[1]["conflict"]["fields"] == {"text": "one"}, first
        codes = [each["error"]["code"] for each in first[2:]]
        assert codes == ["clockAhead", "chunksMissing", "recordTooLarge"], codes
        expect(other.save(record("there", "two"), tombstone("made")), 200)
        while now() < stamp - 4_500:
            expect(other.save(record("meanwhile")), 200)
        token = person.changes().json["token"]
        again = results(person.save(*wishes, id=id))
        socket = await Socket.open(person)
        await socket.save(*wishes, id=id.upper())
        for told in (again, (await socket.receive("saved"))["results"]):
            assert told[0] == first[0], told
            assert told[1]["conflict"]["fields"] == {"text": "two"}, told
            assert [each["error"]["code"] for each in told[2:]] == codes, told
        assert person.changes().json["token"] == token
        # Any other content is refused: another order, stamp, member, zone, or atomic.
        for records, members in [
            (wishes[::-1], {}), (wishes[:-1], {}), ([*wishes, record("more")], {}),
            ([{**wishes[0], "modifiedAt": 1}, *wishes[1:]], {}), (wishes, {"zone": "Other"}),
            (wishes, {"atomic": True}), ([{**wishes[0], "baseTag": 1}, *wishes[1:]], {}),
        ]:
            expect(person.save(*records, id=id, **members), 422, "batchMismatch")
        assert results(person.save(*wishes, id=id, unknown=1))[0] == first[0]
        # The same batch from another device is a separate batch.
        theirs = results(other.save(*wishes, id=id))
        assert theirs[0]["tag"] > first[0]["tag"] and "tag" in theirs[2], theirs

    play(scene)


def story_a_delete_may_name_a_type():
    """The tombstone of an existing record keeps the record's type; that of a missing record has the
    type in the request, and subscribers to that type receive it."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        subscribe(other, "s", kind="query", recordType="Named", events=["delete"])
        expect(person.save(record("there")), 200)
        socket = await Socket.open(other, since=person.changes().json["token"])
        told = results(person.save(tombstone("there", type="Named"), tombstone("never", type="Named")))
        assert [each["tag"] for each in told] == [2, 3], told
        page = await socket.receive("changes")
        assert [(each["name"], each["type"]) for each in page["changes"]] == [
            ("there", "Note"), ("never", "Named")], page
        expect(person.save(tombstone("there", type="")), 400, "badName")
        expect(person.save(tombstone("there", type=5)), 400, "badRequest")

    play(scene)


def story_a_page_has_each_record_once():
    """Oldest first by the last save, in the newest version, with tombstones; for any page size."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        start = line.request("GET", "/v1/changes").json["token"]
        for turn in range(3):
            for number in range(turn, 9):
                expect(line.save(record(f"r{number}", f"{turn}"), zone="AB"[number % 2]), 200)
        expect(line.save(tombstone("r4"), zone="A"), 200)
        wanted = ["r0", "r1", "r2", "r3", "r5", "r6", "r7", "r8", "r4"]
        for limit in (1, 2, 1000):
            token, seen, more = start, [], True
            while more:
                page = expect(line.request(
                    "GET", f"/v1/changes?since={token}&limit={limit}"), 200).json
                assert page["since"] == token and len(page["changes"]) <= limit
                token, more = page["token"], page["more"]
                seen += page["changes"]
            assert [each["name"] for each in seen] == wanted, (limit, seen)
            assert [each["tag"] for each in seen] == sorted(each["tag"] for each in seen)
            assert seen[-1]["deleted"] and seen[-1]["fields"] is None
            assert all(each["fields"] == {"text": "2"} for each in seen[2:-1]), seen
        of_zone = line.request("GET", "/v1/changes?zone=A").json
        assert names(of_zone) == ["r0", "r2", "r6", "r8"], of_zone
        expect(line.save(record("r0", "again"), zone="A"), 200)
        expect(line.save(record("r1", "again"), zone="B"), 200)
        page = line.request("GET", f"/v1/changes?zone=A&since={of_zone['token']}").json
        assert names(page) == ["r0"], page


def story_a_page_has_two_mebibytes():
    """Large records: a page ends at about 2 MiB, has at least one record, and says that there is
    more; the same on a socket."""
    async def scene(relay):
        person = Person.new(relay)
        line = Connection(relay, person)
        start = line.request("GET", "/v1/changes").json["token"]
        for number in range(5):
            expect(line.save(record(f"m{number}", "x" * (MEBIBYTE - 20))), 200)
        for number in range(100):
            expect(line.save(record(f"s{number}", "y" * 60_000)), 200)
        for since in (None, start):
            found, token, more, pages = [], since, True, 0
            while more:
                query = f"?since={token}" if token else ""
                answer = expect(line.request("GET", "/v1/changes" + query), 200)
                assert len(answer.body) < 2 * MEBIBYTE + 300_000, len(answer.body)
                page = answer.json
                assert page["changes"], page
                found += names(page)
                token, more, pages = page["token"], page["more"], pages + 1
            assert found == [f"m{n}" for n in range(5)] + [f"s{n}" for n in range(100)], found
            assert 5 <= pages <= 12, pages
        socket = await Socket.open(person, since=line.request("GET", "/v1/changes").json["token"])
        await socket.connection.recv()
        await socket.send({"op": "fetch", "id": "f", "since": start})
        while True:
            text = await socket.connection.recv()
            message = json.loads(text)
            if message.get("id") == "f":
                break
        assert len(text) < 2 * MEBIBYTE + 300_000 and message["more"] is True, len(text)

    play(scene)


def story_a_long_poll_of_one_zone():
    """A long-poll of one zone ignores saves into others, and is answered with its own; its token
    stays that of the zone."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        expect(person.save(record("a"), zone="Mine"), 200)
        token = person.changes(zone="Mine").json["token"]
        waiting = PendingRequest(person, f"/v1/changes?zone=Mine&since={token}&wait=60")
        hint = PendingRequest(other, f"/v1/changes?since={person.changes().json['token']}&wait=60")
        expect(person.save(record("b"), zone="Yours"), 200)
        assert names(hint.answer()[1]) == ["b"]
        assert waiting.is_pending
        expect(person.save(record("c"), zone="Mine"), 200)
        status, page = waiting.answer()
        assert status == 200 and page["since"] == token and names(page) == ["c"], page
        expect(person.changes(since=page["token"]), 410, "filterChanged")
        empty = expect(person.changes(zone="Mine", since=page["token"], wait=1), 200).json
        assert empty["changes"] == [] and empty["token"] == empty["since"] == page["token"], empty
        # Without `since`, or behind the newest token, it does not wait.
        for query in ({}, {"since": token, "zone": "Mine"}, {"zone": "Mine"}):
            assert names(expect(person.changes(wait=60, **query), 200).json), query


if __name__ == "__main__":
    main(globals())
