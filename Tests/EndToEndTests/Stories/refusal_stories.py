"""The table of refusal codes in docs/protocol.md, compared with a running relay: each code that a
client can cause comes with its status, its title and the form described in "Problems".

Not here: `labelTaken` (account), `registrationClosed` (curl), `tokenExpired` (retention), `storeRestored` (restored_store),
`storeUnavailable` (failure, chunk: a full disk), `requestTimeout` (timeout), `accountMoved`, `accountMoving` (cells), `quotaExceeded`
(chunk), `diskLow` (limit). Close codes: 4400, 1003, 1009 (websocket: bad_messages…), 4408
(who_does_not_say_hello…), 4501, 4502 (notification), 1012 (websocket: a_restart_says_so). A client
cannot cause: `helloRequired` as a status (a socket is closed with 4408 instead), `internalError`,
and the reasons for closing a socket with 1011, 1013, 1001 or 4429.
"""

import hashlib
import json
import os
import re
import socket

from notification_stories import PendingRequest
from story import (
    PATIENCE, ROOT, Connection, Person, Relay, curl, expect, main, new_id, now, read_response,
    record, wait_until)

DEVICE = {"deviceName": "x", "platform": "test", "appVersion": "1"}
ELSEWHERE = {
    "labelTaken", "registrationClosed", "originNotAllowed", "tokenExpired", "storeRestored", "storeUnavailable",
    "requestTimeout", "quotaExceeded", "diskLow", "planRequired", "overloaded", "stopping", "accountMoved", "accountMoving"}
NOT_FROM_OUTSIDE = {"helloRequired", "internalError", "badMessage"}
HASH = hashlib.sha256(b"x").hexdigest()


def table():
    """Rows of the table: the status and the title of each code."""
    with open(os.path.join(ROOT, "docs", "protocol.md")) as file:
        text = file.read()
    text = text.partition("<!-- refusal codes -->")[2].partition("<!-- end of refusal codes -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d*) \| (.+?) \| (\w+) \|$", text, re.M)
    return {code: (int(status), title) for code, status, _, title, _ in rows}


ROWS = table()


def check_problem(code, problem, status=None):
    """Checks that a problem matches the table."""
    assert problem["code"] == code, problem
    row, title = ROWS[code]
    assert problem["status"] == row and problem["title"] == title, (problem, ROWS[code])
    assert status in (None, row), (status, problem)
    assert problem["type"] == "urn:lockstep:problem:" + code, problem
    assert re.search(r"[.;!?].*|.{15}", problem["detail"]), problem
    extra = set(problem) - {"type", "title", "status", "code", "detail"}
    assert extra <= {"retryAfter", "time", "restoredThrough", "token", "record", "relay"}, problem
    assert ("record" in extra) == (code == "preconditionFailed"), problem


def check_response(answer, code):
    assert answer.headers["content-type"] == "application/problem+json", answer
    check_problem(code, answer.json, answer.status)
    assert ("retry-after" in answer.headers) == (answer.status in (429, 503)), answer
    assert ("www-authenticate" in answer.headers) == (answer.status == 401), answer
    assert ("allow" in answer.headers) == (answer.status == 405), answer
    # A client without an Origin gets the headers that pages may read, and a Vary on Origin.
    assert "Retry-After" in answer.headers["access-control-expose-headers"], answer
    assert answer.headers["vary"] == "Origin", answer
    return code


def raw_request(relay, *lines, body=b""):
    """The answer to a head that no HTTP client would send."""
    with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return read_response(line)


