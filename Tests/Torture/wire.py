"""IP link between two networks, as a process: it delays, loses, reorders and drops packets.

  wire.py NEAR FAR         the addresses of its two ends

It creates a separate network for FAR, prints "ready", and then reads orders from standard input,
one JSON object per line; each replaces the one before:

  {}                                         forward everything
  {"delay": S, "jitter": S}                  delay of each packet, and maximum additional delay
  {"loss": P, "reorder": P}                  fraction of packets that are lost, or come later
  {"cut": ["up", "down"]}                    forward nothing, without any error to the sender
"""

import heapq
import json
import os
import random
import select
import sys
import time

import namespaces

# Maximum number of packets under way; further packets are lost, as in any queue.
UNDER_WAY_MAX = 5_000
PACKET_BYTES_MAX = 65_536


class Wire:
    def __init__(self, near, far):
        self.ways = {near: ("up", far), far: ("down", near)}
        self.order, self.dice = {}, random.Random(near)
        self.under_way, self.count = [], 0

    def take(self, file):
        """Reads all packets that wait at one end."""
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
        """Forwards all packets that are due; returns the time until the next one."""
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
