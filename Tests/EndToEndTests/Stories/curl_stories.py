"""Every HTTP call of docs/protocol.md, by curl.

The story of each row of its table. Invalid requests of all calls are in bad_input_stories and
disconnect_stories, and scripts/openapi-check sends hundreds of requests to each:

| call | story |
| --- | --- |
| `POST /v1/accounts` | an_account_two_devices…, a_closed_relay_takes_no_strangers… |
| `POST /v1/devices`, `POST /v1/pairings` | the same, guessing_pairing_codes_is_slowed_down |
| `GET`, `PATCH`, `DELETE /v1/devices…` | devices_are_listed_renamed_and_revoked |
| `GET`, `DELETE /v1/zones…` | zone_stories |
| `POST /v1/zones/{zone}/records` | a_save_on_an_old_version…, an_atomic_batch…, a_retry_changes_nothing… |
| `GET /v1/zones/{zone}/records/{name}` | one_record_with_its_etag |
| `GET /v1/zones/{zone}/records`, `PUT`, `DELETE /v1/zones/{zone}/records/{name}` | plain_http_stories |
| `GET /v1/changes` | a_long_poll_answers…, a_snapshot_comes_in_pages…, a_token_of_one_zone… |
| `GET /v1/events` | events_stories |
| `GET /v1/socket` | websocket_stories, websocket_rule_stories |
| `/v1/subscriptions…` | notification_stories |
| `/v1/chunks…` | chunk_stories |
| `GET /v1/time`, `GET /v1/limits`, health | the_relay_tells_its_time_limits_and_health |
| `GET /openapi.json`, `GET /docs` | the_description_of_the_calls_comes_from_the_relay |
| Idempotency | a_retry_changes_nothing_and_answers_the_same |
"""

import gzip
import json
import os
import threading
import urllib.parse
import uuid

from story import PATIENCE, ROOT, Person, Relay, curl, expect, main, now, record, run, wait_until


def story_an_account_two_devices_and_a_record_that_travels():
    """A person makes an account, pairs a second device, saves on one, reads on the other."""
    with Relay() as relay:
        phone = Person.new(relay, "phone")
        laptop = phone.pair("laptop")
        assert phone.account == laptop.account and phone.device != laptop.device
        saved = expect(phone.save(record("first", baseTag=0)), 200).json
        assert saved["results"] == [{"name": "first", "tag": 1}], saved
        page = expect(laptop.changes(), 200).json
        assert page["more"] is False and page["token"] == saved["token"], page
        [change] = page["changes"]
        assert change["fields"] == {"text": "hello"} and change["device"] == phone.device
        assert change["zone"] == "Notes" and change["type"] == "Note" and change["tag"] == 1
        assert change["deleted"] is False
        assert abs(change["modifiedAt"] - now()) < 60_000
        empty = expect(laptop.changes(since=page["token"]), 200).json
        assert empty["changes"] == [] and empty["token"] == page["token"]


def story_the_relay_tells_its_time_limits_and_health():
    """Anyone may ask for the time and the limits; health probes need no token."""
    with Relay("--admin-listen", "127.0.0.1:0") as relay:
        assert abs(expect(curl(relay, "GET", "/v1/time"), 200).json["time"] - now()) < 5_000
        limits = expect(curl(relay, "GET", "/v1/limits"), 200).json
        assert limits, limits
        for path in ["/livez", "/healthz", "/readyz"]:
            expect(curl(relay, "GET", path), 200)
        assert curl(relay, "HEAD", "/v1/time").status == 200
        expect(curl(relay, "GET", "/metrics"), 404, "notFound")
        slip = expect(curl(relay, "GET", "/v1/chnages"), 404, "notFound")
        assert slip.json["detail"].endswith("did you mean /v1/changes?"), slip.json


