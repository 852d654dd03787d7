"""Runs a relay and devices as processes under faults, and checks every edit at the end."""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import threading
import time

import database
import faults
import nats_cluster
import patroni_nodes
from cluster import Cluster
from failover_cluster import FailoverCluster
from fault_backup import BackupFault
from fault_database import BusFault, DatabaseFault
from fault_disk import DiskErrorsFault, DiskFullFault
from fault_failover import LeaderFault, PartitionFault, QuorumFault, SwitchoverFault
from fault_nats import DatabaseLineFault, NATSFault
from fault_network import ClockFault, NetworkFault
from fault_power import PowerFault
from fault_replay import ReplayFault
from fault_rollback import RollbackFault
from ledger import Ledger
from run_log import Report, RunLog
from processes import RunError
from sandbox import Sandbox
from system import System

FAULTS = [faults.KillFault, faults.StopFault, faults.SuspendFault, faults.ProxyFault, ClockFault,
          DiskFullFault, DiskErrorsFault, NetworkFault, PowerFault, ReplayFault, BackupFault,
          RollbackFault]
FAULTS_OF_CLUSTERS = [faults.KillFault, faults.StopFault, faults.SuspendFault, faults.ProxyFault,
                      ClockFault, DatabaseFault, BusFault]
FAULTS_WITH_NATS = [faults.KillFault, faults.StopFault, faults.SuspendFault, faults.ProxyFault,
                    ClockFault, DatabaseFault, NATSFault, DatabaseLineFault]
FAULTS_OF_NODES = [LeaderFault, PartitionFault, QuorumFault, SwitchoverFault, faults.KillFault,
                   faults.StopFault, faults.ProxyFault, ClockFault]
# The other faults, and the reason why a cluster does not have them.
NOT_OF_CLUSTERS = {
    **{kind.name: "it needs a store in a folder; the database server manages its own files"
       for kind in (DiskFullFault, DiskErrorsFault, PowerFault, ReplayFault, BackupFault,
                    RollbackFault)},
    NetworkFault.name: "the relays of a cluster and their database are in one network"}
DESCRIPTION = """\
Runs a real relay and real devices as processes under faults, in rounds. After
the faults of a round everything must recover and become idle; then every home
and the relay are compared. The final report accounts for every edit.

With --postgres, several relays share one temporary PostgreSQL server, which
also dies and restarts. Devices use any relay at any time: writers change from
relay to relay, and read from other relays what one has just acknowledged.

With --nats too, they tell each other of commits over a NATS server, which also
dies, and from which single relays are cut off; or from the database alone.

With --patroni, they share three PostgreSQL nodes with Patroni and etcd, each in
a network of its own (as root), whose leader dies, freezes and is cut off.
Commits wait for a replica, so nothing may be lost. With --asynchronous they do
not: the run counts what the database lost, and what the devices brought back.

Faults that this machine does not permit are skipped and reported as such.
Mounts and networks are private to the run (Linux namespaces).
"""
EPILOG = """\
exit codes: 0 nothing was lost; 1 a violation: something was lost, duplicated,
different or out of order, or a process ended by itself; 2 a wrong option;
3 the run was not possible, for example without a PostgreSQL server
"""
# Seconds of edits under faults in a round; then everything becomes idle and is checked. The rounds
# of a short run are shorter, so that each fault occurs.
ROUND_SECONDS, ROUNDS_AT_LEAST = (6, 40), 8
# The same for nodes: another leader is promoted only after some time.
NODE_ROUND_SECONDS = (25, 45)
# A fault that has no effect in so many rounds is a fault of the torture.
ROUNDS_FOR_EFFECT = 4


