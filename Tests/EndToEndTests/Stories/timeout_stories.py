"""Timeouts of the relay for clients, from docs/protocol.md and `GET /v1/limits`. The stories mostly
wait, so all run at once; bounds have one side only, because the machine may be busy."""

import contextlib
import json
import socket
import time

from chunk_stories import CHUNK_BYTES, chunk_path, incomplete_files, put, random_chunk
from refusal_stories import check_response
from story import (
    PATIENCE, Connection, Person, Relay, curl, expect, main, new_id, read_response, record,
    wait_until)

REQUEST, IDLE, STALLED = 30, 75, 30


@contextlib.contextmanager
def connection_with(relay, text, seconds=100, receive=None):
    """A connection on which this text was sent."""
    with socket.socket() as line:
        if receive:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        line.settimeout(seconds)
        line.connect(("127.0.0.1", relay.port))
        line.sendall(text.encode() if isinstance(text, str) else text)
        yield line


def request_head(person, first, *fields):
    lines = [first, "Host: localhost", f"Authorization: Bearer {person.token}", *fields]
    return "\r\n".join([*lines, "", ""])


def check_timeout(line, begun):
    """Checks for 408 after half a minute, and for the end of the connection."""
    check_response(read_response(line), "requestTimeout")
    assert time.monotonic() - begun > REQUEST - 1
    assert line.recv(100) == b"", "the connection goes on"


def story_half_a_head_is_given_up():
    """A head without an end: 408."""
    with Relay() as relay:
        begun = time.monotonic()
        with connection_with(relay, "GET /v1/time HTTP/1.1\r\nHost: localhost") as line:
            check_timeout(line, begun)
        expect(curl(relay, "GET", "/v1/time"), 200)


def story_half_a_body_is_given_up():
    """A save's body without an end, even if bytes keep coming: 408, and nothing is saved."""
    with Relay() as relay:
        person = Person.new(relay)
        body = json.dumps({"id": new_id(), "records": [record("a")]})
        head = request_head(person, "POST /v1/zones/Z/records HTTP/1.1",
                            "Content-Type: application/json", f"Content-Length: {len(body)}")
        begun = time.monotonic()
        with connection_with(relay, head) as line:
            line.settimeout(4)
            for letter in body[:-1]:
                line.sendall(letter.encode())
                try:
                    line.recv(1, socket.MSG_PEEK)
                    break
                except TimeoutError:
                    pass
            line.settimeout(PATIENCE)
            check_timeout(line, begun)
        assert person.changes().json["changes"] == []


def story_an_upload_may_be_slow_but_not_silent():
    """128 KiB within each half minute, over a minute in total: it is accepted. One that stops: 408,
    and nothing of it is left."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(6 * (128 << 10))
        silent, there = random_chunk(CHUNK_BYTES, 1)
        head = request_head(person, f"PUT {where} HTTP/1.1", f"Content-Length: {len(data)}")
        stopped = request_head(person, f"PUT {there} HTTP/1.1", f"Content-Length: {len(silent)}")
        with connection_with(relay, head) as line, \
                connection_with(relay, stopped.encode() + silent[:300_000]) as other:
            begun = time.monotonic()
            for start in range(0, len(data), 128 << 10):
                line.sendall(data[start:start + (128 << 10)])
                if start + (128 << 10) < len(data):
                    line.settimeout(13)
                    try:
                        raise AssertionError(line.recv(200))
                    except TimeoutError:
                        line.settimeout(PATIENCE)
            answer = read_response(line)
            assert answer.status == 201 and time.monotonic() - begun > 60, answer
            check_response(read_response(other), "requestTimeout")
        wait_until(lambda: not incomplete_files(relay), "the unfinished file to go")
        assert person.call("HEAD", there).status == 404
        assert person.call("GET", where).body == data


def story_a_connection_that_asks_nothing_is_closed():
    """Closed 75 seconds after it was opened, or after its last answer. A long-poll of 60 seconds
    and one that asks for ten minutes are answered after 55 seconds, before a proxy drops them."""
    with Relay() as relay:
        person = Person.new(relay)
        token = person.changes().json["token"]
        ask = request_head(person, "GET /v1/time HTTP/1.1")
        wait = request_head(person, f"GET /v1/changes?since={token}&wait=600 HTTP/1.1")
        with connection_with(relay, b"") as fresh, connection_with(relay, ask) as used, \
                connection_with(relay, wait) as poll:
            begun = time.monotonic()
            assert read_response(used).status == 200
            page = read_response(poll)
            assert page.status == 200 and page.json["changes"] == [], page
            assert page.json["token"] == page.json["since"] == token
            # Any answer shows that the poll was held for less time than requested.
            assert time.monotonic() - begun > 54, time.monotonic() - begun
            for line in (fresh, used):
                assert line.recv(100) == b""
                assert time.monotonic() - begun > IDLE - 2, time.monotonic() - begun
            # The poll's connection can still be used.
            poll.sendall(ask.encode())
            assert read_response(poll).status == 200


def story_a_client_that_takes_nothing_is_left():
    """A download that is not read is cut off; one that is read slowly completes."""
    with Relay() as relay:
        person = Person.new(relay)
        data, where = random_chunk(CHUNK_BYTES)
        expect(put(person, data), 201)
        ask = request_head(person, f"GET {where} HTTP/1.1")
        with connection_with(relay, ask, receive=4096) as deaf, \
                connection_with(relay, ask, receive=4096) as slow:
            found, begun = b"", time.monotonic()
            slow.settimeout(PATIENCE)
            while time.monotonic() - begun < STALLED + 10:
                found += slow.recv(20_000)
                time.sleep(0.2)
            while len(found.partition(b"\r\n\r\n")[2]) < CHUNK_BYTES:
                more = slow.recv(1 << 20)
                assert more, "the slow one was cut off"
                found += more
            assert found.endswith(data)
            got = b""
            try:
                while more := deaf.recv(1 << 20):
                    got += more
                    if len(got) > CHUNK_BYTES:
                        break
            except ConnectionResetError:
                pass
            assert len(got) < CHUNK_BYTES, "it was not cut off"
        expect(Connection(relay, person).request("GET", chunk_path(data)), 200)


if __name__ == "__main__":
    main(globals(), at_once=8)
