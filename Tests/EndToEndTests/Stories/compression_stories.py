"""Rules of docs/protocol.md, "Compression", by Python's `websockets` and by raw frames; and the
behaviour of the relay and wire-echo under floods and decompression bombs."""

import asyncio
import os
import socket as sockets
import subprocess
import zlib

import websockets
from websockets.extensions.permessage_deflate import (
    ClientPerMessageDeflateFactory, PerMessageDeflate)

from story import PATIENCE, Person, main, record
from websocket_stories import Socket, play


def large(name, count=40):
    """A record of some KiB that compresses well."""
    return record(name, text="all work and no play makes a dull text. " * count)


def negotiated(socket):
    return [each for each in socket.connection.extensions if isinstance(each, PerMessageDeflate)]


class FrameCounter:
    """Counts the bytes received on a connection, before decompression."""

    def __init__(self, connection):
        self.marked, self.bytes = 0, 0
        (extension,) = [each for each in connection.extensions]
        decode = extension.decode

        def counting(frame, **options):
            self.marked += frame.rsv1
            self.bytes += len(frame.data)
            return decode(frame, **options)
        extension.decode = counting


def story_large_messages_arrive_compressed_where_a_client_asks():
    async def scene(relay):
        person = Person.new(relay)
        other = person.pair()
        cursor = person.changes().json["token"]
        small = await Socket.open(other, since=cursor)
        plain = await Socket.open(other, since=cursor, compression=None)
        assert negotiated(small) and not plain.connection.extensions
        assert negotiated(small)[0].remote_no_context_takeover
        assert negotiated(small)[0].local_no_context_takeover
        frames = FrameCounter(small.connection)
        for number in range(5):
            saved = large(f"n{number}")
            person.save(saved)
            for socket in (small, plain):
                push = await socket.receive("changes")
                assert push["changes"][0]["fields"] == saved["fields"], push
        assert frames.marked == 5, "every large push is compressed"
        assert frames.bytes < 5 * 600, frames.bytes
        # Pages and answers are also compressed, small ones are not, and a client's messages may be.
        await small.send({"op": "fetch", "id": "f"})
        assert len((await small.receive("changes"))["changes"]) == 5
        assert frames.marked == 6
        await small.send({"op": "time", "id": "t", "t0": 1})
        await small.receive("time")
        assert frames.marked == 6
        await small.save(large("mine", count=4_000))
        assert (await small.receive("saved"))["results"][0]["tag"] == 6
        await small.save(large("mine"))
        assert "tag" in (await small.receive("saved"))["results"][0]

    play(scene)


def story_an_offer_that_cannot_be_kept_is_declined():
    async def scene(relay):
        person = Person.new(relay)
        cursor = person.changes().json["token"]
        for bits, is_taken in ((15, True), (12, True), (11, False), (9, False)):
            offer = ClientPerMessageDeflateFactory(server_max_window_bits=bits)
            socket = await Socket.open(
                person, since=cursor, compression=None, extensions=[offer])
            assert bool(negotiated(socket)) == is_taken, bits
            if is_taken:
                assert negotiated(socket)[0].remote_max_window_bits == 12
            saved = large(f"for {bits}")
            person.save(saved)
            while True:
                push = await socket.receive("changes")
                cursor = push["token"]
                if push["changes"][0]["name"] == saved["name"]:
                    break

    play(scene)


def story_a_relay_may_do_without_compression():
    async def scene(relay):
        socket = await Socket.open(Person.new(relay))
        assert not socket.connection.extensions

    play(scene, "--compression", "off")


def frame(first, payload, mask=b"\0\0\0\0"):
    """A client's frame, built by hand."""
    count = len(payload)
    if count < 126:
        length = bytes([0x80 | count])
    elif count <= 0xFFFF:
        length = bytes([0xFE]) + count.to_bytes(2, "big")
    else:
        length = bytes([0xFF]) + count.to_bytes(8, "big")
    return bytes([first]) + length + mask + payload


class RawWebSocket:
    """A WebSocket client that controls every byte."""

    def __init__(self, host, port, path="/v1/socket", extensions="permessage-deflate"):
        self.socket = sockets.create_connection((host, port), timeout=PATIENCE)
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Extensions: {extensions}\r\n\r\n".encode())
        self.head = b""
        while b"\r\n\r\n" not in self.head:
            self.head += self.read(1)

    def read(self, count):
        bytes_read = b""
        while len(bytes_read) < count:
            more = self.socket.recv(count - len(bytes_read))
            if not more:
                raise EOFError
            bytes_read += more
        return bytes_read

    def receive(self):
        """Returns the next frame: its first byte and its payload."""
        first, count = self.read(2)
        if count >= 126:
            count = int.from_bytes(self.read(2 if count == 126 else 8), "big")
        return first, self.read(count)

    def close_code(self):
        while True:
            first, payload = self.receive()
            if first == 0x88:
                return int.from_bytes(payload[:2], "big")


