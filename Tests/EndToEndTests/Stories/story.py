"""Shared parts of the stories (end-to-end tests): a relay of the real program, curl, and a runner.

A story is a function whose name starts with `story_`; its docstring says what a person does and
what must hold. Nothing here sleeps to synchronise: it waits for a condition, with a bound.
"""

import codecs
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

LOCKSTEP = os.environ["LOCKSTEP_BINARY"]
# Freed memory that an address sanitizer keeps would count as the program's.
os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=1")
# Results must not depend on the free space of this machine; stories of full disks use their own
# disk.
os.environ.setdefault("LOCKSTEP_DISK_FLOOR", "0")
# Texts are compared in English, whatever the language of this machine.
os.environ["LOCKSTEP_LANG"] = "en"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
WITH_POSTGRES = os.path.join(ROOT, "scripts", "with-postgres")
# Time limit in seconds for anything to happen, also on a busy machine. It bounds a failure; no
# figure of the product depends on it.
PATIENCE = 90


def terminal_decoder():
    """Decodes what a terminal shows, part by part: a part may end in the middle of a character."""
    return codecs.getincrementaldecoder("utf-8")("replace")


def wait_until(condition, what, seconds=PATIENCE):
    """Polls until `condition` returns a true value, and returns that. `what`: a text, or a function
    that makes it."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            what = what() if callable(what) else what
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.01)


class Relay:
    """A relay process on a free port, with its own store."""

    def __init__(self, *options, store=None, wrapper=(), is_open=True, environment=None):
        self.directory = tempfile.mkdtemp(prefix="lockstep-story-")
        self.store = store or os.path.join(self.directory, "store")
        self.options = list(options) + (["--open"] if is_open else [])
        self.wrapper = list(wrapper)
        self.environment = environment or {}
        self.process = None
        self.port = 0
        self.starts = 0

    def start(self):
        self.starts += 1
        self.log = os.path.join(self.directory, f"relay-{self.starts}.log")
        command = self.wrapper + [LOCKSTEP, "relay", "--listen", f"127.0.0.1:{self.port}"]
        command += ["--store", self.store] + self.options
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=log,
                env={**os.environ, **self.environment})
        # In each log format.
        listening = re.compile(
            r'(?:lockstep relay: listening on |msg=listening url=|"msg":"listening","url":")'
            r"(https?)://([0-9.]+):(\d+)")

        def found():
            match = listening.search(self.text())
            if not match and self.process.poll() is not None:
                raise AssertionError(f"the relay ended by itself:\n{self.text()}")
            return match

        match = wait_until(found, "the relay's listening line")
        self.port = int(match.group(3))
        self.address = f"{match.group(1)}://127.0.0.1:{self.port}"
        return self

    def text(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    @property
    def id(self):
        """The relay's process id; with a wrapper, the relay is its child."""
        if not self.wrapper:
            return self.process.pid
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return int(file.read().split()[0])

    def kill(self):
        os.kill(self.id, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Sends SIGTERM; returns the exit code."""
        os.kill(self.id, signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:400]!r}"


def curl(relay, method, path, body=None, token=None, headers=(), raw=None, options=()):
    """One request, by the real curl."""
    command = ["curl", "--silent", "--show-error", "--max-time", str(PATIENCE), "--include"]
    command += ["--head"] if method == "HEAD" else ["--request", method]
    if token:
        command += ["--header", f"Authorization: Bearer {token}"]
    for header in headers:
        command += ["--header", header]
    data = raw
    if body is not None:
        data = json.dumps(body).encode()
    if data is not None:
        command += ["--data-binary", "@-"]
        if not any(header.lower().startswith("content-type") for header in headers):
            command += ["--header", "Content-Type: application/json"]
    command += list(options) + [relay.address + path]
    done = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, f"curl {method} {path}: {done.stderr.decode()}"
    rest = done.stdout
    while True:
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        if status != 100:
            break
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return Answer(status, fields, rest)


def read_response(connection):
    """The next HTTP response on a raw connection."""
    file = connection.makefile("rb")
    first = file.readline()
    assert first.startswith(b"HTTP/1.1 "), first
    fields = {}
    while (field := file.readline()) != b"\r\n":
        name, _, value = field.decode().partition(":")
        fields[name.lower()] = value.strip()
    return Answer(int(first.split()[1]), fields, file.read(int(fields["content-length"])))


def expect(answer, status, code=None):
    assert answer.status == status, f"expected {status}, got {answer}"
    if code is not None:
        assert answer.headers["content-type"].startswith("application/problem+json"), answer
        problem = answer.json
        assert problem["code"] == code, answer
        assert problem["status"] == status, answer
        assert problem["title"] and problem["detail"] and problem["type"], answer
    return answer


class Person:
    """A signed-in device, by curl."""

    def __init__(self, relay, credentials):
        self.relay = relay
        self.account = credentials["accountID"]
        self.device = credentials["deviceID"]
        self.token = credentials["token"]

    @staticmethod
    def new(relay, name="curl"):
        answer = curl(relay, "POST", "/v1/accounts", {"deviceName": name, "platform": "test", "appVersion": "1"})
        return Person(relay, expect(answer, 201).json)

    def pair(self, name="second", **scope):
        """Another device, with the whole account or with this scope."""
        code = expect(self.call("POST", "/v1/pairings", scope or None), 201).json["code"]
        answer = curl(
            self.relay, "POST", "/v1/devices",
            {"code": code, "deviceName": name, "platform": "test", "appVersion": "1"})
        return Person(self.relay, expect(answer, 201).json)

    def is_connected(self, other):
        """True if the other device is connected, according to this one's list; the requesting
        device always is."""
        devices = expect(self.call("GET", "/v1/devices"), 200).json["devices"]
        return any(each["connected"] for each in devices if each["deviceID"] == other.device)

    def call(self, method, path, body=None, **options):
        return curl(self.relay, method, path, body, token=self.token, **options)

    def save(self, *records, zone="Notes", id=None, **members):
        batch = {"id": id or new_id(), "records": list(records), **members}
        return self.call("POST", f"/v1/zones/{zone}/records", batch)

    def changes(self, **query):
        text = "&".join(f"{name}={value}" for name, value in query.items())
        return self.call("GET", "/v1/changes" + (f"?{text}" if text else ""))


class Connection:
    """A persistent connection, by Python's HTTP client; much faster than one curl per request."""

    def __init__(self, relay, person=None, source="127.0.0.1"):
        self.person = person
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", relay.port, timeout=PATIENCE, source_address=(source, 0))

    def request(self, method, path, body=None, raw=None, headers=(), token=None):
        if body is not None:
            raw = json.dumps(body).encode()
        fields = dict(headers)
        if raw is not None:
            fields.setdefault("Content-Type", "application/json")
        token = token or (self.person and self.person.token)
        if token and "Authorization" not in fields:
            fields["Authorization"] = f"Bearer {token}"
        self.connection.request(method, path, raw, fields)
        answer = self.connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, fields, answer.read())

    def save(self, *records, zone="Notes", **members):
        batch = {"id": new_id(), "records": list(records), **members}
        return self.request("POST", f"/v1/zones/{zone}/records", batch)


