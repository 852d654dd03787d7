"""Rules of docs/protocol.md, "WebSocket", that websocket_stories does not cover, and the time
after which silence is detected.

The story of each sentence:

| sentence | story |
| --- | --- |
| JSON text frames; binary is 1003, too much 1009, malformed 4400 | websocket: bad_messages_close_one_connection… |
| The token may come in the header, or in `hello`, within 5 s | websocket: the_token_can_come…, who_does_not_say_hello… |
| The messages and their members | messages_have_these_members |
| `since` is the cursor before, `token` the one after | websocket: the_chain_of_cursors_has_no_gap |
| `saved` is a link; earlier changes come first | a_save_and_a_fetch_at_once_keep_the_chain |
| An HTTP save's `since` is the newest token before it | messages_have_these_members |
| `welcome.token` is no cursor; only hints until the first fetch | websocket: without_a_cursor… |
| Missed changes come first | websocket: what_was_missed_comes_first |
| An unusable `since`: `error`, then continue without a cursor | a_cursor_that_cannot_be_followed |
| A fetch of one zone does not change the cursor | a_fetch_of_one_zone_leaves_the_cursor_alone |
| The subprotocol is echoed if offered | the_subprotocol_is_echoed… |
| A hint names the newest token, and again each newer one | hints_name_the_newest_alone |
| A push goes to all but the connection that saved | websocket: a_push_reaches…, two_tabs_are_two_connections |
| Over 64 KiB: `changed`, and a fetch | websocket: a_large_change…, bad_input: a_push_of_64_kib… |
| A slow device misses nothing and costs bounded memory | websocket: a_device_that_does_not_read…, a_slow_device_costs_bounded_memory |
| Pings every `keepAlive`; two missed, and the connection is dropped | silence_is_noticed |
| A browser sends `time` | websocket: a_refused_request_names_itself… |
| 1012 at a restart, 4501 for a revoked device | websocket: a_restart_says_so, a_revoked_device… |
| 4502 without a plan | account: the stories of plans |
| Codes on the device's side | device: close_codes_say_whether_to_come_back |
| All transports share one cursor | any_transport_at_any_moment_misses_nothing |
"""

import asyncio
import http.client
import itertools
import json
import random
import threading
import time
import uuid

import websockets

from story import PATIENCE, Person, Relay, expect, main, now, record
from websocket_stories import Socket, play

RECORD = {"zone", "name", "type", "fields", "modifiedAt", "device", "tag", "deleted"}