def options():
    parser = argparse.ArgumentParser(
        prog="torture", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--minutes", type=float, default=5, metavar="N",
                        help="duration of the rounds (default: 5)")
    parser.add_argument("--seed", type=int, default=None,
                        help="determines the faults and their order, not the timing of the "
                        "processes (default: random, and printed)")
    parser.add_argument("--only", metavar="FAULT,…", default="",
                        help="only these faults (see --list)")
    parser.add_argument("--list", action="store_true", help="print all faults, and exit")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--dir", metavar="DIR",
                        help="parent of the run's folder (default: the system's temporary folder)")
    parser.add_argument("--sabotage", action="store_true",
                        help="let no sync reach a disk (with --postgres: delete a row, and expect "
                        "a wrong tag and token), to verify that the checks can fail")
    parser.add_argument("--postgres", action="store_true",
                        help="several relays on one PostgreSQL, instead of one with a folder")
    parser.add_argument("--nats", action="store_true",
                        help="with --postgres: the relays' bus is a NATS server")
    parser.add_argument("--patroni", action="store_true",
                        help="several relays on three PostgreSQL nodes that fail over")
    parser.add_argument("--asynchronous", action="store_true",
                        help="with --patroni: commits wait for no replica")
    parser.add_argument("--relays", type=int, metavar="N",
                        help="number of relays with --postgres or --patroni, from 1 to 16 "
                        "(default: 3)")
    parser.add_argument("--history", metavar="FILE",
                        help="record the operations of seven more clients in this file, for "
                        "outside checkers (see scripts/histories)")
    parser.add_argument("--keep", action="store_true",
                        help="keep the run's folder, with all logs")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    given = parser.parse_args()
    if given.postgres and given.patroni:
        parser.error("--postgres and --patroni exclude one another; remove one")
    if given.asynchronous and not given.patroni:
        parser.error("--asynchronous: this needs nodes that replicate; add --patroni")
    if given.nats and not given.postgres:
        parser.error("--nats: this needs relays on one database; add --postgres")
    if given.history and not os.path.isdir(os.path.dirname(os.path.abspath(given.history))):
        parser.error(f"--history: there is no folder for {given.history}; make it first")
    given.is_shared = given.postgres or given.patroni
    if given.relays is not None and not given.is_shared:
        parser.error("--relays: several need a store that they can share; add --postgres")
    given.relays = 3 if given.relays is None else given.relays
    if not 1 <= given.relays <= 16:
        parser.error("--relays: from 1 to 16")
    kinds = (FAULTS_OF_NODES if given.patroni else FAULTS_WITH_NATS if given.nats else
             FAULTS_OF_CLUSTERS if given.postgres else FAULTS)
    names = [kind.name for kind in kinds]
    wanted = [word for word in given.only.split(",") if word] or names
    for word in wanted:
        if word not in names:
            parser.error(f"--only: there is no fault {word!r}; there are {', '.join(names)}")
    given.kinds = [kind for kind in kinds if kind.name in wanted]
    given.all_kinds = kinds
    if not 0 < given.minutes <= 24 * 60:
        parser.error("--minutes: more than 0, and at most a day")
    return given


def main(root):
    given = options()
    if given.list:
        for kind in given.all_kinds:
            print(f"{kind.name:12} {kind.about}")
        return 0
    if given.postgres and not database.programs():
        print("scripts/torture: there is no PostgreSQL server here to run (Debian's is "
              "'postgresql'); without --postgres none is needed", file=sys.stderr)
        return 3
    if given.nats and nats_cluster.missing():
        print(f"scripts/torture: {nats_cluster.missing()}", file=sys.stderr)
        return 3
    if given.patroni and patroni_nodes.missing():
        print(f"scripts/torture: {patroni_nodes.missing()}", file=sys.stderr)
        return 3
    given.binary = os.path.abspath(given.binary) if given.binary else subprocess.run(
        [os.path.join(root, "scripts", "build")], stdout=subprocess.PIPE, text=True,
        check=True).stdout.strip()
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1_000_000)
    run_log, ledger = RunLog(sys.stderr if given.json else sys.stdout), Ledger()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    sandbox = Sandbox(root, given, {kind.name for kind in given.kinds})
    system, report, keeps = None, None, given.keep
    try:
        run_log.info(f"seed {given.seed}, in {sandbox.folder}")
        if given.postgres and not given.only:
            for name, reason in NOT_OF_CLUSTERS.items():
                run_log.skip(name, reason)
        kind = (FailoverCluster if given.patroni else
                nats_cluster.NATSCluster if given.nats else Cluster if given.postgres else System)
        system = kind(given, run_log, ledger, sandbox)
        system.make()
        available = faults.available_faults(given.kinds, system, run_log)
        rounds(system, available, given)
        if system.recording:
            system.recording.finish()
        report = Report(run_log, ledger, system.writers)
    except (RunError, ConnectionError, OSError) as error:
        run_log.violation(f"the run broke off: {error}")
        final_check(system, run_log)
        report = Report(run_log, ledger, system.writers) if system else None
    except KeyboardInterrupt:
        run_log.info("interrupted")
        return 3
    finally:
        keeps = keeps or bool(run_log.violations)
        if system:
            system.end()
        sandbox.end(keeps)
    if report is None:
        return 3
    report.print(given.json)
    if keeps:
        run_log.info(f"what is left of it: {sandbox.folder}")
    return 0 if report.is_good else 1


