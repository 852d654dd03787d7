"""Compares the buses between relays on one PostgreSQL: its NOTIFY, and NATS; with 1, 3 and 16
relays."""

import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

from programs import RunError
from stores import ACCOUNTS, DEVICES, RATE, Bench
from table import cell, table

RELAYS = (1, 3, 16)
START_SECONDS = 30
COLUMNS = [("saves", "saves/s"), ("told", "told/s"), ("relayMicroseconds", "relays µs/told"),
           ("databaseMicroseconds", "database µs/told"), ("p50", "p50 µs"), ("p99", "p99 µs"),
           ("acrossP50", "across p50"), ("acrossP99", "across p99")]
# Devices that save at once.
SAVERS = 300


class NATS:
    """A NATS server on a free port."""

    def __init__(self, folder):
        program = shutil.which("nats-server")
        if not program:
            raise RunError("there is no nats-server; Debian's package is 'nats-server'")
        os.makedirs(folder, exist_ok=True)
        self.process = subprocess.Popen(
            [program, "--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = os.path.join(folder, f"nats-server_{self.process.pid}.ports")
        end = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError, ValueError), open(told) as file:
                self.url = json.load(file)["nats"][0]
                return
            if self.process.poll() is not None or time.monotonic() > end:
                raise RunError("nats-server does not start")
            time.sleep(0.05)

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def measure(given, setting, progress):
    relays = RELAYS[:2] if given.quick else RELAYS
    nats = NATS(setting.new_folder(on_disk=False))
    rows = {}
    try:
        for repetition in range(given.repetitions):
            for count in relays:
                for name, bus in (("NOTIFY", None), ("NATS", nats.url)):
                    progress(f"{repetition + 1} of {given.repetitions}: {name}, {count} relays")
                    row = once(setting, f"{name} {count}", count, bus, progress)
                    rows.setdefault((name, count), []).append(row)
    finally:
        nats.end()
    progress.end()
    if given.json:
        print(json.dumps([{"bus": name, "relays": count, "runs": runs}
                          for (name, count), runs in rows.items()]))
        return 0
    print(report(rows))
    return 0


def once(setting, name, relays, bus, progress):
    """Figures of one repetition, on a new database with new relays."""
    bench = Bench(setting, re.sub(r"\W+", "-", name), relays, True, bus)
    try:
        bench.make(bench.people, ACCOUNTS, DEVICES, lambda *_: None)
        bench.make(bench.savers, SAVERS, 2, lambda *_: None)
        return figures(bench)
    finally:
        bench.end()


def figures(bench):
    ports = bench.ports
    saves = bench.load("saves", bench.savers, ports, "--accounts", str(SAVERS))
    told = bench.load("window", bench.savers, ports, "--accounts", str(SAVERS), "--devices", "1",
                      "--window", str(SAVERS))
    rate = ("--accounts", str(ACCOUNTS), "--devices", str(DEVICES - 1), "--rate", str(RATE))
    near = bench.load("rate", bench.people, ports[:1], *rate)
    row = {"saves": saves["acknowledged"] / saves["seconds"],
           "told": told["published"] / told["seconds"],
           "relayMicroseconds": told["server"]["cpuSeconds"] * 1e6 / told["published"],
           "databaseMicroseconds": told["databaseSeconds"] * 1e6 / told["published"],
           "p50": near["latencyMicroseconds"]["p50"], "p99": near["latencyMicroseconds"]["p99"]}
    if len(ports) > 1:
        far = bench.load("rate", bench.people, ports, *rate)
        row["acrossP50"] = far["latencyMicroseconds"]["p50"]
        row["acrossP99"] = far["latencyMicroseconds"]["p99"]
    return row


def report(rows):
    lines = [[f"{name}, {count} relay" + "s" * (count > 1),
              *[cell([run[key] for run in runs if key in run]) for key, _ in COLUMNS]]
             for (name, count), runs in rows.items()]
    text = (f"{SAVERS} devices save at once, by all relays; the same by one relay, each save told "
            f"to a device at another one.\nA change of one of {ACCOUNTS} accounts reaches its "
            f"{DEVICES - 1} other devices, {RATE} a second, at the same relay (p50, p99)\nand at "
            f"other ones. Medians of {len(next(iter(rows.values())))} interleaved runs, least and "
            "most.\n\n" + table(["", *[title for _, title in COLUMNS]], lines) + "\n")
    for count in sorted({count for _, count in rows}):
        for key, title in (("saves", "saves"), ("told", "saves told to another relay"),
                           ("acrossP50", "p50 across"), ("acrossP99", "p99 across")):
            pairs = zip(rows["NATS", count], rows["NOTIFY", count])
            ratios = [one[key] / other[key] for one, other in pairs if key in one and key in other]
            if ratios:
                text += (f"\n{count} relay{'s' * (count > 1)}, {title}, NATS beside NOTIFY: "
                         f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")
    return text