def requests(relay, person, stranger):
    """For each code, the answer to a request that is refused with it."""
    line = Connection(relay, person)
    notes = "/v1/zones/Notes/records"
    head = ["Host: localhost", f"Authorization: Bearer {person.token}"]
    large = b"x" * ((4 << 20) + 1)
    id = new_id()
    expect(line.request("POST", notes, {"id": id, "records": [record("a")]}), 200)
    expect(line.request("PUT", f"/v1/chunks/{HASH}", raw=b"x"), 201)
    of_zone = line.request("GET", "/v1/changes?zone=Notes").json["token"]
    yield "badRequest", line.request("GET", "/v1/changes?limit=0")
    yield "badRequest", line.request("POST", notes, {"records": []})
    yield "badJSON", line.request("POST", notes, raw=b"{")
    foreign = stranger.changes().json["token"]
    yield "badChangeToken", line.request("GET", "/v1/changes?since=" + foreign)
    yield "badName", line.request("GET", "/v1/changes?zone=%00")
    yield "badToken", curl(relay, "GET", "/v1/changes")
    yield "badToken", curl(relay, "GET", "/v1/changes", token="x")
    yield "badPairingCode", line.request("POST", "/v1/devices", {"code": "x", **DEVICE})
    code = expect(line.request("POST", "/v1/pairings"), 201).json["code"]
    yield "otherAccount", line.request(
        "POST", "/v1/devices", {"code": code, "accountID": stranger.account, **DEVICE})
    yield "hostNotAllowed", line.request("GET", "/v1/time", headers={"Host": "evil.example"})
    yield "notFound", line.request("GET", "/v1/zones/Notes/records/none")
    yield "notFound", line.request("GET", "/nothing")
    yield "methodNotAllowed", line.request("PUT", "/v1/changes")
    content = {"type": "T", "fields": {}}
    yield "preconditionRequired", line.request("PUT", f"{notes}/a", content)
    yield "preconditionFailed", line.request("PUT", f"{notes}/a", {**content, "baseTag": 0})
    yield "batchMismatch", line.request("POST", notes, {"id": id, "records": [record("b")]})
    yield "hashMismatch", line.request("PUT", "/v1/chunks/" + "0" * 64, raw=b"x")
    yield "rangeNotSatisfiable", line.request("GET", f"/v1/chunks/{HASH}", headers={"Range": "bytes=9-"})
    yield "filterChanged", line.request("GET", f"/v1/changes?since={of_zone}")
    yield "bodyTooLarge", Connection(relay, person).request("PUT", f"/v1/chunks/{HASH}", raw=large)
    too_large = large[:(2 << 20) + 1]
    yield "bodyTooLarge", Connection(relay, person).request("POST", notes, raw=too_large)
    yield "uriTooLong", raw_request(relay, "GET /" + "x" * 9_000 + " HTTP/1.1", *head)
    yield "headersTooLarge", raw_request(relay, "GET /v1/time HTTP/1.1", *head, *["X: y"] * 101)
    yield "tooManyRecords", line.request(
        "POST", notes, {"id": new_id(), "records": [record(f"r{n}") for n in range(401)]})
    yield "unsupportedMediaType", line.request("POST", notes, {},
                                               headers={"Content-Type": "text/css"})
    yield "upgradeRequired", line.request("GET", "/v1/socket")
    yield "expectationFailed", raw_request(relay, "GET /v1/time HTTP/1.1", *head, "Expect: rain")
    yield "lengthRequired", raw_request(relay, f"PUT /v1/chunks/{HASH} HTTP/1.1", *head)
    yield "lengthRequired", raw_request(relay, f"PUT /v1/chunks/{HASH} HTTP/1.0", *head, body=b"x")
    yield "unsupportedTransferCoding", raw_request(
        relay, f"PUT /v1/chunks/{HASH} HTTP/1.1", *head, "Transfer-Encoding: gzip, chunked")
    yield "unsupportedVersion", raw_request(relay, "GET /v1/time HTTP/3.0", *head)
    for number in range(64):
        expect(line.request("PUT", f"/v1/subscriptions/s{number}", {"kind": "database"}), 201)
    yield "tooManySubscriptions", line.request("PUT", "/v1/subscriptions/s", {"kind": "database"})
    wake = {"kind": "webpush", "auth": "BTBZMqHH6r4Tts7J_aSIgg", "p256dh":
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}
    yield "wakeNotAllowed", line.request(
        "PUT", "/v1/wakes/w", {**wake, "endpoint": "https://192.168.0.1/"})
    expect(line.request("PUT", "/v1/wakes/w", {**wake, "endpoint": "https://push.invalid/"}), 201)
    yield "badWakeCode", line.request("POST", "/v1/wakes/w/verification", {"code": "x"})
    code = line.request("POST", "/v1/pairings", {"zones": ["Todos"]}).json["code"]
    token = expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 201).json["token"]
    yield "outOfScope", line.request("GET", f"{notes}/a", token=token)
    for _ in range(98):
        code = line.request("POST", "/v1/pairings").json["code"]
        expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 201)
    code = line.request("POST", "/v1/pairings").json["code"]
    yield "tooManyDevices", line.request("POST", "/v1/devices", {"code": code, **DEVICE})
    while True:
        answer = line.request("POST", "/v1/devices", {"code": "x", **DEVICE})
        if answer.status == 429:
            break
    yield "tooManyRequests", answer
    assert 1 <= int(answer.headers["retry-after"]) == answer.json["retryAfter"], answer


