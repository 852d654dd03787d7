"""One run: a fresh server, the load on it, and the results as figures of the table."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading

from commits import CommitProbe
from population import Population
from programs import RunError
from servers import SERVERS, Relay

# An in-memory file system; if it is missing, the system's temporary folder is used.
MEMORY = "/dev/shm"
# Faults: the table shows the number of each.
FAULTS = ("lost", "duplicates", "outOfOrder", "misrouted", "unacknowledged", "refusals", "failed",
          "broken")


class Setting:
    """State shared by all runs: programs, folders, processors, and the relay's accounts."""

    def __init__(self, root, programs, binary, disk, seconds, progress, given=None):
        self.root, self.binary = root, binary
        # A server that the caller gives, or None.
        self.given = given
        self.floor, self.load, self.secure_floor = programs
        self.seconds, self.progress = seconds, progress
        self.disk = tempfile.mkdtemp(prefix="lockstep-peers-", dir=disk)
        self.has_memory = os.access(MEMORY, os.W_OK)
        self.memory = (tempfile.mkdtemp(prefix="lockstep-peers-", dir=MEMORY)
                       if self.has_memory else self.disk)
        processors = sorted(os.sched_getaffinity(0))
        self.pins = tuple(processors[:2]) if len(processors) > 1 else (None, None)
        self.population, self.count = None, 0

    def prepare(self, accounts, devices, crowd):
        """Creates the relay's accounts, once."""
        folder = os.path.join(self.memory, "population")
        os.makedirs(folder)
        population = Population(folder)
        relay = Relay(self, os.path.join(folder, "relay"), store=population.store)
        with relay:
            population.make(relay, accounts, devices, crowd, self.progress)
        self.population = population

    def new_folder(self, on_disk):
        """Path of a new folder for a server."""
        self.count += 1
        return os.path.join(self.disk if on_disk else self.memory, f"run-{self.count}")

    def store_kind(self, on_disk):
        return "disk" if on_disk or not self.has_memory else "memory"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in {self.disk, self.memory}:
            shutil.rmtree(folder, ignore_errors=True)


def load_command(setting, server, shape, *more):
    command = [setting.load, server.dialect, shape.mode, "--port", str(server.port),
               "--accounts", str(shape.accounts),
               "--server", ",".join(map(str, server.processes())), *shape.options, *more]
    if shape.devices:
        command += ["--devices", str(shape.devices)]
    if server.needs_population:
        population = setting.population
        command += ["--accounts-file", population.crowd if shape.is_crowd else population.people]
    return command


def run(setting, peer, shape):
    """Report of the load for one run."""
    folder = setting.new_folder(shape.on_disk)
    with SERVERS[peer](setting, folder, processor=setting.pins[0]) as server:
        server.prepare(shape)
        command = load_command(setting, server, shape, "--seconds", str(setting.seconds),
                               "--drain", str(server.drain_seconds))
        if setting.pins[1] is not None:
            command = ["taskset", "-c", str(setting.pins[1]), *command]
        beside = CommitProbe(setting.disk) if shape.compares == "commit" else None
        try:
            with beside or contextlib.nullcontext():
                done = subprocess.run(command, capture_output=True, text=True,
                                      timeout=180 + setting.seconds)
        except subprocess.TimeoutExpired:
            raise RunError(f"{peer}: the load does not end") from None
        if done.returncode != 0:
            raise RunError(f"{peer}: {done.stderr.strip()}; it said: {server.log_text()[-500:]}")
    report = json.loads(done.stdout)
    report["said"] = done.stderr.strip()
    report["commits"] = (beside.page, beside.row) if beside else (None, None)
    return report


def missing(setting, peers):
    """The reason by peer, for those that cannot run here."""
    reasons = {peer: SERVERS[peer].missing(setting) for peer in peers}
    return {peer: reason for peer, reason in reasons.items() if reason}


def collect(setting, plan, results, errors, repetition, repetitions, progress):
    """Runs one repetition of the plan, which has a workload, a shape and its servers in each
    entry."""
    for workload, shape, servers in plan:
        for peer in servers:
            progress(f"{repetition + 1} of {repetitions}: {workload.name} {shape.name}, {peer}")
            try:
                report = run(setting, peer, shape)
            except RunError as error:
                errors.append((peer, f"{workload.name} {shape.name}: {error}"))
                results.add(workload, shape, peer, repetition, None, {})
                continue
            results.add(workload, shape, peer, repetition, figures(shape, report), faults(report))


class PausedLoad:
    """A load that stops before and after the measured part, so that the server's work can be
    counted."""

    def __init__(self, setting, server, shape, *more):
        command = load_command(setting, server, shape, "--pause", "--limit", "900", *more)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        # Ends a load that hangs, so that no read waits without limit.
        self.watch = threading.Timer(960, self.process.kill)
        self.watch.start()

    def wait_for(self, place):
        line = self.process.stdout.readline()
        if line.strip() != place:
            self.end()
            raise RunError(
                f"the load did not reach its {place}: {line}{self.process.stderr.read()}")

    def resume(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def report(self):
        """Report of the load at its end."""
        try:
            output, error = self.process.communicate()
            if self.process.returncode != 0:
                raise RunError(error.strip())
            return json.loads(output)
        finally:
            self.watch.cancel()

    def end(self):
        self.watch.cancel()
        self.process.kill()
        self.process.wait()


def figures(shape, report):
    """Table figures of one run; a figure that was not measured is None."""
    server, latency = report["server"], report.get("latencyMicroseconds") or {}
    each = {"storm": report["connections"], "saves": report.get("acknowledged")}
    count = each.get(shape.mode, report.get("delivered"))
    per = 1 / count if count else 0

    def share(name):
        return server[name] * per if server[name] is not None else None

    values = {
        "count": count,
        "rate": count / report["seconds"] if report["seconds"] else 0,
        "cpuMicroseconds": server["cpuSeconds"] * 1e6 * per,
        "switches": (server["voluntarySwitches"] + server["involuntarySwitches"]) * per,
        "userInstructions": share("userInstructions"),
        "kernelInstructions": share("kernelInstructions"),
        "p50": latency.get("p50"),
        "p99": latency.get("p99"),
        "commit": report["commits"][0],
        "rowCommit": report["commits"][1],
        "generatorBusy": report["generatorBusy"],
        "hints": report.get("hints", 0),
    }
    for commit, ratio in [("commit", "p50ToCommit"), ("rowCommit", "p50ToRowCommit")]:
        if values[commit] and values["p50"]:
            values[ratio] = values["p50"] / values[commit]
    if shape.mode == "storm":
        values["idleBytes"] = server["idlePssBytes"] * per
        values["idleKernelBytes"] = server["idleSlabBytes"] * per
    elif shape.mode != "saves":
        values["cpuMicrosecondsPerMessage"] = server["cpuSeconds"] * 1e6 / report["published"]
    return values


def faults(report):
    """Faults of a run by name; empty if there are none."""
    return {name: report[name] for name in FAULTS if report.get(name)}
