"""Counts the work of the relay and the floor without the hardware's counters: user instructions
and allocations by valgrind, system calls by strace.

The load stops before and after the measured part. The counters are set to zero at the first stop
and read at the second, so that neither start nor end is included. Unless stated otherwise, one
message is under way at a time, so that every run does the same work.
"""

import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

from programs import RunError
from runs import PausedLoad
from servers import SERVERS
from table import cell, table
from workloads import Shape

PEERS = ("floor", "lockstep")
REPETITIONS, STOP_SECONDS = 3, 60
# Receivers of each account. The cost of one more receiver is small compared with the message
# itself, so many are needed to measure it.
FEW, MANY = 5, 45
# Number of accounts, devices of each account, and devices of the crowd. If there are more receivers
# than devices, each device has several connections.
POPULATION = (40, 6, 100)


def closed(mode, accounts, devices, messages, window=1, **more):
    options = ("--window", str(window)) if mode != "saves" else ()
    return Shape(mode, accounts, devices, (*options, "--messages", str(messages)), **more)


SHAPES = {
    "storm": Shape("storm", 40, 5, ("--in-flight", "64")),
    "push to few": closed("window", 10, FEW, 400),
    "push to many": closed("window", 10, MANY, 400),
    "push of many accounts": closed("window", 40, FEW, 1600, window=40),
    "pressure": closed("window", 1, 50, 200, window=8, is_crowd=True),
    "poll of few": closed("longpoll", 10, FEW, 200),
    "poll of many": closed("longpoll", 10, MANY, 40),
    "saves": closed("saves", 1, 0, 400, peers=("lockstep",)),
    "saves at once": closed("saves", 40, 0, 1600, peers=("lockstep",)),
}


class Instructions:
    """Number of user instructions and of allocations, by callgrind."""

    names, tool, about = ("user instructions", "allocations"), "valgrind", "apt install valgrind"
    allocators = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign"}
    # x86 has single instructions that fill and copy memory, and valgrind counts them once for each
    # byte. These settings make the C library use other instructions.
    environment = {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=4294967296:"
                                     "glibc.cpu.x86_rep_stosb_threshold=4294967296"}

    def __init__(self, setting, keep):
        self.keep = keep
        self.binary = os.path.join(setting.disk, "lockstep")
        # Valgrind cannot read Swift's debug information; the function names remain.
        subprocess.run(["strip", "--strip-debug", "-o", self.binary, setting.binary], check=True)

    def begin(self, folder):
        self.out = os.path.join(folder, "callgrind")
        return ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={self.out}"]

    def reset(self, server):
        self.send_command(server, "zero")

    def read(self, server, name):
        self.send_command(server, "dump")
        files = glob.glob(self.out + ".*")
        if len(files) != 1:
            raise RunError(f"callgrind wrote {len(files)} files")
        with open(files[0]) as file:
            text = file.read()
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
            shutil.copy(files[0], os.path.join(self.keep, f"{name}.callgrind"))
        # The next file has another number.
        os.remove(files[0])
        total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))
        return dict(zip(self.names, (total, self.allocations(text))))

    def allocations(self, text):
        """Number of allocator calls in callgrind's file. The file names a function at its first
        occurrence and refers to it by number afterwards."""
        functions, called, count = {}, None, 0
        for line in text.splitlines():
            if match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
                if match[3]:
                    functions[match[2]] = match[3]
                if match[1]:
                    called = functions.get(match[2])
            elif line.startswith("calls=") and called in self.allocators:
                count += int(line[len("calls="):].split()[0])
        return count

    def send_command(self, server, word):
        done = subprocess.run(["vgdb", f"--pid={server.process.pid}", word], capture_output=True,
                              text=True, timeout=STOP_SECONDS)
        if done.returncode != 0:
            raise RunError(f"vgdb {word}: {done.stderr.strip()}")


class SystemCalls:
    """System calls, by strace, which is attached only while it counts."""

    names, tool, about = ("system calls",), "strace", "apt install strace"
    environment = {}

    def __init__(self, setting, keep):
        self.keep, self.binary = keep, setting.binary

    def begin(self, folder):
        self.out = os.path.join(folder, "strace")
        return []

    def reset(self, server):
        self.output = open(self.out + ".said", "w+")
        self.tracer = subprocess.Popen(
            ["strace", "-f", "-c", "-o", self.out, "-p", str(server.process.pid)],
            stdout=self.output, stderr=self.output)
        deadline = time.monotonic() + STOP_SECONDS
        threads = len(os.listdir(f"/proc/{server.process.pid}/task"))
        while self.text().count("attached") < threads and "attached with" not in self.text():
            if self.tracer.poll() is not None or time.monotonic() > deadline:
                raise RunError(f"strace: {self.text().strip()}")
            time.sleep(0.01)

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def read(self, server, name):
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.wait(STOP_SECONDS)
        self.output.close()
        with open(self.out) as file:
            text = file.read()
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
            shutil.copy(self.out, os.path.join(self.keep, f"{name}.strace"))
        total = re.search(r"^\s*100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$", text, re.M)
        return {self.names[0]: int(total.group(1)) if total else 0}


