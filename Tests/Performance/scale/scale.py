"""Simulates a cluster of relays on one database in virtual time, with measured costs."""

import argparse
import dataclasses
import json
import math

import costs
from progress import run_measurement
from cluster import Cluster, Run

DESCRIPTION = """\
Simulates a cluster of relays on one database in virtual time, under the load of
a given number of devices. Each thread, processor and lock is a queue, with
measured costs (`scripts/peers --stores`; docs/scale.md). Then the load is
doubled until a part is saturated; that part is reported as the bottleneck.

It is a model: it contains no slower disk than the measured one, no restarts and
no reconnection storms.
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
                        help="number of connected devices (default: 1000000)")
    parser.add_argument("--devices-an-account", type=whole(2, 100), default=3, metavar="N",
                        help="devices of each account (default: 3)")
    parser.add_argument("--saves-a-day", type=whole(0, 10**6), default=100, metavar="N",
                        help="saves of each account a day (default: 100)")
    parser.add_argument("--peak", type=whole(1, 1000), default=5, metavar="N",
                        help="load of the busiest hour, as a multiple of the mean (default: 5)")
    parser.add_argument("--relays", type=whole(1, 64), metavar="N",
                        help="relays of a cluster (default: enough for the devices, plus one)")
    parser.add_argument("--processors", type=whole(1, 512), default=16, metavar="N",
                        help="processors of a cluster's database (default: 16)")
    parser.add_argument("--nats", action="store_true",
                        help="relays notify each other over NATS, not by the database")
    parser.add_argument("--round-trip", type=whole(0, 10**6), metavar="µs",
                        help="between a relay and the database (default: "
                        f"{costs.Costs.round_trip}, one machine)")
    parser.add_argument("--sync", type=whole(1, 10**6), metavar="µs",
                        help="median sync of the database's log; the slowest hundredth takes "
                        f"four times as long (default: {costs.Costs.sync})")
    parser.add_argument("--seconds", type=whole(1, 3600), default=4, metavar="S",
                        help="simulated seconds of virtual time (default: 4)")
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
        saves=accounts * given.saves_a_day * given.peak / DAY, costs=costs.Costs(**named),
        nats=given.nats)


def capacity_of(cluster, results, given, progress):
    """Factor by which the load can grow, and the bottleneck at twice that factor. `told`: the
    results at the original load."""
    times = 1
    while times <= 1024:
        if times > 1:
            progress(f"{times} times the load")
            more = dataclasses.replace(cluster, saves=cluster.saves * times)
            # As many saves as in the first run, so that a high load does not take longer to
            # simulate.
            results = Run(more, given.seed).simulate(max(0.25, given.seconds / times))
        name, share = max(results["busy"].items(), key=lambda part: part[1])
        worst = results["across"] or results["near"]
        if share > BUSY or worst is None or worst["p99"] > SLOW_MICROSECONDS:
            return times / 2, name
        times *= 2
    return times / 2, None


def measure(given, progress):
    clusters, cluster = plan(given)
    progress("the peak")
    results = Run(cluster, given.seed).simulate(given.seconds)
    times, part = capacity_of(cluster, results, given, progress) if cluster.saves else (None, None)
    progress.end()
    devices = math.ceil(cluster.accounts * cluster.devices / cluster.relays)
    # The fixed part of a commit is written once for all saves in it.
    shared = (costs.WRITTEN_ALONE - costs.WRITTEN_SAVE) / (results["savesACommit"] or 1)
    results |= {
        "clusters": clusters, "relays": cluster.relays, "processors": cluster.processors,
        "accounts": cluster.accounts, "saves": cluster.saves,
        "relayBytes": devices * costs.IDLE, "relayBytesSecure": devices * costs.IDLE_SECURE,
        "writtenASecond": cluster.saves * (costs.WRITTEN_SAVE + shared),
        "borne": times, "breaksFirst": part}
    print(json.dumps(results) if given.json else text(results))
    return 0


def text(results):
    lines = [
        f"{results['clusters']:,} cluster(s) of {results['relays']} relays and one database with "
        f"{results['processors']} processors, {results['accounts']:,} accounts in each",
        f"at the peak {results['saves']:,.0f} saves a second in each, "
        f"{size(results['writtenASecond'])} written a second",
        f"a relay's memory for idle devices: {size(results['relayBytes'])}, over TLS "
        f"{size(results['relayBytesSecure'])}", ""]
    for name, title in [("near", "to a device at the same relay"), ("across", "across relays")]:
        if results[name]:
            lines.append(f"a change {title}: p50 {results[name]['p50'] / 1000:.1f} ms, p99 "
                         f"{results[name]['p99'] / 1000:.1f} ms")
    if results["savesACommit"]:
        lines.append(f"saves a commit {results['savesACommit']:.1f}, a sync of the log "
                     f"{results['savesASync']:.1f}")
    lines.append("")
    lines += [f"{share:7.1%}  {name}" for name, share in results["busy"].items()]
    if results["breaksFirst"]:
        lines += ["", f"It bears {results['borne']:g} times that; at twice as much the end is at "
                  f"{results['breaksFirst']}."]
    return "\n".join(lines)


def size(bytes):
    for unit in ["B", "KB", "MB", "GB"]:
        if bytes < 1000:
            return f"{bytes:.0f} {unit}"
        bytes /= 1000
    return f"{bytes:.0f} TB"


def main(arguments=None):
    given = options(arguments)
    return run_measurement("scale", lambda progress: measure(given, progress))
