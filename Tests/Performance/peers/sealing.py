"""Costs of sealed accounts beside plain ones: user instructions by valgrind, processor time, bytes
on the wire and in the stores. Two agents of one account with homes on disk, and a relay with the
same store as ever; programs save records through the socket of the first agent's home."""

import argparse
import contextlib
import json
import os
import random
import re
import select
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

import programs
from counting import Instructions
from programs import RunError
from progress import run_measurement
from runs import Setting
from servers import LIMITS, Server
from table import table

DESCRIPTION = """\
Compares a sealed account with a plain one: a save and its sending on one device, the
change on another, the relay's part of it, a first sync, and the bytes on the wire and
in the stores. Both kinds of accounts alternate within a repetition. Needs valgrind for
the instructions.
"""
EPILOG = """\
exit codes: 0 a save is within its limit; 1 it is not; 2 a wrong option; 3 something
could not be measured
"""
KINDS = ("plain", "sealed")
# The greatest cost of a sealed save, in user instructions of the device, relative to a plain one.
SAVE_RATIO_MOST = 1.3
# Bytes of the fields: a check mark, a to-do or a short memo, a long memo.
SIZES, USUAL = (40, 200, 2_000), 200
# Saves that are counted under valgrind, and saves of which the processor time is measured.
COUNTED, TIMED, FIRST = 200, 500, 100_000
# Edits of a transaction (docs/sidecar.md), and records that one sync sends.
TRANSACTION = 400
WAIT_SECONDS = 600
ZONE = "Todos"


def main(root, arguments=None):
    parser = argparse.ArgumentParser(
        prog="sealing-cost", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions (default: 5)")
    parser.add_argument("--records", type=int, default=FIRST,
                        help=f"records of the first sync (default: {FIRST})")
    parser.add_argument("--only", action="append", choices=sorted(PARTS), help="a part of it")
    parser.add_argument("--disk", metavar="DIR", help="folder for homes and stores")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)

    def measured(progress):
        binary = programs.release(root, given.binary)
        found = {}
        with Setting(root, (None, None, None), binary, given.disk, 1, progress) as setting:
            for name in given.only or sorted(PARTS):
                found[name] = PARTS[name](setting, given, progress)
        progress.end()
        print(json.dumps(found) if given.json else text_of(found))
        ratio = save_ratio(found)
        return 1 if ratio is not None and ratio > SAVE_RATIO_MOST else 0

    return run_measurement("sealing-cost", measured)


# MARK: programs

class OpenRelay(Server):
    """A relay on an empty store, with one loop."""

    says_port = r"listening on http://127\.0\.0\.1:(\d+)"

    def command(self):
        self.store = os.path.join(self.folder, "store")
        return [self.setting.binary, "relay", "--open", "--listen", "127.0.0.1:0",
                "--store", self.store, "--loops", "1", "--limits", LIMITS]


class Agent(Server):
    """An agent with a home in a folder that stays."""

    def __init__(self, setting, home, **named):
        super().__init__(setting, home + "-run", **named)
        self.home = home

    def command(self):
        return [self.setting.binary, "agent", "run", "--home", self.home, "--log-level", "error"]

    def is_listening(self):
        with socket.socket(socket.AF_UNIX) as line:
            return line.connect_ex(os.path.join(self.home, "agent.sock")) == 0

    def start(self):
        self.says_port = "none"
        return super().start()

    def records(self):
        """Number of records in the home; the agent takes no notice of it."""
        path = os.path.join(self.home, "replica.sqlite")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(
                "SELECT count(*) FROM records WHERE zone = ? AND fields IS NOT NULL",
                [ZONE]).fetchone()[0]

    def wait_for(self, records):
        deadline = time.monotonic() + WAIT_SECONDS
        while self.records() < records:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RunError(f"the agent has {self.records()} records, not {records}: "
                               f"{self.log_text()[-500:]}")
            time.sleep(0.002)