class SmallDisk:
    """A file system of a few megabytes; `mounted` is False if this process may not mount."""

    def __init__(self, kibibytes):
        self.path = tempfile.mkdtemp(prefix="lockstep-story-")
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k,mode=755", "tmpfs", self.path]
        self.mounted = subprocess.run(mount, capture_output=True).returncode == 0

    def grow(self, kibibytes):
        """Sets its total size from now on."""
        subprocess.run(["mount", "-o", f"remount,size={kibibytes}k", self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "--lazy", self.path], check=True)
        os.rmdir(self.path)


def new_id():
    """A new batch id."""
    return str(uuid.uuid4())


def now():
    return int(time.time() * 1000)


def record(name, text="hello", **members):
    """A change that overwrites any version, unless `members` has a `baseTag`."""
    return {"name": name, "type": "Note", "fields": {"text": text}, "modifiedAt": now(),
            "baseTag": "any", **members}


def tombstone(name, **members):
    return {"name": name, "deleted": True, "modifiedAt": now(), **members}


def upload(person, data):
    """Uploads a new chunk; returns its hash."""
    hash = hashlib.sha256(data).hexdigest()
    expect(person.call("PUT", f"/v1/chunks/{hash}", raw=data,
                       headers=["Content-Type: application/octet-stream"]), 201)
    return hash


def has_postgres(*options):
    """True if a PostgreSQL server can be started here, with `--pooler` also PgBouncer; otherwise
    prints the reason."""
    done = subprocess.run([WITH_POSTGRES, "--check", *options], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"      NOT RUN: {done.stderr.strip()}")
    return done.returncode == 0


def run(*arguments, home=None, input=None, expect_code=0, environment=None, wrapper=()):
    """Runs a command of the real program; checks its exit code and returns its outcome."""
    command = [*wrapper, LOCKSTEP, *arguments] + (["--home", home] if home else [])
    done = subprocess.run(
        command, input=input, stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, **(environment or {})})
    assert done.returncode == expect_code, (
        f"{' '.join(command)}: exit {done.returncode}, expected {expect_code}\n"
        f"{done.stdout}\n{done.stderr}")
    return done


