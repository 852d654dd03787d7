"""A relay per test, and devices in a terminal: the real program."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

PROGRAM = os.environ.get("LOCKSTEP_BINARY", "lockstep")
PATIENCE_SECONDS = 60


def run(*words, said="", code=0):
    """Runs a command of the program and returns its output, and what it says of a failure. `code`:
    the expected exit code."""
    done = subprocess.run(
        [PROGRAM, *words], input=said, text=True, capture_output=True, timeout=PATIENCE_SECONDS,
        check=False)
    if done.returncode != code:
        raise AssertionError(
            f"{' '.join(map(str, words))} ended with {done.returncode}: "
            f"{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if code else "")


def wait_until(condition, expectation):
    """Polls until `condition` returns a true value, and returns that. `expectation`: a function
    that makes the text of a failure."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{expectation()} (within {PATIENCE_SECONDS} s)")
        time.sleep(0.05)
    return value


class Relay:
    """An open relay, on a port that the system chooses; a restarted relay keeps its port, and is
    closed if `is_open` is set to False."""

    def __init__(self):
        self.origin = None
        self.pages = None
        # Options for waking devices, and further variables of the environment.
        self.wakes = []
        self.environment = {}
        self.is_open = True
        self.has_admin_page = False
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-browser-"))
        self.url = None
        self.owners_url = None
        self.process = None
        self.start()

    def start(self):
        listen = self.url.removeprefix("http://") if self.url else "127.0.0.1:0"
        self.process = subprocess.Popen(
            [PROGRAM, "relay", *(["--open"] if self.is_open else []), "--listen", listen,
             "--admin-listen", "127.0.0.1:0", *(["--admin-page"] if self.has_admin_page else []),
             "--host", "relay.test", "--disk-floor", "0", "--store", self.folder / "store",
             *(["--origin", self.origin] if self.origin else []),
             *(["--pages", self.pages] if self.pages else []), *self.wakes],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **self.environment})
        # The relay reports the address for metrics before the public address.
        for line in self.process.stderr:
            if found := re.search(r"metrics and health on (\S+)", line):
                self.owners_url = found[1]
            if found := re.search(r"listening on (\S+)", line):
                self.url = found[1]
                return
        raise AssertionError("the relay did not start")

    def stop(self):
        self.process.terminate()
        self._ended()

    def kill(self):
        """Kills the process without a shutdown, as a power cut does."""
        self.process.kill()
        self._ended()

    def halts(self):
        """Lets the process do nothing until `continues`: what is sent to it waits, as on a long
        way."""
        self.process.send_signal(signal.SIGSTOP)

    def continues(self):
        self.process.send_signal(signal.SIGCONT)

    def _ended(self):
        self.process.wait(PATIENCE_SECONDS)
        self.process.stderr.close()

    def has_no_connected_device(self):
        """Waits until all devices have ended their WebSockets."""
        wait_until(lambda: self._sockets() == 0, lambda: "a device stays connected")

    def _sockets(self):
        with urllib.request.urlopen(f"{self.owners_url}/metrics", timeout=PATIENCE_SECONDS) as it:
            text = it.read().decode()
        return int(re.search(r'lockstep_connections\{transport="websocket"\} (\d+)', text)[1])

    @property
    def is_running(self):
        return self.process.poll() is None

    def close(self):
        if self.is_running:
            self.stop()
        shutil.rmtree(self.folder)

    def has_plan(self, *words):
        """Changes the plan of the relay's only account, as the relay's owner."""
        store = ["--store", self.folder / "store"]
        account = json.loads(run("account", "list", "--json", *store))["accountID"]
        run("account", "plan", account, *words, *store)

    def replaces_wake_key(self):
        """Gives the relay a new key for push services, and starts it again."""
        self.stop()
        run("relay", "wake-key", "rotate", "--store", self.folder / "store")
        self.start()

    def agent(self, name, code):
        """Returns a terminal's device that has joined with a code."""
        agent = Agent(self.folder / name)
        agent.run("join", "--relay", self.url, "--code", "-", "--name", name, said=code)
        return agent


class Agent:
    def __init__(self, home):
        self.home = home

    def run(self, *words, said="", code=0):
        """Runs a command and returns its output; `code` is the expected exit code."""
        return run("agent", *words, "--home", self.home, said=said, code=code)

    def json(self, *words, said=""):
        """Returns the objects that a command prints, one per line."""
        lines = self.run(*words, "--json", said=said).splitlines()
        return [json.loads(line) for line in lines]