def story_a_closed_relay_takes_no_strangers_but_its_owner_makes_accounts():
    """Without --open, accounts are created by `lockstep account create`, through a private
    socket."""
    with Relay(is_open=False) as relay:
        body = {"deviceName": "x", "platform": "test", "appVersion": "1"}
        expect(curl(relay, "POST", "/v1/accounts", body), 403, "registrationClosed")
        assert "lockstep account create" in relay.text(), relay.text()
        made = run("account", "create", "ada", "--store", relay.store, "--json").stdout
        import json
        code = json.loads(made)["code"]
        answer = curl(relay, "POST", "/v1/devices", {"code": code, **body})
        Person(relay, expect(answer, 201).json).save(record("a"))
        expect(curl(relay, "POST", "/v1/devices", {"code": code, **body}), 403, "badPairingCode")


def story_devices_are_listed_renamed_and_revoked():
    """A lost device is disconnected at once, and the list shows that."""
    with Relay() as relay:
        phone = Person.new(relay, "phone")
        lost = phone.pair("lost")
        listed = expect(phone.call("GET", "/v1/devices"), 200).json["devices"]
        assert [each["deviceName"] for each in listed] == ["phone", "lost"], listed
        assert {"deviceID", "platform", "appVersion", "lastSeen", "connected"} <= set(listed[0])
        expect(phone.call("PATCH", f"/v1/devices/{lost.device}", {"deviceName": "found"}), 200)
        assert phone.call("GET", "/v1/devices").json["devices"][1]["deviceName"] == "found"
        expect(phone.call("DELETE", f"/v1/devices/{lost.device}"), 204)
        refused = expect(lost.call("GET", "/v1/devices"), 401, "badToken")
        assert "bearer" in refused.headers["www-authenticate"].lower()
        assert len(phone.call("GET", "/v1/devices").json["devices"]) == 1
        expect(phone.call("DELETE", f"/v1/devices/{lost.device}"), 404, "notFound")
        stranger = Person.new(relay, "stranger")
        expect(stranger.call("DELETE", f"/v1/devices/{phone.device}"), 404, "notFound")
        expect(stranger.call("PATCH", f"/v1/devices/{phone.device}", {"deviceName": "x"}), 404)


def story_a_save_on_an_old_version_is_a_conflict():
    """A save based on an old version gets the current one in the answer; nothing is overwritten."""
    with Relay() as relay:
        one = Person.new(relay)
        two = one.pair()
        one.save(record("a", "one", baseTag=0))
        both = expect(two.save(record("a", "two", baseTag=0), record("b", "two", baseTag=0)), 200).json
        conflict = both["results"][0]["conflict"]
        assert conflict["fields"] == {"text": "one"} and conflict["tag"] == 1, both
        assert both["results"][1] == {"name": "b", "tag": 2}
        expect(two.save(record("a", "three", baseTag=1)), 200)
        gone = {"name": "a", "deleted": True, "modifiedAt": now(), "baseTag": 3}
        assert expect(one.save(gone), 200).json["results"] == [{"name": "a", "tag": 4}]
        late = one.save(record("a", "late", baseTag=3)).json["results"][0]["conflict"]
        assert late["deleted"] is True and late["fields"] is None and late["tag"] == 4
        assert one.save(record("a", "again", baseTag=0)).json["results"][0]["tag"] == 5
        never = one.save(record("never", baseTag=9)).json["results"][0]["conflict"]
        assert never["deleted"] is True and never["tag"] == 0 and never["modifiedAt"] == 0
        expect(one.save(record("a", "forced")), 200)


def story_an_atomic_batch_is_all_or_nothing():
    """One bad record of an atomic batch keeps the others out."""
    with Relay() as relay:
        person = Person.new(relay)
        person.save(record("a", baseTag=0))
        answer = person.save(record("a", baseTag=0), record("b", baseTag=0), atomic=True)
        results = expect(answer, 409).json["results"]
        assert "conflict" in results[0] and results[1]["error"]["code"] == "batchAborted"
        expect(person.call("GET", "/v1/zones/Notes/records/b"), 404, "notFound")
        assert len(expect(person.changes(), 200).json["changes"]) == 1


