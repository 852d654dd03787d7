"""Records a history of the real program under faults, and has it judged by two outside checkers."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import device_checker
import porcupine_program
import sabotage

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Torture"))

import database  # noqa: E402
import device_plan  # noqa: E402
from device_plan import ACTS  # noqa: E402
from processes import RunError  # noqa: E402
from run_log import RunLog  # noqa: E402

STORES = {
    "sqlite": [],
    "postgres": ["--postgres", "--relays", "1"],
    "cluster": ["--postgres", "--relays", "3"],
    "nats": ["--postgres", "--nats", "--relays", "3"],
    "patroni": ["--patroni", "--relays", "3"],
}
# Faults of the torture that a history can bear: those that put back an older store take away
# acknowledged saves on purpose, and devices bring them back, which no register does.
FAULTS = {
    "sqlite": "kill,stop,suspend,line,clock,disk-full,disk-errors,wire,power,replay",
}
DESCRIPTION = """\
Runs scripts/torture with seven more clients of one account: five save with base
tags (alone and in atomic batches), delete and read the same few records, by any
relay; one follows the account by long-poll, one by server-sent events. Each
operation is written to a file as one line of JSON, with its begin, its end, and
what was answered: saved with a tag, a conflict, a refusal, or nothing (then its
outcome is unknown). Two programs that share no code with Lockstep judge it:

  Porcupine    (Go) each record is a linearizable register with compare-and-set
  checker.py   (Python, from docs/protocol.md alone) one order of all saves of
               the account, read your writes, monotonic reads and writes, writes
               follow reads, atomic batches, all the same at the end, and no
               acknowledged save lost

With --devices, five devices with stores of their own repeat the plan of
jepsen-powersync instead: transactions of four counts each, by a program on each
device's socket, while one to all devices are disconnected, stopped, partitioned,
paused or killed, or the relay's database dies. Its checker is device_checker.py.

