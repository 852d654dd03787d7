"""Rules of docs/protocol.md, "Chunks of files", that chunk_stories does not cover. Not tested,
because it takes too long: a lease of a day (Tests/RelayTests, Tests/StorageContract)."""

import hashlib
import http.client
import os
import random
import socket
import threading

from chunk_stories import PIECE, files, missing, path, piece, put, sending, unfinished, whole
from refusal_stories import heard
from story import (
    PATIENCE, Line, Person, Relay, curl, expect, main, record, wait_until)


def asked(person, data, *fields, method="PUT"):
    """A connection on which the head of an upload was sent, and nothing of its body."""
    line = socket.create_connection(("127.0.0.1", person.relay.port), timeout=PATIENCE)
    head = [f"{method} {path(data)} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {person.token}"]
    line.sendall("\r\n".join([*head, *fields, "", ""]).encode())
    return line


def story_leave_to_send_is_given_to_who_may():
    """`Expect: 100-continue`: an error that is known before the body is sent in place of 100."""
    with Relay("--quota", "1M") as relay:
        person = Person.new(relay)
        data, _ = piece(1_000)
        expect_leave = "Expect: 100-continue"
        with asked(person, data, f"Content-Length: {len(data)}", expect_leave) as line:
            assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            line.sendall(data)
            assert heard(line).status == 201
        for fields, status, code in [
            ([f"Content-Length: {PIECE + 1}"], 413, "bodyTooLarge"), ([], 411, "lengthRequired"),
        ]:
            with asked(person, data, *fields, expect_leave) as line:
                answer = heard(line)
                assert (answer.status, answer.json["code"]) == (status, code), answer
        with asked(Person(relay, {"accountID": "", "deviceID": "", "token": "x"}), data,
                   "Content-Length: 9", expect_leave) as line:
            assert heard(line).status == 401
        run_out = random.Random(1).randbytes(1 << 20)
        expect(put(person, run_out), 413, "quotaExceeded")


def story_a_body_is_a_piece_whatever_it_is_called():
    """Any media type, or none; JSON is stored like any other bytes."""
    with Relay() as relay:
        line = Line(relay, Person.new(relay))
        for number, media in enumerate(["application/json", "text/plain", "image/png", "x", ""]):
            data = b'{"number":%d}' % number
            answer = line.ask("PUT", path(data), raw=data, headers={"Content-Type": media})
            expect(answer, 201)
            got = expect(line.ask("GET", path(data)), 200)
            assert got.body == data and got.headers["content-type"] == "application/octet-stream"
            assert got.headers["content-length"] == str(len(data))


def story_a_file_that_the_disk_lost_comes_again():
    """The file of a chunk disappears, or is truncated, below a running relay: readers get an error,
    a device that has the chunk learns that it is missing, and a new upload is kept."""
    with Relay() as relay:
        person = Person.new(relay)
        data, _ = piece(300_000)
        expect(put(person, data), 201)
        saved = record("a", note=1) | {"chunks": [hashlib.sha256(data).hexdigest()]}
        expect(person.save(saved), 200)

        def spoil(size):
            [name] = whole(relay)
            place = os.path.join(relay.store, "chunks", name)
            if size is None:
                os.remove(place)
            else:
                os.truncate(place, size)

        for size in [None, 0, 1, 200_000]:
            spoil(size)
            # An upload before the loss was noticed replaces the file.
            expect(put(person, data), 200)
            assert expect(person.call("GET", path(data)), 200).body == data
            spoil(size)
            line = Line(relay, person)
            try:
                answer = line.ask("GET", path(data))
                assert answer.status == 404, answer
            except http.client.IncompleteRead:
                assert size, size
            wait_until(lambda: missing(person, data) == [0], "the chunk to be lacking")
            assert curl(relay, "HEAD", path(data), token=person.token).status == 404
            expect(put(person, data), 201)
            assert missing(person, data) == [] and len(whole(relay)) == 1
            assert expect(person.call("GET", path(data)), 200).body == data
        # A missing chunk stays missing over a restart, if its file is gone.
        spoil(None)
        expect(person.call("GET", path(data)), 404)
        relay.stop()
        relay.start()
        assert missing(person, data) == [0]


