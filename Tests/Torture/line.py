"""TCP proxy between devices and their relay, as a process: it delays, stalls and cuts connections.

  line.py HOST:PORT ...    the targets; each connection goes to a random one, and to another one if
                           that refuses

It prints the port of 127.0.0.1 on which it listens, then reads orders from standard input, one JSON
object per line; each replaces the one before:

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


class Line:
    def __init__(self, targets):
        self.targets = targets
        self.order, self.changed = {}, asyncio.Event()
        self.links = set()
        self.dice = random.Random(targets[0][1])

    def obey(self, order):
        self.order = order
        self.changed.set()
        self.changed = asyncio.Event()
        for link in self.links:
            link.arm(order)

    async def take(self, reader, writer):
        if self.order.get("refuse"):
            reset(writer)
            return
        onward = await self.lead_on()
        if onward is None:
            reset(writer)
            return
        link = Link(self, (reader, writer), onward)
        self.links.add(link)
        try:
            await link.carry()
        finally:
            self.links.discard(link)

    async def lead_on(self):
        """A connection to one of the targets; None if all refuse."""
        for host, port in self.dice.sample(self.targets, len(self.targets)):
            try:
                return await asyncio.wait_for(asyncio.open_connection(host, port), 10)
            except (OSError, asyncio.TimeoutError):
                continue
        return None


class Link:
    """Two connections, forwarded to each other."""

    def __init__(self, line, device, relay):
        self.line = line
        self.ends = {"up": (device[0], relay[1]), "down": (relay[0], device[1])}
        self.writers = (device[1], relay[1])
        self.left = {}
        self.arm(line.order)

    def arm(self, order):
        self.left = {}
        if "cut" in order:
            self.left[order["way"]] = self.line.dice.randrange(order["bytes"] + 1)
        self.cut = order.get("cut")

    async def carry(self):
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
            piece = await reader.read(16384)
            while way in self.line.order.get("stall", ()):
                await self.line.changed.wait()
            if "delay" in self.line.order:
                await asyncio.sleep(self.line.dice.uniform(0, self.line.order["delay"]))
            if way in self.left and len(piece) >= self.left[way]:
                writer.write(piece[:self.left[way]])
                self.end()
                return
            if way in self.left:
                self.left[way] -= len(piece)
            if not piece:
                writer.write_eof()
                return
            writer.write(piece)
            await writer.drain()

    def end(self):
        """Ends both connections, by FIN or RST as ordered."""
        for writer in self.writers:
            if self.cut == "fin":
                writer.close()
            else:
                reset(writer)


def reset(writer):
    """Ends a connection by RST."""
    taken = writer.get_extra_info("socket")
    if taken is not None and not writer.is_closing():
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


async def main():
    targets = []
    for word in sys.argv[1:]:
        host, _, port = word.rpartition(":")
        targets.append((host, int(port)))
    line = Line(targets)
    server = await asyncio.start_server(line.take, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while order := await orders.readline():
        line.obey(json.loads(order))


asyncio.run(main())