def measure(given, setting, progress):
    peers = [peer for peer in PEERS if peer in given.peers]
    repetitions = 1 if given.quick else REPETITIONS
    rows, skipped = count_all(setting, peers, repetitions, given.keep, progress)
    if not rows:
        raise RunError("; ".join(skipped.values()) or f"only {', '.join(PEERS)} are counted")
    print_report(given, rows, skipped)
    return 0


def count_all(setting, peers, repetitions, keep, progress):
    """Figures by counter and peer, and the reason for each counter that is left out."""
    skipped, kinds = {}, []
    for kind in (Instructions, SystemCalls):
        if shutil.which(kind.tool):
            kinds.append(kind)
        else:
            skipped[" and ".join(kind.names)] = f"{kind.tool} is not installed ({kind.about})"
    if kinds and "lockstep" in peers:
        setting.prepare(*POPULATION)
    totals = {}
    for kind in kinds:
        for repetition in range(repetitions):
            for name, shape in SHAPES.items():
                for peer in peers:
                    if peer not in shape.peers:
                        continue
                    progress(f"{kind.names[0]}, {repetition + 1} of {repetitions}: {name}, {peer}")
                    counted, *of = count(setting, kind, keep, peer, name, shape)
                    for counter, total in counted.items():
                        found = totals.setdefault((counter, peer), {})
                        found.setdefault(name, []).append((total, *of))
    progress.end()
    order = {name: place for place, name in enumerate(Instructions.names + SystemCalls.names)}
    keys = sorted(totals, key=lambda key: order[key[0]])
    return {key: figures_of(totals[key]) for key in keys}, skipped


def count(setting, kind, keep, peer, name, shape):
    """Returns the counts of a run by name, its number of messages or connections, and its number of
    deliveries."""
    folder = setting.new_folder(shape.on_disk)
    os.makedirs(folder)
    counter, plain = kind(setting, keep), setting.binary
    setting.binary = counter.binary
    try:
        with SERVERS[peer](setting, folder, wrapper=counter.begin(folder),
                           environment=counter.environment) as server:
            load = PausedLoad(setting, server, shape)
            try:
                load.wait_for("begin")
                counter.reset(server)
                load.resume()
                load.wait_for("end")
                total = counter.read(server, f"{peer} {name}".replace(" ", "-"))
                load.resume()
                report = load.report()
            except BaseException:
                load.end()
                raise
    finally:
        setting.binary = plain
    if shape.mode == "storm":
        return total, report["connections"], 0
    wrong = report["lost"] + report["duplicates"] + report["misrouted"] + report["refusals"]
    if wrong:
        raise RunError(f"{peer}: messages were lost, doubled, mixed up or refused: {report}")
    return total, report["published"], report["delivered"]


def figures_of(found):
    """Figures of one server and one counter: a list of values for each, one value for each
    repetition."""

    def per_message(name):
        return [total / messages for total, messages, _ in found[name]]

    def per_delivery(name):
        return [total / deliveries for total, _, deliveries in found[name]]

    def further(few, many):
        return [(high - low) / (MANY - FEW)
                for low, high in zip(per_message(few), per_message(many))]

    push, poll = further("push to few", "push to many"), further("poll of few", "poll of many")
    by_name = {
        "a connection and its hello": per_message("storm"),
        "a message to five, for each": per_delivery("push to few"),
        "  one further delivery": push,
        "  the message without any": [few - FEW * more for few, more
                                      in zip(per_message("push to few"), push)],
        "40 messages under way, each to five, for each": per_delivery("push of many accounts"),
        "eight messages under way to 50, for each": per_delivery("pressure"),
        "a message to five long-polls, for each": per_delivery("poll of few"),
        "  one further long-poll": poll,
    }
    if "saves" in found:
        by_name["a save while nobody else is there"] = per_message("saves")
        by_name["a save of 40 devices that save at once"] = per_message("saves at once")
    return by_name


def print_report(given, rows, skipped):
    if given.json:
        print(json.dumps({
            "skipped": skipped,
            "counts": [{"counter": counter, "peer": peer, "what": what.strip(), "runs": values}
                       for (counter, peer), by_name in rows.items()
                       for what, values in by_name.items()]}))
        return
    parts = []
    for counter in dict.fromkeys(counter for counter, _ in rows):
        peers = [peer for known, peer in rows if known == counter]
        names = list(dict.fromkeys(name for peer in peers for name in rows[counter, peer]))
        lines = []
        for name in names:
            values = [rows[counter, peer].get(name) for peer in peers]
            line = [name, *[cell(each) if each else "–" for each in values]]
            if len(peers) == 2:
                both = values[0] and values[1] and statistics.median(values[0])
                line.append(f"{statistics.median(values[1]) / both:.2f}" if both else "–")
            lines.append(line)
        head = [counter, *peers, *(["ratio"] if len(peers) == 2 else [])]
        parts.append(table(head, lines))
    parts.append("One message is under way at a time where nothing else is said: nothing shares a "
                 "commit or a send.")
    parts += [f"{name} are not counted: {reason}" for name, reason in skipped.items()]
    print("\n\n".join(parts))