def refused(*arguments, says, code=1, **options):
    """Runs a command that must fail with a message that a person can act on, and no other
    output."""
    done = run(*arguments, expect_code=code, **options)
    assert done.stdout == "", done.stdout
    for part in [says] if isinstance(says, str) else says:
        assert part in done.stderr, f"{arguments} says {done.stderr!r}, not {part!r}"
    assert "Fatal" not in done.stderr and len(done.stderr.splitlines()) <= 3, done.stderr
    return done.stderr


@contextlib.contextmanager
def folder():
    """A temporary folder."""
    path = tempfile.mkdtemp(prefix="lockstep-story-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Background:
    """A command that keeps running; its lines are read as they come."""

    def __init__(self, *arguments, environment=None):
        self.process = subprocess.Popen(
            [LOCKSTEP, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **(environment or {})})
        self.lines, self.errors = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()
        self.complaints = threading.Thread(target=self.read_errors, daemon=True)
        self.complaints.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def line(self, seconds=PATIENCE):
        """The next line of output; None when it has ended."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no line came within {seconds} s; {self.errors}") from None

    def stop(self, how=signal.SIGTERM):
        """Sends the signal; returns the exit code."""
        self.process.send_signal(how)
        code = self.process.wait(timeout=PATIENCE)
        self.complaints.join(timeout=PATIENCE)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Home:
    """A device's home in a folder, used by commands of the real program."""

    def __init__(self, path):
        self.path = path

    @staticmethod
    def new(relay, directory, name="phone", *words):
        """The first device of a new account, which is sealed unless `--plain` is given."""
        home = Home(os.path.join(directory, name))
        run("agent", "join", "--relay", relay.address, "--new", "--name", name, *words,
            home=home.path)
        return home

    def pair(self, relay, directory, name="laptop"):
        other = Home(os.path.join(directory, name))
        run("agent", "join", "--relay", relay.address, "--code", "-", "--name", name,
            home=other.path, input=self.code() + "\n")
        return other

    def code(self):
        return json.loads(self.run("pair", "--json"))["code"]

    def run(self, *words, code=0):
        return run("agent", *words, home=self.path, expect_code=code).stdout

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))

    def timer(self, *words):
        """The screen after a timer command."""
        return self.json("timer", *words)

    def memos(self):
        """The titles of its memos, sorted."""
        return sorted(each["title"] for each in self.json("memo", "list")["memos"])

    def refuses(self, *words, says):
        return refused("agent", *words, home=self.path, says=says)

    def status(self):
        """The status, once nothing is being read. A command that opens the home by itself waits for
        that only for a moment, which may be too short on a busy machine."""
        end = time.monotonic() + PATIENCE
        while True:
            status = json.loads(self.run("status", "--json"))
            is_reading = (status["state"], status["waiting"]) == ("syncing", 0)
            if not is_reading or time.monotonic() > end:
                return status

    def person(self, relay):
        """The same device by curl, with the token that its holder gives to commands."""
        with self.start_agent(), socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(PATIENCE)
            wait_until(lambda: asking.connect_ex(os.path.join(self.path, "agent.sock")) == 0,
                       "the holder to answer")
            asking.sendall(b'{"verb":"credentials"}\n')
            token = json.loads(asking.makefile().readline())["answer"]["token"]
        status = self.status()
        return Person(
            relay, {"accountID": status["account"], "deviceID": status["device"], "token": token})

    def background(self, *words):
        return Background("agent", *words, "--home", self.path)

    def start_agent(self, *words):
        """Starts `agent run`; returns once it holds the home."""
        agent = self.background("run", *words)
        wait_until(
            lambda: self.is_held() or agent.process.poll() is not None, "the home to be held")
        return agent

    def is_held(self):
        """True if a process answers on the home's socket; a former one may have left its file."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(os.path.join(self.path, "agent.sock"))
            except (ConnectionRefusedError, FileNotFoundError):
                return False
            return True


def main(stories, at_once=1):
    """Runs the stories of a file, or those named on the command line. `at_once`: number of stories
    in parallel, for files that mostly wait."""
    wanted = sys.argv[1:]

    def holds(name):
        begun = time.monotonic()
        try:
            stories[name]()
            print(f"ok    {name} ({time.monotonic() - begun:.1f} s)", flush=True)
            return True
        except BaseException:
            print(f"FAIL  {name}: {stories[name].__doc__}\n{traceback.format_exc()}", flush=True)
            return False

    names = [name for name in stories if name.startswith("story_") and (not wanted or name in wanted)]
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        sys.exit(0 if all(list(pool.map(holds, names))) else 1)
