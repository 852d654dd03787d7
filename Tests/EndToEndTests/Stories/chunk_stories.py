"""Rules of docs/protocol.md, "Chunks of files", by curl and raw connections. Not tested, because it
takes too long: a lease of a day (Tests/RelayTests, Tests/StorageContract)."""

import concurrent.futures
import hashlib
import http.client
import os
import random
import re
import socket
import subprocess
import tempfile
import threading

from story import (
    PATIENCE, Connection, Person, Relay, SmallDisk, curl, expect, main, now, read_response,
    record, wait_until)

CHUNK_BYTES = 4 << 20


def random_chunk(count, seed=0):
    """Bytes that depend only on the seed, and the path for their upload."""
    data = random.Random(seed).randbytes(count)
    return data, chunk_path(data)


def chunk_path(data):
    return "/v1/chunks/" + hashlib.sha256(data).hexdigest()


def put(person, data, **options):
    headers = ["Content-Type: application/octet-stream"]
    return curl(person.relay, "PUT", chunk_path(data), token=person.token, raw=data,
                headers=headers, **options)


def missing(person, *datas):
    hashes = [hashlib.sha256(data).hexdigest() for data in datas]
    answer = expect(person.call("POST", "/v1/chunks/missing", {"hashes": hashes}), 200)
    return [hashes.index(hash) for hash in answer.json["missing"]]


def chunk_files(relay):
    """Paths, relative to the store, of all chunk files, complete and incomplete."""
    root = os.path.join(relay.store, "chunks")
    return sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root) for name in names)


def complete_files(relay):
    return [name for name in chunk_files(relay) if not name.startswith("incoming")]


def incomplete_files(relay):
    return [name for name in chunk_files(relay) if name.startswith("incoming")]


def partial_upload(person, data, count):
    """A connection on which the first `count` bytes of an upload have been sent."""
    line = socket.create_connection(("127.0.0.1", person.relay.port), timeout=PATIENCE)
    head = (
        f"PUT {chunk_path(data)} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {person.token}\r\nContent-Length: {len(data)}\r\n\r\n")
    line.sendall(head.encode() + data[:count])
    return line


def upload_head(person, data, *fields, method="PUT"):
    """A connection on which the head of an upload was sent, and nothing of its body."""
    line = socket.create_connection(("127.0.0.1", person.relay.port), timeout=PATIENCE)
    head = [f"{method} {chunk_path(data)} HTTP/1.1", "Host: localhost",
            f"Authorization: Bearer {person.token}"]
    line.sendall("\r\n".join([*head, *fields, "", ""]).encode())
    return line


def story_a_file_goes_up_in_chunks_and_comes_down_on_another_device():
    """A file is split, its chunks are uploaded, a record names them; the other device reassembles
    it."""
    with Relay() as relay:
        phone = Person.new(relay, "phone")
        laptop = phone.pair("laptop")
        file = random.Random(7).randbytes(9_000_000)
        chunks = [file[start:start + CHUNK_BYTES] for start in range(0, len(file), CHUNK_BYTES)]
        assert missing(phone, *chunks) == [0, 1, 2]
        for data in chunks:
            created = expect(put(phone, data), 201)
            assert created.body == b"", created
        assert missing(laptop, *chunks) == []
        hashes = [hashlib.sha256(data).hexdigest() for data in chunks]
        saved = phone.save(record("video", baseTag=0, chunks=hashes))
        assert expect(saved, 200).json["results"] == [{"name": "video", "tag": 1}]
        [change] = expect(laptop.changes(), 200).json["changes"]
        assert change["chunks"] == hashes, change
        found = b"".join(
            expect(laptop.call("GET", "/v1/chunks/" + hash), 200).body for hash in change["chunks"])
        assert found == file
        assert len(complete_files(relay)) == 3 and incomplete_files(relay) == []


