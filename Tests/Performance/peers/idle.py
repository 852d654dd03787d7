"""Compares the cost of idle devices with that of a former version of the relay: three relays on one
PostgreSQL, with ten thousand devices that are connected to all of them."""

import json
import statistics

from programs import RunError
from stores import DEVICES, Bench, idle
from table import cell, table

RELAYS, ACCOUNTS, SECONDS = 3, 3334, 120
QUICK_ACCOUNTS, QUICK_SECONDS = 50, 2


def measure(given, setting, progress):
    accounts, seconds = (
        (QUICK_ACCOUNTS, QUICK_SECONDS) if given.quick else (ACCOUNTS, SECONDS))
    programs = {"this version": setting.binary, "the former": given.former}
    benches, rows = {}, {name: [] for name in programs}
    try:
        for name, program in programs.items():
            # A relay is started with the program that is set now.
            setting.binary = program
            benches[name] = Bench(setting, name, RELAYS, True)
            benches[name].make(benches[name].idle, accounts, DEVICES, progress)
        for repetition in range(given.repetitions):
            for name, bench in benches.items():
                progress(f"{repetition + 1} of {given.repetitions}: {name}, "
                         f"{accounts * DEVICES:,} devices do nothing for {seconds} s")
                rows[name].append(idle(bench, accounts, seconds))
    finally:
        for bench in benches.values():
            bench.end()
    progress.end()
    if not all(former["database"] > 0 for former in rows["the former"]):
        raise RunError("the former version used no processor time of the database")
    ratios = [new["database"] / former["database"]
              for new, former in zip(rows["this version"], rows["the former"])]
    if given.json:
        print(json.dumps({"devices": accounts * DEVICES, "seconds": seconds, "runs": rows,
                          "ratios": ratios}))
        return 0
    print(f"{accounts * DEVICES:,} devices, connected to {RELAYS} relays on one PostgreSQL, do "
          f"nothing for {seconds} s.\nµs of processor a second for each device; medians of "
          f"{given.repetitions} interleaved runs, least and most.\n")
    print(table(["", "relays", "database"],
                [[name, *[cell([run[key] for run in runs]) for key in ("relay", "database")]]
                 for name, runs in rows.items()]))
    print(f"\nThe database's, beside the former version: {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f}–{max(ratios):.3f})")
    return 0
