"""Rows of docs/protocol.md's table of calls, to the letter: the members of each answer, their
values, and the rules for all calls."""

import asyncio
import json
import re
import subprocess

from notification_stories import PendingRequest, Stream
from story import PATIENCE, Connection, Person, Relay, curl, expect, main, now, record, wait_until
from websocket_stories import Socket

DEVICE = {"deviceName": "Ada's phone", "platform": "test os 1", "appVersion": "2.5"}
# Values of docs/protocol.md and the RFCs; limits that an option sets have other stories.
LIMITS = {
    "nameBytes": 255, "recordBytes": 1 << 20, "batchRecords": 400, "batchBytes": 2 << 20,
    "jsonDepth": 64, "clockAheadMilliseconds": 5_000, "chunkBytes": 4 << 20, "chunkHashes": 4_096,
    "chunksPerRecord": 4_096, "chunksPerBatch": 4_096, "chunkLeaseMilliseconds": 86_400_000, "pageRecords": 1_000,
    "pushBytes": 64 << 10, "longPollMilliseconds": 60_000, "listedZones": 1_000,
    "messageBytes": 2 << 20, "helloMilliseconds": 5_000, "keepAliveMilliseconds": 25_000,
    "devicesPerAccount": 100, "subscriptionsPerDevice": 64, "subscriptionConditions": 16,
    "subscriptionBytes": 4 << 10, "pairingMilliseconds": 600_000, "chunkBytesPerAccount": 10 << 30,
    "recordBytesPerAccount": 10 << 30, "recordsPerAccount": 2_000_000, "batchesPerAccount": 5_000_000,
    "historyMilliseconds": 30 * 86_400_000,
}


def story_accounts_devices_and_pairings_to_the_letter():
    """Members and values of each answer: the devices, their platform and version, and when each was
    last seen."""
    async def connected(relay, person, path):
        socket = await Socket.open(person)
        found = shown(person, path)["connected"]
        socket.connection.transport.abort()
        Socket.opened.clear()
        return found

    def shown(person, device):
        listed = expect(person.call("GET", "/v1/devices"), 200).json
        assert set(listed) == {"devices"}, listed
        for each in listed["devices"]:
            assert set(each) == {"deviceID", "deviceName", "platform", "appVersion", "lastSeen",
                                 "connected"}, each
        return next((each for each in listed["devices"] if each["deviceID"] == device), None)

    with Relay() as relay:
        made = expect(curl(relay, "POST", "/v1/accounts", DEVICE), 201).json
        assert set(made) == {"accountID", "deviceID", "token"}, made
        assert all(re.fullmatch("[0-9a-f]{16}", made[key]) for key in ("accountID", "deviceID")), made
        assert len(made["token"]) >= 40 and made["token"].isascii(), made
        person = Person(relay, made)
        pairing = expect(person.call("POST", "/v1/pairings"), 201).json
        assert set(pairing) == {"code", "expiresAt"}, pairing
        assert abs(pairing["expiresAt"] - now() - 600_000) < 10_000, pairing
        assert re.fullmatch("([0-9A-Z]{4}-){2}[0-9A-Z]{4}", pairing["code"]), pairing
        other = {"deviceName": "laptop", "platform": "", "appVersion": ""}
        joined = expect(curl(relay, "POST", "/v1/devices", {"code": pairing["code"], **other}), 201).json
        assert set(joined) == set(made) and joined["accountID"] == made["accountID"], joined
        assert joined["deviceID"] != made["deviceID"] and joined["token"] != made["token"]
        again = curl(relay, "POST", "/v1/devices", {"code": pairing["code"], **other})
        expect(again, 403, "badPairingCode")
        laptop = Person(relay, joined)
        for device, description in [(made["deviceID"], DEVICE), (joined["deviceID"], other)]:
            found = shown(person, device)
            assert {key: found[key] for key in description} == description, found
            assert abs(found["lastSeen"] - now()) < 60_000, found
            assert found["connected"] is False or device == made["deviceID"], found
        assert asyncio.run(connected(relay, laptop, laptop.device)) is True
        wait_until(lambda: not shown(person, laptop.device)["connected"], "it to be seen as gone")
        token = person.changes().json["token"]
        poll = PendingRequest(laptop, f"/v1/changes?since={token}&wait=60")
        wait_until(lambda: shown(person, laptop.device)["connected"], "the poll to be seen")
        expect(person.save(record("a")), 200)
        assert poll.answer()[0] == 200
        stream = Stream(laptop, token)
        wait_until(lambda: shown(person, laptop.device)["connected"], "the stream to be seen")
        stream.process.kill()
        # Each device can rename the other, and the answer is the updated device.
        renamed = expect(laptop.call("PATCH", f"/v1/devices/{person.device}", {"deviceName": "Ω"}), 200)
        assert renamed.json == {**shown(laptop, person.device), "connected": renamed.json["connected"],
                                "lastSeen": renamed.json["lastSeen"]}, renamed
        assert renamed.json["deviceName"] == "Ω" and renamed.json["platform"] == "test os 1", renamed
        gone = expect(person.call("DELETE", f"/v1/devices/{laptop.device}"), 204)
        assert gone.body == b"" and shown(person, laptop.device) is None
        # A device can also remove itself.
        expect(person.call("DELETE", f"/v1/devices/{person.device}"), 204)
        expect(person.call("GET", "/v1/devices"), 401, "badToken")


