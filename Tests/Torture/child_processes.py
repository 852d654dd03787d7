"""Child processes that inject network faults: a TCP proxy (tcp_proxy.py) and an IP link
(network_link.py)."""

import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


class ControlledProcess:
    """A child process that prints a line when it is ready, then reads settings, one JSON object
    per line."""

    def __init__(self, script, *words):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, script), *words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.ready_line = self.process.stdout.readline().strip()
        self.lock = threading.Lock()

    def configure(self, **settings):
        with self.lock:
            self.process.stdin.write(json.dumps(settings) + "\n")
            self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()


class ProxyProcess(ControlledProcess):
    """TCP proxy between devices and their relay, or several relays."""

    def __init__(self, relays):
        super().__init__("tcp_proxy.py", *(f"{relay.address}:{relay.port}" for relay in relays))
        self.port = int(self.ready_line)


class NetworkProcess(ControlledProcess):
    """IP link between the network of the devices, which is this process's, and the relay's
    network."""

    near, far = "10.77.0.1", "10.77.0.2"

    def __init__(self):
        super().__init__("network_link.py", self.near, self.far)
        if self.ready_line != "ready":
            self.end()
            raise OSError(self.ready_line or "it ended at once")

    @property
    def far_network(self):
        return f"/proc/{self.process.pid}/ns/net"
