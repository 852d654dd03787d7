"""TCP proxy between devices and their relay, as a process: it delays, stalls and cuts connections.

  tcp_proxy.py HOST:PORT ...   the targets; each connection goes to a random one, and to another
                               one if that refuses

It prints the port of 127.0.0.1 on which it listens, then reads settings from standard input, one
JSON object per line; each replaces the one before:

  {}                                         forward everything as it comes
  {"delay": S}                               each chunk takes up to S seconds more
  {"stall": ["up", "down"]}                  forward nothing in these directions
  {"refuse": true}                           accept connections and reset them
  {"cut": "rst"|"fin", "bytes": N, "way": "up"|"down"}
                                             end each connection after up to N more bytes that way
"""

import asyncio
import json
import random
import socket
import struct
import sys


class Proxy:
    def __init__(self, targets):
        self.targets = targets
        self.settings, self.changed = {}, asyncio.Event()
        self.links = set()
        self.rng = random.Random(targets[0][1])

    def apply_settings(self, settings):
        self.settings = settings
        self.changed.set()
        self.changed = asyncio.Event()
        for link in self.links:
            link.set_cut(settings)

    async def accept(self, reader, writer):
        if self.settings.get("refuse"):
            reset(writer)
            return
        target_streams = await self.connect_target()
        if target_streams is None:
            reset(writer)
            return
        link = Link(self, (reader, writer), target_streams)
        self.links.add(link)
        try:
            await link.forward()
        finally:
            self.links.discard(link)

    async def connect_target(self):
        """A connection to one of the targets; None if all refuse."""
        for host, port in self.rng.sample(self.targets, len(self.targets)):
            try:
                return await asyncio.wait_for(asyncio.open_connection(host, port), 10)
            except (OSError, asyncio.TimeoutError):
                continue
        return None


class Link:
    """Two connections, forwarded to each other."""

    def __init__(self, proxy, device, relay):
        self.proxy = proxy
        self.ends = {"up": (device[0], relay[1]), "down": (relay[0], device[1])}
        self.writers = (device[1], relay[1])
        self.left = {}
        self.set_cut(proxy.settings)

    def set_cut(self, settings):
        self.left = {}
        if "cut" in settings:
            self.left[settings["way"]] = self.proxy.rng.randrange(settings["bytes"] + 1)
        self.cut = settings.get("cut")

    async def forward(self):
        tasks = [asyncio.create_task(self.pump(way)) for way in self.ends]
        try:
            await asyncio.gather(*tasks)
        except OSError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            for writer in self.writers:
                reset(writer)

    async def pump(self, way):
        reader, writer = self.ends[way]
        while True:
            data = await reader.read(16384)
            while way in self.proxy.settings.get("stall", ()):
                await self.proxy.changed.wait()
            if "delay" in self.proxy.settings:
                await asyncio.sleep(self.proxy.rng.uniform(0, self.proxy.settings["delay"]))
            if way in self.left and len(data) >= self.left[way]:
                writer.write(data[:self.left[way]])
                self.end()
                return
            if way in self.left:
                self.left[way] -= len(data)
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    def end(self):
        """Ends both connections, by FIN or RST as configured."""
        for writer in self.writers:
            if self.cut == "fin":
                writer.close()
            else:
                reset(writer)


def reset(writer):
    """Ends a connection by RST."""
    connection = writer.get_extra_info("socket")
    if connection is not None and not writer.is_closing():
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


async def main():
    targets = []
    for word in sys.argv[1:]:
        host, _, port = word.rpartition(":")
        targets.append((host, int(port)))
    proxy = Proxy(targets)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while settings := await commands.readline():
        proxy.apply_settings(json.loads(settings))


asyncio.run(main())
