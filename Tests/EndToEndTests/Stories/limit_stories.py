"""Limits of `GET /v1/limits` and of docs/protocol.md that bad_input_stories does not cover: at, one
under and one over. Names, labels, batches, records, bodies, depth, numbers, pages, waits, pushes,
devices, codes, subscriptions, chunks and hashes are in bad_input_stories; zones in zone_stories;
timeouts of requests and idle connections in timeout_stories. The lease of a day and the ten
minutes of codes are not tested, because they take too long."""

import hashlib
import json
import os

from bad_input_stories import DEVICE
from refusal_stories import raw_request
from story import (
    Connection, Person, Relay, curl, expect, folder, main, new_id, now, record, run, wait_until)
from websocket_stories import Socket, play


def story_a_request_line_and_headers_at_their_limits():
    """8 KiB of request line, 16 KiB and a hundred fields of header."""
    with Relay() as relay:
        for length, status in [(8_191, 200), (8_192, 200), (8_193, 414)]:
            line = "GET /v1/time? HTTP/1.1"
            line = line.replace("?", "?" + "x" * (length - len(line)))
            assert raw_request(relay, line, "Host: localhost").status == status, length
        for count, status in [(99, 200), (100, 200), (101, 431)]:
            fields = [f"X-{n}: y" for n in range(count - 1)]
            assert raw_request(relay, "GET /v1/time HTTP/1.1", "Host: localhost", *fields).status == status, count
        found = []
        for length in range(16 * 1024 - 40, 16 * 1024 + 8):
            # Counting of line ends is internal to the relay; there is one limit, at about this
            # length.
            field = "X: " + "y" * (length - len("Host: localhost") - 3)
            found.append(raw_request(relay, "GET /v1/time HTTP/1.1", "Host: localhost", field).status)
        assert found == sorted(found) and set(found) == {200, 431}, found


def story_a_message_at_its_limits():
    """2 MiB on a socket, in one frame or in many; one byte more closes it with 1009. A request's id
    has at most 128 bytes."""
    async def scene(relay):
        person = Person.new(relay)
        for length in ((2 << 20) - 1, 2 << 20, (2 << 20) + 1):
            for is_cut in (False, True):
                device = await Socket.open(person)
                message = {"op": "save", "id": new_id(), "zone": "Z", "records": [
                    record("a", "x" * 1_000_000), record("b", "x" * 1_000_000)]}
                text = json.dumps(message).ljust(length)
                parts = [text[:1_000], text[1_000:1_500_000], text[1_500_000:]]
                await device.connection.send(parts if is_cut else text)
                if length <= 2 << 20:
                    saved = await device.receive("saved")
                    assert saved["id"] == message["id"] and len(saved["results"]) == 2, saved
                    device.connection.transport.abort()
                else:
                    assert await device.closed() == 1009
        device = await Socket.open(person)
        for id in ("x" * 127, "x" * 128, "é" * 64):
            await device.send({"op": "time", "id": id, "t0": 1})
            assert (await device.receive("time"))["id"] == id
        await device.send({"op": "time", "id": "é" * 64 + "x", "t0": 1})
        assert await device.closed() == 4400

    play(scene)


def story_more_requests_than_a_socket_reads_at_once():
    """63, 64, 65 and 500 saves without a pause: all are answered, in order, and none twice."""
    async def scene(relay):
        person = Person.new(relay)
        for count in (63, 64, 65, 500):
            device = await Socket.open(person, since=person.changes().json["token"])
            ids = [await device.save(record(f"r{number}")) for number in range(count)]
            answered = [(await device.receive("saved"))["id"] for _ in ids]
            assert answered == ids
            device.connection.transport.abort()

    play(scene)


def story_a_question_about_hashes_at_its_limits():
    """512 KiB of body, in any formatting."""
    with Relay() as relay:
        person = Person.new(relay)
        most = 512 << 10
        for length in (most - 1, most, most + 1):
            raw = json.dumps({"hashes": [f"{n:064x}" for n in range(4_096)]}).encode().ljust(length)
            answer = Connection(relay, person).request("POST", "/v1/chunks/missing", raw=raw)
            expect(answer, *(200,) if length <= most else (413, "bodyTooLarge"))