def story_messages_have_these_members():
    """Each message of the relay, to the letter; and the same data over HTTP."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        before = person.changes().json["token"]
        saved = expect(person.save(record("a")), 200).json
        assert set(saved) == {"since", "token", "results"} and saved["since"] == before
        again = expect(person.save(record("b")), 200).json
        assert again["since"] == saved["token"], (saved, again)
        socket = await Socket.open(other, since=again["token"])
        assert set(socket.welcome) == {
            "op", "accountID", "deviceID", "token", "time", "keepAlive"}, socket.welcome
        assert socket.welcome["token"] == again["token"]
        assert all(type(socket.welcome[name]) is int for name in ("time", "keepAlive"))
        person.save(record("c"))
        push = await socket.receive("changes")
        assert set(push) == {"op", "since", "token", "more", "changes"}, push
        assert set(push["changes"][0]) == RECORD, push
        person.save({"name": "c", "deleted": True, "modifiedAt": now()})
        gone = (await socket.receive("changes"))["changes"][0]
        assert set(gone) == RECORD and gone["fields"] is None and gone["deleted"] is True
        assert gone["type"] == "Note" and gone["device"] == person.device, gone
        await socket.send({"op": "fetch", "id": "f", "since": push["token"]})
        page = await socket.receive("changes")
        assert set(page) == {"op", "id", "since", "token", "more", "changes"}, page
        assert page["id"] == "f" and page["since"] == push["token"]
        id = await socket.save(record("a", baseTag=7), record("d"),
                               {**record("e"), "modifiedAt": now() + 60_000})
        answer = await socket.receive("saved")
        assert set(answer) == {"op", "id", "since", "token", "results"} and answer["id"] == id
        conflict, done, fault = answer["results"]
        assert set(conflict) == {"name", "conflict"} and set(conflict["conflict"]) == RECORD
        assert done == {"name": "d", "tag": 5}, done
        assert set(fault) == {"name", "error"}
        assert set(fault["error"]) == {"type", "title", "status", "code", "detail", "time"}, fault
        assert fault["error"]["status"] == 422
        person.save(record("large", "x" * 100_000))
        hint = await socket.receive("changed")
        assert set(hint) == {"op", "token"}, hint
        await socket.send({"op": "time", "id": "t", "t0": 1})
        told = await socket.receive("time")
        assert set(told) == {"op", "id", "t0", "t1", "t2"}, told
        await socket.send({"op": "fetch", "id": "g", "since": "nonsense"})
        error = await socket.receive("error")
        assert set(error) == {"op", "id", "code", "detail"}, error

    play(scene)


def story_a_cursor_that_cannot_be_followed():
    """`hello` with a foreign cursor, or one of a zone: an error without an id has the reason; then
    only hints, until a fetch gives a cursor."""
    async def scene(relay):
        person, stranger = Person.new(relay), Person.new(relay)
        other = person.pair()
        person.save(record("a"))
        for since, code in [(stranger.changes().json["token"], "badChangeToken"),
                            (person.changes(zone="Notes").json["token"], "filterChanged")]:
            socket = await Socket.open(other, since=since)
            error = await socket.receive("error")
            assert error["code"] == code and "id" not in error and error["detail"], error
            hinted = person.save(record("b")).json["token"]
            hint = await socket.receive("changed")
            assert hint["token"] == hinted, hint
            await socket.send({"op": "fetch", "id": "f"})
            page = await socket.receive("changes")
            assert page["token"] == hinted and page["id"] == "f", page
            person.save(record("c"))
            push = await socket.receive("changes")
            assert push["since"] == page["token"] and "id" not in push, push

    play(scene)


def story_a_fetch_of_one_zone_leaves_the_cursor_alone():
    """A device reads one zone: its cursor does not change, and pushes continue from there."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        person.save(record("a"), zone="One")
        start = person.save(record("b"), zone="Two").json["token"]
        socket = await Socket.open(other, since=start)
        await socket.send({"op": "fetch", "id": "z", "zone": "One"})
        page = await socket.receive("changes")
        assert [each["name"] for each in page["changes"]] == ["a"] and page["token"] != start, page
        person.save(record("c"), zone="Two")
        push = await socket.receive("changes")
        assert push["since"] == start and [each["name"] for each in push["changes"]] == ["c"], push
        await socket.send({"op": "fetch", "id": "y", "zone": "One", "since": page["token"]})
        assert (await socket.receive("changes"))["changes"] == []
        await socket.send({"op": "fetch", "id": "x", "zone": "Two", "since": page["token"]})
        assert (await socket.receive("error"))["code"] == "filterChanged"

    play(scene)


def story_two_tabs_are_two_connections():
    """The same device twice: a save on one connection is pushed to the other, and only answered on
    the first."""
    async def scene(relay):
        person = Person.new(relay)
        start = person.changes().json["token"]
        one, two = [await Socket.open(person, since=start) for _ in range(2)]
        for number in range(20):
            saver, other = (one, two) if number % 2 else (two, one)
            await saver.save(record(f"r{number}"))
            answer = await saver.receive("saved")
            push = await other.receive("changes")
            assert (push["since"], push["token"]) == (answer["since"], answer["token"])
            assert [each["name"] for each in push["changes"]] == [f"r{number}"]

    play(scene)


def story_a_save_and_a_fetch_at_once_keep_the_chain():
    """A client that does not wait for its answers, while two others save: every message follows the
    cursor, or is a `saved` that does not move it."""
    async def scene(relay):
        dice = random.Random(3)
        person = Person.new(relay)
        start = person.changes().json["token"]
        socket = await Socket.open(person, since=start)
        others = [await Socket.open(person.pair()) for _ in range(2)]
        cursor, seen, mine = start, set(), set()
        unmoved = 0
        for round in range(80):
            wanted = set()
            last = [await each.save(record(f"o{round}-{n}")) for n, each in enumerate(others)]
            for op in dice.sample(["save", "fetch"], 2):
                if op == "save":
                    mine.add(f"m{round}")
                    wanted.add(await socket.save(record(f"m{round}")))
                else:
                    await socket.send({"op": "fetch", "id": f"f{round}", "since": cursor})
                    wanted.add(f"f{round}")
            while wanted:
                message = await socket.receive()
                if message["op"] == "changed":
                    continue
                if message["op"] == "saved" and message["since"] == message["token"]:
                    unmoved += 1
                elif message["op"] == "saved":
                    assert message["since"] == cursor, (cursor, message)
                    cursor = message["token"]
                else:
                    # A fetch names its own cursor; the changes in its answer follow that cursor.
                    assert message["since"] == cursor or "id" in message, (cursor, message)
                    assert message["more"] is False
                    cursor = message["token"]
                    seen |= {each["name"] for each in message["changes"]}
                wanted.discard(message.get("id"))
        for each, save in zip(others, last):
            while (await each.receive()).get("id") != save:
                pass
        await socket.send({"op": "fetch", "id": "end", "since": cursor})
        while (message := await socket.receive()).get("id") != "end":
            seen |= {each["name"] for each in message.get("changes", [])}
        seen |= {each["name"] for each in message["changes"]}
        lacking = {f"o{n}-{k}" for n in range(80) for k in range(2)} - seen
        assert not lacking, sorted(lacking)
        assert unmoved < 80

    play(scene, "--loops", "2")


