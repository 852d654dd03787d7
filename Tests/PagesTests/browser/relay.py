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


class Relay:
    """Open, on a port that the system gives, and on the same whenever it is started again."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-browser-"))
        self.url = None
        self.process = None
        self.start()

    def start(self):
        listen = self.url.removeprefix("http://") if self.url else "127.0.0.1:0"
        self.process = subprocess.Popen(
            [PROGRAM, "relay", "--open", "--listen", listen, "--store", self.folder / "store"],
            stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening on (\S+)", line)
            if found:
                self.url = found[1]
                return
        raise AssertionError("the relay did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        self.process.stderr.close()

    def remove(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)

    def agent(self, name, code):
        """A terminal's device that joins with a code."""
        agent = Agent(self, name)
        agent.run("join", "--relay", self.url, "--code", "-", "--name", name, said=code)
        return agent


class Agent:
    def __init__(self, relay, name):
        self.home = relay.folder / name

    def run(self, *words, said=""):
        """What a command prints."""
        done = subprocess.run(
            [PROGRAM, "agent", *words, "--home", self.home], input=said, text=True,
            capture_output=True, timeout=PATIENCE_SECONDS, check=False)
        if done.returncode != 0:
            raise AssertionError(f"agent {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def json(self, *words, said=""):
        """The object, or the objects, that a command prints."""
        lines = self.run(*words, "--json", said=said).splitlines()
        return [json.loads(line) for line in lines]
