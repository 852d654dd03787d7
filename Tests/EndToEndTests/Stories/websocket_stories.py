"""Rules of docs/protocol.md, "WebSocket", by Python's `websockets`."""

import asyncio
import json
import random
import time
import uuid

import websockets

from story import PATIENCE, Person, Relay, main, now, record


def play(scene, *options):
    """Runs a scene on a new relay. Connections left open are aborted at the end, because the
    library would otherwise wait ten seconds for each."""
    async def whole(relay):
        try:
            await scene(relay)
        finally:
            for each in Socket.opened:
                each.transport.abort()
            Socket.opened.clear()

    with Relay(*options) as relay:
        asyncio.run(whole(relay))


class Socket:
    """A device on the socket."""

    opened = []

    def __init__(self, person, connection):
        self.person, self.connection = person, connection
        self.opened.append(connection)

    @staticmethod
    async def open(person, since=None, in_hello=True, **options):
        url = person.relay.address.replace("http", "ws") + "/v1/socket"
        if not in_hello:
            options["extra_headers"] = {"Authorization": f"Bearer {person.token}"}
        options.setdefault("max_size", 4 << 20)
        connection = await websockets.connect(url, subprotocols=["lockstep.v1"], **options)
        socket = Socket(person, connection)
        hello = {"op": "hello"}
        if in_hello:
            hello["token"] = person.token
        if since:
            hello["since"] = since
        await socket.send(hello)
        socket.welcome = await socket.receive("welcome")
        return socket

    async def send(self, message):
        await self.connection.send(json.dumps(message))

    async def receive(self, op=None, seconds=PATIENCE):
        """The next message. Reconnect advice, which a relay with many devices sends at any time, is
        skipped unless requested."""
        while True:
            message = json.loads(await asyncio.wait_for(self.connection.recv(), seconds))
            if op == "reconnect" or message["op"] != "reconnect":
                break
        assert op is None or message["op"] == op, message
        return message

    async def save(self, *records, zone="Notes", id=None, **members):
        id = id or str(uuid.uuid4())
        await self.send({"op": "save", "id": id, "zone": zone, "records": list(records), **members})
        return id

    async def closed(self, seconds=PATIENCE):
        """The close code, once the relay has closed."""
        async def read():
            while True:
                await self.connection.recv()
        try:
            await asyncio.wait_for(read(), seconds)
        except websockets.ConnectionClosed:
            pass
        return self.connection.close_code


def story_a_push_reaches_the_other_devices_with_the_record_in_it():
    """Three devices: one saves; the two others receive it once each, and the saving device gets its
    answer."""
    async def scene(relay):
        person = Person.new(relay)
        people = [person, person.pair(), person.pair()]
        start = person.changes().json["token"]
        one, two, three = [await Socket.open(each, since=start) for each in people]
        assert one.connection.subprotocol == "lockstep.v1"
        assert one.welcome["accountID"] == person.account
        assert one.welcome["deviceID"] == person.device and one.welcome["keepAlive"] == 25_000
        assert abs(one.welcome["time"] - now()) < 5_000
        id = await one.save(record("a", baseTag=0))
        saved = await one.receive("saved")
        assert saved["id"] == id and saved["since"] == start
        assert saved["results"] == [{"name": "a", "tag": 1}]
        for other in (two, three):
            push = await other.receive("changes")
            assert push["since"] == start and push["token"] == saved["token"]
            assert push["more"] is False and "id" not in push
            assert [each["name"] for each in push["changes"]] == ["a"]
            assert push["changes"][0]["device"] == person.device
        await two.save(record("a", "old", baseTag=0))
        conflict = (await two.receive("saved"))["results"][0]["conflict"]
        assert conflict["tag"] == 1 and conflict["fields"] == {"text": "hello"}
        # A save over HTTP: all three receive it.
        person.save(record("b"))
        for each in (one, two, three):
            push = await each.receive("changes")
            assert push["since"] == saved["token"], push
            assert [change["name"] for change in push["changes"]] == ["b"]

    play(scene)


