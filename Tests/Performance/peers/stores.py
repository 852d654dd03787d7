"""Compares the relay on each kind of store: a folder, one relay on PostgreSQL, three relays on
PostgreSQL. Also measures the cost of many idle devices, and of a notice for a commit."""

import json
import os
import re
import subprocess
import statistics
import urllib.parse

from commits import CommitProbe
from crowds import idle_costs
from notices import Notices
from population import advance_cursor, create_account
from programs import RunError, output_of
from runs import faults
from servers import LIMITS, Server
from table import cell, table

ACCOUNTS, DEVICES, RATE = 100, 3, 200
SAVERS, RELAYS = 300, 3
# Idle accounts, the time that their devices have been connected for, and that they are measured.
IDLE_ACCOUNTS, SETTLED_SECONDS, IDLE_SECONDS = 1000, 150, 60


class Database:
    """A PostgreSQL server of its own on the measured disk, with fsync."""

    def __init__(self, setting):
        script = os.path.join(setting.root, "scripts", "with-postgres")
        # If this process is root, the server runs as another user.
        os.chmod(setting.disk, 0o711)
        self.process = subprocess.Popen(
            [script, "sh", "-c", 'echo "$LOCKSTEP_POSTGRES"; read line'], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": setting.disk})
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RunError("the database does not start")
        query = urllib.parse.urlsplit(self.url).query
        folder = urllib.parse.parse_qs(query)["host"][0]
        with open(os.path.join(folder, "data", "postmaster.pid")) as file:
            self.postmaster = int(file.readline())

    def checkpoint(self):
        """Runs the pending writes and cleanup of a load now, so that they count for that load."""
        self.query("VACUUM ANALYZE", "CHECKPOINT")

    def query(self, *questions):
        words = [word for question in questions for word in ("--command", question)]
        output_of(["psql", "--no-psqlrc", "--quiet", *words, self.url])

    def end(self):
        self.process.communicate("\n", timeout=60)


def processor_seconds(processes):
    """Processor seconds of these processes, including those of ended children. The first one is
    the parent of the others, and is read last: it has the time of those that end meanwhile.

    The time of living ones is the scheduler's, in nanoseconds: ticks of the clock miss processes
    that run for less than a tick at regular times, as those of an idle cluster do."""
    total = 0
    for process in reversed(processes):
        try:
            with open(f"/proc/{process}/schedstat") as file:
                own = int(file.read().split()[0]) / 1e9
            with open(f"/proc/{process}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            if process == processes[0]:
                raise
            continue
        total += own + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return total


def disk_bytes(folder):
    """Bytes written by the disk below the folder, by any process; None if they are not counted. The
    per-process counters are not used, because they count a whole folio of the page cache for each
    byte changed in it."""
    os.sync()
    device = os.stat(folder).st_dev
    try:
        with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat") as file:
            return int(file.read().split()[6]) * 512
    except OSError:
        return None


def descendants(process):
    found = [process]
    for each in found:
        try:
            with open(f"/proc/{each}/task/{each}/children") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            continue
    return found


class Relay(Server):
    says_port = r"listening on http://127\.0\.0\.1:(\d+)"

    def __init__(self, *arguments, store=None, bus=None, **named):
        super().__init__(*arguments, **named)
        self.store, self.bus = store, bus

    def command(self):
        return [self.setting.binary, "relay", "--open", "--listen", "127.0.0.1:0", "--store",
                self.store or os.path.join(self.folder, "store"), "--loops", "1", "--limits", LIMITS,
                *(["--bus", self.bus] if self.bus else [])]


class Bench:
    """One kind of store, with its relays and accounts."""

    def __init__(self, setting, name, relays, has_database, bus=None):
        self.setting, self.name = setting, name
        self.database = Database(setting) if has_database else None
        self.relays = []
        for _ in range(relays):
            store = self.database.url if self.database else None
            folder = setting.new_folder(on_disk=True)
            self.relays.append(Relay(setting, folder, store=store, bus=bus).start())
        self.people = os.path.join(setting.disk, re.sub(r"\W+", "-", name) + "-people")
        self.savers, self.idle = self.people + "-savers", self.people + "-idle"

    def make(self, path, accounts, devices, progress):
        with open(path, "w") as file:
            for number in range(accounts):
                file.write(create_account(self.relays[number % len(self.relays)].port, devices))
                progress(f"{self.name}: {number + 1} of {accounts} accounts")

    @property
    def ports(self):
        return [each.port for each in self.relays]

    @property
    def of_relays(self):
        return [each.process.pid for each in self.relays]

    @property
    def of_database(self):
        return descendants(self.database.postmaster) if self.database else []

    def catch_up(self, accounts_file):
        """Advances the change tokens, so that the next load's devices do not receive earlier
        changes."""
        with open(accounts_file) as file:
            lines = file.readlines()
        with open(accounts_file, "w") as file:
            file.writelines(advance_cursor(self.relays[0].port, line) for line in lines)

    def load(self, mode, accounts_file, ports, *words):
        """Report of a load, with the processor time of the database's processes."""
        self.catch_up(accounts_file)
        seconds, bytes = self.spent()
        command = [self.setting.load, "lockstep", mode, "--port", ",".join(map(str, ports)),
                   "--accounts-file", accounts_file, "--drain", "20",
                   "--server", ",".join(map(str, self.of_relays)), *words]
        if "--seconds" not in words:
            command += ["--seconds", str(self.setting.seconds)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RunError(f"{self.name}: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        wrong = faults(found)
        if wrong:
            raise RunError(f"{self.name}: {wrong}")
        if self.database:
            self.database.checkpoint()
        now_seconds, now_bytes = self.spent()
        found["databaseSeconds"] = now_seconds - seconds
        found["diskBytes"] = None if bytes is None else now_bytes - bytes
        return found

    def spent(self):
        """Processor time of the database, and bytes written by the disk."""
        return self.database_seconds(), disk_bytes(self.setting.disk)

    def database_seconds(self):
        return processor_seconds(self.of_database)

    def end(self):
        for each in self.relays:
            each.stop()
        if self.database:
            self.database.end()


def measure(given, setting, progress):
    repetitions = 1 if given.quick else given.repetitions
    benches, rows = [], {}
    try:
        for name, relays, has_database in [
                ("SQLite", 1, False), ("PostgreSQL, one relay", 1, True),
                (f"PostgreSQL, {RELAYS} relays", RELAYS, True)]:
            benches.append(Bench(setting, name, relays, has_database))
            benches[-1].make(benches[-1].people, ACCOUNTS, DEVICES, progress)
            benches[-1].make(benches[-1].savers, SAVERS, 1, progress)
        for repetition in range(repetitions):
            for bench in benches:
                progress(f"{repetition + 1} of {repetitions}: {bench.name}")
                rows.setdefault(bench.name, []).append(measure_once(bench))
        notices = Notices(benches[-1].database).measure(repetitions, progress)
        quiet = make_idle(benches, given.quick, progress)
    finally:
        for bench in benches:
            bench.end()
    progress.end()
    print_report(given, rows, quiet, notices)
    return 0


def measure_once(bench):
    """Figures of one repetition."""
    ports = bench.ports
    saves = bench.load("saves", bench.savers, ports, "--accounts", str(SAVERS))
    rate = ("--accounts", str(ACCOUNTS), "--devices", str(DEVICES - 1), "--rate", str(RATE))
    with CommitProbe(bench.setting.disk) as probe:
        near = bench.load("rate", bench.people, ports[:1], *rate)
    # Repeated without the probe, because the probe also writes.
    quiet = bench.load("rate", bench.people, ports[:1], *rate)
    far = bench.load("rate", bench.people, ports[:2], *rate) if len(ports) > 1 else None
    count = saves["acknowledged"]
    row = {"saves": count / saves["seconds"],
           "relayMicroseconds": saves["server"]["cpuSeconds"] * 1e6 / count,
           "databaseMicroseconds": saves["databaseSeconds"] * 1e6 / count,
           "diskBytes": portion(saves["diskBytes"], count),
           "commit": probe.page, "alone": alone(quiet),
           "p50": near["latencyMicroseconds"]["p50"], "p99": near["latencyMicroseconds"]["p99"]}
    if far:
        row["aloneAcross"] = alone(far)
        row["acrossP50"] = far["latencyMicroseconds"]["p50"]
        row["acrossP99"] = far["latencyMicroseconds"]["p99"]
        row["acrossToNear"] = row["acrossP99"] / row["p99"]
    return row


def alone(found):
    """Cost of a change, with its deliveries, if most commits contain one change."""
    count = found["published"]
    return {"relay": found["server"]["cpuSeconds"] * 1e6 / count,
            "database": found["databaseSeconds"] * 1e6 / count,
            "disk": portion(found["diskBytes"], count)}


def portion(total, count):
    return None if total is None else total / count


def make_idle(benches, is_quick, progress):
    """Creates idle devices for each bench and returns their cost, by the bench's name."""
    accounts, settled, seconds = (
        (50, 1, 2) if is_quick else (IDLE_ACCOUNTS, SETTLED_SECONDS, IDLE_SECONDS))
    for bench in benches:
        bench.make(bench.idle, accounts, DEVICES, progress)
    rows = idle_costs(benches, accounts, DEVICES, settled, seconds, 1, progress)
    return {name: {"devices": accounts * DEVICES, **row} for name, [row] in rows.items()}


COLUMNS = [("saves", "saves/s"), ("relayMicroseconds", "relay µs/save"),
           ("databaseMicroseconds", "database µs/save"), ("diskBytes", "disk B/save"),
           ("p50", "p50 µs"), ("p99", "p99 µs"),
           ("acrossP50", "across p50"), ("acrossP99", "across p99"),
           ("acrossToNear", "p99 across/near"), ("commit", "a synced page µs")]


def print_report(given, rows, quiet, notices):
    if given.json:
        print(json.dumps({
            "stores": [{"store": name, "runs": runs, "idle": quiet[name]}
                       for name, runs in rows.items()],
            "notices": notices}))
        return
    head = ["", *[title for _, title in COLUMNS]]
    lines = [[name, *[cell([run[key] for run in runs if key in run]) for key, _ in COLUMNS]]
             for name, runs in rows.items()]
    print(f"{SAVERS} devices save at once; a change of one of {ACCOUNTS} accounts reaches its "
          f"{DEVICES - 1} other devices, {RATE} a second,\nat the same relay (p50, p99) and across "
          f"two. Medians of {len(next(iter(rows.values())))} interleaved runs, least and most.\n")
    print(table(head, lines))
    print(f"\nA change where most commits carry one, with {DEVICES - 1} deliveries:\n")
    rows_alone = [
        (name + (", across two" if key == "aloneAcross" else ""),
         [run[key] for run in runs if key in run])
        for name, runs in rows.items() for key in ["alone", "aloneAcross"]]
    print(table(["", "relay µs", "database µs", "disk B"],
                [[name, *[cell([each[part] for each in found])
                          for part in ["relay", "database", "disk"]]]
                 for name, found in rows_alone if found]))
    middle = {name: statistics.median(run["saves"] for run in runs) for name, runs in rows.items()}
    first = next(iter(middle.values()))
    print("\nSaves beside SQLite's: " + ", ".join(
        f"{name} {rate / first:.2f}" for name, rate in list(middle.items())[1:]))
    print("\nDevices that are connected and do nothing, µs of processor a second for each:\n")
    print(table(["", "devices", "relays", "database"],
                [[name, f"{each['devices']:,}", f"{each['relay']:.2f}", f"{each['database']:.2f}"]
                 for name, each in quiet.items()]))
    print(f"\nCommits a second of a row that nobody else touches (pgbench), {RELAYS} relays "
          "listening:\n")
    kinds = ["silent", "within", "behind", "withinToSilent", "behindToSilent"]
    print(table(["sessions", "silent", "notice within", "notice behind", "within / silent",
                 "behind / silent"],
                [[str(each["sessions"]), *[cell(each[kind]) for kind in kinds]]
                 for each in notices]))