def story_a_revoked_device_does_not_come_back_by_a_code_that_it_made():
    """A thief uses a stolen tablet to create codes. Its owner revokes it: no code from before the
    revocation works, and the owner's next code does."""
    with Relay() as relay:
        phone = Person.new(relay, "phone")
        tablet = phone.pair("tablet")
        codes = [expect(who.call("POST", "/v1/pairings"), 201).json["code"]
                 for who in (tablet, phone, tablet)]
        expect(phone.call("DELETE", f"/v1/devices/{tablet.device}"), 204)
        expect(tablet.call("POST", "/v1/pairings"), 401, "badToken")
        for code in codes:
            expect(curl(relay, "POST", "/v1/devices", {"code": code, **DEVICE}), 403, "badPairingCode")
        listed = expect(phone.call("GET", "/v1/devices"), 200).json["devices"]
        assert [each["deviceID"] for each in listed] == [phone.device], listed
        phone.pair("laptop")


def story_the_limits_are_told_as_they_are():
    """All limits are integers, include those of docs/protocol.md, and are the same for every
    client. Beside them stand the relay's key for push services, and if anyone may make an account."""
    with Relay() as relay:
        limits = expect(curl(relay, "GET", "/v1/limits"), 200).json
        assert {name: limits.get(name) for name in LIMITS} == LIMITS, limits
        person = Person.new(relay)
        assert person.call("GET", "/v1/limits").json == limits
        assert len(limits.pop("wakeKey")) == 87
        assert limits.pop("isOpen") is True
        assert all(type(value) is int and value > 0 for value in limits.values()), limits


def story_a_record_by_its_tag():
    """`ETag` is the tag; `If-None-Match` names one, several, a weak one or any."""
    with Relay() as relay:
        person = Person.new(relay)
        path = "/v1/zones/Notes/records/a"
        expect(person.call("GET", path, headers=["If-None-Match: *"]), 404, "notFound")
        expect(person.save(record("other"), record("a")), 200)
        first = expect(person.call("GET", path), 200)
        assert first.headers["etag"] == '"2"' and first.json["tag"] == 2, first
        assert first.headers["content-type"] == "application/json", first
        for tags, is_held in [('"2"', True), ('"1", "2"', True), ('W/"2"', True), ("*", True),
                              ('"1"', False), ("2", False), ('"22"', False), ('"1","3"', False)]:
            answer = person.call("GET", path, headers=[f"If-None-Match: {tags}"])
            assert answer.status == (304 if is_held else 200), (tags, answer)
            assert answer.headers["etag"] == '"2"', answer
            assert (answer.body == b"") == is_held, answer
            head = person.call("HEAD", path, headers=[f"If-None-Match: {tags}"])
            assert head.status == answer.status, (tags, head)
        expect(person.save(record("a", "newer")), 200)
        expect(person.call("GET", path, headers=['If-None-Match: "2"']), 200)
        expect(person.save({"name": "a", "deleted": True, "modifiedAt": now()}), 200)
        expect(person.call("GET", path, headers=['If-None-Match: "3"']), 404, "notFound")


