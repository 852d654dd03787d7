"""Clients that disconnect in the middle of a call, and bytes that are not HTTP: the relay keeps
running, and a save without an acknowledgement is stored completely or not at all.
"""

import hashlib
import json
import os
import re
import socket
import struct
import threading
import uuid

from story import PATIENCE, Person, Relay, curl, expect, main, record, wait_until

DEVICE = {"deviceName": "gone", "platform": "test", "appVersion": "1"}
RECORDS = 50


def request(method, path, body=None, token=None, fields=()):
    """The bytes of a head and of a body."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    data = b""
    if body is not None:
        data = json.dumps(body).encode()
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, "", ""]).encode(), data


def send_and_disconnect(relay, *parts, by_reset=False, reads=0):
    """Sends the chunks and disconnects: by end of stream or, if `rudely`, by reset."""
    with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as line:
        for part in parts:
            line.sendall(part)
        while reads > 0:
            got = line.recv(reads)
            assert got, "the relay closed first"
            reads -= len(got)
        if by_reset:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def story_a_client_that_closes_its_side_still_gets_its_answer():
    """A client sends its whole request and ends its stream at once, as `nc -N` and some proxies do:
    on a new connection and on a used one, whatever the relay asks its store."""
    with Relay() as relay:
        person = Person.new(relay)
        expect(person.save(record("there")), 200)

        def batch(n):
            return {"id": str(uuid.uuid4()), "records": [record(f"closed{n}")]}

        calls = [
            lambda n: ("GET", "/v1/devices"), lambda n: ("GET", "/v1/changes"),
            lambda n: ("GET", "/v1/changes?since=" + person.changes().json["token"]),
            lambda n: ("GET", "/v1/changes?wait=50"),
            lambda n: ("GET", "/v1/zones/Notes/records/there"), lambda n: ("POST", "/v1/pairings"),
            lambda n: ("POST", "/v1/zones/Notes/records", batch(n)), lambda n: ("GET", "/v1/time"),
        ]
        warm = b"".join(request("GET", "/v1/devices", token=person.token))
        for call in calls:
            for n in range(20):
                with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as line:
                    if n % 2:
                        line.sendall(warm)
                        answer = http_answer(line)
                        assert answer.startswith(b"HTTP/1.1 200"), answer
                    line.sendall(b"".join(request(*call(n), token=person.token)))
                    line.shutdown(socket.SHUT_WR)
                    answer = http_answer(line)
                    assert answer.startswith(b"HTTP/1.1 20"), (call(n), n, answer)
                    assert line.recv(1) == b"", "the connection ends after the answer"
        saved = {each["name"] for each in person.changes().json["changes"]}
        assert saved == {"there", *(f"closed{n}" for n in range(20))}, saved


def http_answer(line):
    """Bytes of one answer with a Content-Length; fewer if the relay ends the stream before."""
    got = b""
    while True:
        head, found, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *([0-9]+)", head)
        if found and length and len(body) >= int(length[1]):
            return got
        more = line.recv(65536)
        if not more:
            return got
        got += more


def story_a_client_gone_in_the_middle_of_a_call():
    """Each call is cut off in the middle of its head, in the middle of its body, and before its
    answer: an incomplete call has no effect, a complete one happens once or not at all, and the
    relay continues."""
    with Relay() as relay:
        person = Person.new(relay)
        kept = person.pair("kept")
        expect(person.save(record("there")), 200)
        expect(person.save(record("old"), record("older"), zone="Old"), 200)

        def seen():
            """Everything in the account that another device can see."""
            devices = person.call("GET", "/v1/devices").json["devices"]
            return (sorted((each["deviceID"], each["deviceName"]) for each in devices),
                    person.changes().json["token"], person.call("GET", "/v1/subscriptions").json)

        code = person.call("POST", "/v1/pairings").json["code"]
        batch = {"id": str(uuid.uuid4()), "records": [record(f"r{n}") for n in range(RECORDS)]}
        calls = [
            ("POST", "/v1/accounts", DEVICE, None),
            ("POST", "/v1/devices", {"code": code, **DEVICE}, None),
            ("POST", "/v1/pairings", None, person.token), ("GET", "/v1/devices", None, person.token),
            ("PATCH", f"/v1/devices/{kept.device}", {"deviceName": "renamed"}, person.token),
            ("DELETE", f"/v1/devices/{kept.device}", None, person.token),
            ("POST", "/v1/zones/Notes/records", batch, person.token),
            ("GET", "/v1/zones/Notes/records/there", None, person.token),
            ("GET", "/v1/changes", None, person.token), ("GET", "/v1/changes?wait=50&since=" +
             person.changes().json["token"], None, person.token), ("GET", "/v1/events", None, person.token),
            ("GET", "/v1/zones", None, person.token), ("DELETE", "/v1/zones/Old", None, person.token),
            ("GET", "/v1/subscriptions", None, person.token),
            ("PUT", "/v1/subscriptions/s", {"kind": "zone", "zone": "x"}, person.token),
            ("GET", "/v1/subscriptions/s", None, person.token),
            ("DELETE", "/v1/subscriptions/s", None, person.token),
            ("GET", "/v1/time", None, None), ("GET", "/v1/limits", None, None),
        ]
        calls.append(("POST", "/v1/chunks/missing", {"hashes": ["0" * 64]}, person.token))
        before = seen()
        for method, path, body, token in calls:
            head, data = request(method, path, body, token)
            for by_reset in (False, True):
                send_and_disconnect(relay, head[:len(head) // 2], by_reset=by_reset)
                send_and_disconnect(relay, head[:-2], by_reset=by_reset)
                if data:
                    send_and_disconnect(relay, head, by_reset=by_reset)
                    send_and_disconnect(relay, head, data[:len(data) // 2], by_reset=by_reset)
                    send_and_disconnect(relay, head, data[:-1], by_reset=by_reset)
        # A chunked body without an end, and one that waits for 100 Continue.
        head, data = request("POST", "/v1/zones/Notes/records", None, person.token,
                             ["Transfer-Encoding: chunked", "Content-Type: application/json"])
        whole = json.dumps(batch).encode()
        send_and_disconnect(relay, head, f"{len(whole):x}\r\n".encode(), whole, b"\r\n")
        send_and_disconnect(relay, head, f"{len(whole):x}\r\n".encode(), whole, b"\r\n0\r\n")
        head, data = request("POST", "/v1/zones/Notes/records", batch, person.token,
                             ["Expect: 100-continue"])
        send_and_disconnect(relay, head, reads=len(b"HTTP/1.1 100 Continue\r\n\r\n"))
        assert seen() == before, "half a call had an effect"
        for method, path, body, token in calls:
            head, data = request(method, path, body, token)
            for by_reset in (True, False):
                send_and_disconnect(relay, head, data, by_reset=by_reset)
        expect(curl(relay, "GET", "/v1/time"), 200)
        # One batch, sent twice and never answered: it is complete, with one set of tags.
        answer = expect(person.call("POST", "/v1/zones/Notes/records", batch), 200).json
        tags = [each["tag"] for each in answer["results"]]
        assert tags == list(range(tags[0], tags[0] + RECORDS)), answer
        held = {each["name"]: each["tag"] for each in person.changes().json["changes"]}
        assert [held[f"r{n}"] for n in range(RECORDS)] == tags
        # The zone exists completely or not at all.
        assert len(held) in (RECORDS + 1, RECORDS + 3), held
        assert ("old" in held) == ("older" in held), held
        # The code admitted at most one device, and the rename and the revocation are each done or
        # not.
        names = sorted(each["deviceName"] for each in person.call("GET", "/v1/devices").json["devices"])
        assert names.count("gone") <= 1 and names.count("kept") + names.count("renamed") <= 1, names


def story_batches_cut_off_at_any_byte_are_whole_or_absent():
    """Forty saves, each cut off somewhere or just before its answer: each batch is stored with all
    records or none, and sending it again completes it."""
    with Relay() as relay:
        person = Person.new(relay)
        batches = {}
        for n in range(40):
            batch = {"id": str(uuid.uuid4()), "records": [record(f"b{n}-{k}") for k in range(5)]}
            head, data = request("POST", "/v1/zones/Notes/records", batch, person.token)
            cut = len(data) - max(0, 20 - n) * 30
            send_and_disconnect(relay, head, data[:max(cut, 1)], by_reset=n % 2 == 0)
            batches[n] = batch
        person.save(record("last"))
        # A complete save may still be in progress; its device sends it again, and then the result
        # is known.
        held = [each["name"] for each in person.changes().json["changes"]]
        for n, batch in batches.items():
            count = sum(name.startswith(f"b{n}-") for name in held)
            assert count in (0, 5), (n, held)
            assert n >= 20 or count == 0, (n, "half a body was saved")
            results = expect(person.call("POST", "/v1/zones/Notes/records", batch), 200).json["results"]
            assert len({each["tag"] for each in results}) == 5, results
        names = [each["name"] for each in person.changes().json["changes"]]
        assert len(names) == len(set(names)) == 201, len(names)


def story_uploads_cut_off_leave_nothing_behind():
    """Uploads of a chunk, cut off at various points: the chunk does not exist, no bytes are left on
    the disk, and the next upload is complete."""
    with Relay() as relay:
        person = Person.new(relay)
        data = bytes(range(256)) * 4_096
        hash = hashlib.sha256(data).hexdigest()
        path, folder = f"/v1/chunks/{hash}", os.path.join(relay.store, "chunks")

        def files():
            return [name for _, _, names in os.walk(folder) for name in names]

        there = files()
        head, _ = request("PUT", path, None, person.token, [f"Content-Length: {len(data)}"])
        parts, _ = request("PUT", path, None, person.token, ["Transfer-Encoding: chunked"])
        for by_reset in (False, True):
            for count in (0, 1, 65_536, 131_072, len(data) - 1):
                send_and_disconnect(relay, head, data[:count], by_reset=by_reset)
                send_and_disconnect(relay, parts, f"{len(data):x}\r\n".encode(), data[:count],
                                    by_reset=by_reset)
            send_and_disconnect(relay, parts, f"{len(data):x}\r\n".encode(), data, b"\r\n",
                                by_reset=by_reset)
        assert person.call("HEAD", path).status == 404
        wait_until(lambda: files() == there, lambda: f"the files to go: {files()}")
        # Complete uploads whose client does not wait for the answer: the chunk exists completely or
        # not at all.
        send_and_disconnect(relay, head, data, by_reset=True)
        send_and_disconnect(relay, head, data)
        found = person.call("GET", path)
        assert found.status == 404 or found.body == data, found
        answer = person.call("PUT", path, raw=data)
        assert answer.status in (200, 201), answer
        assert person.call("GET", path).body == data
        # A download that is not read to its end.
        head, _ = request("GET", path, None, person.token)
        for by_reset in (False, True):
            send_and_disconnect(relay, head, by_reset=by_reset, reads=70_000)
        relay.kill()
        relay.start()
        assert person.call("GET", path).body == data
        assert len(files()) <= len(there) + 1, files()


def story_sockets_cut_off_in_the_middle_of_a_message():
    """Half a handshake, half a frame, a message without its end, no close frame: no effect, and
    other clients are not affected."""
    def frame(payload, opcode=1, ends=True):
        mask = os.urandom(4)
        head = bytes([opcode | (0x80 if ends else 0)])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        else:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        return head + mask + bytes(each ^ mask[k % 4] for k, each in enumerate(payload))

    with Relay() as relay:
        person = Person.new(relay)
        fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        head, _ = request("GET", "/v1/socket", None, person.token, fields)
        hello = frame(json.dumps({"op": "hello"}).encode())
        batch = {"op": "save", "id": str(uuid.uuid4()), "zone": "Notes", "records": [record("a")]}
        save = frame(json.dumps(batch).encode())
        part = frame(json.dumps(batch).encode(), ends=False)
        for by_reset in (False, True):
            for parts in [
                [head[:-1]], [head], [head, hello[:1]], [head, hello[:-1]], [head, hello],
                [head, hello, save[:3]], [head, hello, save[:-1]], [head, hello, part],
                [head, hello, part, frame(b"x", opcode=0, ends=False)], [head, save],
            ]:
                send_and_disconnect(relay, *parts, by_reset=by_reset)
                if len(parts) > 1:
                    send_and_disconnect(relay, b"".join(parts), by_reset=by_reset)
        assert person.changes().json["changes"] == []
        send_and_disconnect(relay, head, hello, save)
        answer = person.call("POST", "/v1/zones/Notes/records", {
            "id": batch["id"], "records": batch["records"]})
        assert expect(answer, 200).json["results"] == [{"name": "a", "tag": 1}], answer
        other = person.pair()
        wait_until(lambda: not other.call("GET", "/v1/devices").json["devices"][0]["connected"],
                   "the device to be seen as gone")


def story_a_thousand_clients_gone_leave_nothing_behind():
    """Connections, parked polls and streams abandoned by their clients are freed."""
    with Relay("--admin-listen", "127.0.0.1:0") as relay:
        person = Person.new(relay)
        token = person.changes().json["token"]
        port = int(re.search(r"metrics and health on http://[0-9.]+:(\d+)", relay.text()).group(1))

        def status():
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
                line.sendall(b"GET /status HTTP/1.0\r\n\r\n")
                with line.makefile("rb") as file:
                    return json.loads(file.read().partition(b"\r\n\r\n")[2])

        for n in range(1_000):
            path = [f"/v1/changes?wait=60&since={token}", f"/v1/events?since={token}", "/v1/time"][n % 3]
            head, _ = request("GET", path, None, person.token)
            send_and_disconnect(relay, head, by_reset=n % 2 == 0)
        # The connection that asks counts too.
        def is_given_back(now):
            return now["connections"] <= 1 and now["parked_polls"] == 0 and now["body_bytes"] == 0
        wait_until(lambda: is_given_back(status()), lambda: f"all to be given back: {status()}")


# All bytes that a connection sends; the status of the answer, and whether the relay then closes.
RAW = [
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, False),
    (b"GET /v1/time HTTP/1.0\r\n\r\n", 200, True),
    (b"\r\nGET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, False),
    (b"GET http://localhost/v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, False),
    (b"GET /v1/time HTTP/1.9\r\nHost: localhost\r\n\r\n", 200, False),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 200, True),
    (b"\r\n\r\nGET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, True),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, True),
    (b"GET /v1/time\r\n\r\n", 400, True), (b"GET  /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET /v1/time http/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\nHost: localhost\n\n", 400, True),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, True),
    (b"CONNECT relay:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET /v1/ti\xffme HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: a b\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost : x\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n: no name\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nExpect: a-miracle\r\n\r\n", 417, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1e1\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16385\r\n\r\n", 413, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 200, False),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"0\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\n", 501, True),
    (b"GET /v1/time HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n"
     b"T: x\r\n\r\n", 200, False),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 16
     + b"\r\n", 400, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4001\r\n", 413, True),
    (b"GET /" + b"a" * 8_300, 414, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 99 + b"\r\n", 200, False),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431, True),
    (b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 16_385, 431, True),
]


def story_bytes_that_are_no_request():
    """Malformed headers, wrong lengths, other protocols: a status, a problem, and a clean close. If
    two parsers might see two requests, bytes after the first are not treated as a request."""
    with Relay() as relay:
        for sent, status, closes in RAW:
            with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as line:
                line.sendall(sent)
                file = line.makefile("rb")
                first = file.readline()
                assert first.startswith(f"HTTP/1.1 {status} ".encode()), (sent[:80], first)
                fields = {}
                while (field := file.readline()) != b"\r\n":
                    name, _, value = field.decode().partition(":")
                    fields[name.lower()] = value.strip()
                body = file.read(int(fields["content-length"]))
                assert "date" in fields, fields
                if status >= 400:
                    assert fields["content-type"] == "application/problem+json", (sent[:80], fields)
                    assert json.loads(body)["status"] == status, body
                assert (fields.get("connection") == "close") == closes, (sent[:80], fields)
                # A further request after it: answered only if the connection stays open.
                try:
                    line.sendall(b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    again = file.readline()
                except OSError:
                    again = b""
                assert (again == b"HTTP/1.1 200 OK\r\n") != closes, (sent[:80], again)
                assert closes or again, (sent[:80], again)


def story_requests_in_a_row_are_answered_in_their_order():
    """A pipeline of valid and refused requests: each gets its answer, in order, on one
    connection."""
    with Relay() as relay:
        person = Person.new(relay)
        sent, wanted = b"", []
        for n in range(60):
            method, path, body, status = [
                ("GET", "/v1/time", None, 200), ("GET", "/v1/changes?limit=0", None, 400),
                ("POST", "/v1/zones/Notes/records",
                 {"id": str(uuid.uuid4()), "records": [record(f"r{n}")]}, 200),
                ("GET", "/nothing", None, 404), ("GET", f"/v1/zones/Notes/records/r{n - 2}", None, 200),
                ("BREW", "/v1/time", None, 405),
            ][n % 6]
            head, data = request(method, path, body, person.token)
            sent += head + data
            wanted.append(status)
        with socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE) as line:
            threading.Thread(target=line.sendall, args=(sent,), daemon=True).start()
            file = line.makefile("rb")
            for number, status in enumerate(wanted):
                first = file.readline()
                assert first.split()[1] == str(status).encode(), (number, status, first)
                length = 0
                while (field := file.readline()) != b"\r\n":
                    if field.lower().startswith(b"content-length:"):
                        length = int(field.split(b":")[1])
                file.read(length)


if __name__ == "__main__":
    main(globals())
