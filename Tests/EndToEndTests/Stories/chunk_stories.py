"""Chunks of files, by curl: the rules of "Chunks of files" in docs/protocol.md."""

import concurrent.futures
import hashlib
import os
import random
import re
import socket
import subprocess
import tempfile

from story import PATIENCE, Person, Relay, SmallDisk, curl, expect, main, now, record, wait_until

PIECE = 4 << 20


def piece(count, seed=0):
    """Bytes that depend only on the seed, and the path for their upload."""
    data = random.Random(seed).randbytes(count)
    return data, path(data)


def path(data):
    return "/v1/chunks/" + hashlib.sha256(data).hexdigest()


def put(person, data, **options):
    headers = ["Content-Type: application/octet-stream"]
    return curl(person.relay, "PUT", path(data), token=person.token, raw=data, headers=headers,
                **options)


def missing(person, *datas):
    hashes = [hashlib.sha256(data).hexdigest() for data in datas]
    answer = expect(person.call("POST", "/v1/chunks/missing", {"hashes": hashes}), 200)
    return [hashes.index(hash) for hash in answer.json["missing"]]


def files(relay):
    """Paths, relative to the store, of all chunk files, complete and incomplete."""
    root = os.path.join(relay.store, "chunks")
    return sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root) for name in names)


def whole(relay):
    return [name for name in files(relay) if not name.startswith("incoming")]


def unfinished(relay):
    return [name for name in files(relay) if name.startswith("incoming")]


def sending(person, data, count):
    """A connection on which the first `count` bytes of an upload have been sent."""
    line = socket.create_connection(("127.0.0.1", person.relay.port), timeout=PATIENCE)
    head = (
        f"PUT {path(data)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n"
        f"Content-Length: {len(data)}\r\n\r\n")
    line.sendall(head.encode() + data[:count])
    return line


def story_a_file_goes_up_in_pieces_and_comes_down_on_another_device():
    """A file is split, its chunks are uploaded, a record names them; the other device reassembles
    it."""
    with Relay() as relay:
        phone = Person.new(relay, "phone")
        laptop = phone.pair("laptop")
        file = random.Random(7).randbytes(9_000_000)
        pieces = [file[start:start + PIECE] for start in range(0, len(file), PIECE)]
        assert missing(phone, *pieces) == [0, 1, 2]
        for data in pieces:
            created = expect(put(phone, data), 201)
            assert created.body == b"", created
        assert missing(laptop, *pieces) == []
        hashes = [hashlib.sha256(data).hexdigest() for data in pieces]
        saved = phone.save(record("video", baseTag=0, chunks=hashes))
        assert expect(saved, 200).json["results"] == [{"name": "video", "tag": 1}]
        [change] = expect(laptop.changes(), 200).json["changes"]
        assert change["chunks"] == hashes, change
        found = b"".join(
            expect(laptop.call("GET", "/v1/chunks/" + hash), 200).body for hash in change["chunks"])
        assert found == file
        assert len(whole(relay)) == 3 and unfinished(relay) == []


def story_an_upload_that_was_cut_off_goes_on_with_what_is_missing():
    """The connection breaks in the middle of the second chunk: only that chunk is sent again."""
    with Relay() as relay:
        person = Person.new(relay)
        datas = [piece(PIECE, seed)[0] for seed in range(3)]
        expect(put(person, datas[0]), 201)
        line = sending(person, datas[1], PIECE // 2)
        wait_until(lambda: unfinished(relay), "the upload to begin")
        line.close()
        wait_until(lambda: not unfinished(relay), "the unfinished file to go")
        assert missing(person, *datas) == [1, 2]
        for data in datas[1:]:
            expect(put(person, data), 201)
        assert missing(person, *datas) == []
        assert len(whole(relay)) == 3


def story_any_range_of_a_piece_is_served():
    """curl requests ranges, and resumes an interrupted download."""
    with Relay() as relay, tempfile.TemporaryDirectory() as folder:
        person = Person.new(relay)
        data, where = piece(1_000_000)
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
        data, where = piece(5_000)
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
        data, _ = piece(PIECE)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: put(person, data).status, range(6)))
        assert sorted(answers) == [200] * 5 + [201], answers
        wait_until(lambda: len(files(relay)) == 1, "the other files to go")
        expect(put(person, data), 200)
        wait_until(lambda: len(files(relay)) == 1, "the other file to go")
        assert expect(person.call("GET", path(data)), 200).body == data


def story_another_accounts_pieces_are_not_there():
    """An account cannot find out that another account has a chunk."""
    with Relay() as relay:
        owner, stranger = Person.new(relay), Person.new(relay)
        data, where = piece(1_000)
        expect(put(owner, data), 201)
        theirs = expect(stranger.call("GET", where), 404, "notFound")
        nobodys = expect(stranger.call("GET", path(b"nobody's")), 404, "notFound")
        assert theirs.body == nobodys.body
        expect(stranger.call("HEAD", where), 404)
        assert missing(stranger, data, b"nobody's") == [0, 1]
        refused = stranger.save(record("a", baseTag=0, chunks=[where.rsplit("/", 1)[1]]))
        assert expect(refused, 200).json["results"][0]["error"]["code"] == "chunksMissing"
        expect(put(stranger, data), 201)
        assert len(whole(relay)) == 2
        expect(curl(relay, "GET", where), 401, "badToken")


