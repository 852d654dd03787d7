"""Runs a relay and devices as processes under faults, and checks every edit at the end."""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time

import database
import faults
from cluster import Cluster
from fault_backup import BackupFault
from fault_database import BusFault, DatabaseFault
from fault_disk import DiskErrorsFault, DiskFullFault
from fault_network import ClockFault, WireFault
from fault_power import PowerFault
from fault_replay import ReplayFault
from fault_rollback import RollbackFault
from ledger import Ledger
from notes import Account, Notes
from program import Trouble
from sandbox import Sandbox
from world import World

FAULTS = [faults.KillFault, faults.StopFault, faults.SuspendFault, faults.LineFault, ClockFault,
          DiskFullFault, DiskErrorsFault, WireFault, PowerFault, ReplayFault, BackupFault,
          RollbackFault]
FAULTS_OF_CLUSTERS = [faults.KillFault, faults.StopFault, faults.SuspendFault, faults.LineFault,
                      ClockFault, DatabaseFault, BusFault]
# The other faults, and the reason why a cluster does not have them.
NOT_OF_CLUSTERS = {
    **{kind.name: "it belongs to a store in a folder; a database's files are its server's affair"
       for kind in (DiskFullFault, DiskErrorsFault, PowerFault, ReplayFault, BackupFault,
                    RollbackFault)},
    WireFault.name: "the relays of a cluster and their database are in one network"}
DESCRIPTION = """\
Runs a real relay and real devices as processes under faults, in rounds. Each
round ends with a rest, in which everything must heal, and a look at every
home and the relay. At the end there is an exact account of all edits.

With --postgres several relays share one throw-away PostgreSQL, which dies and
restarts as well. Any device may speak to any of them at any time: writers go
from relay to relay, and ask others at once for what one has told them.

Faults that this machine does not allow are skipped, and that is said. Mounts
and networks are made in namespaces of the run's own and end with it.
"""
EPILOG = """\
exit codes: 0 nothing was lost; 1 something was lost, stands twice, differs or
ended by itself, or came out of order; 2 a wrong option; 3 the run could not
be done, for one where there is no PostgreSQL server to run
"""
# Seconds of edits under faults in a round, followed by rest and a check of everything. The rounds
# of a short run are shorter, so that each fault occurs.
ROUND_SECONDS, ROUNDS_AT_LEAST = (6, 40), 8