def story_a_quota_to_the_byte():
    """Data up to the quota is accepted, one byte more is not; a chunk that the account already has
    takes no space; space reserved for a refused upload is freed."""
    with Relay("--quota", "100K") as relay:
        person = Person.new(relay)
        line = Connection(relay, person)

        def put(count, letter):
            data = letter * count
            return line.request("PUT", "/v1/chunks/" + hashlib.sha256(data).hexdigest(), raw=data)

        quota = 100 << 10
        assert line.request("GET", "/v1/limits").json["chunkBytesPerAccount"] == quota
        expect(put(quota + 1, b"a"), 413, "quotaExceeded")
        expect(put(quota - 10, b"b"), 201)
        expect(put(11, b"c"), 413, "quotaExceeded")
        expect(put(9, b"d"), 201)
        expect(put(2, b"e"), 413, "quotaExceeded")
        expect(put(1, b"f"), 201)
        expect(put(1, b"g"), 413, "quotaExceeded")
        expect(put(quota - 10, b"b"), 200)
        expect(put(0, b""), 201)
        expect(Connection(relay, Person.new(relay)).request(
            "PUT", "/v1/chunks/" + hashlib.sha256(b"a" * quota).hexdigest(), raw=b"a" * quota), 201)


def story_records_take_no_more_than_the_quota_and_deleting_makes_room():
    """A device saves until its account is full: further records are refused one by one, the owner
    sees the used space, and a deletion makes space again."""
    with Relay("--quota", "1M", "--exempt", "none") as relay:
        person = Person.new(relay)
        text = "x" * 100_000
        refused_ones = saved = 0
        for number in range(15):
            answer = expect(person.save(record(f"r{number}", text), record(f"s{number}", "y")), 200)
            for result in answer.json["results"]:
                if "error" in result:
                    assert result["error"]["code"] == "quotaExceeded", result
                    refused_ones += 1
                else:
                    saved += 1
        assert refused_ones >= 5 and saved >= 18, (refused_ones, saved)
        [account] = [json.loads(each) for each in
                     run("account", "list", "--store", relay.store, "--json").stdout.splitlines()]
        assert 900_000 < account["recordBytes"] <= 1 << 20, account
        # No stored record is lost, and deleting is always possible.
        assert len(expect(person.changes(), 200).json["changes"]) == saved
        gone = {"name": "r0", "deleted": True, "modifiedAt": now()}
        [result] = expect(person.save(gone), 200).json["results"]
        assert "tag" in result, result
        [result] = expect(person.save(record("again", text)), 200).json["results"]
        assert "tag" in result, result
        # The owner increases this account's quota.
        run("account", "plan", account["accountID"], "--quota", "5M", "--store", relay.store)
        [result] = expect(person.save(record("more", text)), 200).json["results"]
        assert "tag" in result, result


def story_a_relay_with_little_disk_takes_nothing_new():
    """The disk floor is above the free space: nothing new is accepted, and existing data can be
    read, deleted and pushed. After the floor is lowered everything works again."""
    with folder() as directory:
        store = os.path.join(directory, "store")
        with Relay(store=store) as relay:
            person = Person.new(relay)
            expect(person.save(record("a"), record("b")), 200)
        with Relay("--disk-floor", "1000000G", store=store) as relay:
            person.relay = relay
            told = expect(person.save(record("c")), 507, "diskLow")
            assert int(told.headers["retry-after"]) == 60, told
            expect(curl(relay, "POST", "/v1/accounts",
                        {"deviceName": "x", "platform": "x", "appVersion": "x"}), 507, "diskLow")
            expect(person.call("PUT", "/v1/chunks/" + hashlib.sha256(b"x").hexdigest(), raw=b"x"),
                   507, "diskLow")
            ready = expect(curl(relay, "GET", "/readyz"), 200)
            assert b"accepts no new data" in ready.body, ready
            gone = {"name": "a", "deleted": True, "modifiedAt": now()}
            [result] = expect(person.save(gone), 200).json["results"]
            assert "tag" in result, result
            expect(person.call("DELETE", "/v1/zones/Notes"), 204)
            # A tombstone of a record that does not exist would need space.
            [result] = expect(person.save({**gone, "name": "never there"}), 200).json["results"]
            assert result["error"]["code"] == "diskLow", result
            assert "disk is nearly full" in relay.text(), relay.text()
        with Relay(store=store) as relay:
            person.relay = relay
            expect(person.save(record("c")), 200)