def story_what_was_missed_comes_first():
    """A device reconnects with its cursor: it gets the backlog, in order, then live changes."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        person.save(record("a"))
        cursor = person.changes().json["token"]
        for n in range(30):
            person.save(record(f"m{n}"))
        socket = await Socket.open(other, since=cursor)
        names = []
        person.save(record("live"))
        while "live" not in names:
            message = await socket.receive("changes")
            assert message["since"] == cursor, message
            cursor = message["token"]
            names += [each["name"] for each in message["changes"]]
        assert names == [f"m{n}" for n in range(30)] + ["live"], names

    play(scene)


def story_without_a_cursor_there_are_only_hints_until_the_first_fetch():
    """A new device sends hello without `since`, receives `changed`, and fetches."""
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        person.save(record("a"))
        socket = await Socket.open(other)
        person.save(record("b"))
        hint = await socket.receive("changed")
        await socket.send({"op": "fetch", "id": "f1", "limit": 1})
        page = await socket.receive("changes")
        assert page["id"] == "f1" and len(page["changes"]) == 1 and page["more"] is True, page
        await socket.send({"op": "fetch", "id": "f2", "since": page["token"]})
        rest = await socket.receive("changes")
        assert rest["id"] == "f2" and [each["name"] for each in rest["changes"]] == ["b"], rest
        assert rest["more"] is False and rest["token"] == hint["token"]
        person.save(record("c"))
        push = await socket.receive("changes")
        assert push["since"] == rest["token"], push
        assert [each["name"] for each in push["changes"]] == ["c"]

    play(scene)


def story_the_token_can_come_in_the_header_and_a_bad_one_is_refused():
    """A native client sets the header; a bad token gets 401 there, 4501 in a hello."""
    async def scene(relay):
        person = Person.new(relay)
        await Socket.open(person, in_hello=False)
        person.token = person.token[:-2]
        try:
            await Socket.open(person, in_hello=False)
            raise AssertionError("a bad token was let in")
        except websockets.InvalidStatusCode as refused:
            assert refused.status_code == 401
        url = relay.address.replace("http", "ws") + "/v1/socket"
        connection = await websockets.connect(url)
        socket = Socket(person, connection)
        await socket.send({"op": "hello", "token": "nonsense"})
        assert await socket.closed() == 4501

    play(scene)


def story_who_does_not_say_hello_is_sent_away():
    """Five seconds without a hello: 4408. Another message first: 4400 or 4408."""
    async def scene(relay):
        url = relay.address.replace("http", "ws") + "/v1/socket"
        silent = Socket(None, await websockets.connect(url))
        begun = time.monotonic()
        assert await silent.closed() == 4408
        assert time.monotonic() - begun > 3
        rude = Socket(None, await websockets.connect(url))
        await rude.send({"op": "fetch", "id": "1"})
        assert await rude.closed() in (4400, 4408)

    play(scene)


def story_bad_messages_close_one_connection_and_nobody_elses():
    """Malformed JSON, unknown operations, binary frames, too much data: each has its close code."""
    async def scene(relay):
        person = Person.new(relay)
        witness = await Socket.open(person, since=person.changes().json["token"])
        cases = [
            ("{", (4400,)), ('{"op":"dance"}', (4400,)), ("[]", (4400,)), ('{"op":5}', (4400,)),
            (b"\x00\x01", (1003,)), ("x" * (2 * 1024 * 1024 + 1), (1009,)),
            (json.dumps({"op": "fetch"}), (4400,)),
        ]
        for message, codes in cases:
            socket = await Socket.open(person)
            await socket.connection.send(message)
            code = await socket.closed()
            assert code in codes, (message[:40], code)
        await witness.save(record("fine"))
        assert (await witness.receive("saved"))["results"][0]["tag"] == 1

    play(scene)


def story_a_refused_request_names_itself_and_the_socket_lives():
    """An error in a request is an `error` with the request's id."""
    async def scene(relay):
        person = Person.new(relay)
        socket = await Socket.open(person, since=person.changes().json["token"])
        id = await socket.save(record("x"), record("x"))
        error = await socket.receive("error")
        assert error["id"] == id and error["code"] == "badRequest" and error["detail"], error
        await socket.send({"op": "fetch", "id": "f", "since": "nonsense"})
        error = await socket.receive("error")
        assert error["id"] == "f" and error["code"] == "badChangeToken", error
        id, wish = str(uuid.uuid4()), record("y", baseTag=0)
        await socket.save(wish, id=id)
        first = await socket.receive("saved")
        await socket.save(wish, id=id)
        again = await socket.receive("saved")
        assert first["results"] == again["results"], (first, again)
        await socket.save(record("z"), id=id)
        error = await socket.receive("error")
        assert error["id"] == id and error["code"] == "batchMismatch", error
        assert person.save(wish, id=id).json["results"] == first["results"]
        await socket.send({"op": "time", "id": "t", "t0": 123.5})
        told = await socket.receive("time")
        assert told["id"] == "t" and told["t0"] == 123.5 and told["t1"] <= told["t2"]

    play(scene)


