"""Temporary PostgreSQL server, run as child processes: start, kill, stop, query."""

import collections
import contextlib
import glob
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import threading

from processes import RunError, is_stopped, wait_until
from sessions import Session

# The relays' user, who owns their database and has no other rights. The server's user is OWNER.
USER, OWNER, NAME = "lockstep", "postgres", "lockstep"
START_SECONDS = 60
# Several times the connections of the relays in a run, and few enough to be exhausted.
CONNECTIONS = 80
SETTINGS = {
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
    "max_connections": CONNECTIONS, "listen_addresses": "127.0.0.1",
    # Recovery syncs all files; one by one this takes as long as the rest of a round.
    "recovery_init_sync_method": "syncfs",
    # Short, so that a run includes several checkpoints.
    "checkpoint_timeout": "30s", "log_line_prefix": "%m [%p] %q%a ",
}


def programs():
    """Folder of the newest server's programs; None if no server is installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"),
                   key=lambda path: [int(word) for word in path.split("/")[4].split(".")
                                     if word.isdigit()])
    on_path = shutil.which("initdb")
    if on_path:
        found.insert(0, os.path.dirname(on_path))
    for folder in reversed(found):
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in ("initdb", "postgres")):
            return folder
    return None


class Database:
    """The server, with its own folder, on a Unix socket there and on a loopback port."""

    def __init__(self, folder, run_log):
        self.run_log = run_log
        self.programs = programs()
        self.place = os.path.join(folder, "database")
        self.data = os.path.join(self.place, "data")
        self.log = os.path.join(self.place, "log")
        self.address, self.port = "127.0.0.1", free_port()
        self.socket = os.path.join(self.place, f".s.PGSQL.{self.port}")
        self.password = secrets.token_hex(16)
        self.process, self.log_start = None, 0
        # Held by operations on the whole server, one at a time.
        self.lock = threading.RLock()
        # True if the server is down on purpose.
        self.is_paused = False
        self.identity = {}
        if os.geteuid() == 0:
            self.identity = unprivileged()
            # The server's user must be able to open its folder, and needs no other access here.
            os.chmod(folder, 0o711)

    @property
    def url(self):
        """URL with the Unix socket, which needs no password."""
        return f"postgres://{USER}@/{NAME}?host={self.place.replace('/', '%2F')}&port={self.port}"

    @property
    def loopback_url(self):
        """URL with TCP; the password is in `environment`."""
        return self.url_by(self.port)

    @staticmethod
    def url_by(port):
        """The same by a port that leads to the database."""
        return f"postgres://{USER}@127.0.0.1:{port}/{NAME}"

    @property
    def environment(self):
        return {"PGPASSWORD": self.password}

    # MARK: setup

    def make(self):
        os.mkdir(self.place, 0o700)
        if self.identity:
            os.chown(self.place, self.identity["user"], self.identity["group"])
        made = subprocess.run(
            [os.path.join(self.programs, "initdb"), "--no-sync", "--encoding=UTF8", "--locale=C",
             f"--username={OWNER}", "--auth-local=trust", "--auth-host=scram-sha-256",
             "-D", self.data],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd="/", **self.identity)
        if made.returncode != 0:
            raise RunError(f"the database was not made: {made.stdout.strip()}")
        self.start()
        with self.session("postgres") as session:
            session.query(f"CREATE ROLE {USER} LOGIN PASSWORD '{self.password}'")
            session.query(f"CREATE DATABASE {NAME} OWNER {USER}")

    def launch(self):
        settings = {**SETTINGS, "port": self.port, "unix_socket_directories": self.place}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.log, "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [os.path.join(self.programs, "postgres"), "-D", self.data, *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self.identity)

    def start(self, seconds=START_SECONDS):
        """Starts the server if it is not running, and waits until it answers, including
        recovery."""
        with self.lock:
            self.check_running()
            if not self.process:
                self.launch()
        wait_until(self.answers, lambda: f"the database does not answer: {self.tail()}", seconds)
        self.is_paused = False

    def answers(self):
        try:
            with self.session("postgres", seconds=5) as session:
                return session.number("SELECT 1") == 1
        except OSError:
            return self.check_running() and False

    def check_running(self):
        """Reports an unexpected end. Returns True if the server runs."""
        with self.lock:
            if self.process and self.process.poll() is not None:
                self.run_log.violation(
                    f"the database ended by itself with {self.process.returncode}: {self.tail()}")
                self.process = None
            return self.process is not None

    def log_text(self):
        with open(self.log, errors="replace") as log:
            log.seek(self.log_start)
            return log.read()

    def tail(self):
        return " | ".join(self.log_text().splitlines()[-4:])

    def errors(self):
        """Errors that the server returned since it was created, with their counts; the text of
        each up to the first quoted name."""
        found = collections.Counter()
        with open(self.log, errors="replace") as log:
            for line in log:
                kind, _, words = line.partition("ERROR:  ")
                if words and "lockstep" in kind:
                    found[words.partition('"')[0].strip()] += 1
        return found

    # MARK: queries

    def session(self, name=NAME, user=OWNER, seconds=10):
        return Session(self.socket, user, name, seconds)

    def query(self, question, seconds=10):
        """Runs a query as the owner; raises OSError if the server is not available."""
        with self.session(seconds=seconds) as session:
            return session.query(question)

    # MARK: faults

    def processes(self):
        """The postmaster and its child processes."""
        if not self.process:
            return []
        master = self.process.pid
        return [master] + [number for number in running() if parent(number) == master]

    def kill(self):
        """kill -9 of all its processes at once; data not synced remains with the operating
        system."""
        with self.lock:
            if not self.process:
                return
            self.is_paused = True
            # Stops the postmaster first, so that it starts no further process.
            self.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(self.process.pid), "the database goes on", 20)
            all = self.processes()
            for number in all:
                send(number, signal.SIGKILL)
            self.process.wait()
            self.process = None
            wait_until(lambda: not any(is_alive(number) for number in all[1:]),
                       "what the database began does not end", 20)

    def end(self, seconds=60):
        """Like `pg_ctl stop -m fast`."""
        with self.lock:
            if not self.process:
                return
            self.is_paused = True
            process, self.process = self.process, None
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            try:
                code = process.wait(seconds)
                if code != 0:
                    self.run_log.violation(f"the database ended with {code}: {self.tail()}")
            except subprocess.TimeoutExpired:
                self.process = process
                self.run_log.info("the database did not stop in time, and was killed")
                self.kill()

    def suspend(self):
        """Sends SIGSTOP to all its processes; returns them, for `go_on`."""
        with self.lock:
            stopped = []
            # The postmaster comes first, so that no new process appears.
            for number in self.processes():
                send(number, signal.SIGSTOP)
                stopped.append(number)
            return stopped

    @staticmethod
    def resume(stopped):
        for number in reversed(stopped):
            send(number, signal.SIGCONT)


def unprivileged():
    """The user to run the server, because it refuses to run as root."""
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise RunError("there is no user 'postgres' or 'nobody' for the database to run as")


def free_port():
    """A port that nothing listens on and that is outside the range for outgoing connections,
    because the server starts to listen only later."""
    for _ in range(100):
        port = 20_000 + secrets.randbelow(10_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port from 20000 to 29999 is free")


def running():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat(number):
    """State and parent of a process; None if it does not exist."""
    try:
        with open(f"/proc/{number}/stat") as file:
            words = file.read().rpartition(")")[2].split()
            return words[0], int(words[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def parent(number):
    found = stat(number)
    return found[1] if found else 0


def is_alive(number):
    found = stat(number)
    return found is not None and found[0] not in "ZX"


def send(number, what):
    try:
        os.kill(number, what)
    except ProcessLookupError:
        pass
