"""Table of the relay's costs beside the baseline in C and a server on uWebSockets, with what they
must not exceed (must) and what is aimed at (aim)."""

import dataclasses
import json
import os
import statistics
from typing import Callable

import secure
import workloads
from programs import RunError
from runs import collect, missing
from table import Results, as_json, cell, control_note, markdown, short, table

# Columns of the table; the others only take part in some of the work.
COLUMNS = {"floor": "floor (C)", "uws": "uWebSockets", "lockstep": "relay"}
SAVING = {"lockstep": "relay", "jetstream": "NATS, one stream",
          "jetstreams": "NATS, a stream for each account"}
# Peers by workload. floor-batch is the control of fanout, and joins what the floor sends to a
# crowd.
PLAN = {"fanout": ("floor", "floor-batch", "uws", "lockstep"),
        "pressure": ("floor", "floor-batch", "uws", "lockstep"),
        "storm": ("floor", "uws", "lockstep"),
        "longpoll": ("floor", "uws", "lockstep"),
        "latency": ("floor", "uws", "lockstep"),
        "saves": ("lockstep", "jetstream", "jetstreams")}


@dataclasses.dataclass(frozen=True)
class Bar:
    """What the relay's figure may be at most: a number, or a factor of another peer's figure."""

    most: float
    base: str = None

    def __str__(self):
        return f"≤ {self.most:g}× {self.base}" if self.base else f"≤ {self.most:,g}"


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table. `values`: a function of the measurements and a peer, which returns the
    peer's figures by repetition. Without `must` and `aim` it is only recorded."""

    name: str
    values: Callable
    must: Bar = None
    aim: Bar = None
    peers: tuple = tuple(COLUMNS)


class Measured:
    """All figures of a run."""

    def __init__(self):
        self.results, self.errors, self.secure = Results(), [], {}

    def of_shape(self, workload, on_disk=False):
        """Key of a workload's shape whose store is in that place; None if it was not measured."""
        return next((key for key, shape in self.results.shapes.items()
                     if key[0] == workload and shape.on_disk == on_disk), None)


def figure(workload, name, on_disk=False):
    def values(measured, peer):
        return measured.results.by_repetition(measured.of_shape(workload, on_disk), peer, name)
    return values


def split(name):
    """A figure of fanout's two shapes, taken apart."""
    def values(measured, peer):
        return {repetition: each[name]
                for repetition, each in measured.results.split_by_repetition(peer).items()}
    return values


def above_openssl(measured, peer):
    least = measured.secure.get("floor", {})
    return {repetition: value - least[repetition]
            for repetition, value in measured.secure.get(peer, {}).items() if repetition in least}


ROWS = [
    Row("one further delivery, CPU µs", split("furtherDelivery"),
        Bar(1, "uws"), Bar(1.2, "floor")),
    Row("crowd of 5,000, CPU µs a delivery", figure("pressure", "cpuMicroseconds"),
        Bar(1.4, "uws"), Bar(1, "uws")),
    Row("connect and hello, CPU µs", figure("storm", "cpuMicroseconds"),
        Bar(1.6, "uws"), Bar(1.3, "uws")),
    Row("idle connection, bytes", figure("storm", "idleBytes"), Bar(1300), Bar(1024)),
    Row("idle over TLS, bytes above OpenSSL alone", above_openssl, Bar(1000), Bar(700),
        ("uws", "lockstep")),
    Row("a message that is saved (relay) or only passed on, CPU µs", split("message"),
        Bar(75), Bar(40)),
    Row("200 changes/s to two devices, in memory, p99 µs", figure("latency", "p99"),
        Bar(1.5, "uws"), Bar(1.2, "uws")),
    Row("  CPU µs a delivery", figure("latency", "cpuMicroseconds"), Bar(80), Bar(50)),
    Row("  on disk, p50 / one page written and synced", figure("latency", "p50ToCommit", True),
        Bar(2.2), Bar(1.6), ("lockstep",)),
    Row("durable saves/s, one core", figure("saves", "rate", True), peers=("lockstep",)),
    Row("long-poll, CPU µs a delivery", figure("longpoll", "cpuMicroseconds"), Bar(30), Bar(22)),
]


def measure(given, setting, progress):
    load = os.getloadavg()[0]
    needed = {peer for workload in given.workloads for peer in PLAN[workload.name]}
    skipped = missing(setting, [peer for peer in given.peers if peer in needed])
    chosen = {workload: [peer for peer in PLAN[workload.name]
                         if peer in given.peers and peer not in skipped]
              for workload in given.workloads}
    # The shapes of a workload follow each other for each peer, because their difference counts.
    plan = [(workload, shape, [peer]) for workload, peers in chosen.items() for peer in peers
            for shape in workloads.shapes(workload, given.quick)
            if takes_part(workload, shape, peer)]
    secure_peers = [peer for workload, peers in chosen.items() if workload.name == "storm"
                    for peer in peers]
    if not plan:
        raise RunError("none of these servers supports any of these workloads")
    setting.prepare(*workloads.population_for([shape for _, shape, _ in plan]))
    measured = Measured()
    if secure_peers:
        secure.make_certificate(setting)
    for repetition in range(given.repetitions):
        collect(setting, plan, measured.results, measured.errors, repetition, given.repetitions,
                progress)
        for peer in secure_peers:
            progress(f"{repetition + 1} of {given.repetitions}: connections over TLS, {peer}")
            measure_secure(given, setting, measured, peer, repetition)
    progress.end()
    print_report(given, setting, measured, skipped, load)
    failed = any(peer == "lockstep" for peer, _ in measured.errors)
    return 0 if measured.results.relay_is_right and not failed else 1