def story_ranges_to_the_letter():
    """One range of bytes is served, any other Range header is ignored; HEAD ignores ranges; 304
    takes precedence."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Line(relay, person)
        data, where = piece(1_000)
        expect(put(person, data), 201)
        hash = where.rsplit("/", 1)[1]
        for wanted, part in [
            ("bytes=0-999", "0-999"), ("bytes=0-1000", "0-999"), ("bytes=999-", "999-999"),
            ("bytes=999-999", "999-999"), ("bytes=-1", "999-999"), ("bytes=-1000", "0-999"),
            ("bytes=-1001", "0-999"), ("bytes=5-5", "5-5"), ("Bytes=0-0", "0-0"),
        ]:
            answer = expect(line.ask("GET", where, headers={"Range": wanted}), 206)
            first, last = map(int, part.split("-"))
            assert answer.headers["content-range"] == f"bytes {part}/1000", (wanted, answer.headers)
            assert answer.body == data[first:last + 1], wanted
            assert answer.headers["etag"] == f'"{hash}"'
        for wanted in ("bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=99999999999999999999-"):
            answer = expect(line.ask("GET", where, headers={"Range": wanted}), 416, "rangeNotSatisfiable")
            assert answer.headers["content-range"] == "bytes */1000", answer.headers
        for wanted in ("bytes=0-1,5-6", "bytes=5-4", "bytes=", "bytes=a-b", "bytes=-", "lines=0-1",
                       "0-1", "bytes=0-1-2", "bytes=+1-2", "bytes=1 -2"):
            answer = expect(line.ask("GET", where, headers={"Range": wanted}), 200)
            assert answer.body == data and "content-range" not in answer.headers, wanted
        head = expect(line.ask("HEAD", where, headers={"Range": "bytes=0-1"}), 200)
        assert head.headers["content-length"] == "1000" and "content-range" not in head.headers
        for method in ("GET", "HEAD"):
            for tags in (f'"{hash}"', f'"x", "{hash}"', "*", f'W/"{hash}"'):
                answer = line.ask(method, where, headers={"If-None-Match": tags, "Range": "bytes=0-1"})
                assert answer.status == 304 and answer.body == b"", (method, tags, answer)
                assert answer.headers["etag"] == f'"{hash}"', answer
        for tag, status in [(f'"{hash}"', 206), (f'W/"{hash}"', 200), ('"x"', 200),
                            ("Sat, 21 Nov 2026 20:00:00 GMT", 200)]:
            answer = line.ask("GET", where, headers={"If-Range": tag, "Range": "bytes=0-1"})
            assert answer.status == status, (tag, answer.status)


def story_what_is_missing_is_told_in_the_order_asked():
    """Each hash once, in either letter case; an empty query, and a query without missing chunks,
    return an empty list."""
    with Relay() as relay:
        line = Line(relay, Person.new(relay))
        there = hashlib.sha256(b"there").hexdigest()
        expect(line.ask("PUT", f"/v1/chunks/{there}", raw=b"there"), 201)
        a, b, c = ("%064x" % n for n in (0xccc, 0xaaa, 0xbbb))
        for hashes, told in [
            ([], []), ([there], []), ([c, a, b], [c, a, b]), ([b, there, a, there], [b, a]),
            ([a, b, a, a.upper(), b], [a, b]), ([there.upper(), c.upper()], [c]),
        ]:
            answer = expect(line.ask("POST", "/v1/chunks/missing", {"hashes": hashes}), 200).json
            assert answer == {"missing": told}, (hashes, answer)


def story_nobody_sees_anything_of_a_piece_before_it_is_whole():
    """During an upload, up to its last byte: the chunk is missing for all devices of the
    account."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        data, where = piece(500_000)
        hash = where.rsplit("/", 1)[1]
        line = sending(person, data, len(data) - 1)
        wait_until(lambda: files(relay), "the upload to begin")
        for by in (person, other):
            expect(by.call("GET", where), 404, "notFound")
            assert by.call("HEAD", where).status == 404
            assert missing(by, data) == [0]
            told = expect(by.save(record("a", chunks=[hash])), 200).json["results"][0]
            assert told["error"]["code"] == "chunksMissing", told
        line.sendall(data[-1:])
        assert heard(line).status == 201
        assert missing(other, data) == [] and other.call("GET", where).body == data
        expect(other.save(record("a", chunks=[hash])), 200)


def story_a_piece_that_goes_while_it_is_sent_ends_the_connection():
    """The file is truncated during a slow download: the beginning arrives, and then the connection
    ends; later requests are answered without delay, and other chunks are not affected."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)
        data, where = piece(PIECE)
        small, there = piece(1_000, 1)
        expect(put(person, data), 201)
        [name] = whole(relay)
        expect(put(person, small), 201)
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(PATIENCE)
        line.connect(("127.0.0.1", relay.port))
        head = f"GET {where} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n\r\n"
        line.sendall(head.encode())
        found = line.recv(1_000)
        os.truncate(os.path.join(relay.store, "chunks", name), 10_000)
        try:
            while more := line.recv(1 << 20):
                found += more
        except ConnectionResetError:
            pass
        head, _, body = found.partition(b"\r\n\r\n")
        assert b"200 OK" in head and f"Content-Length: {PIECE}".lower().encode() in head.lower(), head
        assert len(body) < PIECE and data.startswith(body), len(body)
        expect(person.call("GET", there), 200)
        expect(person.save(record("a")), 200)
        assert relay.process.poll() is None


def story_uploads_do_not_delay_saves():
    """A dozen uploads of four MiB are under way, and none ends before the saves are answered; then
    all chunks arrive."""
    with Relay() as relay:
        person, saver = Person.new(relay), Person.new(relay)
        datas = [piece(PIECE, seed)[0] for seed in range(12)]
        answered = threading.Event()
        statuses = []

        def upload(data):
            def parts():
                yield data[:PIECE // 2]
                assert answered.wait(PATIENCE), "no save was answered"
                yield data[PIECE // 2:]
            line = Line(relay, person)
            line.connection.request(
                "PUT", path(data), body=parts(),
                headers={"Authorization": f"Bearer {person.token}", "Content-Length": str(PIECE)})
            statuses.append(line.connection.getresponse().status)

        threads = [threading.Thread(target=upload, args=(data,)) for data in datas]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(unfinished(relay)) == len(datas), "all uploads to be under way")
        line = Line(relay, saver)
        for number in range(20):
            expect(line.save(record(f"r{number}")), 200)
        answered.set()
        for thread in threads:
            thread.join()
        assert statuses == [201] * len(datas), statuses
        assert missing(person, *datas) == []


if __name__ == "__main__":
    main(globals())
