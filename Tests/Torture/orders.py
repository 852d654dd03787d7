"""Processes that inject network faults on order: the line (line.py) and the wire (wire.py)."""

import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


class Ordered:
    """A child process that prints a line when it is ready, then reads orders, one per line."""

    def __init__(self, script, *words):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, script), *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline().strip()
        self.lock = threading.Lock()

    def order(self, **order):
        with self.lock:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()


class Line(Ordered):
    """TCP between devices and their relay, or several relays."""

    def __init__(self, relays):
        super().__init__("line.py", *(f"{relay.address}:{relay.port}" for relay in relays))
        self.port = int(self.said)


class Wire(Ordered):
    """IP between the network of the devices, which is this process's, and the relay's
    network."""

    near, far = "10.77.0.1", "10.77.0.2"

    def __init__(self):
        super().__init__("wire.py", self.near, self.far)
        if self.said != "ready":
            self.end()
            raise OSError(self.said or "it ended at once")

    @property
    def far_network(self):
        return f"/proc/{self.process.pid}/ns/net"