def story_a_slow_device_costs_bounded_memory():
    """A device stops reading while 30 MB are pushed: the relay's memory does not grow with them."""
    async def scene(relay):
        def resident():
            with open(f"/proc/{relay.id}/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

        person = Person.new(relay)
        start = person.changes().json["token"]
        slow = await Socket.open(person.pair(), since=start, max_queue=1, read_limit=1024)
        slow.connection.transport.pause_reading()
        quick = await Socket.open(person, since=start)
        for number in range(100):
            await quick.save(record(f"r{number % 50}", "x" * 30_000))
            await quick.receive("saved")
        before = resident()
        for number in range(900):
            await quick.save(record(f"r{number % 50}", "x" * 30_000))
            await quick.receive("saved")
        grown = resident() - before
        assert grown < 16_000, f"{grown} kB more for 27 MB that nobody read"

    play(scene)


def story_silence_is_noticed():
    """A ping every keepAlive; a client that answers stays, one that misses two is dropped; streams
    get comments."""
    async def scene(relay):
        person = Person.new(relay)
        good = await Socket.open(person.pair(), ping_interval=None)
        assert good.welcome["keepAlive"] == 500
        bad = await Socket.open(person, ping_interval=None)
        pings = []
        # This client receives pings and does not answer.
        bad.connection.pong = lambda data=b"": pings.append(time.monotonic()) or asyncio.sleep(0)
        begun = time.monotonic()
        assert await bad.closed() in (1006, None)
        assert time.monotonic() - begun > 1.2, "it was dropped before it had missed two"
        assert len(pings) >= 2, pings
        await good.send({"op": "time", "id": "t", "t0": 1})
        assert (await good.receive("time"))["id"] == "t"

    play(scene, "--keep-alive", "0.5")


def story_the_subprotocol_is_echoed_where_it_is_offered():
    """Alone, among others, or not at all; an unknown one is not echoed, and the socket works."""
    async def scene(relay):
        person = Person.new(relay)
        url = relay.address.replace("http", "ws") + "/v1/socket"
        for offered, echoed in [(["lockstep.v1"], "lockstep.v1"), (["x", "lockstep.v1"], "lockstep.v1"),
                                (None, None), (["lockstep.v2"], None)]:
            connection = await websockets.connect(url, subprotocols=offered)
            assert connection.subprotocol == echoed, (offered, connection.subprotocol)
            socket = Socket(person, connection)
            await socket.send({"op": "hello", "token": person.token})
            await socket.receive("welcome")

    play(scene)


def story_hints_name_the_newest_alone():
    """A device without a cursor receives `changed` for each newer token, never for an older one,
    and the last is the newest; a device with a slow connection receives fewer."""
    async def scene(relay):
        person = Person.new(relay)
        socket = await Socket.open(person.pair())
        for number in range(20):
            token = person.save(record(f"r{number}")).json["token"]
            assert await socket.receive() == {"op": "changed", "token": token}
        slow = await Socket.open(person.pair(), max_queue=1, read_limit=1024)
        slow.connection.transport.pause_reading()
        given = [person.save(record(f"s{number}")).json["token"] for number in range(50)]
        slow.connection.transport.resume_reading()
        received = []
        while not received or received[-1] != given[-1]:
            received.append((await slow.receive("changed"))["token"])
        assert received == [token for token in given if token in received], received

    play(scene)


def story_a_fetch_on_a_socket_is_as_one_by_http():
    """`limit`, `zone`, a snapshot page by page with saves in between: the same pages; a limit above
    a thousand counts as a thousand."""
    async def scene(relay):
        person = Person.new(relay)
        for batch in range(3):
            expect(person.save(*[record(f"r{batch}-{n}") for n in range(400)], zone="AB"[batch % 2]), 200)
        socket = await Socket.open(person)
        for query, count in [({"limit": 1}, 1), ({"limit": 1000}, 1000), ({"limit": 5000}, 1000), ({}, 1000),
                             ({"zone": "B"}, 400), ({"zone": "A", "limit": 10}, 10), ({"zone": "C"}, 0)]:
            await socket.send({"op": "fetch", "id": "f", **query})
            page = await socket.receive("changes")
            assert page.pop("id") == "f" and page.pop("op") == "changes"
            assert len(page["changes"]) == count, (query, len(page["changes"]))
            assert expect(person.changes(**query), 200).json == page, query
        await socket.send({"op": "fetch", "id": "f", "limit": 700})
        page = await socket.receive("changes")
        person.save(record("between"))
        rest = expect(person.changes(since=page["token"]), 200).json
        await socket.send({"op": "fetch", "id": "g", "since": page["token"]})
        while (message := await socket.receive()).get("id") != "g":
            pass
        assert message["changes"] == rest["changes"] and len(rest["changes"]) == 500, message

    play(scene)


class Replica:
    """A client that keeps a copy of the account, by any transport, from one cursor."""

    def __init__(self, person):
        self.person, self.cursor, self.held, self.transports = person, None, {}, {}

    def apply_page(self, page, transport):
        """Applies a page; returns False if it does not follow the cursor."""
        if page["since"] != self.cursor:
            return False
        for each in page["changes"]:
            key = each["zone"], each["name"]
            assert each["tag"] > self.held.get(key, {"tag": 0})["tag"], each
            self.held[key] = each
        self.transports[transport] = self.transports.get(transport, 0) + len(page["changes"])
        self.cursor = page["token"]
        return True

    def poll(self, transport="poll", **query):
        since = {"since": self.cursor} if self.cursor else {}
        page = expect(self.person.changes(**since, **query), 200).json
        assert self.apply_page(page, transport), (self.cursor, page)
        return page["more"]

    def events(self, count):
        connection = http.client.HTTPConnection("127.0.0.1", self.person.relay.port, timeout=PATIENCE)
        connection.request("GET", "/v1/events", headers={
            "Authorization": f"Bearer {self.person.token}", "Last-Event-ID": self.cursor})
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        kind = None
        while count > 0:
            line = answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[len("event: "):]
            elif line.startswith("data: "):
                count -= 1
                page = json.loads(line.removeprefix("data: "))
                if kind != "changes" or not self.apply_page(page, "events"):
                    break
        # Anything else that had arrived is lost with the connection.
        connection.close()

    async def socket(self, count):
        socket = await Socket.open(self.person, since=self.cursor)
        for _ in range(count):
            message = await socket.receive()
            if message["op"] != "changes" or not self.apply_page(message, "socket"):
                break
        socket.connection.transport.abort()
        Socket.opened.remove(socket.connection)


def story_any_transport_at_any_moment_misses_nothing():
    """Thousands of records are saved, changed and deleted; a client changes between polls,
    long-polls, streams and sockets at random, with one cursor, and ends with the complete
    contents."""
    with Relay("--loops", "2") as relay:
        dice, person = random.Random(9), Person.new(relay)
        reader = Replica(person.pair())
        done, ended = threading.Event(), threading.Event()

        def save():
            connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=PATIENCE)
            for number in itertools.count():
                if number == 1_500:
                    done.set()
                # A few more, so that a client that still listens receives something.
                if done.is_set() and ended.wait(0.02):
                    return
                names = dice.sample(range(200), dice.choice([1, 1, 2, 5]))
                records = [{"name": f"n{name}", "deleted": True, "modifiedAt": 1}
                           if dice.random() < 0.2 else record(f"n{name}", f"{number}")
                           for name in names]
                connection.request(
                    "POST", f"/v1/zones/{dice.choice('AB')}/records",
                    json.dumps({"id": str(uuid.uuid4()), "records": records}),
                    {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json"})
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()

        saver = threading.Thread(target=save, daemon=True)
        saver.start()
        transport = random.Random(10)
        reader.poll(limit=7)
        while not done.is_set():
            turn = transport.randrange(4)
            if turn == 0:
                reader.poll(limit=transport.choice([1, 10, 1000]))
            elif turn == 1:
                reader.poll("long-poll", wait=1)
            elif turn == 2:
                reader.events(transport.randrange(1, 30))
            else:
                asyncio.run(reader.socket(transport.randrange(1, 30)))
        ended.set()
        saver.join(PATIENCE)
        while reader.poll(limit=1000):
            pass
        fresh = Replica(person)
        while fresh.poll(limit=1000):
            pass
        assert len(fresh.held) > 100
        live = {key: each for key, each in reader.held.items() if not each["deleted"]}
        assert live == fresh.held
        assert all(reader.transports.get(each, 0) > 20 for each in ("poll", "long-poll", "events", "socket")), (
            reader.transports)


if __name__ == "__main__":
    main(globals())