def faults(person):
    """For each code, the `error` of a record."""
    text = "x" * ((1 << 20) - 100)
    for number in range(4):
        expect(person.save(record(f"large{number}", text)), 200)
    results = expect(person.save(
        {**record("ahead"), "modifiedAt": now() + 60_000}, record("wide", "x" * (1 << 20)),
        record("pieces", chunks=["0" * 64])), 200).json["results"]
    yield from zip(("clockAhead", "recordTooLarge", "chunksMissing"), results)
    results = expect(person.save(
        *[record(f"large{number}", baseTag=0) for number in range(4)], record("new"), atomic=True),
        409).json["results"]
    yield "conflictTooLarge", results[3]
    yield "batchAborted", results[4]


def story_every_code_comes_as_the_table_has_it():
    """Status, title, type, a sentence; `Retry-After`, `WWW-Authenticate` and `Allow` only on the
    answers that need them."""
    seen = set()
    with Relay() as relay:
        person, stranger = Person.new(relay), Person.new(relay)
        for code, answer in requests(relay, person, stranger):
            seen.add(check_response(answer, code))
        for code, result in faults(person):
            assert set(result) == {"name", "error"}, result
            check_problem(code, result["error"])
            assert ("time" in result["error"]) == (code == "clockAhead"), result
            seen.add(code)
    assert seen | ELSEWHERE | NOT_FROM_OUTSIDE == set(ROWS), set(ROWS) ^ (
        seen | ELSEWHERE | NOT_FROM_OUTSIDE)
    assert not seen & (ELSEWHERE | NOT_FROM_OUTSIDE)


def story_who_asks_is_looked_at_before_what_is_asked():
    """Any other error in a parseable call: without a valid token the answer is 401."""
    with Relay() as relay:
        for token in (None, "nobody"):
            for method, path, raw, headers in [
                ("POST", "/v1/zones/%00/records", b"{", {}), ("GET", "/v1/changes?limit=0", None, {}),
                ("POST", "/v1/zones/Z/records", b"a=b", {"Content-Type": "text/plain"}),
                ("PUT", "/v1/chunks/x", b"x", {}), ("PUT", "/v1/chunks/" + "0" * 64, b"x", {}),
                ("PUT", "/v1/subscriptions/s", b"[", {"Content-Type": "text/plain"}),
                ("PATCH", "/v1/devices/x", b"", {"Content-Type": "text/plain"}),
                ("DELETE", "/v1/zones/%00?through=x", None, {}),
                ("GET", "/v1/events?since=x", None, {"Last-Event-ID": "y"}),
            ]:
                check_response(Connection(relay).request(method, path, raw=raw, headers=headers, token=token), "badToken")
            lines = [f"Authorization: Bearer {token}"] if token else []
            check_response(raw_request(relay, f"PUT /v1/chunks/{HASH} HTTP/1.1", "Host: localhost", *lines), "badToken")


