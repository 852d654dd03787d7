"""Compares the cost of idle devices with that of a former version of the relay: three relays on one
PostgreSQL, with ten thousand devices that are connected to all of them. Measures this version with
NOTIFY and with NATS, and the former one with NOTIFY, at the same time."""

import json
import os
import statistics
import subprocess
import time

from buses import NATS
from programs import RunError
from stores import DEVICES, Bench, processor_seconds
from table import cell, table

RELAYS, ACCOUNTS = 3, 3334
# Time that a device has been connected for when the first window begins, and the length of a
# window: what a relay does seldom, it does in equal parts each minute.
SETTLED_SECONDS, SECONDS = 150, 300
QUICK_ACCOUNTS, QUICK_SETTLED_SECONDS, QUICK_SECONDS = 50, 1, 2
START_SECONDS = 300
NEW, OVER_NATS, FORMER = "this version", "this version, NATS", "the former"


class Crowd:
    """Devices of a bench that are connected and do nothing."""

    def __init__(self, bench, accounts):
        self.bench, self.count = bench, accounts * DEVICES
        bench.catch_up(bench.idle)
        self.process = subprocess.Popen(
            [bench.setting.load, "lockstep", "storm", "--port", ",".join(map(str, bench.ports)),
             "--accounts-file", bench.idle, "--accounts", str(accounts),
             "--devices", str(DEVICES), "--settle", "3500", "--limit", "3600"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def is_connected(self):
        if self.process.poll() is not None:
            raise RunError(f"{self.bench.name}: {self.process.stderr.read().strip()}")
        return established(self.bench.ports) >= self.count

    def spent(self):
        """Processor seconds so far, of the relays and of the database."""
        return (sum(map(thread_seconds, self.bench.of_relays)),
                processor_seconds(self.bench.of_database))

    def end(self):
        self.process.kill()
        self.process.communicate()


def established(ports):
    """Number of connections to these ports, at the end that listens."""
    local = {f"0100007F:{port:04X}" for port in ports}
    with open("/proc/net/tcp") as file:
        lines = [line.split() for line in file]
    return sum(1 for words in lines if words[1] in local and words[3] == "01")


def thread_seconds(process):
    """Processor seconds of the threads of a process, by the scheduler."""
    total = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def measure(given, setting, progress):
    accounts, settled, seconds = (
        (QUICK_ACCOUNTS, QUICK_SETTLED_SECONDS, QUICK_SECONDS) if given.quick
        else (ACCOUNTS, SETTLED_SECONDS, SECONDS))
    nats = NATS(setting.new_folder(on_disk=False))
    benches, crowds, rows = [], [], {}
    try:
        new = setting.binary
        for name, program, bus in (
                (NEW, new, None), (OVER_NATS, new, nats.url), (FORMER, given.former, None)):
            # A relay is started with the program that is set now.
            setting.binary = program
            benches.append(Bench(setting, name, RELAYS, True, bus))
            benches[-1].make(benches[-1].idle, accounts, DEVICES, progress)
        for bench in benches:
            crowds.append(connected(Crowd(bench, accounts), progress))
        progress(f"the devices have been connected for {settled} s in a moment")
        time.sleep(settled)
        for bench in benches:
            bench.database.checkpoint()
        for repetition in range(given.repetitions):
            progress(f"{repetition + 1} of {given.repetitions}: {accounts * DEVICES:,} devices of "
                     f"each version do nothing for {seconds} s")
            for name, row in window(crowds, seconds).items():
                rows.setdefault(name, []).append(row)
    finally:
        for each in [*crowds, *benches, nats]:
            each.end()
    progress.end()
    report(given, rows, accounts * DEVICES, seconds)
    return 0


def connected(crowd, progress):
    end = time.monotonic() + START_SECONDS
    while not crowd.is_connected():
        progress(f"{crowd.bench.name}: {crowd.count:,} devices connect")
        if time.monotonic() > end:
            crowd.end()
            raise RunError(f"{crowd.bench.name}: the devices do not connect")
        time.sleep(1)
    return crowd


def window(crowds, seconds):
    """Microseconds of processor a second, of the relays and of the database, for each device."""
    before = [(time.monotonic(), *crowd.spent()) for crowd in crowds]
    time.sleep(seconds)
    row = {}
    for crowd, start in zip(crowds, before):
        now = (time.monotonic(), *crowd.spent())
        parts = crowd.count * (now[0] - start[0]) / 1e6
        row[crowd.bench.name] = {"relay": (now[1] - start[1]) / parts,
                                 "database": (now[2] - start[2]) / parts}
        if not crowd.is_connected():
            raise RunError(f"{crowd.bench.name}: a device was disconnected")
    return row


def report(given, rows, devices, seconds):
    if not all(row["database"] > 0 for row in rows[FORMER]):
        raise RunError("the former version used no processor time of the database")
    ratios = {name: [row["database"] / former["database"]
                     for row, former in zip(rows[name], rows[FORMER])]
              for name in (NEW, OVER_NATS)}
    if given.json:
        print(json.dumps(
            {"devices": devices, "seconds": seconds, "runs": rows, "ratios": ratios}))
        return
    print(f"{devices:,} devices of each version, connected to {RELAYS} relays on one PostgreSQL, "
          f"do nothing for {seconds} s.\nµs of processor a second for each device; medians of "
          f"{given.repetitions} windows one after the other, least and most.\n")
    print(table(["", "relays", "database"],
                [[name, *[cell([run[key] for run in runs]) for key in ("relay", "database")]]
                 for name, runs in rows.items()]))
    for name, found in ratios.items():
        print(f"\nThe database's of {name}, beside the former: {statistics.median(found):.3f} "
              f"({min(found):.3f}–{max(found):.3f})")