def deflated(payload):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


def memory(process_id):
    """Resident memory of the process, in bytes."""
    for line in open(f"/proc/{process_id}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10


def host_and_port(relay):
    host, port = relay.address.rsplit("/", 1)[1].rsplit(":", 1)
    return host, int(port)


def story_bombs_and_floods_cost_their_own_connection_alone():
    async def scene(relay):
        person = Person.new(relay)
        bystander = await Socket.open(person, since=person.changes().json["token"])
        bomb = deflated(b" " * (256 << 20))
        assert len(bomb) < 1 << 20
        before = memory(relay.process.pid)
        for payload, code in ((bomb, 1009), (b"\xff\xff", 1007), (deflated(b"\xff"), 1007)):
            # The end of the message never comes.
            client = RawWebSocket(*host_and_port(relay))
            client.socket.sendall(frame(0x41, payload) + frame(0x80, b"") * (payload != bomb))
            assert client.close_code() == code, payload[:10]
        for first in (0xC0, 0xC9, 0xE1):
            client = RawWebSocket(*host_and_port(relay))
            client.socket.sendall(frame(first, b""))
            assert client.close_code() == 1002
        # An endless message of empty fragments, and pings without end, on one connection each.
        client = RawWebSocket(*host_and_port(relay))
        client.socket.sendall(frame(0x01, b"") + frame(0x00, b"") * 200_000 + frame(0x89, b"!"))
        assert client.receive() == (0x8A, b"!")
        pings = RawWebSocket(*host_and_port(relay))
        pings.socket.sendall(frame(0x89, b"?") * 20_000)
        for _ in range(20_000):
            assert pings.receive() == (0x8A, b"?")
        assert memory(relay.process.pid) < before + (32 << 20)
        await bystander.save(record("still"))
        assert (await bystander.receive("saved"))["results"][0]["name"] == "still"

    play(scene)


def echo_program():
    beside = os.path.join(os.path.dirname(os.environ["LOCKSTEP_BINARY"]), "wire-echo")
    return os.environ.get("LOCKSTEP_ECHO", beside)


class Echo:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [echo_program(), "serve", "0", *options], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


def story_wire_echo_says_back_what_it_hears():
    async def scene(url, **options):
        async with websockets.connect(url + "/any", max_size=20 << 20, **options) as socket:
            for message in ("", "héllo", b"\x00\xff", "x" * 70_000, os.urandom(1 << 20)):
                for _ in range(2):
                    await socket.send(message)
                    assert await socket.recv() == message
            await socket.send("in pieces " for _ in range(200))
            assert await socket.recv() == "in pieces " * 200
            return bool(socket.extensions)

    with Echo() as echo:
        assert not asyncio.run(scene(echo.url))
    with Echo("--deflate") as echo:
        assert asyncio.run(scene(echo.url))
        for options in (dict(server_max_window_bits=9), dict(server_no_context_takeover=True),
                        dict(client_no_context_takeover=True, client_max_window_bits=9)):
            offer = ClientPerMessageDeflateFactory(**options)
            assert asyncio.run(scene(echo.url, compression=None, extensions=[offer]))


def story_wire_echo_plays_the_suites_client():
    """A suite of three cases, served by hand: the client gets the count, runs the cases and
    requests the reports."""
    asked = []

    async def suite(socket, path):
        asked.append(path)
        if path == "/getCaseCount":
            await socket.send("3")
        elif path.startswith("/runCase"):
            for message in ("text", b"bytes", "long" * 5_000):
                await socket.send(message)
                assert await socket.recv() == message
            asked.append(bool(socket.extensions))
        await socket.close()

    async def scene():
        async with websockets.serve(suite, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(
                echo_program(), "connect", f"ws://127.0.0.1:{port}", "--deflate",
                stdout=subprocess.PIPE)
            told, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
            assert process.returncode == 0 and told == b"3 cases\ndone\n", told

    asyncio.run(scene())
    assert asked == ["/getCaseCount", *(
        each for number in (1, 2, 3)
        for each in (f"/runCase?case={number}&agent=lockstep", True)),
        "/updateReports?agent=lockstep"], asked


def story_wire_echo_says_what_is_wrong():
    def run(*words):
        return subprocess.run([echo_program(), *words], capture_output=True, text=True, timeout=PATIENCE)

    told = run("--help")
    assert told.returncode == 0 and "connect" in told.stdout and "--deflate" in told.stdout
    for words, code, says in (
        ((), 2, "name a command"), (("serve",), 2, "one port"), (("serve", "x"), 2, "not a port"),
        (("serve", "1", "--fast"), 2, "option --fast"), (("dance",), 2, "command dance"),
        (("connect", "http://a"), 2, "ws://"), (("connect", "ws://127.0.0.1:1"), 1, "running?"),
    ):
        told = run(*words)
        assert told.returncode == code and says in told.stderr, (words, told)


if __name__ == "__main__":
    main(globals())