def story_too_many_uploads_at_once():
    """One more unfinished upload than an account may have: 503 with `Retry-After`, while other
    accounts upload and this one saves; after one upload ends another is accepted."""
    with Relay("--loops", "1") as relay:
        person, other = Person.new(relay), Person.new(relay)
        share = int(re.search(r"takes 256 at once for each of its loops, (\d+) of them", open(
            os.path.join(ROOT, "docs", "protocol.md")).read()).group(1))
        lines = []
        for number in range(share):
            line = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
            line.sendall((f"PUT /v1/chunks/{number:064x} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                          f"Authorization: Bearer {person.token}\r\nExpect: 100-continue\r\n\r\n").encode())
            assert line.recv(100).startswith(b"HTTP/1.1 100 "), number
            line.sendall(b"x")
            lines.append(line)

        def upload(by):
            return Connection(relay, by).request("PUT", f"/v1/chunks/{HASH}", raw=b"x")

        refused = wait_until(
            lambda: (lambda answer: answer if answer.status == 503 else None)(upload(person)),
            "the account's share to be used up")
        check_response(refused, "overloaded")
        expect(upload(other), 201)
        expect(person.save(record("a")), 200)
        # An error that is known before the body is sent before the body.
        answer = raw_request(relay, f"PUT /v1/chunks/{HASH} HTTP/1.1", "Host: localhost", "Content-Length: 1",
                             "Authorization: Bearer nobody", "Expect: 100-continue")
        check_response(answer, "badToken")
        lines.pop().close()
        wait_until(lambda: upload(person).status in (200, 201), "room again")
        for line in lines:
            line.close()


def story_a_relay_that_stops_tells_who_comes_late():
    """While it completes requests under way: 503 `stopping` with `Retry-After`, not ready, but
    alive; a waiting long-poll gets an empty page."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)
        token = person.changes().json["token"]
        watcher = person.pair("watcher")
        wait_until(lambda: not watcher.is_connected(person), "all before to be over")
        poll = PendingRequest(person, f"/v1/changes?since={token}&wait=60")
        wait_until(lambda: watcher.is_connected(person), "the poll to be parked")
        heads = {path: f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}"
                       "\r\n\r\n".encode()
                 for path in ("/v1/devices", "/v1/events", "/v1/time", "/livez", "/readyz")}
        begun = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
        body = json.dumps({"id": new_id(), "records": [record("a")]}).encode()
        begun.sendall((f"POST /v1/zones/Notes/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                       f"{len(body)}\r\nAuthorization: Bearer {person.token}\r\n"
                       "Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n").encode())
        assert begun.recv(100).startswith(b"HTTP/1.1 100 ")
        lines = {}
        for path, head in heads.items():
            lines[path] = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
            lines[path].sendall(head[:20])
        # Everything that was sent before this has been read.
        expect(curl(relay, "GET", "/v1/time"), 200)
        relay.process.terminate()
        status, page = poll.answer()
        assert (status, page["changes"], page["token"]) == (200, [], token), page
        for path, line in lines.items():
            line.sendall(heads[path][20:])
            answer = read_response(line)
            if path == "/livez":
                expect(answer, 200)
            elif path == "/readyz":
                assert answer.status == 503, answer
            else:
                check_response(answer, "stopping")
                assert answer.json["retryAfter"] >= 1, answer
            line.close()
        begun.sendall(body)
        assert read_response(begun).json["results"] == [{"name": "a", "tag": 1}]
        assert relay.process.wait(timeout=PATIENCE) == 0


if __name__ == "__main__":
    main(globals())
