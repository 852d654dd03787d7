"""A relay of its own, and devices in a terminal beside it: the real program."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

PROGRAM = os.environ.get("LOCKSTEP_BINARY", "lockstep")
PATIENCE_SECONDS = 60


def run(*words, said="", code=0):
    """What a command of the program prints."""
    done = subprocess.run(
        [PROGRAM, *words], input=said, text=True, capture_output=True, timeout=PATIENCE_SECONDS,
        check=False)
    if done.returncode != code:
        raise AssertionError(
            f"{' '.join(map(str, words))} ended with {done.returncode}: "
            f"{done.stdout}{done.stderr}")
    return done.stdout


class Relay:
    """Open, on a port that the system gives, and on the same whenever it is started again."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-browser-"))
        self.url = None
        self.owners_url = None
        self.process = None
        self.start()

    def start(self):
        listen = self.url.removeprefix("http://") if self.url else "127.0.0.1:0"
        self.process = subprocess.Popen(
            [PROGRAM, "relay", "--open", "--listen", listen, "--admin-listen", "127.0.0.1:0",
             "--host", "relay.test", "--disk-floor", "0", "--store", self.folder / "store"],
            stderr=subprocess.PIPE, text=True)
        # The inner door is told of before the front door.
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
        """Ends it without a word, as a power cut does."""
        self.process.kill()
        self._ended()

    def _ended(self):
        self.process.wait(PATIENCE_SECONDS)
        self.process.stderr.close()

    @property
    def is_running(self):
        return self.process.poll() is None

    def close(self):
        if self.is_running:
            self.stop()
        shutil.rmtree(self.folder)

    def has_plan(self, *words):
        """The owner gives the relay's one account another plan."""
        store = ["--store", self.folder / "store"]
        account = json.loads(run("account", "list", "--json", *store))["accountID"]
        run("account", "plan", account, *words, *store)

    def agent(self, name, code):
        """A terminal's device that joins with a code."""
        agent = Agent(self.folder / name)
        agent.run("join", "--relay", self.url, "--code", "-", "--name", name, said=code)
        return agent


class Agent:
    def __init__(self, home):
        self.home = home

    def run(self, *words, said="", code=0):
        """What a command prints; `code` is what it must end with."""
        return run("agent", *words, "--home", self.home, said=said, code=code)

    def json(self, *words, said=""):
        """The object, or the objects, that a command prints."""
        lines = self.run(*words, "--json", said=said).splitlines()
        return [json.loads(line) for line in lines]