def story_a_retry_changes_nothing_and_answers_the_same():
    """A device that lost the answer sends the batch again, with the same id."""
    with Relay() as relay:
        person = Person.new(relay)
        id, wish = str(uuid.uuid4()), record("a", baseTag=0)
        first = expect(person.save(wish, id=id), 200).json
        again = expect(person.save(wish, id=id), 200).json
        assert first["results"] == again["results"] == [{"name": "a", "tag": 1}]
        expect(person.save(record("a", "other", baseTag=0), id=id), 422, "batchMismatch")
        relay.kill()
        relay.start()
        assert expect(person.save(wish, id=id), 200).json["results"] == first["results"]


def story_one_record_with_its_etag():
    """A record is read by name, with any name, and 304 avoids sending the bytes again."""
    with Relay() as relay:
        person = Person.new(relay)
        for name in ["plain", "a/b", "ä ö", "100%", "..", "?x#y", "日本"]:
            saved = expect(person.save(record(name, name)), 200).json["results"][0]
            path = "/v1/zones/Notes/records/" + urllib.parse.quote(name, safe="")
            # curl would resolve "..", a browser too; clients must send it escaped.
            found = expect(person.call("GET", path, options=["--path-as-is"]), 200)
            assert found.json["name"] == name and found.json["tag"] == saved["tag"]
            etag = found.headers["etag"]
            same = person.call(
                "GET", path, headers=[f"If-None-Match: {etag}"], options=["--path-as-is"])
            assert same.status == 304 and same.body == b"", same
        expect(person.call("GET", "/v1/zones/Notes/records/none"), 404, "notFound")


def story_a_long_poll_answers_the_moment_something_is_saved():
    """A device waits; another saves; the wait ends with the record in the answer."""
    with Relay() as relay:
        one = Person.new(relay)
        two = one.pair()
        one.save(record("a"))
        token = two.changes().json["token"]
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(two.changes(since=token, wait=30)))
        waiting.start()
        n = 0
        while waiting.is_alive():
            n += 1
            one.save(record(f"b{n}"))
            waiting.join(0.2)
        page = expect(answers[0], 200).json
        assert page["since"] == token and page["changes"], page
        names = [each["name"] for each in page["changes"]]
        rest = two.changes(since=page["token"]).json
        names += [each["name"] for each in rest["changes"]]
        assert names == [f"b{k}" for k in range(1, n + 1)], names
        empty = expect(two.changes(since=rest["token"], wait=1), 200).json
        assert empty["changes"] == [] and empty["token"] == rest["token"]


def story_a_snapshot_comes_in_pages_without_tombstones():
    """A new device reads all live records, page by page, while others keep saving."""
    with Relay() as relay:
        person = Person.new(relay)
        for batch in range(3):
            person.save(*[record(f"r{batch}-{n}") for n in range(10)])
        person.save({"name": "r0-3", "deleted": True, "modifiedAt": now()})
        names, token = [], None
        for turn in range(100):
            page = expect(person.changes(limit=7, **({"since": token} if token else {})), 200).json
            assert len(page["changes"]) <= 7
            assert not any(each["deleted"] for each in page["changes"]), page
            names += [each["name"] for each in page["changes"]]
            token = page["token"]
            if turn == 0:
                person.save(record("r2-9", "newer"))
            if not page["more"]:
                break
        after = person.changes(since=token).json
        assert [each["name"] for each in after["changes"]] == ["r2-9"], after
        assert len(names) == 28 and len(set(names)) == 28 and "r0-3" not in names, names


def story_a_token_of_one_zone_is_good_for_that_zone_alone():
    """A read of one zone returns a cursor for that zone; with another zone it is refused, not
    misread."""
    with Relay() as relay:
        person = Person.new(relay)
        person.save(record("a"), zone="One")
        person.save(record("b"), zone="Two")
        page = expect(person.changes(zone="One"), 200).json
        assert [each["name"] for each in page["changes"]] == ["a"]
        expect(person.changes(zone="Two", since=page["token"]), 410, "filterChanged")
        expect(person.changes(since=page["token"]), 410, "filterChanged")
        assert person.changes(zone="One", since=page["token"]).json["changes"] == []