def story_head_is_get_without_its_body():
    """For every GET: the same status, the same header fields, no body."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        expect(line.save(record("a")), 200)
        expect(line.request("PUT", "/v1/subscriptions/s", {"kind": "database"}), 201)
        # A first request, so that the last-seen time does not change in between.
        token = line.request("GET", "/v1/changes").json["token"]
        for path in ["/v1/time", "/v1/limits", "/livez", "/healthz", "/readyz", "/v1/zones",
                     "/v1/changes", f"/v1/changes?since={token}", "/v1/changes?since=x", "/nothing",
                     "/v1/zones/Notes/records/a", "/v1/zones/Notes/records/b", "/v1/subscriptions",
                     "/v1/subscriptions/s", "/v1/subscriptions/x", "/v1/changes?limit=0"]:
            for token_of in (person.token, "nobody"):
                got, head = [line.request(method, path, token=token_of)
                             for method in ("GET", "HEAD")]
                assert head.status == got.status and head.body == b"", (path, got, head)
                for each in (got, head):
                    each.headers.pop("date")
                assert head.headers == got.headers, (path, got, head)
        # HEAD opens no WebSocket; the answer names the required upgrade.
        head = line.request("HEAD", "/v1/socket")
        assert head.status == 426 and head.headers["upgrade"] == "websocket", head
        # A listing of devices may differ, because it is of another moment.
        assert line.request("HEAD", "/v1/devices").status == 200
        # A long-poll by HEAD waits like any other.
        assert line.request("HEAD", f"/v1/changes?since={token}&wait=1").status == 200


def story_a_browser_may_read_what_it_is_told():
    """CORS on every answer, success or error, without a token: any page, no cookies, and the fields
    that it may read."""
    with Relay("--origin=https://example.org") as relay:
        person = Person.new(relay)
        expect(person.save(record("a")), 200)
        for method, path in [("GET", "/v1/time"), ("GET", "/v1/zones/Notes/records/a"),
                             ("GET", "/v1/changes?limit=0"), ("GET", "/nothing"), ("BREW", "/v1/time"),
                             ("DELETE", "/v1/zones/None"), ("GET", "/v1/socket")]:
            answer = person.call(method, path, headers=["Origin: https://example.org"])
            assert answer.headers["access-control-allow-origin"] == "https://example.org", (path, answer)
            assert "access-control-allow-credentials" not in answer.headers, answer
            exposed = answer.headers["access-control-expose-headers"].split(", ")
            assert {"ETag", "Retry-After"} <= set(exposed), (path, answer)
        asked = curl(relay, "OPTIONS", "/v1/zones/Notes/records/a", headers=[
            "Origin: https://example.org", "Access-Control-Request-Method: GET",
            "Access-Control-Request-Headers: authorization,if-none-match"])
        assert asked.status == 204, asked
        allowed = asked.headers["access-control-allow-headers"].lower().split(", ")
        assert {"authorization", "content-type", "if-none-match"} <= set(allowed), asked
        assert int(asked.headers["access-control-max-age"]) > 0, asked


def story_the_admin_listener_has_four_paths():
    """Metrics for Prometheus, a status, and health; no call for devices, and the public listener
    has none of these paths."""
    with Relay("--admin-listen", "127.0.0.1:0") as relay:
        person = Person.new(relay)
        expect(person.save(record("a")), 200)
        address = re.search(r"metrics and health on (http://\S+)", relay.text()).group(1)

        def request(path, method="GET"):
            done = subprocess.run(
                ["curl", "--silent", "--max-time", str(PATIENCE), "--request", method, "--write-out",
                 "\n%{http_code} %{content_type}", address + path], capture_output=True, text=True)
            body, _, last = done.stdout.rpartition("\n")
            status, _, media = last.partition(" ")
            return int(status), media, body

        for path in ("/livez", "/readyz", "/healthz"):
            assert request(path)[0] == 200, path
        status, media, metrics = request("/metrics")
        assert status == 200 and media.startswith("text/plain"), (status, media)
        for line in metrics.splitlines():
            assert re.fullmatch(
                r"# (HELP|TYPE) {name} .+|{name}(\{{[^}}]*\}})? [0-9.e+-]+".format(
                    name=r"(lockstep|process)_\w+"), line), line
        status, media, body = request("/status")
        assert status == 200 and media == "application/json" and json.loads(body), body
        for path in ("/v1/time", "/v1/limits", "/v1/changes", "/v1/accounts", "/v1/socket"):
            assert request(path)[0] == 404, path
        for path in ("/metrics", "/status"):
            expect(person.call("GET", path), 404, "notFound")


def story_what_stands_twice_is_refused():
    """A duplicate member anywhere outside `fields`, or a duplicate known parameter, is refused;
    neither of the two values is used."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        token = line.request("GET", "/v1/changes").json["token"]
        id = '"id":"7b0c2d4e-8f1a-4c3b-9d5e-6f7a8b9c0d1e"'
        whole = '"name":"a","type":"T","fields":{},"modifiedAt":1'
        for body in [
            f'{{{id},"records":[],"records":[{{{whole}}}]}}', f'{{{id},{id},"records":[{{{whole}}}]}}',
            f'{{{id},"atomic":true,"records":[{{{whole}}}],"atomic":false}}',
            *[f'{{{id},"records":[{{{whole},{more}}}]}}' for more in (
                '"name":"a"', '"type":"T"', '"fields":{}', '"modifiedAt":1',
                '"baseTag":0,"baseTag":0', '"chunks":[],"chunks":[]', '"na\\u006de":"b"')],
        ]:
            expect(line.request("POST", "/v1/zones/Z/records", raw=body.encode()), 400)
        for body in ['{"kind":"database","kind":"database"}', '{"kind":"zone","zone":"a","zone":"b"}',
                     '{"kind":"query","recordType":"T","where":{"a":1,"a":2}}']:
            expect(line.request("PUT", "/v1/subscriptions/s", raw=body.encode()), 400)
        expect(line.request("PATCH", f"/v1/devices/{person.device}",
                            raw=b'{"deviceName":"a","deviceName":"a"}'), 400)
        expect(line.request("POST", "/v1/chunks/missing", raw=b'{"hashes":[],"hashes":[]}'), 400)
        for query in ("since=%s&since=%s" % (token, token), "zone=a&zone=a", "limit=1&limit=1",
                      "wait=0&wait=0", "wait=0&%77ait=0"):
            expect(line.request("GET", f"/v1/changes?{query}"), 400, "badRequest")
        expect(line.request("GET", f"/v1/events?since={token}&since={token}"), 400, "badRequest")
        expect(line.request("GET", "/v1/zones?after=a&after=b"), 400, "badRequest")
        assert line.request("GET", "/v1/changes").json["token"] == token


if __name__ == "__main__":
    main(globals())