def story_a_large_change_is_a_hint_and_then_a_fetch():
    """A change above 64 KiB is not pushed; a hint names its token."""
    async def scene(relay):
        person = Person.new(relay)
        start = person.changes().json["token"]
        socket = await Socket.open(person.pair(), since=start)
        saved = person.save(record("large", "x" * 100_000)).json
        hint = await socket.receive("changed")
        assert hint["token"] == saved["token"], hint
        await socket.send({"op": "fetch", "id": "1", "since": start})
        page = await socket.receive("changes")
        assert page["id"] == "1" and page["token"] == saved["token"]
        assert len(page["changes"][0]["fields"]["text"]) == 100_000

    play(scene)


def story_a_device_that_does_not_read_costs_bounded_memory_and_misses_nothing():
    """One device stops reading while megabytes are saved; others continue; later it receives
    everything."""
    async def scene(relay):
        person = Person.new(relay)
        slow_person = person.pair()
        cursor = person.changes().json["token"]
        slow = await Socket.open(slow_person, since=cursor, max_queue=1, read_limit=1024)
        slow.connection.transport.pause_reading()
        quick = await Socket.open(person, since=cursor)
        for n in range(300):
            await quick.save(record(f"r{n}", "x" * 30_000))
            await quick.receive("saved")
        slow.connection.transport.resume_reading()
        seen, held, fetching = [], cursor, False
        while len(seen) < 300:
            message = await slow.receive()
            if message["op"] == "changed":
                # Hints may repeat; a fetch under way covers all of them.
                if not fetching:
                    await slow.send({"op": "fetch", "id": "f", "since": held})
                fetching = True
                continue
            assert message["op"] == "changes" and message["since"] == held, message["since"]
            held = message["token"]
            seen += [each["name"] for each in message["changes"]]
            fetching = message["more"]
            if message["more"]:
                await slow.send({"op": "fetch", "id": "f", "since": held})
        assert seen == [f"r{n}" for n in range(300)], len(seen)

    play(scene)


def story_the_chain_of_cursors_has_no_gap():
    """Four sockets save at random; on each, `since` of every message is the token before it."""
    async def scene(relay):
        dice = random.Random(11)
        person = Person.new(relay)
        start = person.changes().json["token"]
        people = [person, person.pair(), person.pair(), person]
        sockets = [await Socket.open(each, since=start) for each in people]
        wanted = {f"n{n}" for n in range(400)}

        async def listen(socket, mine):
            cursor, seen = start, set()
            while seen | mine != wanted or seen & mine:
                message = await socket.receive()
                assert message["since"] == cursor, (cursor, message)
                cursor = message["token"]
                if message["op"] == "changes":
                    names = [each["name"] for each in message["changes"]]
                    assert not seen & set(names) and not mine & set(names), names
                    seen |= set(names)
            return cursor

        mine = [set() for _ in sockets]
        for name in sorted(wanted):
            mine[dice.randrange(4)].add(name)

        async def talk(socket, names):
            for name in sorted(names):
                await socket.save(record(name))
                if dice.random() < 0.2:
                    await asyncio.sleep(0)

        listeners = [asyncio.create_task(listen(s, m)) for s, m in zip(sockets, mine)]
        await asyncio.gather(*[talk(s, m) for s, m in zip(sockets, mine)])
        await asyncio.gather(*listeners)

    play(scene, "--loops", "2")


def story_a_revoked_device_is_cut_off_at_once():
    """Its socket closes with 4501, its poll ends, its token is invalid."""
    async def scene(relay):
        person = Person.new(relay)
        lost = person.pair()
        socket = await Socket.open(lost, since=lost.changes().json["token"])
        listed = person.call("GET", "/v1/devices").json["devices"]
        assert [each["connected"] for each in listed][1] is True, listed
        assert person.call("DELETE", f"/v1/devices/{lost.device}").status == 204
        assert await socket.closed() == 4501

    play(scene, "--loops", "2")


def story_a_restart_says_so():
    """SIGTERM closes sockets with 1012, and the relay ends with 0; a device reconnects and
    continues."""
    async def scene(relay):
        person = Person.new(relay)
        cursor = person.changes().json["token"]
        socket = await Socket.open(person, since=cursor)
        await socket.save(record("a"))
        cursor = (await socket.receive("saved"))["token"]
        loop = asyncio.get_running_loop()
        stopped = loop.run_in_executor(None, relay.stop)
        assert await socket.closed() == 1012
        assert await stopped == 0
        relay.start()
        again = await Socket.open(person, since=cursor)
        person.save(record("b"))
        assert (await again.receive("changes"))["since"] == cursor

    play(scene)


if __name__ == "__main__":
    main(globals())
