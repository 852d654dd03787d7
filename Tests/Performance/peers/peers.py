"""Compares the relay with a baseline in C (floor) and with other push servers, in interleaved
runs."""

import argparse
import json

import counting
import programs
import secure
import starting
import stores
import table
import works
from attended import attend
from programs import Trouble
from runs import Setting, faults, figures, run
from servers import SERVERS

DESCRIPTION = """\
Measures what the relay costs beside `floor`, the least that a push server can
do on this kernel, and beside nchan, mosquitto and NATS where they are
installed. One server runs at a time, on the first processor, and the load on
the second; servers take turns in each repetition. Every message carries when
it was due, its number and its account: loss, duplicates, order and messages
that went to another account are counted exactly. Each account has a connection
that publishes, besides its receivers; nchan is published to by POST, over 16.

floor-batch does the same as floor where nothing can be joined: where the two
differ by more than a tenth in fanout, the machine is too restless for ratios
of time, and that is said. floor-broken loses, doubles, misroutes and holds back
messages on purpose, to see that it is found; it runs where --peers names it.
"""
EPILOG = "works (accounts × receivers of each):\n" + "\n".join(
    f"  {work.name:9} {work.about}\n{'':12}{', '.join(shape.name for shape in work.shapes)}"
    for work in works.WORKS) + """

exit codes: 0 measured, and the relay lost, doubled, mixed up and refused
nothing; 1 it did, or did not come through; 2 a wrong option; 3 nothing could
be measured
"""
DEFAULT_PEERS = "floor,floor-batch,lockstep,nchan,mosquitto,nats"


def options(arguments):
    parser = argparse.ArgumentParser(
        prog="peers", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--only", metavar="WORK,…", default="", help="these works alone")
    parser.add_argument("--peers", metavar="PEER,…", default=DEFAULT_PEERS,
                        help=f"these servers (default: {DEFAULT_PEERS})")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="(default: 5)")
    parser.add_argument("--seconds", type=float, default=5, metavar="S",
                        help="how long each run is measured (default: 5)")
    parser.add_argument("--quick", action="store_true",
                        help="small populations, one repetition, two seconds: does it work?")
    parser.add_argument("--count", action="store_true",
                        help="count user instructions (valgrind) and system calls (strace) of the "
                        "relay and the floor instead, with small populations; for machines that "
                        "let no program read the hardware's counters")
    parser.add_argument("--start", action="store_true",
                        help="measure instead how long the relay takes to start, with an empty "
                        "store and with --records")
    parser.add_argument("--records", type=int, default=1_000_000, metavar="N",
                        help="with --start: in the full store (default: 1000000)")
    parser.add_argument("--secure", action="store_true",
                        help="measure instead what an idle device over TLS takes")
    parser.add_argument("--stores", action="store_true",
                        help="measure instead saves and latency on each kind of store: a folder, "
                        "PostgreSQL with one relay, and with three")
    parser.add_argument("--keep", metavar="DIR",
                        help="with --count: leave callgrind's files there")
    parser.add_argument("--binary", metavar="PATH",
                        help="the lockstep program (default: builds a release)")
    parser.add_argument("--dir", metavar="DIR",
                        help="where the disk is that durable saves go to (default: the system's "
                        "folder for temporary files)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    given.works = chosen(parser, "--only", given.only, [work.name for work in works.WORKS])
    given.works = [work for work in works.WORKS if work.name in given.works]
    given.peers = chosen(parser, "--peers", given.peers, list(SERVERS))
    if not 1 <= given.repetitions <= 1000:
        parser.error("--repetitions: from 1 to 1000")
    if not 0.1 <= given.seconds <= 600:
        parser.error("--seconds: from 0.1 to 600")
    if given.quick:
        given.repetitions, given.seconds = 1, 2
    if given.keep and not given.count:
        parser.error("--keep: only with --count")
    if given.start + given.count + given.secure + given.stores > 1:
        parser.error("one of --count, --start, --secure and --stores")
    if not 1 <= given.records <= 100_000_000:
        parser.error("--records: from 1 to 100000000")
    return given


def chosen(parser, option, text, known):
    words = [word for word in text.split(",") if word] or known
    for word in words:
        if word not in known:
            parser.error(f"{option}: there is no {word!r}; there are {', '.join(known)}")
    return [word for word in known if word in words]


def main(root, arguments=None):
    given = options(arguments)
    measure = (counting.measure if given.count else starting.measure if given.start
               else secure.measure if given.secure else stores.measure if given.stores
               else compare)

    def measured(progress):
        tools, binary = programs.build(root), programs.release(root, given.binary)
        with Setting(root, tools, binary, given.dir, given.seconds, progress) as setting:
            return measure(given, setting, progress)

    return attend("peers", measured)


def compare(given, setting, progress):
    skipped = {peer: SERVERS[peer].missing() for peer in given.peers if SERVERS[peer].missing()}
    peers = [peer for peer in given.peers if peer not in skipped]
    plan = [(work, shape, [peer for peer in peers if peer in shape.peers])
            for work in given.works for shape in works.shapes(work, given.quick)]
    if not any(able for _, _, able in plan):
        raise Trouble("none of these servers does any of these works")
    if "lockstep" in peers:
        setting.prepare(*works.population_for(
            [shape for _, shape, able in plan if "lockstep" in able]))
    results, troubles = table.Results(), []
    for repetition in range(given.repetitions):
        for work, shape, able in plan:
            for peer in able:
                progress(f"{repetition + 1} of {given.repetitions}: {work.name} {shape.name}, "
                         f"{peer}")
                try:
                    account = run(setting, peer, shape)
                except Trouble as trouble:
                    troubles.append((peer, f"{work.name} {shape.name}: {trouble}"))
                    results.add(work, shape, peer, repetition, None, {})
                    continue
                results.add(work, shape, peer, repetition, figures(shape, account),
                            faults(account))
    progress.end()
    tell(given, setting, results, skipped, troubles)
    relay_failed = any(peer == "lockstep" for peer, _ in troubles)
    return 0 if results.relay_is_right and not relay_failed else 1


def tell(given, setting, results, skipped, troubles):
    has_counters = any(results.values(key, peer, "userInstructions")
                       for key, peers in results.runs.items() for peer in peers)
    control = results.control()
    if given.json:
        account = table.as_json(results, setting)
        account.update(
            skipped=skipped, troubles=[f"{peer}: {text}" for peer, text in troubles],
            pinned=setting.pins[0] is not None, hardwareCounters=has_counters)
        print(json.dumps(account))
        return
    notes = [f"{peer} is left out: {reason}" for peer, reason in skipped.items()]
    notes += [f"{peer} did not come through: {text}" for peer, text in troubles]
    if not has_counters:
        notes.append("The hardware counts no instructions for programs here; scripts/peers --count "
                     "counts them without it.")
    if setting.pins[0] is None:
        notes.append("There is one processor: server and load share it.")
    if control:
        verdict = ("ratios of time can be believed" if control["holds"] else
                   "the machine was too restless: ratios of time of this session mean nothing")
        notes.append(f"floor-batch / floor in fanout, the same work: {control['ratio']:.2f}; "
                     f"{verdict}.")
    print(table.told(results, given.works, setting, notes), end="")
