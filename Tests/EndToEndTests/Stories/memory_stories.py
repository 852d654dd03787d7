"""Memory bound of a relay, as in docs/relay/sizing.md, under clients that send incomplete data and
read nothing."""

import contextlib
import json
import socket
import struct

from story import (
    PATIENCE, Connection, Person, Relay, expect, folder, main, record, refused, wait_until)

MEBIBYTE = 1 << 20
BUDGET = 48
LOOPS = 2


def memory(relay, name):
    """`VmRSS` (current) or `VmHWM` (maximum), in MiB."""
    with open(f"/proc/{relay.id}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024


class Connections:
    """Connections that use little memory on this side."""

    def __init__(self, relay, stack):
        self.relay, self.stack, self.sockets = relay, stack, []

    def open(self, receive=4_096):
        line = socket.socket()
        self.stack.callback(line.close)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        line.settimeout(PATIENCE)
        line.connect(("127.0.0.1", self.relay.port))
        self.sockets.append(line)
        return line

    def send(self, line, data):
        """Sends as much of the data as the relay accepts."""
        line.settimeout(1)
        with contextlib.suppress(OSError):
            line.sendall(data)
        line.settimeout(PATIENCE)

    def get(self, person, path, *fields):
        line = self.open()
        head = [f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {person.token}", *fields]
        self.send(line, "\r\n".join([*head, "", ""]).encode())
        return line

    def upgrade(self, person=None):
        line = self.open()
        token = f"Authorization: Bearer {person.token}\r\n" if person else ""
        self.send(line, (
            "GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            f"{token}\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = line.recv(2_048)
            if not more:
                return line
            answer += more
        if person:
            self.send(line, frame(json.dumps({"op": "hello"}).encode()))
            line.recv(2_048)
        return line

    def wait_for_answers(self):
        """Waits for the first byte of each answer, without reading it."""
        for line in self.sockets:
            with contextlib.suppress(OSError):
                line.recv(1, socket.MSG_PEEK)

    def close_all(self):
        for line in self.sockets:
            line.close()
        self.sockets.clear()


def head(count):
    """Header of a text frame; its mask is 0."""
    return bytes([0x81, 0xFF]) + struct.pack(">Q", count) + bytes(4)


def frame(payload):
    return bytes([0x81, 0x80 | len(payload)]) + bytes(4) + payload


def story_memory_stays_within_its_bound_whatever_is_left_unread():
    """Some hundred connections at a time send half a message before and after their hello, half a
    body, request pages and read none, also on connections to be closed, and read no pushes: the
    relay never exceeds its bound, and frees the memory afterwards."""
    limits = f"bodyBudgetBytes={BUDGET}M"
    with Relay("--loops", str(LOOPS), "--limits", limits, "--exempt", "none") as relay, \
            contextlib.ExitStack() as stack:
        people = [Person.new(relay) for _ in range(12)]
        for person in people:
            line = Connection(relay, person)
            for number in range(3):
                expect(line.save(record(f"r{number}", "x" * 900_000)), 200)
        base = memory(relay, "VmRSS")
        connections = Connections(relay, stack)
        # docs/relay/sizing.md, "Memory".
        bound = base + BUDGET + LOOPS * 32 + 300 * 16 / 1024

        def holds(what):
            most = memory(relay, "VmHWM")
            print(f"{what}: at most {most:.0f} MiB of {bound:.0f}, at rest {base:.0f}", flush=True)
            assert most <= bound, f"{what}: {most:.0f} MiB, more than {bound:.0f}"
            connections.close_all()

        for _ in range(300):
            connections.send(connections.upgrade(), head(2 * MEBIBYTE) + bytes(100_000))
        holds("half a message before hello")
        for number in range(120):
            connections.send(connections.upgrade(people[number % 12]),
                             head(2 * MEBIBYTE) + b" " * 1_900_000)
        holds("half a message after it")
        for number in range(120):
            post = (
                f"POST /v1/zones/Z/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n"
                f"Content-Type: application/json\r\n"
                f"Authorization: Bearer {people[number % 12].token}\r\n\r\n")
            connections.send(connections.open(), post.encode() + b" " * 1_900_000)
        holds("half a body")
        for field in ("Connection: keep-alive", "Connection: close"):
            for number in range(240):
                connections.get(people[number % 12], "/v1/changes", field)
            connections.wait_for_answers()
            holds(f"pages that nobody reads, with {field}")
        for number in range(200):
            connections.upgrade(people[number % 12])
        for number in range(60):
            for person in people[:4]:
                Connection(relay, person).save(record(f"p{number % 8}", "x" * 60_000))
        holds("pushes that nobody reads")
        wait_until(lambda: memory(relay, "VmRSS") < base + 24, lambda: (
            f"{memory(relay, 'VmRSS'):.0f} MiB stay taken of {base:.0f} at rest, which"))


def story_one_account_leaves_room_for_the_others():
    """One account requests pages on 200 connections and reads none of them. Only that account is
    refused; another one is answered throughout."""
    with Relay("--loops", "1", "--limits", f"bodyBudgetBytes={BUDGET}M") as relay, \
            contextlib.ExitStack() as stack:
        greedy, modest = Person.new(relay), Person.new(relay)
        for person in (greedy, modest):
            line = Connection(relay, person)
            for number in range(3):
                expect(line.save(record(f"r{number}", "x" * 900_000)), 200)
        connections = Connections(relay, stack)
        other = Connection(relay, modest)
        for _ in range(20):
            for _ in range(10):
                connections.get(greedy, "/v1/changes")
            page = expect(other.request("GET", "/v1/changes"), 200).json
            assert page["changes"], page
        expect(Connection(relay, greedy).request("GET", "/v1/changes"), 429, "tooManyRequests")
        connections.close_all()
        wait_until(
            lambda: Connection(relay, greedy).request("GET", "/v1/changes").status == 200,
            "an answer once he has let go of the others")


def story_a_poll_of_a_client_that_says_nothing_more_is_answered():
    """A long-poll whose client closes its sending side gets an empty page at once."""
    with Relay() as relay, contextlib.ExitStack() as stack:
        person = Person.new(relay)
        token = person.changes().json["token"]
        connections = Connections(relay, stack)
        line = connections.get(person, f"/v1/changes?wait=50&since={token}")
        line.shutdown(socket.SHUT_WR)
        answer = b""
        while more := line.recv(4_096):
            answer += more
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        page = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert page["changes"] == [] and page["token"] == token, page


def story_a_small_limit_of_open_files_is_shared_out():
    """With 256 files a relay serves a hundred devices; with 64 it refuses to start and names what
    it needs."""
    def limited(count):
        return ["sh", "-c", f'ulimit -n {count}; "$@"; exit $?', "sh"]

    with Relay(wrapper=limited(256)) as relay, contextlib.ExitStack() as stack:
        assert "at most 1" in relay.text() and "at most 1 " not in relay.text(), relay.text()
        person = Person.new(relay)
        connections = Connections(relay, stack)
        for _ in range(90):
            connections.upgrade(person)
        assert person.changes().status == 200
    with folder() as store:
        refused(
            "relay", "--listen", "127.0.0.1:0", "--store", store, says="may open 64 files",
            wrapper=limited(64))


if __name__ == "__main__":
    main(globals())