class Wire:
    """A way to a port on which the bytes are counted."""

    def __init__(self, port):
        self.target, self.up, self.down = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near):
        with near, socket.create_connection(("127.0.0.1", self.target)) as far:
            for line in near, far:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                for line in select.select([near, far], [], [])[0]:
                    try:
                        data = line.recv(1 << 16)
                        if not data:
                            return
                        (far if line is near else near).sendall(data)
                    except OSError:
                        return
                    if line is near:
                        self.up += len(data)
                    else:
                        self.down += len(data)

    def close(self):
        self.listener.close()


class Account:
    """An account with two homes, on a relay of its own."""

    def __init__(self, setting, kind, counter=None, counts=None):
        """`counts`: the program that runs under `counter`: relay, writer or reader."""
        self.setting, self.kind, self.counter, self.counts = setting, kind, counter, counts
        self.folder = setting.new_folder(True)
        os.makedirs(self.folder)
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        self.relay = self.ends.enter_context(OpenRelay(
            self.setting, os.path.join(self.folder, "relay"), **self.wrapper("relay")))
        self.wires = {name: Wire(self.relay.port) for name in ("writer", "reader")}
        self.homes = {name: os.path.join(self.folder, name) for name in self.wires}
        self.join("writer", "--new", "--" + self.kind)
        return self

    def __exit__(self, *_):
        self.ends.close()
        for wire in self.wires.values():
            wire.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wrapper(self, name):
        if name != self.counts:
            return {}
        folder = self.setting.new_folder(True)
        os.makedirs(folder)
        self.setting.binary, plain = self.counter.binary, self.setting.binary
        self.ends.callback(setattr, self.setting, "binary", plain)
        return {"wrapper": self.counter.begin(folder), "environment": self.counter.environment}

    def command(self, *words, input=None):
        done = subprocess.run([self.setting.binary, "agent", *words], input=input, text=True,
                              capture_output=True, timeout=WAIT_SECONDS)
        if done.returncode != 0:
            raise RunError(f"agent {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def join(self, name, *words, input=None):
        address = f"http://127.0.0.1:{self.wires[name].port}"
        self.command("join", "--relay", address, "--home", self.homes[name], "--name", name, *words,
                     input=input)

    def pair(self, name="reader"):
        if name not in self.homes:
            self.wires[name] = Wire(self.relay.port)
            self.homes[name] = os.path.join(self.folder, name)
        code = json.loads(self.command("pair", "--home", self.homes["writer"], "--json"))["code"]
        self.join(name, "--code", "-", input=code + "\n")

    def run(self, name):
        return self.ends.enter_context(
            Agent(self.setting, self.homes[name], **self.wrapper(name)))


def fields_of(size, number):
    """Fields of so many bytes, of which little repeats."""
    fields = {"done": number % 3 == 0, "title": ""}
    random_text = random.Random(number)
    count = size - len(json.dumps(fields, separators=(",", ":")))
    words = []
    while sum(map(len, words)) + len(words) < count:
        words.append("".join(random_text.choices("etaoinshrdlucmfw", k=random_text.randint(2, 9))))
    fields["title"] = " ".join(words)[:count].ljust(count, ".")
    return fields


def save(home, size, first, count, reader):
    """Saves records one by one; each is at the relay, and at the reader, before the next one."""
    for number in range(first, first + count):
        home.save(ZONE, "Todo", fields_of(size, number), name=name_of(number))
        synced(home)
        reader.wait_for(number + 1)


def synced(home):
    status = home.sync(60)
    if status["state"] != "inSync" or status["waiting"]:
        raise RunError(f"the device does not come in sync: {status}")


def name_of(number):
    return f"8c9f5d1e-6a52-4d0b-9f3a-{number:012}"


def home_of(agent):
    package = os.path.join(agent.setting.root, "Sources", "PythonClient", "src")
    if package not in sys.path:
        sys.path.insert(0, package)
    from lockstep import Home
    return Home(agent.home, timeout=WAIT_SECONDS)


# MARK: instructions of a save, of a change that arrives, and of the relay

def count_instructions(setting, given, progress):
    """User instructions for each save by program and kind; a list of values each. Those of the sync
    that follows each save are taken off."""
    counter = counter_of(setting)
    found = {}
    for repetition in range(min(given.repeat, 3)):
        for counts in ("writer", "reader", "relay"):
            for kind in KINDS:
                progress(f"instructions, {repetition + 1}: {counts}, {kind}")
                value = instructions_of(setting, counter, counts, kind)
                found.setdefault(counts, {}).setdefault(kind, []).append(value)
    return found


def ratio_of_saves(setting, progress):
    """Instructions of a sealed save on its device, relative to a plain one."""
    counter = counter_of(setting)
    counts = {}
    for kind in KINDS:
        progress(f"user instructions: a save on its device, {kind}")
        counts[kind] = instructions_of(setting, counter, "writer", kind)
    return counts["sealed"] / counts["plain"]


def counter_of(setting):
    if not shutil.which("valgrind"):
        raise RunError("valgrind is not installed (apt install valgrind)")
    return Instructions(setting, None)


def instructions_of(setting, counter, counts, kind, size=USUAL):
    with Account(setting, kind, counter, counts) as account:
        account.pair()
        writer, reader = account.run("writer"), account.run("reader")
        counted = {"writer": writer, "reader": reader, "relay": account.relay}[counts]

        def counting(work):
            counter.reset(counted)
            work()
            return counter.read(counted, "")[counter.names[0]]

        with home_of(writer) as home:
            save(home, size, 0, 20, reader)
            rest = counting(lambda: [synced(home) for _ in range(COUNTED)])
            saves = counting(lambda: save(home, size, 20, COUNTED, reader))
            return (saves - rest) / COUNTED


# MARK: processor time and bytes

def processor_seconds(process):
    total = 0
    for task in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def measure_saves(setting, given, progress):
    """Processor microseconds of each program for each save, and bytes of each way, by size and
    kind."""
    found = {}
    for repetition in range(given.repeat):
        for size in SIZES if repetition == 0 else (USUAL,):
            for kind in KINDS if repetition % 2 == 0 else KINDS[::-1]:
                progress(f"saves, {repetition + 1} of {given.repeat}: {size} bytes, {kind}")
                figures = saves_of(setting, kind, size)
                for name, value in figures.items():
                    kept = found.setdefault(str(size), {}).setdefault(name, {})
                    kept.setdefault(kind, []).append(value)
    return found


def saves_of(setting, kind, size):
    with Account(setting, kind) as account:
        account.pair()
        writer, reader = account.run("writer"), account.run("reader")
        with home_of(writer) as home:
            save(home, size, 0, 50, reader)
            before = state_of(account, writer, reader)
            save(home, size, 50, TIMED, reader)
            after = state_of(account, writer, reader)
    return {name: (after[name] - before[name]) / TIMED for name in after}


def state_of(account, writer, reader):
    wires = account.wires
    return {
        "writer, CPU µs": 1e6 * processor_seconds(writer.process.pid),
        "reader, CPU µs": 1e6 * processor_seconds(reader.process.pid),
        "relay, CPU µs": 1e6 * processor_seconds(account.relay.process.pid),
        "sent by the writer, bytes": wires["writer"].up,
        "received by the reader, bytes": wires["reader"].down,
    }


# MARK: first sync

def measure_first_sync(setting, given, progress):
    """A first sync, and the bytes that a record takes in the stores."""
    found = {}
    with contextlib.ExitStack() as ends:
        accounts = {}
        for kind in KINDS:
            progress(f"first sync: filling, {kind}")
            accounts[kind] = ends.enter_context(Account(setting, kind))
            fill(accounts[kind], given.records)
            for name, value in stored_bytes(accounts[kind], given.records).items():
                found.setdefault(name, {})[kind] = [value]
        for repetition in range(given.repeat):
            for kind in KINDS if repetition % 2 == 0 else KINDS[::-1]:
                progress(f"first sync, {repetition + 1} of {given.repeat}: {kind}")
                figures = first_sync(accounts[kind], f"device {repetition}", given.records)
                for name, value in figures.items():
                    found.setdefault(name, {}).setdefault(kind, []).append(value)
    if shutil.which("valgrind"):
        for kind in KINDS:
            progress(f"first sync, instructions: {kind}")
            found.setdefault("instructions for each record", {})[kind] = [
                first_sync_instructions(setting, kind, min(given.records, 20_000))]
    return found


def fill(account, records):
    agent = Agent(account.setting, account.homes["writer"])
    with agent, home_of(agent) as home:
        for first in range(0, records, TRANSACTION):
            with home.transaction() as edits:
                for number in range(first, min(first + TRANSACTION, records)):
                    edits.save(ZONE, "Todo", fields_of(USUAL, number), name=name_of(number))
            if first % (20 * TRANSACTION) == 0:
                synced(home)
        synced(home)


def stored_bytes(account, records):
    """Bytes of each record in the home's and in the relay's database."""
    found = {"in the device's store, bytes a record": used_bytes(
        os.path.join(account.homes["writer"], "replica.sqlite"))}
    account.relay.stop()
    found["in the relay's store, bytes a record"] = used_bytes(
        os.path.join(account.relay.store, "zones.sqlite"))
    account.relay.start()
    for wire in account.wires.values():
        wire.target = account.relay.port
    return {name: value / records for name, value in found.items()}


def used_bytes(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        numbers = [database.execute(f"PRAGMA {name}").fetchone()[0]
                   for name in ("page_count", "freelist_count", "page_size")]
    return (numbers[0] - numbers[1]) * numbers[2]


def first_sync(account, name, records):
    account.pair(name)
    before = account.wires[name].down
    begun = time.monotonic()
    relay_before = processor_seconds(account.relay.process.pid)
    agent = Agent(account.setting, account.homes[name])
    with agent:
        agent.wait_for(records)
        seconds = time.monotonic() - begun
        figures = {
            "seconds": seconds,
            "device, CPU µs a record": 1e6 * processor_seconds(agent.process.pid) / records,
            "relay, CPU µs a record": 1e6 * (
                processor_seconds(account.relay.process.pid) - relay_before) / records,
            "received, bytes a record": (account.wires[name].down - before) / records,
            "device's greatest memory, MiB": peak(agent.process.pid) / 2 ** 20,
        }
    shutil.rmtree(account.homes[name])
    return figures


def peak(process):
    with open(f"/proc/{process}/status") as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024


def first_sync_instructions(setting, kind, records):
    """The difference of two first syncs, of which one has a tenth of the records."""
    counter = Instructions(setting, None)
    counts = []
    for count in (records // 10, records):
        with Account(setting, kind, counter, "reader") as account:
            fill(account, count)
            account.pair()
            agent = account.run("reader")
            agent.wait_for(count)
            counts.append(counter.read(agent, "")[counter.names[0]])
    return (counts[1] - counts[0]) / (records - records // 10)


PARTS = {"instructions": count_instructions, "saves": measure_saves,
         "first-sync": measure_first_sync}


# MARK: result

def save_ratio(found):
    """Instructions of a sealed save on the device that makes it, relative to a plain one; None if
    they were not counted."""
    by_kind = found.get("instructions", {}).get("writer")
    return by_kind and statistics.median(by_kind["sealed"]) / statistics.median(by_kind["plain"])


def text_of(found):
    parts = []
    if "instructions" in found:
        rows = [row(f"{name}, for each save", by_kind)
                for name, by_kind in found["instructions"].items()]
        parts.append(table(["user instructions", *KINDS, "ratio"], rows))
        ratio = save_ratio(found)
        parts.append(f"a sealed save on its device: {ratio:.2f} times a plain one; the limit is "
                     f"{SAVE_RATIO_MOST}")
    for size, figures in found.get("saves", {}).items():
        parts.append(table([f"a save of {size} bytes", *KINDS, "ratio"],
                           [row(name, by_kind) for name, by_kind in figures.items()]))
    if "first-sync" in found:
        parts.append(table(["first sync", *KINDS, "ratio"],
                           [row(name, by_kind) for name, by_kind in found["first-sync"].items()]))
    return "\n\n".join(parts)


def row(name, by_kind):
    """Medians with the least and the greatest value; the ratio is the median of the repetitions'
    ratios."""
    ratios = [right / left for left, right in zip(*(by_kind[kind] for kind in KINDS)) if left]
    return [name, *(spread(by_kind[kind]) for kind in KINDS),
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"]


def spread(values):
    def short(value):
        return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    middle = short(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({short(min(values))}–{short(max(values))})"
