"""Simulates a cluster of relays on one database in virtual time, with measured costs."""

import argparse
import dataclasses
import json
import math

import costs
from attended import attend
from cluster import Cluster, Run

DESCRIPTION = """\
What so many devices ask of relays and their database: a cluster is played in
virtual time, each thread, processor and lock a queue, with what things cost
where they were measured (`scripts/peers --stores`; docs/scale.md). Then its
load is doubled until something is at its end, and that is named.

It is a model: it knows no slow disk but the one that was measured, no restart
and no storm of connections.
"""
DAY = 86_400
# Maximum number of devices in a cluster; more devices need several clusters, and accounts are
# distributed over them.
DEVICES_A_CLUSTER, DEVICES_A_RELAY = 3_000_000, 250_000
# Thresholds for too slow and too busy.
SLOW_MICROSECONDS, BUSY = 1_000_000, 0.9


def options(arguments):
    parser = argparse.ArgumentParser(
        prog="scale", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION)
    parser.add_argument("--devices", type=whole(1, 10**10), default=1_000_000, metavar="N",
                        help="all of them, connected (default: 1000000)")
    parser.add_argument("--devices-an-account", type=whole(2, 100), default=3, metavar="N",
                        help="(default: 3)")
    parser.add_argument("--saves-a-day", type=whole(0, 10**6), default=100, metavar="N",
                        help="of each account (default: 100)")
    parser.add_argument("--peak", type=whole(1, 1000), default=5, metavar="N",
                        help="how many times the mean the busiest hour has (default: 5)")
    parser.add_argument("--relays", type=whole(1, 64), metavar="N",
                        help="of a cluster (default: as many as hold the devices, and one more)")
    parser.add_argument("--processors", type=whole(1, 512), default=16, metavar="N",
                        help="of a cluster's database (default: 16)")
    parser.add_argument("--round-trip", type=whole(0, 10**6), metavar="µs",
                        help="between a relay and the database, there and back (default: "
                        f"{costs.Costs.round_trip}, one machine)")
    parser.add_argument("--sync", type=whole(1, 10**6), metavar="µs",
                        help="of the database's log: the median; the slowest hundredth takes four "
                        f"times as long (default: {costs.Costs.sync})")
    parser.add_argument("--seconds", type=whole(1, 3600), default=4, metavar="S",
                        help="of virtual time (default: 4)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="(default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args(arguments)


def whole(least, most):
    def number(text):
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"from {least} to {most}")
        return value
    return number


def plan(given):
    """The cluster at its peak, and the number of such clusters."""
    clusters = math.ceil(given.devices / DEVICES_A_CLUSTER)
    devices = math.ceil(given.devices / clusters)
    relays = given.relays or max(2, math.ceil(devices / DEVICES_A_RELAY)) + 1
    accounts = max(1, devices // given.devices_an_account)
    named = {}
    if given.round_trip is not None:
        named["round_trip"] = given.round_trip
    if given.sync is not None:
        named |= {"sync": given.sync, "sync_slow": 4 * given.sync}
    return clusters, Cluster(
        relays=relays, processors=given.processors, accounts=accounts,
        devices=given.devices_an_account,
        saves=accounts * given.saves_a_day * given.peak / DAY, costs=costs.Costs(**named))


def end_of(cluster, told, given, progress):
    """Factor by which the load can grow, and the bottleneck at twice that factor. `told`: the
    results at the original load."""
    times = 1
    while times <= 1024:
        if times > 1:
            progress(f"{times} times the load")
            more = dataclasses.replace(cluster, saves=cluster.saves * times)
            # As many saves as in the first run, so that a high load does not take longer to
            # simulate.
            told = Run(more, given.seed).play(max(0.25, given.seconds / times))
        name, share = max(told["busy"].items(), key=lambda part: part[1])
        worst = told["across"] or told["near"]
        if share > BUSY or worst is None or worst["p99"] > SLOW_MICROSECONDS:
            return times / 2, name
        times *= 2
    return times / 2, None


def measure(given, progress):
    clusters, cluster = plan(given)
    progress("the peak")
    told = Run(cluster, given.seed).play(given.seconds)
    times, part = end_of(cluster, told, given, progress) if cluster.saves else (None, None)
    progress.end()
    devices = math.ceil(cluster.accounts * cluster.devices / cluster.relays)
    # The fixed part of a commit is written once for all saves in it.
    shared = (costs.WRITTEN_ALONE - costs.WRITTEN_SAVE) / (told["savesACommit"] or 1)
    told |= {
        "clusters": clusters, "relays": cluster.relays, "processors": cluster.processors,
        "accounts": cluster.accounts, "saves": cluster.saves,
        "relayBytes": devices * costs.IDLE, "relayBytesSecure": devices * costs.IDLE_SECURE,
        "writtenASecond": cluster.saves * (costs.WRITTEN_SAVE + shared),
        "borne": times, "breaksFirst": part}
    print(json.dumps(told) if given.json else text(told))
    return 0


def text(told):
    lines = [
        f"{told['clusters']:,} cluster(s) of {told['relays']} relays and one database with "
        f"{told['processors']} processors, {told['accounts']:,} accounts in each",
        f"at the peak {told['saves']:,.0f} saves a second in each, "
        f"{size(told['writtenASecond'])} written a second",
        f"a relay's memory for idle devices: {size(told['relayBytes'])}, over TLS "
        f"{size(told['relayBytesSecure'])}", ""]
    for name, title in [("near", "to a device at the same relay"), ("across", "across relays")]:
        if told[name]:
            lines.append(f"a change {title}: p50 {told[name]['p50'] / 1000:.1f} ms, p99 "
                         f"{told[name]['p99'] / 1000:.1f} ms")
    if told["savesACommit"]:
        lines.append(f"saves a commit {told['savesACommit']:.1f}, a sync of the log "
                     f"{told['savesASync']:.1f}")
    lines.append("")
    lines += [f"{share:7.1%}  {name}" for name, share in told["busy"].items()]
    if told["breaksFirst"]:
        lines += ["", f"It bears {told['borne']:g} times that; at twice as much the end is at "
                  f"{told['breaksFirst']}."]
    return "\n".join(lines)


def size(bytes):
    for unit in ["B", "KB", "MB", "GB"]:
        if bytes < 1000:
            return f"{bytes:.0f} {unit}"
        bytes /= 1000
    return f"{bytes:.0f} TB"


def main(arguments=None):
    given = options(arguments)
    return attend("scale", lambda progress: measure(given, progress))