def story_an_upload_that_was_cut_off_goes_on_with_what_is_missing():
    """The connection breaks in the middle of the second chunk: only that chunk is sent again."""
    with Relay() as relay:
        person = Person.new(relay)
        datas = [random_chunk(CHUNK_BYTES, seed)[0] for seed in range(3)]
        expect(put(person, datas[0]), 201)
        line = partial_upload(person, datas[1], CHUNK_BYTES // 2)
        wait_until(lambda: incomplete_files(relay), "the upload to begin")
        line.close()
        wait_until(lambda: not incomplete_files(relay), "the unfinished file to go")
        assert missing(person, *datas) == [1, 2]
        for data in datas[1:]:
            expect(put(person, data), 201)
        assert missing(person, *datas) == []
        assert len(complete_files(relay)) == 3


def story_any_range_of_a_chunk_is_served():
    """curl requests ranges, and resumes an interrupted download."""
    with Relay() as relay, tempfile.TemporaryDirectory() as folder:
        person = Person.new(relay)
        data, where = random_chunk(1_000_000)
        expect(put(person, data), 201)
        for wanted, part in [
            ("0-0", data[:1]), ("10-19", data[10:20]), ("999990-", data[999_990:]),
            ("-7", data[-7:]), ("0-", data), ("500000-5000000", data[500_000:]),
        ]:
            answer = expect(person.call("GET", where, options=["--range", wanted]), 206)
            assert answer.body == part, wanted
            assert answer.headers["content-range"].endswith("/1000000"), answer.headers
        beyond = expect(
            person.call("GET", where, options=["--range", "1000000-"]), 416, "rangeNotSatisfiable")
        assert beyond.headers["content-range"] == "bytes */1000000", beyond.headers
        many = person.call("GET", where, options=["--range", "0-1,5-9"])
        assert expect(many, 200).body == data

        part = os.path.join(folder, "part")
        with open(part, "wb") as file:
            file.write(data[:123_456])
        command = ["curl", "-sS", "--max-time", str(PATIENCE), "--fail", "--continue-at", "-", "-o", part,
                   "-H", f"Authorization: Bearer {person.token}", relay.address + where]
        subprocess.run(command, check=True, timeout=PATIENCE)
        with open(part, "rb") as file:
            assert file.read() == data


def story_what_a_client_holds_is_not_sent_again():
    """The hash is the ETag; a browser may cache the bytes for ever."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(5_000)
        expect(put(person, data), 201)
        first = expect(person.call("GET", where), 200)
        tag = first.headers["etag"]
        assert tag == '"' + where.rsplit("/", 1)[1] + '"'
        assert first.headers["content-type"] == "application/octet-stream"
        assert first.headers["accept-ranges"] == "bytes"
        assert "private" in first.headers["cache-control"]
        assert "immutable" in first.headers["cache-control"]
        assert "Content-Range" in first.headers["access-control-expose-headers"]
        same = person.call("GET", where, headers=[f"If-None-Match: {tag}"])
        assert same.status == 304 and same.body == b"", same
        ranged = person.call(
            "GET", where, headers=[f"If-Range: {tag}"], options=["--range", "1-2"])
        assert expect(ranged, 206).body == data[1:3]
        other = person.call(
            "GET", where, headers=['If-Range: "other"'], options=["--range", "1-2"])
        assert expect(other, 200).body == data
        head = expect(person.call("HEAD", where), 200)
        assert head.headers["content-length"] == "5000" and head.headers["etag"] == tag, head
        asked = curl(relay, "OPTIONS", where)
        assert asked.status == 204 and "PUT" in asked.headers["allow"], asked
        assert "Range" in asked.headers["access-control-allow-headers"], asked


def story_the_same_bytes_are_kept_once():
    """The same bytes, uploaded twice, are stored once, also if both uploads are simultaneous."""
    with Relay() as relay:
        person = Person.new(relay)
        data, _ = random_chunk(CHUNK_BYTES)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: put(person, data).status, range(6)))
        assert sorted(answers) == [200] * 5 + [201], answers
        wait_until(lambda: len(chunk_files(relay)) == 1, "the other files to go")
        expect(put(person, data), 200)
        wait_until(lambda: len(chunk_files(relay)) == 1, "the other file to go")
        assert expect(person.call("GET", chunk_path(data)), 200).body == data


def story_another_accounts_chunks_are_not_there():
    """An account cannot find out that another account has a chunk."""
    with Relay() as relay:
        owner, stranger = Person.new(relay), Person.new(relay)
        data, where = random_chunk(1_000)
        expect(put(owner, data), 201)
        theirs = expect(stranger.call("GET", where), 404, "notFound")
        nobodys = expect(stranger.call("GET", chunk_path(b"nobody's")), 404, "notFound")
        assert theirs.body == nobodys.body
        expect(stranger.call("HEAD", where), 404)
        assert missing(stranger, data, b"nobody's") == [0, 1]
        refused = stranger.save(record("a", baseTag=0, chunks=[where.rsplit("/", 1)[1]]))
        assert expect(refused, 200).json["results"][0]["error"]["code"] == "chunksMissing"
        expect(put(stranger, data), 201)
        assert len(complete_files(relay)) == 2
        expect(curl(relay, "GET", where), 401, "badToken")


def story_what_is_wrong_with_an_upload_is_said():
    """Bytes with another hash, too many bytes, a path without a hash, no token."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(200_000)
        wrong = curl(relay, "PUT", where, token=person.token, raw=data[1:])
        expect(wrong, 422, "hashMismatch")
        large, there = random_chunk(CHUNK_BYTES + 1)
        expect(curl(relay, "PUT", there, token=person.token, raw=large), 413, "bodyTooLarge")
        chunked = ["--header", "Transfer-Encoding: chunked"]
        expect(curl(relay, "PUT", there, token=person.token, raw=large, options=chunked), 413,
               "bodyTooLarge")
        for name in ["", "x", "0" * 63, "0" * 65, "g" * 64, "missing"]:
            answer = curl(relay, "PUT", "/v1/chunks/" + name, token=person.token, raw=data)
            assert answer.status in (400, 405), answer
        expect(curl(relay, "PUT", where, raw=data), 401, "badToken")
        expect(curl(relay, "PUT", where, token="nobody", raw=data), 401, "badToken")
        expect(person.call("DELETE", where), 405, "methodNotAllowed")
        wait_until(lambda: chunk_files(relay) == [], "all files to go")
        for body in [b"", b"{", b"[]", b'{"hashes":1}', b'{"hashes":["x"]}', b"{}"]:
            answer = curl(relay, "POST", "/v1/chunks/missing", token=person.token, raw=body)
            assert answer.status == 400, answer
        many = {"hashes": ["%064x" % number for number in range(4_097)]}
        expect(person.call("POST", "/v1/chunks/missing", many), 400, "badRequest")
        most = {"hashes": many["hashes"][:4_096]}
        told = expect(person.call("POST", "/v1/chunks/missing", most), 200).json["missing"]
        assert told == most["hashes"]
        expect(put(person, data, options=chunked), 201)
        expect(put(person, b""), 201)


def story_a_record_keeps_its_chunks():
    """A record that names a missing chunk is refused, and only that record; a chunk that no record
    names any more is kept for a while."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(1_000)
        hash = where.rsplit("/", 1)[1]
        both = person.save(record("a", baseTag=0, chunks=[hash]), record("b", baseTag=0))
        results = expect(both, 200).json["results"]
        assert results[0]["error"]["code"] == "chunksMissing", results
        assert results[1] == {"name": "b", "tag": 1}, results
        expect(put(person, data), 201)
        kept = person.save(record("a", baseTag=0, chunks=[hash, hash]))
        assert expect(kept, 200).json["results"] == [{"name": "a", "tag": 2}]
        one = expect(person.call("GET", "/v1/zones/Notes/records/a"), 200).json
        assert one["chunks"] == [hash], one
        gone = {"name": "a", "deleted": True, "modifiedAt": now(), "baseTag": 2}
        expect(person.save(gone), 200)
        expect(person.call("GET", where), 200)


def story_killed_in_the_middle_of_an_upload_it_keeps_nothing_half():
    """kill -9 during uploads: the acknowledged chunks are complete, and nothing else is stored."""
    with Relay("--loops", "2") as relay:
        person = Person.new(relay)
        known = {}
        for round in range(5):
            datas = [random_chunk(1_500_000, 100 * round + number)[0] for number in range(8)]

            def upload(data):
                # The relay dies, so failed uploads are expected.
                try:
                    return data if put(person, data).status == 201 else None
                except AssertionError:
                    return None

            large = random_chunk(CHUNK_BYTES, 1_000 + round)[0]
            lines = [partial_upload(person, large, 3_000_000) for _ in range(3)]
            wait_until(lambda: len(incomplete_files(relay)) >= 3, "the uploads to begin")
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                done = [pool.submit(upload, data) for data in datas]
                wait_until(lambda: any(each.done() for each in done), "one upload to end")
                relay.kill()
                for each in done:
                    if each.result() is not None:
                        known[chunk_path(each.result())] = each.result()
            for line in lines:
                line.close()
            relay.start()
            wait_until(lambda: incomplete_files(relay) == [], "the unfinished files to go")
            for where, data in known.items():
                assert expect(person.call("GET", where), 200).body == data
            for data in datas:
                if chunk_path(data) not in known:
                    answer = person.call("GET", chunk_path(data))
                    assert answer.status == 404 or answer.body == data, answer
                    expect(put(person, data), 201 if answer.status == 404 else 200)
                    known[chunk_path(data)] = data
        assert known
        # Complete files that the database does not know after the relay's death are deleted.
        wait_until(lambda: len(complete_files(relay)) == len(known), "stray files to go")


def story_a_slow_reader_does_not_keep_a_chunk_in_memory():
    """Many clients that request a large chunk and do not read it cost little memory each, and can
    still read all of it."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)
        data, where = random_chunk(CHUNK_BYTES)
        expect(put(person, data), 201)

        def resident():
            with open(f"/proc/{relay.id}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

        before = resident()
        lines = []
        for _ in range(100):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.settimeout(PATIENCE)
            line.connect(("127.0.0.1", relay.port))
            head = f"GET {where} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n\r\n"
            line.sendall(head.encode())
            lines.append(line)
        for line in lines:
            assert line.recv(15, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK"
        grown = resident() - before
        assert grown < 200 << 10, f"{grown} KiB for 100 readers"
        for line in lines[:5]:
            found = b""
            while len(found) < CHUNK_BYTES:
                more = line.recv(1 << 20)
                assert more, "the line ended early"
                found += more
            while not found.endswith(data[-64:]):
                more = line.recv(1 << 20)
                assert more, "the line ended early"
                found += more
            assert found.endswith(data)
        for line in lines:
            line.close()


def story_a_relay_that_stops_ends_what_was_begun():
    """SIGTERM during an upload and a download: both complete."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(CHUNK_BYTES)
        late, _ = random_chunk(CHUNK_BYTES, 1)
        expect(put(person, data), 201)
        up = partial_upload(person, late, CHUNK_BYTES // 2)
        wait_until(lambda: incomplete_files(relay), "the upload to begin")
        down = socket.socket()
        down.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        down.settimeout(PATIENCE)
        down.connect(("127.0.0.1", relay.port))
        head = f"GET {where} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n\r\n"
        down.sendall(head.encode())
        found = down.recv(1)
        relay.process.terminate()
        up.sendall(late[CHUNK_BYTES // 2:])
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += up.recv(4096)
        assert answer.startswith(b"HTTP/1.1 201"), answer
        while more := down.recv(1 << 20):
            found += more
        assert found.endswith(data)
        assert relay.process.wait(timeout=PATIENCE) == 0
        relay.start()
        expect(put(person, late), 200)
        assert incomplete_files(relay) == []


def story_an_account_keeps_so_much_and_no_more():
    """The quota refuses a new chunk; existing chunks stay."""
    with Relay("--quota", "5M") as relay:
        person, other = Person.new(relay), Person.new(relay)
        first, where = random_chunk(CHUNK_BYTES)
        second, _ = random_chunk(CHUNK_BYTES, 1)
        expect(put(person, first), 201)
        refused = expect(put(person, second), 413, "quotaExceeded")
        assert "space" in refused.json["detail"], refused
        expect(put(person, first), 200)
        expect(put(person, random_chunk(1 << 20)[0]), 201)
        expect(put(person, b"x"), 413, "quotaExceeded")
        assert expect(person.call("GET", where), 200).body == first
        expect(put(other, second), 201)
        assert missing(person, second) == [0]
        wait_until(lambda: len(chunk_files(relay)) == 3, "the refused files to go")


def story_a_full_disk_refuses_chunks_and_heals():
    """The relay's disk becomes full: an upload gets 503 and leaves nothing behind, stored chunks
    stay readable; with free space, uploads work again without a restart."""
    with SmallDisk(20_000) as disk:
        if not disk.mounted:
            print("      NOT RUN: this user may not mount a small file system")
            return
        with Relay(store=os.path.join(disk.path, "store")) as relay:
            person = Person.new(relay)
            kept = []
            for seed in range(10):
                data, where = random_chunk(3_000_000, seed)
                answer = put(person, data)
                if answer.status != 201:
                    break
                kept.append((data, where))
            expect(answer, 503, "storeUnavailable")
            assert int(answer.headers["retry-after"]) >= 1, answer
            assert len(kept) > 2, "the disk was full from the start"
            wait_until(lambda: len(chunk_files(relay)) == len(kept), "the refused file to go")
            assert "no space is left" in relay.text(), relay.text()
            for data, where in kept:
                assert expect(person.call("GET", where), 200).body == data
            expect(curl(relay, "GET", "/livez"), 200)
            disk.grow(60_000)
            wait_until(lambda: put(person, random_chunk(3_000_000, 99)[0]).status == 201,
                       "uploads to work again")
            relay.kill()
            relay.start()
            for data, where in kept:
                assert expect(person.call("GET", where), 200).body == data


def story_an_answer_waits_until_the_chunk_is_on_the_disk():
    """The relay's system calls, traced: file, folder and database are synced, in this order, before
    the answer is sent."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "trace")
        calls = "fsync,fdatasync,renameat,renameat2,write,writev,sendto,sendmsg"
        wrapper = ["strace", "-f", "-qq", "-y", "-s", "64", "-e", f"trace={calls}", "-o", trace]
        with Relay("--loops", "1", wrapper=wrapper) as relay:
            person = Person.new(relay)
            expect(put(person, random_chunk(50_000)[0]), 201)
            expect(put(person, random_chunk(50_000, 1)[0]), 201)
            relay.stop()
        with open(trace, errors="replace") as file:
            lines = file.read().splitlines()
        answers = [k for k, line in enumerate(lines) if "201 Created" in line][-2:]
        assert len(answers) == 2, lines[-50:]
        for begin, end in zip([0, *answers], answers):
            steps = [
                r"fsync\(\d+<[^>]*/chunks/incoming/", r"rename", r"fsync\(\d+<[^>]*/chunks/[0-9a-f]{16}>",
                r"f(data)?sync\(\d+<[^>]*/zones.sqlite-wal>",
            ]
            at = begin
            for step in steps:
                at = next((k for k in range(at, end) if re.search(step, lines[k])), None)
                assert at is not None, (step, lines[begin:end])


def story_expect_continue_is_answered_before_the_body():
    """`Expect: 100-continue`: an error that is known before the body is sent in place of 100."""
    with Relay("--quota", "1M") as relay:
        person = Person.new(relay)
        data, _ = random_chunk(1_000)
        expect_continue = "Expect: 100-continue"
        with upload_head(person, data, f"Content-Length: {len(data)}", expect_continue) as line:
            assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            line.sendall(data)
            assert read_response(line).status == 201
        for fields, status, code in [
            ([f"Content-Length: {CHUNK_BYTES + 1}"], 413, "bodyTooLarge"), ([], 411, "lengthRequired"),
        ]:
            with upload_head(person, data, *fields, expect_continue) as line:
                answer = read_response(line)
                assert (answer.status, answer.json["code"]) == (status, code), answer
        with upload_head(Person(relay, {"accountID": "", "deviceID": "", "token": "x"}), data,
                   "Content-Length: 9", expect_continue) as line:
            assert read_response(line).status == 401
        run_out = random.Random(1).randbytes(1 << 20)
        expect(put(person, run_out), 413, "quotaExceeded")


def story_a_body_is_a_chunk_whatever_its_media_type():
    """Any media type, or none; JSON is stored like any other bytes."""
    with Relay() as relay:
        line = Connection(relay, Person.new(relay))
        for number, media in enumerate(["application/json", "text/plain", "image/png", "x", ""]):
            data = b'{"number":%d}' % number
            answer = line.request("PUT", chunk_path(data), raw=data,
                                  headers={"Content-Type": media})
            expect(answer, 201)
            got = expect(line.request("GET", chunk_path(data)), 200)
            assert got.body == data and got.headers["content-type"] == "application/octet-stream"
            assert got.headers["content-length"] == str(len(data))


def story_a_file_that_the_disk_lost_comes_again():
    """The file of a chunk disappears, or is truncated, below a running relay: readers get an error,
    a device that has the chunk learns that it is missing, and a new upload is kept."""
    with Relay() as relay:
        person = Person.new(relay)
        data, _ = random_chunk(300_000)
        expect(put(person, data), 201)
        saved = record("a", note=1) | {"chunks": [hashlib.sha256(data).hexdigest()]}
        expect(person.save(saved), 200)

        def spoil(size):
            [name] = complete_files(relay)
            place = os.path.join(relay.store, "chunks", name)
            if size is None:
                os.remove(place)
            else:
                os.truncate(place, size)

        for size in [None, 0, 1, 200_000]:
            spoil(size)
            # An upload before the loss was noticed replaces the file.
            expect(put(person, data), 200)
            assert expect(person.call("GET", chunk_path(data)), 200).body == data
            spoil(size)
            line = Connection(relay, person)
            try:
                answer = line.request("GET", chunk_path(data))
                assert answer.status == 404, answer
            except http.client.IncompleteRead:
                assert size, size
            wait_until(lambda: missing(person, data) == [0], "the chunk to be lacking")
            assert curl(relay, "HEAD", chunk_path(data), token=person.token).status == 404
            expect(put(person, data), 201)
            assert missing(person, data) == [] and len(complete_files(relay)) == 1
            assert expect(person.call("GET", chunk_path(data)), 200).body == data
        # A missing chunk stays missing over a restart, if its file is gone.
        spoil(None)
        expect(person.call("GET", chunk_path(data)), 404)
        relay.stop()
        relay.start()
        assert missing(person, data) == [0]


def story_ranges_to_the_letter():
    """One range of bytes is served, any other Range header is ignored; HEAD ignores ranges; 304
    takes precedence."""
    with Relay() as relay:
        person = Person.new(relay)
        line = Connection(relay, person)
        data, where = random_chunk(1_000)
        expect(put(person, data), 201)
        hash = where.rsplit("/", 1)[1]
        for wanted, part in [
            ("bytes=0-999", "0-999"), ("bytes=0-1000", "0-999"), ("bytes=999-", "999-999"),
            ("bytes=999-999", "999-999"), ("bytes=-1", "999-999"), ("bytes=-1000", "0-999"),
            ("bytes=-1001", "0-999"), ("bytes=5-5", "5-5"), ("Bytes=0-0", "0-0"),
        ]:
            answer = expect(line.request("GET", where, headers={"Range": wanted}), 206)
            first, last = map(int, part.split("-"))
            assert answer.headers["content-range"] == f"bytes {part}/1000", (wanted, answer.headers)
            assert answer.body == data[first:last + 1], wanted
            assert answer.headers["etag"] == f'"{hash}"'
        for wanted in ("bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=99999999999999999999-"):
            answer = expect(line.request("GET", where, headers={"Range": wanted}), 416, "rangeNotSatisfiable")
            assert answer.headers["content-range"] == "bytes */1000", answer.headers
        for wanted in ("bytes=0-1,5-6", "bytes=5-4", "bytes=", "bytes=a-b", "bytes=-", "lines=0-1",
                       "0-1", "bytes=0-1-2", "bytes=+1-2", "bytes=1 -2"):
            answer = expect(line.request("GET", where, headers={"Range": wanted}), 200)
            assert answer.body == data and "content-range" not in answer.headers, wanted
        head = expect(line.request("HEAD", where, headers={"Range": "bytes=0-1"}), 200)
        assert head.headers["content-length"] == "1000" and "content-range" not in head.headers
        for method in ("GET", "HEAD"):
            for tags in (f'"{hash}"', f'"x", "{hash}"', "*", f'W/"{hash}"'):
                answer = line.request(method, where, headers={"If-None-Match": tags, "Range": "bytes=0-1"})
                assert answer.status == 304 and answer.body == b"", (method, tags, answer)
                assert answer.headers["etag"] == f'"{hash}"', answer
        for tag, status in [(f'"{hash}"', 206), (f'W/"{hash}"', 200), ('"x"', 200),
                            ("Sat, 21 Nov 2026 20:00:00 GMT", 200)]:
            answer = line.request("GET", where, headers={"If-Range": tag, "Range": "bytes=0-1"})
            assert answer.status == status, (tag, answer.status)


def story_what_is_missing_is_told_in_the_order_asked():
    """Each hash once, in either letter case; an empty query, and a query without missing chunks,
    return an empty list."""
    with Relay() as relay:
        line = Connection(relay, Person.new(relay))
        there = hashlib.sha256(b"there").hexdigest()
        expect(line.request("PUT", f"/v1/chunks/{there}", raw=b"there"), 201)
        a, b, c = ("%064x" % n for n in (0xccc, 0xaaa, 0xbbb))
        for hashes, told in [
            ([], []), ([there], []), ([c, a, b], [c, a, b]), ([b, there, a, there], [b, a]),
            ([a, b, a, a.upper(), b], [a, b]), ([there.upper(), c.upper()], [c]),
        ]:
            answer = expect(line.request("POST", "/v1/chunks/missing", {
                "hashes": hashes}), 200).json
            assert answer == {"missing": told}, (hashes, answer)


def story_a_chunk_is_invisible_before_it_is_whole():
    """During an upload, up to its last byte: the chunk is missing for all devices of the
    account."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        data, where = random_chunk(500_000)
        hash = where.rsplit("/", 1)[1]
        line = partial_upload(person, data, len(data) - 1)
        wait_until(lambda: chunk_files(relay), "the upload to begin")
        for by in (person, other):
            expect(by.call("GET", where), 404, "notFound")
            assert by.call("HEAD", where).status == 404
            assert missing(by, data) == [0]
            told = expect(by.save(record("a", chunks=[hash])), 200).json["results"][0]
            assert told["error"]["code"] == "chunksMissing", told
        line.sendall(data[-1:])
        assert read_response(line).status == 201
        assert missing(other, data) == [] and other.call("GET", where).body == data
        expect(other.save(record("a", chunks=[hash])), 200)


def story_a_chunk_truncated_during_a_download_ends_the_connection():
    """The file is truncated during a slow download: the beginning arrives, and then the connection
    ends; later requests are answered without delay, and other chunks are not affected."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)
        data, where = random_chunk(CHUNK_BYTES)
        small, there = random_chunk(1_000, 1)
        expect(put(person, data), 201)
        [name] = complete_files(relay)
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
        assert b"200 OK" in head and f"Content-Length: {CHUNK_BYTES}".lower().encode() in head.lower(), head
        assert len(body) < CHUNK_BYTES and data.startswith(body), len(body)
        expect(person.call("GET", there), 200)
        expect(person.save(record("a")), 200)
        assert relay.process.poll() is None


def story_uploads_do_not_delay_saves():
    """A dozen uploads of four MiB are under way, and none ends before the saves are answered; then
    all chunks arrive."""
    with Relay() as relay:
        person, saver = Person.new(relay), Person.new(relay)
        datas = [random_chunk(CHUNK_BYTES, seed)[0] for seed in range(12)]
        answered = threading.Event()
        statuses = []

        def upload(data):
            def parts():
                yield data[:CHUNK_BYTES // 2]
                assert answered.wait(PATIENCE), "no save was answered"
                yield data[CHUNK_BYTES // 2:]
            line = Connection(relay, person)
            line.connection.request(
                "PUT", chunk_path(data), body=parts(),
                headers={"Authorization": f"Bearer {person.token}", "Content-Length": str(CHUNK_BYTES)})
            statuses.append(line.connection.getresponse().status)

        threads = [threading.Thread(target=upload, args=(data,)) for data in datas]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(incomplete_files(relay)) == len(datas),
                   "all uploads to be under way")
        line = Connection(relay, saver)
        for number in range(20):
            expect(line.save(record(f"r{number}")), 200)
        answered.set()
        for thread in threads:
            thread.join()
        assert statuses == [201] * len(datas), statuses
        assert missing(person, *datas) == []


if __name__ == "__main__":
    main(globals())
