"""Compares the cost of idle devices with that of a former version of the relay: three relays on one
PostgreSQL, with ten thousand devices that are connected to all of them. Measures this version with
NOTIFY and with NATS, and the former one with NOTIFY, at the same time."""

import json
import statistics

from buses import NATS
from crowds import idle_costs
from programs import RunError
from stores import DEVICES, Bench
from table import cell, table

RELAYS, ACCOUNTS = 3, 3334
# Time that a device has been connected for when the first window begins, and the length of a
# window: what a relay does seldom, it does in equal parts each minute.
SETTLED_SECONDS, SECONDS = 150, 300
QUICK_ACCOUNTS, QUICK_SETTLED_SECONDS, QUICK_SECONDS = 50, 1, 2
NEW, OVER_NATS, FORMER = "this version", "this version, NATS", "the former"


def measure(given, setting, progress):
    accounts, settled, seconds = (
        (QUICK_ACCOUNTS, QUICK_SETTLED_SECONDS, QUICK_SECONDS) if given.quick
        else (ACCOUNTS, SETTLED_SECONDS, SECONDS))
    nats = NATS(setting.new_folder(on_disk=False))
    benches = []
    try:
        new = setting.binary
        for name, program, bus in (
                (NEW, new, None), (OVER_NATS, new, nats.url), (FORMER, given.former, None)):
            # A relay is started with the program that is set now.
            setting.binary = program
            benches.append(Bench(setting, name, RELAYS, True, bus))
            benches[-1].make(benches[-1].idle, accounts, DEVICES, progress)
        rows = idle_costs(
            benches, accounts, DEVICES, settled, seconds, given.repetitions, progress)
    finally:
        for each in [*benches, nats]:
            each.end()
    progress.end()
    report(given, rows, accounts * DEVICES, seconds)
    return 0


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