def takes_part(workload, shape, peer):
    """False for what no row needs: on the disk only the relay is measured, and the control in only
    one shape of fanout."""
    if workload.name == "latency" and shape.on_disk:
        return peer == "lockstep"
    if workload.name == "fanout" and peer == "floor-batch":
        return shape.devices > 1
    return True


def measure_secure(given, setting, measured, peer, repetition):
    count = secure.QUICK_CONNECTIONS if given.quick else secure.CONNECTIONS
    try:
        found = secure.run(setting, peer, count)
    except (RunError, OSError) as error:
        measured.errors.append((peer, f"connections over TLS: {error}"))
        return
    measured.secure.setdefault(peer, {})[repetition] = found


def against(row, bar, measured):
    """The relay's figures as the bar compares them: ratios to its base within each repetition, or
    the figures themselves. A base that is not above zero, a difference lost in noise, has no
    ratio."""
    ours = row.values(measured, "lockstep")
    if not bar.base:
        return list(ours.values())
    base = row.values(measured, bar.base)
    return [value / base[repetition] for repetition, value in ours.items()
            if base.get(repetition, 0) > 0]


def verdict(row, measured):
    if not row.must:
        return "recorded" if row.values(measured, "lockstep") else "not measured"
    met = [statistics.median(found) <= bar.most if found else None
           for bar in (row.must, row.aim) for found in [against(row, bar, measured)]]
    if met[0] is None:
        return "not measured"
    if not met[0]:
        return "MISSED"
    return "aim met" if met[1] else "must met"


def print_report(given, setting, measured, skipped, load):
    results = measured.results
    if given.json:
        report = as_json(results, setting)
        report.update(
            table=[row_as_json(row, measured) for row in ROWS],
            secureIdleBytes={peer: list(values.values())
                             for peer, values in measured.secure.items()},
            repetitions=given.repetitions, loadAverage=load, skipped=skipped,
            pinned=setting.pins[0] is not None,
            troubles=[f"{peer}: {text}" for peer, text in measured.errors])
        print(json.dumps(report))
        return
    form = markdown if given.markdown else table
    parts = [main_table(measured, form), *saves_table(measured, form), *more(measured, form)]
    notes = [f"Medians of {given.repetitions} interleaved repetitions, least and most in brackets; "
             "× is the median of the ratios within a repetition.",
             f"Load average before the run: {load:.2f}."]
    notes += ["Small populations: a check, no measurement."] if given.quick else []
    notes += [f"{peer} is left out: {reason}." for peer, reason in skipped.items()]
    notes += [f"{peer} failed: {text}" for peer, text in measured.errors]
    for key, peers in results.faults.items():
        notes += [f"{peer}, {' '.join(key)}: "
                  + ", ".join(f"{name} {count:,}" for name, count in wrong.items())
                  for peer, wrong in peers.items() if wrong]
    notes += control_note(results)
    print("\n\n".join([*parts, "\n".join(notes)]))


def row_as_json(row, measured):
    bars = {name: {"most": bar.most, "base": bar.base, "runs": against(row, bar, measured)}
            for name, bar in (("must", row.must), ("aim", row.aim)) if bar}
    return {"what": row.name.strip(), "verdict": verdict(row, measured),
            "runs": {peer: list(row.values(measured, peer).values()) for peer in row.peers}, **bars}


def main_table(measured, form):
    lines = []
    for row in ROWS:
        cells = [cell(row.values(measured, peer).values()) if peer in row.peers else "–"
                 for peer in COLUMNS]
        bars = [str(bar) if bar else "–" for bar in (row.must, row.aim)]
        lines.append([row.name, *cells, *bars, ratios(row, measured), verdict(row, measured)])
    return form(["", *COLUMNS.values(), "must", "aim", "relay's ratio", "verdict"], lines)


def ratios(row, measured):
    """The relay's ratios to what the row compares it with, as text."""
    bars = {bar.base: bar for bar in (row.must, row.aim) if bar and bar.base}
    found = {base: against(row, bar, measured) for base, bar in bars.items()}
    return ", ".join(f"{short(statistics.median(values))}× {base}"
                     for base, values in found.items() if values)


def saves_table(measured, form):
    key = measured.of_shape("saves", on_disk=True)
    if not key:
        return []
    peers = [peer for peer in SAVING if measured.results.values(key, peer, "rate")]
    names = {"rate": "saves/s", "cpuMicroseconds": "CPU µs a save", "p50": "p50 µs",
             "p99": "p99 µs"}
    lines = [[SAVING[peer], *[cell(measured.results.values(key, peer, name)) for name in names]]
             for peer in peers]
    head = f"Durable saves on one core, {key[1]}, each with one save until it is synced:\n\n"
    return [head + form(["", *names.values()], lines)] if lines else []


def more(measured, form):
    """Figures that explain the table."""
    lines = []
    disk = measured.of_shape("latency", on_disk=True)
    for name, title in [("p50", "on disk, p50"), ("commit", "one page written and synced"),
                        ("rowCommit", "SQLite's commit of a row")]:
        found = measured.results.values(disk, "lockstep", name)
        if found:
            lines.append([f"{title}, µs", cell(found)])
    joined = measured.results.values(measured.of_shape("pressure"), "floor-batch",
                                     "cpuMicroseconds")
    if joined:
        lines.append(["crowd, the floor with joined sends, CPU µs", cell(joined)])
    if measured.secure.get("floor"):
        lines.append(["idle over TLS, OpenSSL alone, bytes",
                      cell(measured.secure["floor"].values())])
    return [form(["beside it", ""], lines)] if lines else []