def story_what_is_wrong_with_an_upload_is_said():
    """Bytes with another hash, too many bytes, a path without a hash, no token."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = piece(200_000)
        wrong = curl(relay, "PUT", where, token=person.token, raw=data[1:])
        expect(wrong, 422, "hashMismatch")
        large, there = piece(PIECE + 1)
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
        wait_until(lambda: files(relay) == [], "all files to go")
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


def story_a_record_keeps_its_pieces():
    """A record that names a missing chunk is refused, and only that record; a chunk that no record
    names any more is kept for a while."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = piece(1_000)
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
            datas = [piece(1_500_000, 100 * round + number)[0] for number in range(8)]

            def upload(data):
                # The relay dies, so failed uploads are expected.
                try:
                    return data if put(person, data).status == 201 else None
                except AssertionError:
                    return None

            lines = [sending(person, piece(PIECE, 1_000 + round)[0], 3_000_000) for _ in range(3)]
            wait_until(lambda: len(unfinished(relay)) >= 3, "the uploads to begin")
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                done = [pool.submit(upload, data) for data in datas]
                wait_until(lambda: any(each.done() for each in done), "one upload to end")
                relay.kill()
                for each in done:
                    if each.result() is not None:
                        known[path(each.result())] = each.result()
            for line in lines:
                line.close()
            relay.start()
            wait_until(lambda: unfinished(relay) == [], "the unfinished files to go")
            for where, data in known.items():
                assert expect(person.call("GET", where), 200).body == data
            for data in datas:
                if path(data) not in known:
                    answer = person.call("GET", path(data))
                    assert answer.status == 404 or answer.body == data, answer
                    expect(put(person, data), 201 if answer.status == 404 else 200)
                    known[path(data)] = data
        assert known
        # Complete files that the database does not know after the relay's death are deleted.
        wait_until(lambda: len(whole(relay)) == len(known), "stray files to go")


def story_a_slow_reader_does_not_keep_a_piece_in_memory():
    """Many clients that request a large chunk and do not read it cost little memory each, and can
    still read all of it."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)
        data, where = piece(PIECE)
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
            while len(found) < PIECE:
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
        data, where = piece(PIECE)
        late, _ = piece(PIECE, 1)
        expect(put(person, data), 201)
        up = sending(person, late, PIECE // 2)
        wait_until(lambda: unfinished(relay), "the upload to begin")
        down = socket.socket()
        down.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        down.settimeout(PATIENCE)
        down.connect(("127.0.0.1", relay.port))
        head = f"GET {where} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {person.token}\r\n\r\n"
        down.sendall(head.encode())
        found = down.recv(1)
        relay.process.terminate()
        up.sendall(late[PIECE // 2:])
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
        assert unfinished(relay) == []


def story_an_account_keeps_so_much_and_no_more():
    """The quota refuses a new chunk; existing chunks stay."""
    with Relay("--quota", "5M") as relay:
        person, other = Person.new(relay), Person.new(relay)
        first, where = piece(PIECE)
        second, _ = piece(PIECE, 1)
        expect(put(person, first), 201)
        refused = expect(put(person, second), 413, "quotaExceeded")
        assert "room" in refused.json["detail"], refused
        expect(put(person, first), 200)
        expect(put(person, piece(1 << 20)[0]), 201)
        expect(put(person, b"x"), 413, "quotaExceeded")
        assert expect(person.call("GET", where), 200).body == first
        expect(put(other, second), 201)
        assert missing(person, second) == [0]
        wait_until(lambda: len(files(relay)) == 3, "the refused files to go")


def story_a_full_disk_refuses_pieces_and_heals():
    """The relay's disk becomes full: an upload gets 503 and leaves nothing behind, stored chunks
    stay readable; with free space, uploads work again without a restart."""
    with SmallDisk(20_000) as disk:
        if not disk.mounted:
            print("      NOT TOLD: this user may not mount a small file system")
            return
        with Relay(store=os.path.join(disk.path, "store")) as relay:
            person = Person.new(relay)
            kept = []
            for seed in range(10):
                data, where = piece(3_000_000, seed)
                answer = put(person, data)
                if answer.status != 201:
                    break
                kept.append((data, where))
            expect(answer, 503, "storeUnavailable")
            assert int(answer.headers["retry-after"]) >= 1, answer
            assert len(kept) > 2, "the disk was full from the start"
            wait_until(lambda: len(files(relay)) == len(kept), "the refused file to go")
            assert "no space is left" in relay.text(), relay.text()
            for data, where in kept:
                assert expect(person.call("GET", where), 200).body == data
            expect(curl(relay, "GET", "/livez"), 200)
            disk.grow(60_000)
            wait_until(lambda: put(person, piece(3_000_000, 99)[0]).status == 201,
                       "uploads to work again")
            relay.kill()
            relay.start()
            for data, where in kept:
                assert expect(person.call("GET", where), 200).body == data


def story_an_answer_waits_until_the_piece_is_on_the_disk():
    """The relay's system calls, traced: file, folder and database are synced, in this order, before
    the answer is sent."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "trace")
        calls = "fsync,fdatasync,renameat,renameat2,write,writev,sendto,sendmsg"
        wrapper = ["strace", "-f", "-qq", "-y", "-s", "64", "-e", f"trace={calls}", "-o", trace]
        with Relay("--loops", "1", wrapper=wrapper) as relay:
            person = Person.new(relay)
            expect(put(person, piece(50_000)[0]), 201)
            expect(put(person, piece(50_000, 1)[0]), 201)
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


if __name__ == "__main__":
    main(globals())
