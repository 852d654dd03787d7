"""The real program, as processes: relays, holders of homes, and single commands."""

import dataclasses
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time

# Longer than any process is stopped, and longer than a command waits by itself.
COMMAND_SECONDS = 120
# Small disks are filled on purpose, and their images are small.
os.environ.setdefault("LOCKSTEP_DISK_FLOOR", "0")


class RunError(Exception):
    """Fatal error of the run, with a message for the person who started it."""


def wait_until(condition, what, seconds):
    """Polls until `condition` returns a true value, and returns that. `what`: a text, or a
    function that makes it."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise RunError(f"{what() if callable(what) else what} (after {seconds:.0f} s)")
        time.sleep(0.02)


@dataclasses.dataclass
class CommandResult:
    """Outcome of a command. `code` is negative if a signal ended it."""

    code: int
    output: str
    error: str

    @property
    def json(self):
        return json.loads(self.output)


class ManagedProcess:
    """A process that is restarted whenever it ends, until it is to stay down.

    Faults that may end it are counted in `expected_failures`, so that an unexpected end is
    detected.
    """

    def __init__(self, name, folder, run_log):
        self.name, self.run_log = name, run_log
        self.log = os.path.join(folder, f"{name}.log")
        self.process, self.starts = None, 0
        self.lock = threading.RLock()
        # Number of active faults that may keep the process from starting or running.
        self.expected_failures = 0
        # True if it is not to be restarted for now.
        self.is_paused = False
        # Held by faults of its disk, one at a time.
        self.disk_lock = threading.Lock()
        self.environment = {}

    def command(self):
        raise NotImplementedError

    def launch(self):
        """Starts the process; all its runs append to one log file."""
        with self.lock:
            self.starts += 1
            with open(self.log, "ab") as log:
                self.log_start = log.tell()
                self.process = subprocess.Popen(
                    self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=log, env={**os.environ, **self.environment}, **self.popen_options())

    def popen_options(self):
        """Further arguments of Popen."""
        return {}

    def log_text(self):
        """Log output since the last start."""
        with open(self.log, errors="replace") as log:
            log.seek(self.log_start)
            return log.read()

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        with self.lock:
            if self.is_running:
                self.process.kill()
                self.process.wait()
            self.process = None

    def end(self):
        """Sends SIGTERM, and SIGKILL if that does not end it."""
        with self.lock:
            if not self.is_running:
                self.process = None
                return
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                code = self.process.wait(timeout=30)
                if code == -signal.SIGTERM and not self.log_text():
                    # It was still starting, and had not installed its signal handler.
                    self.run_log.count("ends before they had begun")
                elif code > 0 and self.could_not_start():
                    # It was about to end by itself, for a reason that a later start does not have.
                    self.run_log.count(self.start_failure)
                elif code != 0 and not self.expected_failures:
                    self.run_log.violation(
                        f"{self.name} ended with {code} on SIGTERM: {self.tail()}")
            except subprocess.TimeoutExpired:
                self.run_log.violation(f"{self.name} did not end within 30 s of SIGTERM")
                self.process.kill()
                self.process.wait()
            self.process = None

    def suspend(self):
        with self.lock:
            if self.is_running:
                self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        with self.lock:
            if self.is_running:
                self.process.send_signal(signal.SIGCONT)

    def freeze(self, seconds=20):
        """Stops it, and waits until none of its threads runs."""
        with self.lock:
            processes = self.processes()
            for process in processes:
                process.send_signal(signal.SIGSTOP)
            wait_until(lambda: all(is_stopped(each.pid) for each in processes),
                       f"{self.name} does not stand still", seconds)

    def processes(self):
        """All processes that use its disk now."""
        return [self.process] if self.is_running else []

    def kill_all(self):
        """Kills all its processes at once, as a power failure does."""
        with self.lock:
            for process in self.processes():
                process.kill()
                process.wait()
            self.process = None

    def tail(self):
        return " | ".join(self.log_text().splitlines()[-4:])

    def could_not_start(self):
        """True if it ended only because it could not start at that moment."""
        return False

    # Name of the counter for such ends.
    start_failure = ""

    def check_running(self):
        """Reports an unexpected end. Returns True if the process runs."""
        with self.lock:
            if self.is_running:
                return True
            if self.process is not None:
                code, self.process = self.process.returncode, None
                if self.could_not_start():
                    self.run_log.count(self.start_failure)
                elif code < 0 or not self.expected_failures or "Fatal" in self.log_text():
                    self.run_log.violation(
                        f"{self.name} ended by itself with {code}: {self.tail()}")
                else:
                    self.run_log.count("ends told with a reason")
            return False


def is_stopped(process):
    """True if all its threads are stopped, or it has ended."""
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] not in "TtZX":
                    return False
    except FileNotFoundError:
        pass
    return True


class Relay(ManagedProcess):
    """A relay with its own store, on one port for the whole run."""

    def __init__(self, binary, store, folder, run_log, name="relay", address="127.0.0.1", port=0,
                 enter=None):
        super().__init__(name, folder, run_log)
        self.binary, self.store = binary, store
        self.address, self.port, self.enter = address, port, enter
        self.options = []

    def command(self):
        return [self.binary, "relay", "--open", "--listen", f"{self.address}:{self.port}",
                "--exempt", "0.0.0.0/0", "--store", self.store] + self.options

    def popen_options(self):
        return {"preexec_fn": self.enter} if self.enter else {}

    def start(self, seconds=60):
        """Starts it, if necessary several times, and waits until it listens."""
        deadline = time.monotonic() + seconds
        while True:
            with self.lock:
                if not self.check_running():
                    self.launch()
            if self.listens(min(20, max(1, deadline - time.monotonic()))):
                return self
            if time.monotonic() > deadline:
                raise RunError(f"the {self.name} does not start: {self.tail()}")
            time.sleep(0.2)

    def listens(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = re.search(r"listening on http://[0-9.]+:(\d+)", self.log_text())
            if found:
                self.port = int(found.group(1))
                return True
            if not self.is_running:
                return False
            time.sleep(0.01)
        return False

    @property
    def url(self):
        return f"http://{self.address}:{self.port}"

    def call(self, method, path, body=None, token=None, seconds=30):
        """Sends one request on a new connection; returns its status, and its body as JSON."""
        return call(self.address, self.port, method, path, body, token, seconds)


def call(address, port, method, path, body=None, token=None, seconds=30):
    connection = http.client.HTTPConnection(address, port, timeout=seconds)
    try:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        connection.close()


class Home(ManagedProcess):
    """A device's home, with `agent run` on it; other commands run at the same time."""

    def __init__(self, binary, path, name, folder, run_log, transport=None):
        super().__init__(name, folder, run_log)
        self.binary, self.path, self.transport = binary, path, transport
        self.folder = folder
        # Commands that are still running.
        self.running_commands = set()

    def command(self):
        words = [self.binary, "agent", "run", "--home", self.path]
        return words + (["--transport", self.transport] if self.transport else [])

    def start(self):
        with self.lock:
            if not self.check_running():
                self.launch()

    def could_not_start(self):
        return "another process holds the home" in self.log_text()

    start_failure = "starts while a command held the home"

    def run(self, *words, input=None, stdin=None, environment=None, seconds=COMMAND_SECONDS):
        """Runs a command on this home."""
        command = [self.binary, "agent", *words, "--home", self.path]
        if self.transport:
            command += ["--transport", self.transport] if words[0] not in self.plain else []
        environment = {**os.environ, **self.environment, "TMPDIR": self.folder,
                       **(environment or {})}
        with self.lock:
            process = subprocess.Popen(
                command, stdin=stdin or (subprocess.PIPE if input is not None
                                         else subprocess.DEVNULL),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            self.running_commands.add(process)
        try:
            output, error = process.communicate(input, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            process.kill()
            output, error = "", f"it did not end within {late.timeout} s: {process.communicate()}"
        finally:
            with self.lock:
                self.running_commands.discard(process)
        return CommandResult(process.returncode, output, error)

    def processes(self):
        return super().processes() + list(self.running_commands)

    # Commands without the option --transport.
    plain = ("export", "join")

    def status(self):
        done = self.run("status", "--json")
        return done.json if done.code == 0 else {"state": done.error.strip() or "unknown"}
