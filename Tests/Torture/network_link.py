"""IP link between two networks, as a process: it delays, loses, reorders and drops packets.

  network_link.py NEAR FAR               the addresses of its two ends

It creates a separate network for FAR, prints "ready", and then reads settings from standard input,
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
IN_FLIGHT_MAX = 5_000
PACKET_BYTES_MAX = 65_536


class NetworkLink:
    def __init__(self, near, far):
        self.directions = {near: ("up", far), far: ("down", near)}
        self.settings, self.rng = {}, random.Random(near)
        self.in_flight, self.count = [], 0

    def receive(self, file):
        """Reads all packets that wait at one end."""
        way, to = self.directions[file]
        for _ in range(256):
            try:
                packet = os.read(file, PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            settings = self.settings
            if way in settings.get("cut", ()) or self.rng.random() < settings.get("loss", 0):
                continue
            delay = settings.get("delay", 0) + self.rng.uniform(0, settings.get("jitter", 0))
            if self.rng.random() < settings.get("reorder", 0):
                delay += self.rng.uniform(0.001, 0.05)
            if len(self.in_flight) >= IN_FLIGHT_MAX:
                continue
            self.count += 1
            heapq.heappush(self.in_flight, (time.monotonic() + delay, self.count, to, packet))

    def forward_due(self):
        """Forwards all packets that are due; returns the time until the next one."""
        while self.in_flight:
            left = self.in_flight[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, to, packet = heapq.heappop(self.in_flight)
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
        namespaces.unshare_process(namespaces.NEW_NETWORK)
        far = namespaces.open_tun("wire1")
        namespaces.start_interface("lo")
        namespaces.start_interface("wire1", far_address)
    except OSError as fault:
        print(f"{fault.filename or 'a network'}: {fault.strerror}", flush=True)
        return
    link = NetworkLink(near, far)
    print("ready", flush=True)
    commands = b""
    while True:
        ready, _, _ = select.select([near, far, 0], [], [], link.forward_due())
        for file in ready:
            if file:
                link.receive(file)
                continue
            more = os.read(0, 4096)
            if not more:
                return
            commands += more
            *lines, commands = commands.split(b"\n")
            for line in lines:
                link.settings = json.loads(line)


main()
