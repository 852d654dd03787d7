"""Access to the relay's public listener: connection and rate limits, allowed origins, and trusted
proxies; by curl, Python's `websockets`, and raw sockets. With real proxies: scripts/proxy-check."""

import json
import re
import socket
import threading
import time

import websockets

from story import (
    PATIENCE, Connection, Person, Relay, curl, expect, main, record, refused, run, wait_until)
from websocket_stories import Socket, play

DEVICE = {"deviceName": "a", "platform": "test", "appVersion": "1"}


def limits(**values):
    return "--limits=" + ",".join(f"{name}={value}" for name, value in values.items())


def dial(relay, source="127.0.0.1"):
    """Opens a raw connection from one of this machine's addresses."""
    connection = socket.create_connection(
        ("127.0.0.1", relay.port), timeout=PATIENCE, source_address=(source, 0))
    return connection


def is_closed_unanswered(connection):
    """True if the relay closes the connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def status_of(relay, path, *fields, source="127.0.0.1"):
    answer = Connection(relay, source=source).request("GET", path, headers=dict(fields))
    return answer.status


def story_limits_are_set_by_name_and_told():
    """The owner sets some limits; the relay reports all; mistakes get a suggestion."""
    with Relay(limits(devicesPerAccount=2, bodyBudgetBytes="64M", idleMilliseconds=400)) as relay:
        told = expect(curl(relay, "GET", "/v1/limits"), 200).json
        assert told["devicesPerAccount"] == 2 and told["bodyBudgetBytes"] == 64 << 20, told
        assert told["nameBytes"] == 255 and told["connectionsPerAddress"] == 1_000, told
        person = Person.new(relay)
        person.pair()
        code = expect(person.call("POST", "/v1/pairings"), 201).json["code"]
        full = expect(curl(relay, "POST", "/v1/devices", {"code": code, **DEVICE}), 403, "tooManyDevices")
        assert "has 2 devices" in full.json["detail"], full
        assert is_closed_unanswered(dial(relay)), "an idle connection is closed when the owner says"
    for text, says in [
        ("conections=5", "did you mean connections?"),
        ("nameBytes=5", 'there is no limit "nameBytes"'),
        ("uploads=0", "uploads: 0 is not between 1 and 10000"),
        ("uploads=many", 'uploads: "many" is not a whole number'),
        ("uploads", "is not NAME=VALUE"),
    ]:
        refused("relay", f"--limits={text}", says=says, code=2)
    refused("relay", "--exempt=localhost", says='"localhost" is not an address or network', code=2)
    refused("relay", "--origin=https://a.example/x", says="is not an origin", code=2)
    refused("relay", "--host=relay.example:80", says="is not a host name", code=2)


def story_an_address_has_so_many_connections_and_the_owner_always_gets_in():
    """Five from one address, and ten in total; another address and the owner can connect meanwhile;
    closed connections make space."""
    with Relay(
        "--exempt=none", limits(connectionsPerAddress=5, connections=10), "--admin-listen=127.0.0.1:0"
    ) as relay:
        inside = [dial(relay) for _ in range(5)]
        # Each counts once it has an answer.
        for connection in inside:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(4_096).startswith(b"HTTP/1.1 200"), "let in"
        assert is_closed_unanswered(dial(relay)), "the sixth of an address"
        others = [dial(relay, "127.0.0.2") for _ in range(5)]
        for connection in others:
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(4_096).startswith(b"HTTP/1.1 200"), "let in"
        assert is_closed_unanswered(dial(relay, "127.0.0.3")), "the eleventh of all"
        made = run("account", "create", "mum", "--store", relay.store).stdout
        assert made, "the owner gets in"
        admin = relay.text().split("metrics and health on http://")[1].split()[0]

        class Admin:
            address = "http://" + admin
        # The loops exchange their counters every five seconds.
        wait_until(lambda: b'rejected_total{reason="connectionsPerAddress"} 1\n' in curl(
            Admin, "GET", "/metrics").body, "the counters")
        inside.pop().close()
        def lets_in():
            try:
                return status_of(relay, "/livez") == 200
            except OSError:
                return False
        wait_until(lets_in, "room for another")
        for connection in inside + others:
            connection.close()


def story_whoever_asks_too_often_is_told_when_to_come_back():
    """Limits by token and by address; the connection stays open, and requests succeed again after
    the wait."""
    rates = limits(
        requestsPerSecondPerDevice=5, requestBurstPerDevice=20, requestsPerSecondPerAddress=2,
        requestBurstPerAddress=40, accountsPerHourPerAddress=2)
    with Relay("--exempt=none", "--loops=1", rates) as relay:
        person = Person.new(relay)
        Person.new(relay)
        third = expect(curl(relay, "POST", "/v1/accounts", DEVICE), 429, "tooManyRequests")
        assert int(third.headers["retry-after"]) in range(1_700, 1_801), third
        line = Connection(relay, person)
        answers = [line.request("GET", "/v1/devices") for _ in range(40)]
        late = [answer for answer in answers if answer.status == 429]
        assert answers[0].status == 200 and late, answers
        assert all(answer.headers["retry-after"] == "1" for answer in late), late
        # The same connection, and curl by itself, wait as the answer says.
        waited = curl(relay, "GET", "/v1/devices", token=person.token, options=["--retry", "3"])
        assert b"200 OK" in waited.body or waited.status == 200, waited
        wait_until(lambda: line.request("GET", "/v1/devices").status == 200, "the next token")
        # Token guesses count for the address; a valid token from the same address does not.
        guessing = Connection(relay, source="127.0.0.7")
        statuses = [guessing.request("GET", "/v1/devices", token=f"guess{n}").status
                    for n in range(60)]
        assert statuses[0] == 401 and statuses.count(429) > 5, statuses
        assert status_of(relay, "/v1/time", source="127.0.0.8") == 200


def story_a_page_may_use_the_relay_it_came_from_and_no_other():
    """The relay's own origin and one that the owner lists are allowed, a foreign one is not; native
    apps send none."""
    async def scene(relay):
        url = relay.address.replace("http", "ws") + "/v1/socket"
        own, listed, foreign = relay.address, "https://app.example", "https://evil.example"
        for origin in (None, own, listed):
            connection = await websockets.connect(url, origin=origin)
            connection.transport.abort()
        try:
            await websockets.connect(url, origin=foreign)
            raise AssertionError("a foreign page got a socket")
        except websockets.exceptions.InvalidStatusCode as refusal:
            assert refusal.status_code == 403, refusal
        for origin in (own, listed):
            preflight = expect(curl(relay, "OPTIONS", "/v1/changes", headers=[
                f"Origin: {origin}", "Access-Control-Request-Method: GET",
                "Access-Control-Request-Headers: authorization"]), 204)
            assert preflight.headers["access-control-allow-origin"] == origin, preflight
            assert "GET" in preflight.headers["access-control-allow-methods"], preflight
            assert "origin" in preflight.headers["vary"].lower(), preflight
            made = expect(curl(relay, "POST", "/v1/accounts", DEVICE, headers=[f"Origin: {origin}"]), 201)
            assert made.headers["access-control-allow-origin"] == origin, made
        alien = [f"Origin: {foreign}"]
        told = expect(curl(relay, "GET", "/v1/time", headers=alien), 200)
        assert not [name for name in told.headers if name.startswith("access-control")], told
        asked = expect(curl(relay, "OPTIONS", "/v1/changes", headers=alien), 204)
        assert not [name for name in asked.headers if name.startswith("access-control")], asked
        for path in ("/v1/accounts", "/v1/devices"):
            expect(curl(relay, "POST", path, DEVICE, headers=alien), 403, "originNotAllowed")

    play(scene, "--origin=https://app.example")


def story_a_forwarded_address_counts_where_the_proxy_is_trusted():
    """Each client behind a trusted proxy has its own limits, and cannot forge its address; from any
    other peer the field is ignored."""
    rates = limits(requestsPerSecondPerAddress=1, requestBurstPerAddress=5)
    with Relay("--exempt=none", "--loops=1", "--trust-proxy=127.0.0.1,10.0.0.0/8",
               "--host=sync.example", rates) as relay:
        def burst(forwarded, source="127.0.0.1"):
            line = Connection(relay, source=source)
            return [line.request("GET", "/v1/time", headers=forwarded).status for _ in range(12)]

        def is_new(statuses):
            """True if the client had not sent requests before."""
            assert 429 in statuses, statuses
            return statuses[:5] == [200] * 5
        assert is_new(burst({"X-Forwarded-For": "192.0.2.1"}))
        assert not is_new(burst({"X-Forwarded-For": "1.2.3.4, 192.0.2.1, 10.1.1.1"}))
        assert is_new(burst({"X-Forwarded-For": "1.2.3.4, 192.0.2.2"}))
        assert is_new(burst({"Forwarded": 'for="[2001:db8::1]:4711";proto=https'}))
        # Another address in the same /64 is the same client.
        assert not is_new(burst({"Forwarded": 'for="[2001:db8::2]"'}))
        # This peer is not trusted: its requests count for itself, whatever address it names.
        assert is_new(burst({"X-Forwarded-For": "192.0.2.50"}, source="127.0.0.9"))
        assert not is_new(burst({"X-Forwarded-For": "192.0.2.51"}, source="127.0.0.9"))
        https = {"X-Forwarded-For": "192.0.2.77", "X-Forwarded-Proto": "https",
                 "X-Forwarded-Host": "sync.example", "Origin": "https://sync.example"}
        answer = Connection(relay).request("GET", "/v1/time", headers=https)
        assert answer.headers["access-control-allow-origin"] == "https://sync.example", answer
    with Relay() as relay:
        assert status_of(relay, "/v1/time", ("X-Forwarded-For", "192.0.2.1")) == 200
        wait_until(lambda: "--trust-proxy 127.0.0.1" in relay.text(), "a word on the proxy")


def story_a_page_that_rebinds_its_name_reaches_nothing():
    """DNS rebinding: a foreign page points its own name to this machine. Its browser sends that
    name, and the relay refuses it, on the owner's listener too. A listed name, the machine's own
    names and literal addresses are accepted, and health checks with any name."""
    def request(relay, host, method="GET", path="/v1/time", body=None, **fields):
        return Connection(relay).request(method, path, body, headers={"Host": host, **fields})

    with Relay("--host=sync.example,*.home.example", "--admin-listen=127.0.0.1:0") as relay:
        owners = type("Owner", (), {"port": int(wait_until(
            lambda: re.search(r"health on http://127.0.0.1:(\d+)", relay.text()), "the listener")[1])})
        evil = f"evil.example:{relay.port}"
        page = {"Origin": f"http://{evil}"}
        made = expect(request(relay, evil, "POST", "/v1/accounts", DEVICE, **page), 421, "hostNotAllowed")
        assert "--host evil.example" in made.json["detail"], made
        expect(request(relay, evil), 421, "hostNotAllowed")
        expect(request(relay, evil, path="/"), 421, "hostNotAllowed")
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        expect(request(relay, evil, path="/v1/socket", **page, **upgrade), 421, "hostNotAllowed")
        for path in ("/status", "/metrics"):
            expect(request(owners, evil, path=path), 421, "hostNotAllowed")
            expect(request(owners, f"localhost:{owners.port}", path=path), 200)
        for path in ("/livez", "/readyz"):
            expect(request(relay, "probe.example", path=path), 200)
            expect(request(owners, "probe.example", path=path), 200)
        name = socket.gethostname().split(".")[0]
        for host in ("sync.example", "SYNC.example:5625", "sync.example.", "a.home.example", "localhost",
                     "127.0.0.1", "192.0.2.7:80", "[2001:db8::1]:5625", name, f"{name}.local:5625"):
            expect(request(relay, host), 200)
        for host in ("home.example", "a.b.home.example", "sync.example.evil.example", "127.1"):
            expect(request(relay, host), 421, "hostNotAllowed")
        assert relay.text().count("a request was refused: evil.example is not a name") >= 1, relay.text()
    # A browser can set X-Forwarded-Host itself, so the value from a proxy is checked in addition to
    # Host.
    with Relay("--trust-proxy=127.0.0.1", "--host=sync.example") as relay:
        expect(request(relay, "evil.example", **{"X-Forwarded-Host": "sync.example"}), 421)
        expect(request(relay, "sync.example", **{"X-Forwarded-Host": "evil.example"}), 421)
        expect(request(relay, f"127.0.0.1:{relay.port}", **{
            "X-Forwarded-Host": "sync.example"}), 200)
    with Relay("--host=*") as relay:
        expect(request(relay, "anything.example"), 200)


def story_a_flood_of_pings_slows_nobody_else():
    """One device sends pings as fast as it can, one frame after another; another account's push is
    not delayed, and the flooding device is served once it stops."""
    async def scene(relay):
        flooding, quiet = Person.new(relay), Person.new(relay)
        start = quiet.changes().json["token"]
        saver, hearer = await Socket.open(quiet), await Socket.open(quiet, since=start)
        flooder = dial(relay)
        upgrade = (
            "GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {flooding.token}\r\n\r\n")
        hello = b'{"op":"hello"}'
        flooder.sendall(upgrade.encode() + bytes([0x81, 0x80 | len(hello), 0, 0, 0, 0]) + hello)
        stop = threading.Event()

        def flood():
            pings = bytes([0x89, 0x80, 0, 0, 0, 0]) * 10_000
            flooder.settimeout(0.2)
            while not stop.is_set():
                try:
                    flooder.send(pings)
                except TimeoutError:
                    pass
                except OSError:
                    return

        def drain():
            try:
                while flooder.recv(1 << 16) or not stop.is_set():
                    pass
            except OSError:
                pass
        threads = [threading.Thread(target=each, daemon=True) for each in (flood, drain)]
        for thread in threads:
            thread.start()
        try:
            # Without a limit the push would wait for everything that the flooding device can send,
            # which ends only after these pushes have arrived.
            for number in range(50):
                await saver.save(record(f"r{number}"))
                await hearer.receive("changes")
                await saver.receive("saved")
        finally:
            stop.set()
            flooder.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            flooder.close()

    play(scene, "--loops=1")


def story_a_byte_a_moment_does_not_hold_a_connection():
    """A head and a body that arrive byte by byte are ended with 408 when the total time is over."""
    with Relay(limits(requestMilliseconds=1_000)) as relay:
        person = Person.new(relay)
        begun = [
            b"GET /v1/time HTTP/1.1\r\nX: ",
            b"POST /v1/pairings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"
            + f"Authorization: Bearer {person.token}\r\n\r\n".encode(),
            b"PUT /v1/chunks/" + b"0" * 64 + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n"
            + f"Authorization: Bearer {person.token}\r\n\r\n".encode(),
        ]
        for text in begun:
            connection = dial(relay)
            connection.sendall(text)
            connection.settimeout(0.05)
            answer = b""
            began = time.monotonic()
            while not answer:
                try:
                    connection.send(b"x")
                    answer = connection.recv(4_096)
                except TimeoutError:
                    assert time.monotonic() - began < PATIENCE, text
            assert answer.startswith(b"HTTP/1.1 408"), (text, answer)
            connection.close()


def story_a_peer_that_vanished_is_found_by_its_silence():
    """A socket whose peer does not answer pings is closed, and its device counts as offline."""
    with Relay("--keep-alive=0.3") as relay:
        person = Person.new(relay)
        second = person.pair()
        connection = dial(relay)
        connection.sendall((
            "GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {second.token}\r\n\r\n").encode())
        hello = b'{"op":"hello"}'
        connection.sendall(bytes([0x81, 0x80 | len(hello), 0, 0, 0, 0]) + hello)

        def connected():
            devices = expect(person.call("GET", "/v1/devices"), 200).json["devices"]
            return {each["deviceID"]: each["connected"] for each in devices}[second.device]
        wait_until(connected, "the device to be there")
        # It sends nothing more, and does not close its connection either.
        wait_until(lambda: not connected(), "the device to be gone")
        connection.close()


def story_an_account_has_so_many_connections():
    """Sockets, streams and polls are counted together; one beyond the limit gets an error."""
    async def scene(relay):
        person = Person.new(relay)
        first = await Socket.open(person)
        await Socket.open(person)
        url = relay.address.replace("http", "ws") + "/v1/socket"
        third = await websockets.connect(url)
        await third.send(json.dumps({"op": "hello", "token": person.token}))
        closing = Socket(person, third)
        assert await closing.closed() == 4429
        stream = expect(person.call("GET", "/v1/events"), 429, "tooManyRequests")
        assert stream.headers["retry-after"] == "30", stream
        expect(person.call("GET", "/v1/devices"), 200)
        first.connection.transport.abort()
        async def again():
            try:
                return await Socket.open(person)
            except (AssertionError, websockets.ConnectionClosed):
                return None
        deadline = time.monotonic() + PATIENCE
        while await again() is None:
            assert time.monotonic() < deadline, "a place came back"

    play(scene, "--exempt=none", "--loops=1", limits(connectionsPerAccount=2))


if __name__ == "__main__":
    main(globals())
