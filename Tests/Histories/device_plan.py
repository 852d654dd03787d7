"""The plan of jepsen-powersync with this program's processes: devices with a local store make
transactions while they are disconnected, stopped, killed, paused and partitioned."""

import contextlib
import json
import os
import random
import socket
import threading
import time

from child_processes import ProxyProcess
from database import Database
from history_file import HistoryFile, now
from processes import Home, Relay, RunError, wait_until

DEVICES, KEYS, WRITES = 5, 100, 4
# Transactions a second of all devices together.
RATE = 20
ZONE, TABLE = "Counts", {"zone": "Counts", "types": {"Count": {"fields": {"n": "counter"}}}}
# Longest times in seconds: of a fault, between faults, of an answer on the home's socket, and until
# all devices must have the same after the last fault.
FAULT_SECONDS, PAUSE_SECONDS, ANSWER_SECONDS, END_SECONDS = 10, 10, 8, 120


class Device(threading.Thread):
    """One device: its holder (`agent run`), its line to the relay, and a program on its socket."""

    def __init__(self, plan, number):
        super().__init__(daemon=True, name=f"d{number}")
        self.plan, self.rng = plan, random.Random(f"{plan.seed} d{number}")
        self.proxy = ProxyProcess([plan.relay])
        self.home = Home(plan.binary, os.path.join(plan.folder, self.name), self.name, plan.folder,
                         plan.run_log)
        self.socket, self.lines, self.id = None, None, 0
        self.counts = {"done": 0, "unknown": 0}

    def join_account(self, first):
        words = ["join", "--relay", f"http://127.0.0.1:{self.proxy.port}", "--name", self.name]
        if first:
            code = first.home.run("pair", "--json").json["code"]
            done = self.home.run(*words, "--code", "-", input=code + "\n")
        else:
            done = self.home.run(*words, "--new", "--plain")
        if done.code:
            raise RunError(f"{self.name} could not join: {done.error}")
        plain = self.home.command
        self.home.command = lambda: plain() + ["--rules", self.plan.table]
        self.home.start()
        self.device = wait_until(lambda: self.ask("hello"), f"{self.name}'s socket", 60)["device"]

    # MARK: the socket

    def ask(self, do, **members):
        """The answer, or None if there is none."""
        try:
            if self.socket is None:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.settimeout(ANSWER_SECONDS)
                self.socket.connect(os.path.join(self.home.path, "agent.sock"))
                self.lines = self.socket.makefile("rb")
            self.id += 1
            line = json.dumps({"id": self.id, "do": do, **members})
            self.socket.sendall(line.encode() + b"\n")
            records = []
            while True:
                answer = json.loads(self.lines.readline())
                records += answer.get("records", [])
                if not answer.get("more"):
                    return {**answer, "records": records}
        except (OSError, ValueError):
            self.disconnect()
            return None

    def disconnect(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    # MARK: operations

    def run(self):
        try:
            while not self.plan.over.wait(self.rng.uniform(0.5, 1.5) * DEVICES / RATE):
                if self.read() is not None:
                    self.change()
        except Exception as fault:  # Recorded as a violation: the other devices go on.
            self.plan.run_log.violation(f"{self.name}: {type(fault).__name__}: {fault}")

    def read(self, **members):
        """All records, as one moment of this device's store."""
        begun = now()
        answer = self.ask("records", zone=ZONE)
        if answer is None or "error" in answer:
            return None
        counts = {}
        for record in answer["records"]:
            for device, (up, _) in (record["fields"].get("n") or {}).items():
                counts.setdefault(self.plan.names[device], {})[record["name"]] = up
        self.plan.history.add(self.name, "read", begun, "read", counts=counts, **members)
        return counts

    def records(self):
        """All records, or none if there is no answer."""
        return (self.ask("records", zone=ZONE) or {}).get("records", [])

    def change(self):
        keys = sorted(self.rng.sample(self.plan.keys_of(self), WRITES))
        begun = now()
        answer = self.ask("transaction", edits=[
            {"do": "update", "zone": ZONE, "name": key, "add": {"n": 1}} for key in keys])
        if answer and "error" in answer:
            self.plan.run_log.violation(f"{self.name} was answered {answer['error']}")
            return
        outcome = "done" if answer else "unknown"
        self.counts[outcome] += 1
        self.plan.history.add(self.name, "transaction", begun, outcome, keys=keys)

    def is_in_sync(self):
        answer = self.ask("status")
        status = (answer or {}).get("status") or {}
        return status.get("state") == "inSync" and not status.get("waiting")


class Plan:
    """One run, with one kind of fault."""

    def __init__(self, binary, folder, run_log, seed, path, are_own):
        self.binary, self.folder, self.run_log, self.seed = binary, folder, run_log, seed
        # True if each device changes records of its own, so that no change conflicts.
        self.are_own = are_own
        self.rng, self.over = random.Random(seed), threading.Event()
        self.keys = [f"k{number:02}" for number in range(KEYS)]
        self.history = HistoryFile(path, {"devices": DEVICES, "seed": seed})
        self.database, self.relay, self.devices, self.names = None, None, [], {}
        self.table = os.path.join(folder, "table.json")
        with open(self.table, "w", encoding="utf-8") as file:
            json.dump(TABLE, file)

    def make(self):
        self.database = Database(self.folder, self.run_log)
        self.database.make()
        self.relay = Relay(self.binary, self.database.url, self.folder, self.run_log)
        self.relay.start()
        for number in range(1, DEVICES + 1):
            device = Device(self, number)
            self.devices.append(device)
            device.join_account(self.devices[0] if number > 1 else None)
            self.names[device.device] = device.name
        first = self.devices[0]
        first.ask("transaction", edits=[
            {"do": "save", "zone": ZONE, "type": "Count", "name": key, "fields": {}}
            for key in self.keys])
        wait_until(lambda: all(len(each.records()) == KEYS for each in self.devices),
                   "all records on all devices", 60)

    def keys_of(self, device):
        """Records that this device changes."""
        number = self.devices.index(device)
        return self.keys[number::DEVICES] if self.are_own else self.keys

    def run(self, fault, seconds):
        """Returns the number of faults, and the seconds until all devices were in sync again."""
        for device in self.devices:
            device.start()
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            self.over.wait(min(self.rng.uniform(0, PAUSE_SECONDS), end - time.monotonic()))
            if fault != "none" and time.monotonic() < end:
                chosen = self.rng.sample(self.devices, self.rng.randint(1, DEVICES))
                duration = self.rng.uniform(0, FAULT_SECONDS)
                with ACTS[fault](self, chosen):
                    time.sleep(duration)
                count += len(chosen)
        self.over.set()
        for device in self.devices:
            device.join(ANSWER_SECONDS + 5)
        healed = time.monotonic()
        wait_until(lambda: all(device.is_in_sync() for device in self.devices),
                   "all devices to be in sync", END_SECONDS)
        waited = time.monotonic() - healed
        # A device may be told of the last changes a moment after their author was in sync.
        wait_until(self.is_equal, "all devices to have the same", END_SECONDS)
        for device in self.devices:
            device.read(final=True)
        self.history.close(True)
        return count, waited

    def is_equal(self):
        fields = [{record["name"]: record["fields"] for record in device.records()}
                  for device in self.devices]
        return all(each == fields[0] and each for each in fields)

    def end(self):
        self.over.set()
        for device in self.devices:
            device.disconnect()
            device.home.end()
            device.proxy.end()
        if self.relay:
            self.relay.end()
        if self.database:
            self.database.end()
        self.history.close(False)

    # MARK: faults

    @contextlib.contextmanager
    def disconnect(self, chosen):
        """The line refuses, and ends what is open."""
        for device in chosen:
            device.proxy.configure(
                refuse=True, cut="fin", bytes=0, way=self.rng.choice(["up", "down"]))
        yield
        for device in chosen:
            device.proxy.configure()

    @contextlib.contextmanager
    def partition(self, chosen):
        """No byte passes, from the device, to it, or both; no end of a connection is told."""
        for device in chosen:
            device.proxy.configure(stall=self.rng.choice([["up"], ["down"], ["up", "down"]]))
        yield
        for device in chosen:
            device.proxy.configure()

    @contextlib.contextmanager
    def stop(self, chosen):
        """SIGTERM, and a start with the same home."""
        for device in chosen:
            device.home.end()
        yield
        for device in chosen:
            device.home.start()

    @contextlib.contextmanager
    def kill(self, chosen):
        """kill -9 of a majority at most, and a start with the same home."""
        chosen = chosen[:DEVICES // 2 + 1]
        for device in chosen:
            device.home.kill()
        yield
        for device in chosen:
            device.home.start()

    @contextlib.contextmanager
    def pause(self, chosen):
        for device in chosen:
            device.home.suspend()
        yield
        for device in chosen:
            device.home.resume()

    @contextlib.contextmanager
    def lose_database(self, chosen):
        """kill -9 of the database server of the relay, or SIGSTOP of all its processes."""
        if self.rng.random() < 0.5:
            self.database.kill()
            yield
            self.database.start()
        else:
            stopped = self.database.suspend()
            yield
            self.database.resume(stopped)


# Names of the faults, and what each does to some devices until it ends.
ACTS = {"none": None, "disconnect": Plan.disconnect, "stop": Plan.stop,
        "partition": Plan.partition, "pause": Plan.pause, "kill": Plan.kill,
        "database": Plan.lose_database}
