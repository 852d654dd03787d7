"""System under test with several relays on one database that tell each other of commits over a NATS
server. Each relay reaches the database and NATS by a line of its own, which can be cut alone."""

import os
import shutil
import socket
import subprocess

from child_processes import ProxyProcess
from cluster import Cluster
from database import free_port
from processes import ManagedProcess, wait_until

PROGRAM = "nats-server"
START_SECONDS = 30


def missing():
    """Reason why there can be no NATS server; None if there can."""
    if shutil.which(PROGRAM):
        return None
    return f"there is no {PROGRAM} here (Debian's package is '{PROGRAM}')"


class NATSServer(ManagedProcess):
    """A NATS server, on one port for the whole run."""

    def __init__(self, folder, run_log):
        super().__init__("nats", folder, run_log)
        self.address, self.port = "127.0.0.1", free_port()

    def command(self):
        return [PROGRAM, "--addr", self.address, "--port", str(self.port)]

    def start(self):
        """Starts it if it does not run, and waits until it listens."""
        with self.lock:
            if not self.check_running():
                self.launch()
        wait_until(self.listens, lambda: f"NATS does not listen: {self.tail()}", START_SECONDS)
        return self

    def listens(self):
        try:
            with socket.create_connection((self.address, self.port), 5):
                return True
        except OSError:
            return False

    def end(self):
        # NATS ends with 1 on SIGTERM.
        self.expected_failures += 1
        super().end()


class NATSCluster(Cluster):
    def __init__(self, *words):
        super().__init__(*words)
        self.nats = None
        self.lines_to_nats, self.lines_to_database = [], []

    def launch_relays(self, stores, environment=None):
        self.nats = NATSServer(self.folder, self.run_log).start()
        self.lines_to_nats = [ProxyProcess([self.nats]) for _ in stores]
        self.lines_to_database = [ProxyProcess([self.database]) for _ in stores]
        super().launch_relays(
            [self.database.url_by(line.port) for line in self.lines_to_database], environment)

    def relay_options(self, number):
        return ["--bus", f"nats://127.0.0.1:{self.lines_to_nats[number].port}"]

    def wait_until_idle(self, when):
        self.nats.start()
        super().wait_until_idle(when)

    def end(self):
        super().end()
        for line in self.lines_to_nats + self.lines_to_database:
            line.end()
        if self.nats:
            self.nats.end()
