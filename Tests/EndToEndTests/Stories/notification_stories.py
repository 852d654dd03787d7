"""Events that wake or disconnect a device: subscriptions, zones, plans and revocation on every kind
of connection, by curl and Python's `websockets`."""

import json
import queue
import socket as sockets
import subprocess
import threading
import uuid

import websockets

from story import PATIENCE, Person, Relay, curl, expect, main, record, run, wait_until
from websocket_stories import Socket, play


class PendingRequest:
    """A request by curl that is answered later: a long-poll."""

    def __init__(self, person, path):
        self.process = subprocess.Popen(
            ["curl", "--silent", "--max-time", str(PATIENCE), "--write-out", "\n%{http_code}",
             "--header", f"Authorization: Bearer {person.token}", person.relay.address + path],
            stdout=subprocess.PIPE)

    def answer(self):
        """Status and body."""
        body, _, status = self.process.communicate(timeout=PATIENCE)[0].decode().rpartition("\n")
        return int(status), json.loads(body)

    @property
    def is_pending(self):
        return self.process.poll() is None


class Stream:
    """Server-sent events by curl, as they arrive: pairs of a kind and its data; None at the end."""

    def __init__(self, person, since):
        self.process = subprocess.Popen(
            ["curl", "--silent", "--no-buffer", "--max-time", str(PATIENCE),
             "--header", f"Authorization: Bearer {person.token}",
             f"{person.relay.address}/v1/events?since={since}"], stdout=subprocess.PIPE, text=True)
        self.events = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        # The first event contains the current token.
        self.first = self.receive("changes")

    def read(self):
        kind, data = None, []
        for line in self.process.stdout:
            name, _, value = line.rstrip("\n").partition(":")
            if name == "event":
                kind = value.strip()
            elif name == "data":
                data.append(value.strip())
            elif not line.strip():
                if data:
                    self.events.put((kind, json.loads("".join(data))))
                kind, data = None, []
        self.events.put((None, None))

    def receive(self, kind):
        found, data = self.events.get(timeout=PATIENCE)
        assert found == kind, (found, data)
        return data


class RawConnection:
    """A raw connection, for what curl does not do."""

    def __init__(self, relay, *parts):
        self.socket = sockets.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
        for part in parts:
            self.socket.sendall(part)
        self.incoming = b""

    def receive(self, count):
        """Reads this many answers; returns their statuses."""
        def statuses():
            lines = self.incoming.split(b"\r\n")
            return [int(line.split()[1]) for line in lines if line.startswith(b"HTTP/1.1 ")]

        while len(statuses()) < count or b"\r\n\r\n" not in self.incoming:
            part = self.socket.recv(65536)
            assert part, f"the relay closed after {self.incoming!r}"
            self.incoming += part
        return statuses()

    def rest(self):
        """Reads until the relay closes."""
        while part := self.socket.recv(65536):
            self.incoming += part
        self.socket.close()
        return self.incoming