def final_check(system, run_log):
    """After a run that broke off: checks which saves are present, if the relay still answers."""
    if not system or not system.relays:
        return
    try:
        for relay in system.relays:
            relay.start(20)
        system.check_saves("the end")
    except (RunError, OSError) as error:
        run_log.info(f"nothing can be asked any more: {error}")


def rounds(system, available, given):
    """Runs rounds until the time is up, at least one."""
    rng, run_log = system.rng, system.run_log
    schedule = faults.FaultSchedule(available, rng)
    end = run_log.begun + given.minutes * 60
    shortest, longest = NODE_ROUND_SECONDS
    if not given.patroni:
        shortest = ROUND_SECONDS[0]
        longest = max(8, min(ROUND_SECONDS[1], given.minutes * 60 / ROUNDS_AT_LEAST))
    if not available:
        raise RunError("there is no fault that this machine can do")
    dealt = collections.Counter()
    while system.rounds == 0 or time.monotonic() < end:
        system.begin_round()
        if given.sabotage and system.rounds == 1:
            system.sabotage()
        left = end - time.monotonic()
        until = time.monotonic() + min(
            rng.uniform(shortest, longest), max(25 if given.patroni else 5, left))
        selected = schedule.next_faults(rng.choice([1, 2, 3, 3, 4]))
        dealt.update(fault.name for fault in selected)
        begun = time.monotonic()
        threads = [
            threading.Thread(target=act, args=(fault, rng.random(), until, run_log))
            for fault in selected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        healing = time.monotonic()
        when = f"round {system.rounds} ({', '.join(fault.name for fault in selected)})"
        system.wait_until_idle(when)
        rested = time.monotonic()
        system.check(when)
        for fault in selected:
            fault.after(when)
        if given.sabotage and system.rounds == 1:
            system.corrupt_more()
        if run_log.has_too_many_violations:
            raise RunError("too much has gone wrong")
        system.clear_clipboards()
        edits, saves = system.ledger.totals(), system.writers.totals()
        run_log.info(
            f"{when}: {healing - begun:.0f} s of faults, healed in {rested - healing:.1f} s; "
            f"so far {edits['acknowledged']} edits and {saves['acknowledged']} saves, "
            f"lost {edits['lost'] + saves['lost']}")
    for name, count in dealt.items():
        if count >= ROUNDS_FOR_EFFECT and not run_log.actions(name):
            run_log.violation(f"the fault {name} had no effect in {count} rounds, so that nothing "
                              "was tested by it")
    system.wait_until_idle("the end")
    for stored in system.writers.stored.values():
        stored.reset()
    system.check("the end")


def act(fault, seed, until, run_log):
    try:
        fault.act(random.Random(seed), until)
    except Exception as error:
        run_log.violation(
            f"the fault {fault.name} could not go on: {type(error).__name__}: {error}")
