"""A wire between two networks, as a process: it delays, loses, reorders and swallows packets.

  wire.py NEAR FAR         the addresses at its ends

It makes a network of its own, in which FAR is, says "ready", and then takes an order a line on
standard input, as JSON, each of which replaces the one before:

  {}                                         carry everything
  {"delay": S, "jitter": S}                  each packet takes so long, and up to so much longer
  {"loss": P, "reorder": P}                  of one: as many are lost, or come a moment later
  {"cut": ["up", "down"]}                    nothing comes through, and nobody is told
"""

import heapq
import json
import os
import random
import select
import sys
import time

import namespaces

# Packets under way; those beyond are lost, as in any queue.
UNDER_WAY_MAX = 5_000
PACKET_BYTES_MAX = 65_536


class Wire:
    def __init__(self, near, far):
        self.ways = {near: ("up", far), far: ("down", near)}
        self.order, self.dice = {}, random.Random(near)
        self.under_way, self.count = [], 0

    def take(self, file):
        """All packets that wait at an end."""
        way, to = self.ways[file]
        for _ in range(256):
            try:
                packet = os.read(file, PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            order = self.order
            if way in order.get("cut", ()) or self.dice.random() < order.get("loss", 0):
                continue
            delay = order.get("delay", 0) + self.dice.uniform(0, order.get("jitter", 0))
            if self.dice.random() < order.get("reorder", 0):
                delay += self.dice.uniform(0.001, 0.05)
            if len(self.under_way) >= UNDER_WAY_MAX:
                continue
            self.count += 1
            heapq.heappush(self.under_way, (time.monotonic() + delay, self.count, to, packet))

    def give(self):
        """All packets whose time has come; how long until the next one's."""
        while self.under_way:
            left = self.under_way[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, to, packet = heapq.heappop(self.under_way)
            try:
                os.write(to, packet)
            except OSError:
                pass
        return None


def main():
    near_address, far_address = sys.argv[1:]
    try:
        near = namespaces.open_tun("wire0")
        namespaces.start_interface("wire0", near_address)
        namespaces.leave_for(namespaces.NEW_NETWORK)
        far = namespaces.open_tun("wire1")
        namespaces.start_interface("lo")
        namespaces.start_interface("wire1", far_address)
    except OSError as fault:
        print(f"{fault.filename or 'a network'}: {fault.strerror}", flush=True)
        return
    wire = Wire(near, far)
    print("ready", flush=True)
    orders = b""
    while True:
        ready, _, _ = select.select([near, far, 0], [], [], wire.give())
        for file in ready:
            if file:
                wire.take(file)
                continue
            more = os.read(0, 4096)
            if not more:
                return
            orders += more
            *lines, orders = orders.split(b"\n")
            for line in lines:
                wire.order = json.loads(line)


main()