def story_every_bad_request_gets_its_code():
    """Every error has a status, a code and a sentence; the relay continues."""
    with Relay() as relay:
        person = Person.new(relay)
        save = "/v1/zones/Notes/records"
        good = {"id": str(uuid.uuid4()), "records": [record("x")]}

        def bad(body, status=400, code=None, path=save, method="POST", **options):
            answer = person.call(method, path, body, **options)
            expect(answer, status)
            problem = answer.json
            assert problem["detail"], answer
            if code:
                assert problem["code"] == code, answer

        bad(None, raw=b"{", code="badJSON")
        bad(None, raw=b'{"id":"\xff"}', code="badJSON")
        bad(None, raw=b"[" * 5000, code="badJSON")
        bad([1], 400)
        bad({"records": [record("x")]}, 400)
        bad({"id": "not-a-uuid", "records": [record("x")]}, 400)
        bad({**good, "records": {}}, 400)
        bad({**good, "records": [record("x"), record("x")]}, 400)
        bad({**good, "records": [{**record("x"), "name": ""}]}, 400)
        bad({**good, "records": [{**record("x"), "name": "n" * 256}]}, 400)
        bad({**good, "records": [{**record("x"), "name": "a\u0000b"}]}, 400)
        bad({**good, "records": [{**record("x"), "fields": []}]}, 400)
        bad({**good, "records": [{**record("x"), "modifiedAt": "now"}]}, 400)
        bad({**good, "records": [{**record("x"), "baseTag": -1}]}, 400)
        bad({**good, "records": [record(f"r{n}") for n in range(401)]}, 400, "tooManyRecords")
        bad(None, 413, "bodyTooLarge", raw=b" " * (2 * 1024 * 1024 + 1))
        bad(good, 415, "unsupportedMediaType", headers=["Content-Type: text/plain"])
        bad(good, 400, path="/v1/zones/" + "z" * 256 + "/records")
        bad(good, 400, path="/v1/zones/%00/records")
        bad(good, 400, path="/v1/zones/%zz/records")
        bad(None, 400, "badChangeToken", method="GET", path="/v1/changes?since=nonsense")
        bad(None, 400, method="GET", path="/v1/changes?limit=0")
        bad(None, 400, method="GET", path="/v1/changes?wait=-1")
        bad(None, 400, method="GET", path="/v1/changes?wait=soon")
        expect(person.call("GET", "/v1/changes?limit=1001&wait=61"), 200)
        bad(None, 404, "notFound", method="GET", path="/v1/nothing")
        wrong = expect(person.call("PUT", save, good), 405, "methodNotAllowed")
        assert "POST" in wrong.headers["allow"], wrong
        ahead = person.save({**record("later"), "modifiedAt": now() + 60_000}).json["results"][0]
        assert ahead["error"]["code"] == "clockAhead" and ahead["error"]["time"], ahead
        large = person.save(record("large", "x" * (1 << 20)), record("small")).json["results"]
        assert large[0]["error"]["code"] == "recordTooLarge" and large[1]["tag"], large
        expect(curl(relay, "GET", "/v1/changes"), 401, "badToken")
        expect(curl(relay, "GET", "/v1/changes", token="wrong"), 401, "badToken")
        long = person.call("GET", "/v1/changes?since=" + "a" * 20_000)
        assert long.status in (414, 431), long
        wide = person.call("GET", "/v1/time", headers=[f"X-{n}: {n}" for n in range(200)])
        assert wide.status == 431, wide
        options = curl(relay, "OPTIONS", save, headers=[f"Origin: {relay.address}"])
        assert options.status in (200, 204), options
        assert options.headers["access-control-allow-origin"] == relay.address, options
        expect(person.save(record("still-alive")), 200)