def options():
    parser = argparse.ArgumentParser(
        prog="torture", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--minutes", type=float, default=5, metavar="N",
                        help="how long to go on with rounds (default: 5)")
    parser.add_argument("--seed", type=int, default=None,
                        help="which faults come when; what the machine does meanwhile is not the "
                        "seed's (default: drawn, and told)")
    parser.add_argument("--only", metavar="FAULT,…", default="",
                        help="these faults alone (--list names them)")
    parser.add_argument("--list", action="store_true", help="name all faults, and end")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--dir", metavar="DIR",
                        help="where to make the run's folder (default: the system's)")
    parser.add_argument("--sabotage", action="store_true",
                        help="let no sync reach a disk (with --postgres: drop a row, and mistake "
                        "what was told), to see that the checks can fail")
    parser.add_argument("--postgres", action="store_true",
                        help="relays on one PostgreSQL, instead of one with a folder")
    parser.add_argument("--relays", type=int, metavar="N",
                        help="how many, from 1 to 16 (default: 3), with --postgres")
    parser.add_argument("--keep", action="store_true",
                        help="leave the run's folder, with all logs, where it is")
    parser.add_argument("--json", action="store_true", help="print the account as one JSON object")
    given = parser.parse_args()
    if given.relays is not None and not given.postgres:
        parser.error("--relays: several need a store that they can share; add --postgres")
    given.relays = 3 if given.relays is None else given.relays
    if not 1 <= given.relays <= 16:
        parser.error("--relays: from 1 to 16")
    kinds = FAULTS_OF_CLUSTERS if given.postgres else FAULTS
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
    given.binary = os.path.abspath(given.binary) if given.binary else subprocess.run(
        [os.path.join(root, "scripts", "build")], stdout=subprocess.PIPE, text=True,
        check=True).stdout.strip()
    if given.seed is None:
        given.seed = random.SystemRandom().randrange(1_000_000)
    notes, ledger = Notes(sys.stderr if given.json else sys.stdout), Ledger()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    sandbox = Sandbox(root, given, {kind.name for kind in given.kinds})
    world, account, keeps = None, None, given.keep
    try:
        notes.say(f"seed {given.seed}, in {sandbox.folder}")
        if given.postgres and not given.only:
            for name, reason in NOT_OF_CLUSTERS.items():
                notes.skip(name, reason)
        world = (Cluster if given.postgres else World)(given, notes, ledger, sandbox)
        world.make()
        able = faults.chosen(given.kinds, world, notes)
        rounds(world, able, given)
        account = Account(notes, ledger, world.writers)
    except (Trouble, ConnectionError, OSError) as trouble:
        notes.wrong(f"the run broke off: {trouble}")
        look_once_more(world, notes)
        account = Account(notes, ledger, world.writers) if world else None
    except KeyboardInterrupt:
        notes.say("interrupted")
        return 3
    finally:
        keeps = keeps or bool(notes.wrongs)
        if world:
            world.end()
        sandbox.end(keeps)
    if account is None:
        return 3
    account.print(given.json)
    if keeps:
        notes.say(f"what is left of it: {sandbox.folder}")
    return 0 if account.is_good else 1


def look_once_more(world, notes):
    """After a run that broke off: checks which saves are present, if the relay still answers."""
    if not world or not world.relays:
        return
    try:
        for relay in world.relays:
            relay.start(20)
        world.check_saves("the end")
    except (Trouble, OSError) as trouble:
        notes.say(f"nothing can be asked any more: {trouble}")


def rounds(world, able, given):
    """Runs rounds until the time is up, at least one."""
    dice, notes = world.dice, world.notes
    deck = faults.Deck(able, dice)
    end = notes.begun + given.minutes * 60
    longest = max(8, min(ROUND_SECONDS[1], given.minutes * 60 / ROUNDS_AT_LEAST))
    if not able:
        raise Trouble("there is no fault that this machine can do")
    while world.rounds == 0 or time.monotonic() < end:
        world.begin_round()
        if given.sabotage and world.rounds == 1:
            world.sabotage()
        left = end - time.monotonic()
        until = time.monotonic() + min(dice.uniform(ROUND_SECONDS[0], longest), max(5, left))
        hand = deck.deal(dice.choice([1, 2, 3, 3, 4]))
        begun = time.monotonic()
        threads = [
            threading.Thread(target=act, args=(fault, dice.random(), until, notes))
            for fault in hand]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        healing = time.monotonic()
        when = f"round {world.rounds} ({', '.join(fault.name for fault in hand)})"
        world.rest(when)
        rested = time.monotonic()
        world.check(when)
        for fault in hand:
            fault.after(when)
        if given.sabotage and world.rounds == 1:
            world.spoil()
        if notes.is_hopeless:
            raise Trouble("too much has gone wrong")
        world.clear_clipboards()
        edits, saves = world.ledger.totals(), world.writers.totals()
        notes.say(
            f"{when}: {healing - begun:.0f} s of faults, healed in {rested - healing:.1f} s; "
            f"so far {edits['acknowledged']} edits and {saves['acknowledged']} saves, "
            f"lost {edits['lost'] + saves['lost']}")
    world.rest("the end")
    for held in world.writers.held.values():
        held.forget()
    world.check("the end")


def act(fault, seed, until, notes):
    try:
        fault.act(random.Random(seed), until)
    except Exception as trouble:
        notes.wrong(f"the fault {fault.name} could not go on: {type(trouble).__name__}: {trouble}")