def request(person, method, path, body=b"", promised=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {person.token}"]
    if body or promised:
        lines += ["Content-Type: application/json", f"Content-Length: {promised or len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def subscribe(person, id, status=201, **body):
    return expect(person.call("PUT", f"/v1/subscriptions/{id}", body), status).json


def names(page):
    return [each["name"] for each in page["changes"]]


def story_subscriptions_are_made_read_replaced_and_removed():
    """By curl: each call of the table, and its errors."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        expect(person.call("GET", "/v1/subscriptions/notes"), 404, "notFound")
        made = subscribe(person, "notes", kind="zone", zone="Notes")
        assert made == {"id": "notes", "kind": "zone", "zone": "Notes"}, made
        query = {"kind": "query", "recordType": "Note", "where": {"done": False}}
        replaced = subscribe(person, "notes", status=200, **query)
        assert replaced == {"id": "notes", **query, "events": ["create", "update", "delete"]}
        assert expect(person.call("GET", "/v1/subscriptions/notes"), 200).json == replaced
        subscribe(person, "a%2Fb", kind="database")
        listed = expect(person.call("GET", "/v1/subscriptions"), 200).json["subscriptions"]
        assert [each["id"] for each in listed] == ["a/b", "notes"], listed
        assert other.call("GET", "/v1/subscriptions").json == {"subscriptions": []}
        for body in [
            {}, {"kind": "zones"}, {"kind": "zone"}, {"kind": "query"},
            {**query, "events": []}, {**query, "events": ["made"]}, {**query, "where": []},
            {**query, "where": {f"f{n}": n for n in range(17)}},
        ]:
            expect(person.call("PUT", "/v1/subscriptions/x", body), 400, "badRequest")
        expect(person.call("PUT", "/v1/subscriptions/x", {"kind": "zone", "zone": ""}), 400,
               "badName")
        expect(person.call("PUT", "/v1/subscriptions/", {"kind": "database"}), 400, "badName")
        expect(person.call("DELETE", "/v1/subscriptions/notes"), 204)
        expect(person.call("DELETE", "/v1/subscriptions/notes"), 404, "notFound")
        for number in range(63):
            subscribe(person, f"s{number}", kind="database")
        expect(person.call("PUT", "/v1/subscriptions/more", {"kind": "database"}), 403,
               "tooManySubscriptions")
        expect(curl(relay, "GET", "/v1/subscriptions"), 401, "badToken")


def story_a_socket_is_woken_by_what_it_subscribed_to():
    """Two devices; one subscribes to a zone. It does not receive other changes, and with the next
    matching one it receives all since its cursor, once each; the other receives everything."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        start = person.changes().json["token"]
        subscribe(person, "s", kind="zone", zone="Work")
        waiting = await Socket.open(person, since=start)
        hinted = await Socket.open(person)
        plain = await Socket.open(other, since=start)
        other.save(record("a", "1"), zone="Home")
        other.save(record("a", "2"), record("b"), zone="Home")
        for _ in range(2):
            await plain.receive("changes")
        # Anything sent earlier would arrive before this.
        for each in (waiting, hinted):
            await each.send({"op": "time", "id": "t", "t0": 1})
            await each.receive("time")
        other.save(record("c"), zone="Work")
        page = await waiting.receive("changes")
        assert page["since"] == start and names(page) == ["a", "b", "c"], page
        assert page["changes"][0]["fields"] == {"text": "2"}
        assert (await hinted.receive("changed"))["token"] == page["token"]
        assert names(await plain.receive("changes")) == ["c"]
        # An own save is a link in the chain, and earlier changes come before it.
        other.save(record("d"), zone="Home")
        await plain.receive("changes")
        await waiting.save(record("own"), zone="Home")
        before = await waiting.receive("changes")
        assert before["since"] == page["token"] and names(before)[0] == "d", before
        saved = await waiting.receive("saved")
        assert saved["since"] == before["token"], (before, saved)

    play(scene)


def story_a_query_looks_at_events_and_at_the_new_version():
    """A record is created, changed until it matches, and deleted."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        start = person.changes().json["token"]
        subscribe(person, "done", kind="query", recordType="Note", where={"done": True, "n": 1},
                  events=["update"])
        waiting = await Socket.open(person, since=start)

        def save(name, **fields):
            expect(other.save({**record(name), "fields": fields}), 200)

        save("made", done=True, n=1)
        save("other", done=True, n=1)
        save("other", done=False, n=1)
        save("other", n=1)
        await waiting.send({"op": "time", "id": "t", "t0": 1})
        await waiting.receive("time")
        save("other", done=True, n=1.0)
        page = await waiting.receive("changes")
        assert names(page) == ["made", "other"], page
        subscribe(person, "done", status=200, kind="query", recordType="Note",
                  where={"done": True}, events=["delete"])
        save("other", done=True)
        expect(other.save({"name": "made", "deleted": True, "modifiedAt": 1}), 200)
        page = await waiting.receive("changes")
        assert names(page) == ["other", "made"] and page["changes"][1]["deleted"], page

    play(scene)


def story_changed_subscriptions_hold_at_once():
    """On an open socket: another subscription, and none any more."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        start = person.changes().json["token"]
        waiting = await Socket.open(person, since=start)
        other.save(record("a"))
        assert names(await waiting.receive("changes")) == ["a"]
        subscribe(person, "s", kind="zone", zone="Elsewhere")
        other.save(record("b"))
        await waiting.send({"op": "time", "id": "t", "t0": 1})
        await waiting.receive("time")
        expect(person.call("DELETE", "/v1/subscriptions/s"), 204)
        received = names(await waiting.receive("changes"))
        other.save(record("c"))
        while len(received) < 2:
            received += names(await waiting.receive("changes"))
        assert received == ["b", "c"], received
        # Missed changes come first, whether they match or not.
        subscribe(person, "s", kind="zone", zone="Elsewhere")
        again = await Socket.open(person, since=start)
        assert names(await again.receive("changes")) == ["a", "b", "c"]

    play(scene)


def story_a_long_poll_answers_what_matches():
    """It ignores other changes, ends at its original token, and a plain fetch returns
    everything."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        start = person.changes().json["token"]
        subscribe(person, "s", kind="zone", zone="Work")
        sleeping = PendingRequest(person, f"/v1/changes?since={start}&wait=1")
        other.save(record("a"), zone="Home")
        status, page = sleeping.answer()
        assert (status, names(page)) == (200, []), page
        assert page["since"] == page["token"] == start and page["more"] is False, page
        status, page = PendingRequest(person, f"/v1/changes?since={start}&wait=1").answer()
        assert (names(page), page["token"]) == ([], start), page
        assert names(person.changes(since=start).json) == ["a"]
        waiting = PendingRequest(person, f"/v1/changes?since={start}&wait=60")
        others = PendingRequest(other, f"/v1/changes?since={start}&wait=60")
        assert names(others.answer()[1]) == ["a"]
        assert waiting.is_pending
        other.save(record("b"), zone="Work")
        status, page = waiting.answer()
        assert names(page) == ["a", "b"] and page["since"] == start, page
        # A match among existing changes is an answer at once.
        assert names(PendingRequest(person, f"/v1/changes?since={start}&wait=60").answer()[1]) == names(page)


def story_a_stream_is_woken_by_what_the_device_subscribed_to():
    """Server-sent events follow the same subscriptions, and changes of them."""
    with Relay() as relay:
        person = Person.new(relay)
        other = person.pair()
        start = person.changes().json["token"]
        subscribe(person, "s", kind="zone", zone="Work")
        waiting, plain = Stream(person, start), Stream(other, start)
        other.save(record("a"), zone="Home")
        assert names(plain.receive("changes")) == ["a"]
        other.save(record("b"), zone="Work")
        page = waiting.receive("changes")
        assert page["since"] == start and names(page) == ["a", "b"], page
        assert names(plain.receive("changes")) == ["b"]
        other.save(record("c"), zone="Home")
        assert names(plain.receive("changes")) == ["c"]
        expect(person.call("DELETE", "/v1/subscriptions/s"), 204)
        assert names(waiting.receive("changes")) == ["c"]


def story_a_revoked_device_is_cut_off_on_every_kind_of_connection():
    """Sockets before and after their hello, a long-poll with further requests behind it, a stream,
    an incomplete body, an upload, and an idle connection."""
    async def scene(relay):
        person = Person.new(relay)
        lost = person.pair("lost")
        start = lost.changes().json["token"]
        batch = json.dumps({"id": str(uuid.uuid4()), "records": [record("never")]}).encode()
        opened = [await Socket.open(lost, since=start), await Socket.open(lost)]
        silent = RawConnection(relay, request(lost, "GET", "/v1/socket").replace(
            b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"))
        assert silent.receive(1) == [101]
        stream = Stream(lost, start)
        kept = request(lost, "GET", "/v1/devices")
        poll = RawConnection(
            relay, kept, request(lost, "GET", f"/v1/changes?since={start}&wait=60") + kept)
        half = RawConnection(
            relay, kept,
            request(lost, "POST", "/v1/zones/Notes/records", batch[:-9], promised=len(batch)))
        upload = RawConnection(
            relay, kept,
            request(lost, "PUT", "/v1/chunks/" + "0" * 64, b"x" * 1000, promised=1_000_000))
        idle = RawConnection(relay, kept)
        for each in (poll, half, upload, idle):
            assert each.receive(1) == [200]
        listed = person.call("GET", "/v1/devices").json["devices"]
        assert [each["connected"] for each in listed if each["deviceID"] == lost.device] == [True]
        expect(person.call("DELETE", f"/v1/devices/{lost.device}"), 204)
        for each in opened:
            assert await each.closed() == 4501
        assert b"\x11\x95" in silent.rest(), silent.incoming
        problem = stream.receive("error")
        assert (problem["code"], problem["status"]) == ("badToken", 401), problem
        assert stream.receive(None) is None
        for each in (poll, half, upload):
            rest = each.rest()
            assert rest.count(b"HTTP/1.1 ") == 2, rest
            assert b"HTTP/1.1 401 " in rest and b'"code":"badToken"' in rest, rest
        assert idle.rest().count(b"HTTP/1.1 ") == 1
        expect(lost.call("GET", "/v1/devices"), 401, "badToken")
        assert names(person.changes().json) == []

    play(scene)


def story_a_plan_without_zones_turns_a_device_away():
    """Existing and new connections are refused, until the plan is restored; nothing saved is
    lost."""
    async def scene(relay):
        person = Person.new(relay)
        person.save(record("kept"))
        start = person.changes().json["token"]
        plan = lambda *words: run("account", "plan", person.account, *words, "--store", relay.store)
        opened = await Socket.open(person, since=start)
        stream = Stream(person, start)
        poll = PendingRequest(person, f"/v1/changes?since={start}&wait=60")
        wait_until(lambda: poll.is_pending, "the poll's beginning")
        plan("--none")
        assert await opened.closed() == 4502
        assert stream.receive("error")["code"] == "planRequired"
        assert stream.receive(None) is None
        assert poll.answer()[0] == 402
        again = Socket(
            person, await websockets.connect(relay.address.replace("http", "ws") + "/v1/socket"))
        await again.send({"op": "hello", "token": person.token, "since": start})
        assert await again.closed() == 4502
        for method, path in [
            ("GET", "/v1/changes"), ("GET", "/v1/events"), ("GET", "/v1/zones"),
            ("GET", "/v1/zones/Notes/records/kept"), ("GET", "/v1/subscriptions"),
        ]:
            expect(person.call(method, path), 402, "planRequired")
        expect(person.save(record("more")), 402, "planRequired")
        for path in ["/v1/devices", "/v1/time", "/v1/limits"]:
            expect(person.call("GET", path), 200)
        plan("--zones", "Other")
        back = await Socket.open(person, since=start)
        await back.save(record("more"))
        refused = await back.receive("error")
        assert refused["code"] == "planRequired" and refused["id"], refused
        assert names(person.changes().json) == ["kept"]
        await back.save(record("more"), zone="Other")
        await back.receive("saved")
        plan("--all")
        await back.save(record("more"))
        await back.receive("saved")

    play(scene)


if __name__ == "__main__":
    main(globals())
