"""Checks the cost of the relay and of the library against recorded limits. The figures are
reproducible on a busy machine: counts, and the memory of idle connections."""

import argparse
import json
import math
import os
import statistics

import counting
import library
import programs
import sealing
from progress import run_measurement
from programs import RunError
from runs import Setting, figures, run
from table import short, table
from workloads import Shape

DESCRIPTION = """\
Measures the relay with `scripts/peers --count`, and a save by the library for apps,
and compares user instructions, allocations, system calls, the memory of an idle
connection, the syncs of a save, and the cost of a sealed save with the limits in
Tests/Performance/peers/limits.json. Fails on cost regressions. Takes a few
minutes; if a figure exceeds its limit, all are measured again, and the lower
value counts. Needs valgrind and strace; figures not measured are reported.
"""
EPILOG = """\
exit codes: 0 all figures are within their limits; 1 a figure is not; 2 a wrong
option; 3 a figure could not be measured, and all others are within their limits
"""
LIMITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.json")
# Factors between a measured value and its limit: counts are reproducible, memory less so. A value
# far below its limit shows that the limit has become too wide.
ROOM, ROOM_FOR_MEMORY, FAR_BELOW = 1.1, 1.2, 0.75
# The cost of one more delivery is the difference of two much larger runs, so it also varies with
# the number of requests that happened to be handled together. A regression adds at least one
# allocation or system call for each delivery.
FURTHER, ROOM_FOR_FURTHER, ONE_MORE = "one further ", 1.3, 0.9
# The memory of an idle connection is the difference of two crowds. The first connections also load
# the program's code, whose pages depend on where the linker puts it: over a megabyte.
FEW_IDLE, MANY_IDLE = (Shape("storm", 40, devices, ("--settle", "1")) for devices in (20, 100))
IDLE_BYTES = ("bytes", "an idle connection")
# The limit is a promise, and is not recorded anew.
SEALED_SAVE = ("times those of a plain account", "a sealed save on its device, user instructions")
# The number of messages that share a commit or a send depends on timing, and so do the system
# calls.
RESTLESS = ("40 messages under way, each to five, for each", "a save of 40 devices that save at once",
            "eight messages under way to 50, for each")


def options(arguments):
    parser = argparse.ArgumentParser(
        prog="bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--gate", action="store_true", required=True,
                        help="measure, and compare with the limits")
    parser.add_argument("--record", action="store_true",
                        help="write the measured values, plus a margin, as the new limits")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def main(root, arguments=None):
    given = options(arguments)

    def measured(progress):
        tools, binary = programs.build(root), programs.release(root, given.binary)
        found, skipped = measure(root, tools, binary, progress)
        if given.record:
            if skipped:
                raise RunError("; ".join(skipped.values()))
            return print_report(given, found, record_limits(found), skipped)
        limits = read_limits()
        if any(is_too_much(found, *each) for each in limits.items()):
            # A real regression appears in both measurements.
            again, _ = measure(root, tools, binary, progress)
            found = {key: min(value, again[key]) for key, value in found.items()}
        return print_report(given, found, limits, skipped)

    return run_measurement("bench", measured)


def measure(root, tools, binary, progress):
    """Measured values by (counter, figure), and the reasons for figures that could not be
    measured."""
    with Setting(root, tools, binary, None, 1, progress) as setting:
        rows, skipped = counting.count_all(setting, ["lockstep"], 1, None, progress)
        measured = {(counter, what.strip()): values[0]
                    for (counter, _), by_name in rows.items() for what, values in by_name.items()
                    if counter != "system calls" or what not in RESTLESS}
        if setting.population is None:
            setting.prepare(*counting.POPULATION)
        progress("idle connections")
        few, many = (idle_memory(setting, shape) for shape in (FEW_IDLE, MANY_IDLE))
        saves, reasons = library.count(setting, progress)
        measured.update(saves)
        skipped.update(reasons)
        try:
            measured[SEALED_SAVE] = sealing.ratio_of_saves(setting, progress)
        except RunError as error:
            skipped["a sealed save"] = str(error)
        measured[IDLE_BYTES] = (many - few) / (connections(MANY_IDLE) - connections(FEW_IDLE))
        progress.end()
    return measured, skipped


def connections(shape):
    return shape.accounts * shape.devices


def idle_memory(setting, shape):
    """Bytes that the relay takes for all idle connections; the median of three runs."""
    return connections(shape) * statistics.median(
        figures(shape, run(setting, "lockstep", shape))["idleBytes"] for _ in range(3))


def read_limits():
    with open(LIMITS) as file:
        return {(counter, what): limit for counter, each in json.load(file).items()
                for what, limit in each.items()}


def record_limits(measured):
    limits = {key: limit_for(key, value) for key, value in measured.items()}
    written = {}
    for (counter, what), limit in limits.items():
        written.setdefault(counter, {})[what] = limit
    with open(LIMITS, "w") as file:
        json.dump(written, file, indent=2)
        file.write("\n")
    return limits


def limit_for(key, measured):
    if key == SEALED_SAVE:
        return sealing.SAVE_RATIO_MOST
    if key[1].startswith(FURTHER):
        return rounded(max(measured * ROOM_FOR_FURTHER, max(measured, 0) + ONE_MORE))
    return rounded(measured * (ROOM_FOR_MEMORY if key == IDLE_BYTES else ROOM))


def rounded(value):
    """Rounds up to three digits."""
    unit = 10 ** (math.floor(math.log10(value)) - 2)
    up = math.ceil(value / unit) * unit
    return int(up) if up >= 100 else round(up, 3)


def is_too_much(measured, key, limit):
    return key in measured and measured[key] > limit


def print_report(given, measured, limits, skipped):
    verdicts = {}
    for key, limit in limits.items():
        value = measured.get(key)
        verdicts[key] = ("not measured" if value is None else
                         "TOO MUCH" if is_too_much(measured, key, limit) else
                         "far below" if ONE_MORE < value < limit * FAR_BELOW else "within")
    if given.json:
        print(json.dumps({"skipped": skipped, "figures": [
            {"counter": key[0], "what": key[1], "measured": measured.get(key), "limit": limit,
             "verdict": verdicts[key]} for key, limit in limits.items()]}))
    else:
        rows = [[f"{what}, {counter}", short(measured[counter, what])
                 if (counter, what) in measured else "–", short(limit), verdicts[counter, what]]
                for (counter, what), limit in limits.items()]
        print(table(["", "measured", "limit", ""], rows))
        for name, reason in skipped.items():
            print(f"\n{name} are not counted: {reason}")
        if "far below" in verdicts.values():
            print("\nWhat is far below its limit: scripts/bench --gate --record keeps it there.")
    if "TOO MUCH" in verdicts.values():
        return 1
    return 3 if "not measured" in verdicts.values() else 0