def story_a_zone_is_deleted_in_portions_while_others_save():
    """A zone of thousands of records is deleted: completely when the answer comes, and each change
    is reported once, in order."""
    with Relay("--exempt", "none") as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        for batch in range(9):
            body = {"id": new_id(), "records": [record(f"{batch} {number}") for number in range(400)]}
            expect(line.request("POST", "/v1/zones/Large/records", body), 200)
        expect(person.save(record("kept")), 200)
        before = person.changes(limit=1).json
        token = line.request("GET", "/v1/changes").json["token"]
        while True:
            page = line.request("GET", f"/v1/changes?since={token}").json
            token = page["token"]
            if not page["more"]:
                break
        expect(line.request("DELETE", "/v1/zones/Large"), 204)
        names = []
        while True:
            page = expect(line.request("GET", f"/v1/changes?since={token}"), 200).json
            assert all(each["deleted"] for each in page["changes"]), page
            names += [each["name"] for each in page["changes"]]
            token = page["token"]
            if not page["more"]:
                break
        assert names == [f"{batch} {number}" for batch in range(9) for number in range(400)]
        assert [each["zone"] for each in person.call("GET", "/v1/zones").json["zones"]] == ["Notes"]


def story_accounts_in_all_at_their_limit():
    """An open relay limits the accounts that strangers create; its owner may create more."""
    with Relay("--limits", "accounts=2") as relay:
        people = [Person.new(relay) for _ in range(2)]
        answer = curl(relay, "POST", "/v1/accounts",
                      {"deviceName": "x", "platform": "x", "appVersion": "x"})
        expect(answer, 403, "registrationClosed")
        run("account", "create", "mum", "--store", relay.store)
        expect(people[0].save(record("a")), 200)


def story_wrong_codes_at_their_limit():
    """Five a minute from one address; the sixth is 429, even with a valid code; another address has
    its own five."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay)
        for _ in range(5):
            expect(line.request("POST", "/v1/devices", {"code": "AAAA-BBBB-CCCC", **DEVICE}), 403,
                   "badPairingCode")
        code = person.call("POST", "/v1/pairings").json["code"]
        told = expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 429, "tooManyRequests")
        assert 1 <= int(told.headers["retry-after"]) <= 60, told
        # A request without a guess is still validated.
        expect(line.request("POST", "/v1/devices", {"code": code}), 400, "badRequest")
        expect(Connection(relay, source="127.0.0.2").request("POST", "/v1/devices", {"code": code, **DEVICE}), 201)


def story_stamps_at_their_limit():
    """Five seconds ahead of the relay, plus or minus the duration of a request."""
    with Relay() as relay:
        line = Connection(relay, Person.new(relay))
        for ahead, is_taken in [(0, True), (4_000, True), (60_000, False)]:
            stamp = line.request("GET", "/v1/time").json["time"] + ahead
            result = line.save({**record("a"), "modifiedAt": stamp}).json["results"][0]
            assert ("tag" in result) == is_taken, (ahead, result)
        # To the millisecond: a stamp that is refused now is accepted once the relay's time has
        # advanced enough.
        stamp = now() + 8_000
        refused = line.save({**record("b"), "modifiedAt": stamp}).json["results"][0]["error"]
        assert refused["time"] + 5_000 < stamp, (refused, stamp)
        taken = wait_until(
            lambda: (lambda told: told if "tag" in told else None)(
                line.save({**record("b"), "modifiedAt": stamp}).json["results"][0]), "its time to come")
        assert taken and line.request("GET", "/v1/time").json["time"] + 5_000 >= stamp


def story_a_token_at_its_limits():
    """At most 96 bytes of a token are read; no padding makes an invalid token valid."""
    with Relay() as relay:
        line = Connection(relay, Person.new(relay))
        token = line.request("GET", "/v1/changes").json["token"]
        for length in (95, 96, 97, 4_000):
            for made in ("0" * length, token + "." + "z" * (length - len(token) - 1)):
                expect(line.request("GET", f"/v1/changes?since={made}"), 400, "badChangeToken")
                expect(line.request("GET", f"/v1/events?since={made}"), 400, "badChangeToken")
                expect(line.request("GET", "/v1/events", headers={"Last-Event-ID": made}), 400,
                       "badChangeToken")


if __name__ == "__main__":
    main(globals())