Porcupine's sources are fetched once into .cache, at a pinned version and with a
checksum; they need Go 1.19 or newer. If it cannot be run, the result says so.
"""
EPILOG = """\
exit codes: 0 both checkers found nothing; 1 a violation, or a checker that missed
a sabotage; 2 a wrong option or file; 3 not possible here, or Porcupine was NOT RUN
(with --without-porcupine, that is no failure)
"""
CHECK_SECONDS = 3600


def options():
    parser = argparse.ArgumentParser(
        prog="histories", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--store", choices=sorted(STORES),
                      help="record with one relay on a folder (sqlite) or PostgreSQL (postgres), "
                      "three relays on one PostgreSQL (cluster; nats: with NATS as their bus), or "
                      "on three nodes that fail over (patroni); then check")
    what.add_argument("--devices", metavar="FAULT,…",
                      help=f"run devices under each of these faults, or all: {', '.join(ACTS)}")
    what.add_argument("--check", nargs="+", metavar="FILE", help="check these histories")
    what.add_argument("--sabotage", metavar="FILE",
                      help="make wrong histories of a good one; the checkers must fail on each")
    parser.add_argument("--minutes", type=float, default=2, metavar="N",
                        help="duration of the faults, with --devices of each (default: 2)")
    parser.add_argument("--own-records", action="store_true",
                        help="with --devices: each changes records of its own, without conflicts")
    parser.add_argument("--seed", type=int, help="as for scripts/torture")
    parser.add_argument("--only", metavar="FAULT,…", help="only these faults of scripts/torture")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--dir", metavar="DIR",
                        help="parent of the run's folder (default: the system's temporary folder)")
    parser.add_argument("--output", metavar="FILE",
                        help="where the history is written (default: it is removed if it is good)")
    parser.add_argument("--porcupine", metavar="DIR",
                        help=f"sources of Porcupine {porcupine_program.VERSION}, instead of "
                        "fetching them")
    parser.add_argument("--without-porcupine", action="store_true",
                        help="the independent checker alone")
    given = parser.parse_args()
    if not 0 < given.minutes <= 120:
        parser.error("--minutes: more than 0, and at most 120")
    if given.output and not os.path.isdir(os.path.dirname(os.path.abspath(given.output))):
        parser.error(f"--output: there is no folder for {given.output}; make it first")
    given.faults = [word for word in (given.devices or "").split(",") if word]
    given.faults = list(ACTS) if given.faults == ["all"] else given.faults
    for word in given.faults:
        if word not in ACTS:
            parser.error(f"--devices: there is no fault {word!r}; there are {', '.join(ACTS)}")
    if given.devices is not None and not given.faults:
        parser.error("--devices: name a fault, or all")
    return given


class Checkers:
    """The two programs. Each judges files, and prints where one is wrong."""

    def __init__(self, root, given, folder):
        independent = os.path.join(root, "Tests", "Histories", "checker.py")
        self.commands = {"independent": [sys.executable, independent]}
        self.missing = None
        if given.without_porcupine:
            return
        try:
            self.commands["Porcupine"] = [porcupine_program.build(root, given.porcupine, folder)]
        except porcupine_program.NotAvailable as reason:
            self.missing = str(reason)
            print(f"NOT RUN: Porcupine: {reason}", flush=True)

    def judge(self, name, path):
        """Exit code and output of one checker."""
        done = subprocess.run(
            [*self.commands[name], path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=CHECK_SECONDS)
        return done.returncode, done.stdout.rstrip()

    def judge_all(self, path):
        """True if all checkers accept the history."""
        is_good = True
        for name in self.commands:
            code, said = self.judge(name, path)
            print("\n".join(f"{name}: {line}" for line in said.splitlines()), flush=True)
            if code == 2:
                raise ValueError(path)
            is_good = is_good and code == 0
        return is_good

    def are_deceived(self, path, folder):
        """True if a checker accepts a sabotaged history."""
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        missed = []
        for kind in sabotage.KINDS:
            made = sabotage.sabotage(kind, lines)
            if not made:
                raise ValueError(f"{path} is too short for the sabotage {kind}")
            wrong = os.path.join(folder, f"{kind}.jsonl")
            with open(wrong, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in made[0])
            print(f"sabotage: {kind}: {made[1]}", flush=True)
            for name in self.commands:
                if name == "Porcupine" and kind not in sabotage.KINDS_OF_RECORDS:
                    continue
                code, said = self.judge(name, wrong)
                print("\n".join(f"  {name}: {line}" for line in said.splitlines()[:3]), flush=True)
                if code != 1:
                    missed.append(f"{name}, {kind}")
        for words in missed:
            print(f"MISSED: {words}")
        return bool(missed)


def record(root, given, path):
    """Runs the torture; returns its exit code."""
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    command = [sys.executable, os.path.join(root, "scripts", "torture"), "--history", path,
               "--minutes", str(given.minutes), "--seed", str(seed), *STORES[given.store]]
    faults = given.only or FAULTS.get(given.store)
    for name, value in [("--only", faults), ("--binary", given.binary), ("--dir", given.dir)]:
        command += [name, value] if value else []
    return subprocess.run(command).returncode


def program(root, given):
    """Path of the lockstep program."""
    if given.binary:
        return os.path.abspath(given.binary)
    return subprocess.run([os.path.join(root, "scripts", "build")], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()


def run_devices(root, given, folder):
    """One run for each fault; returns the exit code."""
    if not database.programs():
        print("scripts/histories: --devices needs a PostgreSQL server (Debian's is 'postgresql')",
              file=sys.stderr)
        return 3
    binary, code = program(root, given), 0
    for number, fault in enumerate(given.faults):
        place = os.path.join(folder, fault)
        os.mkdir(place, 0o711)
        seed = (given.seed if given.seed is not None
                else random.SystemRandom().randrange(1_000_000)) + number
        run_log = RunLog(sys.stderr)
        path = os.path.join(place, "history.jsonl")
        plan = device_plan.Plan(binary, place, run_log, seed, path, given.own_records)
        try:
            plan.make()
            count, waited = plan.run(fault, given.minutes * 60)
        except (RunError, OSError) as error:
            run_log.violation(str(error))
            count, waited = 0, 0
        finally:
            plan.end()
        checker = device_checker.DeviceChecker(device_checker.lines_of(path))
        found = checker.check()
        unknown = sum(device.counts["unknown"] for device in plan.devices)
        print(f"{fault}: seed {seed}, {count} faults, {checker.transactions} transactions "
              f"({unknown} without an answer), in sync {waited:.1f} s after the last fault; "
              + ", ".join(f"{rule}: {found[rule]}" for rule in device_checker.RULES), flush=True)
        for rule in sorted(found):
            print(f"  {rule}: {checker.examples[rule]}", flush=True)
        if run_log.violations or any(found[rule] for rule in checker.promised(given.own_records)):
            code = 1
    return code


def main(root):
    given = options()
    folder = tempfile.mkdtemp(prefix="lockstep-histories-", dir=given.dir)
    # The database's user, who is not root, must be able to open its folder in there.
    os.chmod(folder, 0o711)
    path = given.output or os.path.join(folder, "history.jsonl")
    keeps = False
    try:
        if given.faults:
            code = run_devices(root, given, folder)
            keeps = code == 1
            return code
        checkers = Checkers(root, given, folder)
        if given.sabotage:
            code = 1 if checkers.are_deceived(given.sabotage, folder) else 0
        elif given.check:
            code = 0 if all([checkers.judge_all(file) for file in given.check]) else 1
        else:
            code = record(root, given, path)
            if code in (2, 3):
                return code
            keeps = True
            code = 0 if checkers.judge_all(path) and code == 0 else 1
            keeps = code != 0
        return 3 if code == 0 and checkers.missing else code
    except (OSError, ValueError) as error:
        print(f"scripts/histories: {error}", file=sys.stderr)
        return 2
    finally:
        if keeps and not given.output:
            print(f"what is left of it: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
