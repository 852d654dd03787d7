"""The four transports share one cursor: a client can change from one to another at any moment."""

import asyncio
import http.client
import json
import random
import socket
import struct
import threading
import time
import uuid

import websockets

from story import PATIENCE, Person, Relay, main, now

SAVES = 400
# A slow client keeps the writers running for a while.
TURNS, SAVES_AT_MOST = 30, 20_000
NAMES = 60


class Writer(threading.Thread):
    """Saves as fast as the relay answers, with a short pause now and then; a save without an answer
    is sent again, with the same id."""

    def __init__(self, person, seed):
        super().__init__(daemon=True)
        self.person, self.random = person, random.Random(seed)
        self.records, self.fault = 0, None
        self.may_end = threading.Event()

    def run(self):
        try:
            for number in range(SAVES_AT_MOST):
                if number >= SAVES and self.may_end.is_set():
                    return
                self.save(number)
                time.sleep(self.random.choice([0, 0, 0.001, 0.01]))
        except Exception as fault:
            self.fault = fault

    def save(self, number):
        names = self.random.sample(range(NAMES), self.random.randint(1, 5))
        size = 70_000 if self.random.random() < 0.03 else 20
        records = [self.one(f"r{name}", number, size) for name in names]
        body = json.dumps({"id": str(uuid.uuid4()), "records": records})
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                connection = http.client.HTTPConnection(
                    "127.0.0.1", self.person.relay.port, timeout=PATIENCE)
                connection.request("POST", "/v1/zones/Notes/records", body, {
                    "Authorization": f"Bearer {self.person.token}",
                    "Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                assert answer.status in (200, 503), (answer.status, text)
                if answer.status == 200:
                    self.records += len(records)
                    return
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline, "a save was not answered"
            time.sleep(0.02)
            connection.close()

    def one(self, name, number, size):
        if self.random.random() < 0.15:
            return {"name": name, "deleted": True, "modifiedAt": now()}
        fields = {"number": number, "text": "x" * size}
        return {"name": name, "type": "Note", "fields": fields, "modifiedAt": now(),
                "baseTag": "any"}


class TransportEnded(Exception):
    """The connection has ended, or the time for this transport is over."""


class SwitchingClient:
    """A device with a cursor and the records that it covers, which follows the rules of the
    protocol."""

    def __init__(self, person, seed):
        self.person, self.random = person, random.Random(seed)
        self.cursor, self.records = None, {}
        self.pages = {"socket": 0, "events": 0, "long-poll": 0, "poll": 0}
        self.must_fetch, self.gaps = False, 0
        self.transport, self.until = None, 0

    def use_one_transport(self):
        """Uses one transport for a moment, and then cuts it."""
        self.transport = self.random.choice(list(self.pages))
        self.until = time.monotonic() + self.random.choice([0.002, 0.02, 0.1, 0.25])
        try:
            {"socket": self.by_socket, "events": self.by_events,
             "long-poll": self.by_long_poll, "poll": self.by_poll}[self.transport]()
        except (TransportEnded, OSError, http.client.HTTPException, websockets.WebSocketException,
                asyncio.TimeoutError):
            pass

    # Incoming changes.

    def apply_page(self, page):
        if page["since"] != self.cursor and not self.overlaps(page):
            if not self.is_passed(page["token"]):
                self.gaps += 1
                self.must_fetch = True
            return
        self.pages[self.transport] += 1 if page["changes"] else 0
        for each in page["changes"]:
            if self.records.get(each["name"], {"tag": 0})["tag"] < each["tag"]:
                self.records[each["name"]] = each
        self.cursor = page["token"]

    @staticmethod
    def sequence(token):
        """Sequence in a token of the whole account; None in the middle of a snapshot."""
        parts = token.split(".")
        return int(parts[1]) if len(parts) == 2 else None

    def is_passed(self, token):
        here, there = self.cursor and self.sequence(self.cursor), self.sequence(token)
        return here is not None and there is not None and there <= here

    def overlaps(self, page):
        if not self.cursor or not page["since"]:
            return False
        places = [self.sequence(page["since"]), self.sequence(self.cursor),
                  self.sequence(page["token"])]
        return None not in places and places == sorted(places)

    def handle_hint(self, token):
        if not self.is_passed(token):
            self.must_fetch = True

    # Transports.

    def remaining_seconds(self):
        rest = self.until - time.monotonic()
        if rest <= 0:
            raise TransportEnded()
        return rest

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.person.relay.port)
        connection.timeout = self.remaining_seconds()
        connection.connect()
        if self.random.random() < 0.5:
            # Cut without a close.
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return connection

    def fetch(self, connection, wait=None):
        query = f"limit={self.random.choice([3, 1000])}"
        if wait is not None:
            query += f"&wait={wait}"
        if self.cursor:
            query += f"&since={self.cursor}"
        connection.sock.settimeout(self.remaining_seconds())
        connection.request(
            "GET", f"/v1/changes?{query}", headers={"Authorization": f"Bearer {self.person.token}"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == 503:
            raise TransportEnded()
        assert answer.status == 200, (answer.status, text)
        self.must_fetch = False
        page = json.loads(text)
        self.apply_page(page)
        return page

    def by_poll(self):
        connection = self.connect()
        try:
            while self.fetch(connection)["more"]:
                pass
        finally:
            connection.close()

    def by_long_poll(self):
        connection = self.connect()
        try:
            while True:
                self.fetch(connection, wait=30)
        finally:
            connection.close()

    def by_events(self):
        connection, fetching = self.connect(), None
        try:
            headers = {"Authorization": f"Bearer {self.person.token}"}
            path = "/v1/events"
            if self.cursor and self.random.random() < 0.5:
                headers["Last-Event-ID"] = self.cursor
            elif self.cursor:
                path += f"?since={self.cursor}"
            told = self.cursor
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status == 503:
                raise TransportEnded()
            assert answer.status == 200, (answer.status, answer.read())
            while True:
                name, id, data = self.event(connection, answer)
                if name == "changes":
                    assert id == data["token"], (id, data["token"])
                    assert told in (None, data["since"]), f"{data['since']} behind {told}"
                    told = data["token"]
                    self.apply_page(data)
                elif name == "changed":
                    self.handle_hint(data["token"])
                else:
                    raise TransportEnded()
                if self.must_fetch:
                    fetching = fetching or self.connect()
                    while self.fetch(fetching)["more"]:
                        pass
        finally:
            connection.close()
            if fetching:
                fetching.close()

    def event(self, connection, answer):
        name, id, data = None, None, None
        while True:
            connection.sock and connection.sock.settimeout(self.remaining_seconds())
            line = answer.readline()
            if not line:
                raise TransportEnded()
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                id = value
            elif field == "data":
                data = json.loads(value)
            elif not field and name:
                return name, id, data

    def by_socket(self):
        asyncio.run(self.on_socket())

    async def on_socket(self):
        url = f"ws://127.0.0.1:{self.person.relay.port}/v1/socket"
        rest = self.remaining_seconds()
        connection = await asyncio.wait_for(websockets.connect(url, max_size=8 << 20), rest)
        try:
            hello = {"op": "hello", "token": self.person.token}
            if self.cursor and self.random.random() < 0.8:
                hello["since"] = self.cursor
            self.must_fetch, fetches = "since" not in hello, 0
            await connection.send(json.dumps(hello))
            while True:
                if self.must_fetch and fetches == 0:
                    self.must_fetch, fetches = False, 1
                    fetch = {"op": "fetch", "id": "f"}
                    if self.cursor:
                        fetch["since"] = self.cursor
                    await connection.send(json.dumps(fetch))
                rest = self.remaining_seconds()
                message = json.loads(await asyncio.wait_for(connection.recv(), rest))
                if message["op"] == "changes":
                    self.apply_page(message)
                    if message.get("id"):
                        fetches = 0
                        self.must_fetch = self.must_fetch or message["more"]
                elif message["op"] == "changed":
                    self.handle_hint(message["token"])
                else:
                    assert message["op"] == "welcome", message
        finally:
            connection.transport.abort()


def story_a_client_that_changes_its_transport_at_any_moment_misses_nothing():
    """A device changes between socket, events, long-poll and poll, and is cut off at any point,
    while two others save; the relay itself is killed once. At the end it holds the same records as
    the relay."""
    with Relay() as relay:
        one = Person.new(relay)
        writers = [Writer(one, 1), Writer(one.pair(), 2)]
        wanderer = SwitchingClient(one.pair(), 3)
        for writer in writers:
            writer.start()
        is_killed, turns = False, 0
        while any(writer.is_alive() for writer in writers):
            wanderer.use_one_transport()
            turns += 1
            if turns == TURNS:
                for writer in writers:
                    writer.may_end.set()
            if not is_killed and sum(writer.records for writer in writers) > SAVES:
                is_killed = True
                relay.kill()
                relay.start()
        for writer in writers:
            assert writer.fault is None, writer.fault
        assert is_killed and turns >= TURNS, turns
        newest = one.changes(since=wanderer.cursor).json
        deadline = time.monotonic() + PATIENCE
        while wanderer.cursor != newest["token"]:
            assert time.monotonic() < deadline, (wanderer.cursor, newest["token"])
            wanderer.use_one_transport()
        stored, token = {}, None
        while True:
            page = one.changes(**({"since": token} if token else {})).json
            stored |= {each["name"]: each for each in page["changes"]}
            token = page["token"]
            if not page["more"]:
                break
        held = {name: each for name, each in wanderer.records.items() if not each["deleted"]}
        assert held == stored, (
            [name for name in held | stored if held.get(name) != stored.get(name)])
        assert sum(writer.records for writer in writers) > 1_000
        assert all(wanderer.pages.values()), wanderer.pages


if __name__ == "__main__":
    main(globals())