def story_guessing_pairing_codes_is_slowed_down():
    """After a few wrong codes further attempts are refused, with the time to wait."""
    with Relay() as relay:
        body = {"deviceName": "x", "platform": "test", "appVersion": "1"}
        for guess in range(30):
            answer = curl(relay, "POST", "/v1/devices", {"code": f"AAAA-BBBB-{guess:04}", **body})
            if answer.status == 429:
                break
            expect(answer, 403, "badPairingCode")
        expect(answer, 429, "tooManyRequests")
        assert 1 <= int(answer.headers["retry-after"]) <= 3600, answer
        assert guess <= 10


def story_nothing_of_one_account_is_seen_by_another():
    """Two accounts with the same names are separate, and a foreign cursor reveals nothing."""
    with Relay() as relay:
        one, two = Person.new(relay), Person.new(relay)
        one.save(record("secret"))
        two.save(record("secret", "mine"))
        assert two.changes().json["changes"][0]["fields"] == {"text": "mine"}
        foreign = one.changes().json["token"]
        expect(two.changes(since=foreign), 400, "badChangeToken")


def story_the_description_of_the_calls_comes_from_the_relay():
    """A maker of a program gets the document, plain or compressed, with this relay as its server,
    once; a page shows it, and a wrong path names the right one."""
    with open(os.path.join(ROOT, "docs", "openapi.json"), encoding="utf-8") as file:
        written = json.load(file)
    with Relay("--admin-listen", "127.0.0.1:0") as relay:
        plain = expect(curl(relay, "GET", "/openapi.json"), 200)
        document = plain.json
        assert document["paths"] == written["paths"], "another document"
        assert document["servers"] == [{"url": "/"}], document["servers"]
        assert plain.headers["content-type"] == "application/json", plain.headers
        small = expect(curl(relay, "GET", "/openapi.json",
                            headers=["Accept-Encoding: gzip, deflate, br"]), 200)
        assert small.headers["content-encoding"] == "gzip", small.headers
        assert gzip.decompress(small.body) == plain.body
        assert len(small.body) < len(plain.body) / 5, (len(small.body), len(plain.body))
        assert small.headers["etag"] != plain.headers["etag"]
        for answer, encoding in [(plain, "identity"), (small, "gzip")]:
            assert answer.headers["cache-control"] == "no-cache", answer.headers
            held = curl(relay, "GET", "/openapi.json", headers=[
                f"Accept-Encoding: {encoding}", f"If-None-Match: {answer.headers['etag']}"])
            assert expect(held, 304).body == b"", held
        head = expect(curl(relay, "HEAD", "/openapi.json"), 200)
        assert int(head.headers["content-length"]) == len(plain.body), head
        expect(curl(relay, "POST", "/openapi.json", {}), 405, "methodNotAllowed")
        for path in ("/docs", "/docs/"):
            page = expect(curl(relay, "GET", path), 200)
            assert page.headers["content-type"].startswith("text/html"), page.headers
            assert "unsafe" not in page.headers["content-security-policy"], page.headers
        for path, nearest in [("/openapi", "/openapi.json"), ("/v1/openapi.json", "/openapi.json"),
                              ("/swagger.json", "/openapi.json"), ("/doc", "/docs")]:
            refusal = expect(curl(relay, "GET", path), 404, "notFound")
            assert f"did you mean {nearest}?" in refusal.json["detail"], refusal


def story_a_clean_stop():
    """SIGTERM: the relay accepts no new work, answers requests under way, and ends with exit code
    0."""
    with Relay() as relay:
        person = Person.new(relay)
        token = person.changes().json["token"]
        watcher = person.pair("watcher")
        wait_until(lambda: not watcher.is_connected(person), "all before to be over")
        answers = []

        def wait():
            try:
                answers.append(person.changes(since=token, wait=50))
            except AssertionError as closed:
                answers.append(closed)

        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_until(lambda: watcher.is_connected(person), "the poll to be parked")
        assert relay.stop() == 0
        waiting.join(PATIENCE)
        assert answers, "the parked poll was left hanging"


if __name__ == "__main__":
    main(globals())
