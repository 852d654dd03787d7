"""Simulation of a cluster in virtual time, to find the load of many devices on relays and database.
The results must be reproducible, agree with queueing theory, and agree with measurements of a real
cluster.
"""

import json
import os
import random
import subprocess
import sys

from story import ROOT, main

SCRIPT = os.path.join(ROOT, "scripts", "scale")
# `scripts/peers --stores`: 100 accounts with 3 devices, 200 changes a second, two processors; p50
# and p99 in microseconds, as in docs/scale.md.
MEASURED = {"near": (1503, 3666), "across": (1932, 4954)}
AS_MEASURED = ["--devices", "300", "--saves-a-day", "172800", "--peak", "1", "--processors", "2",
               "--seconds", "20"]


def scale(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True,
                          timeout=300)


def result(*words):
    done = scale("--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def story_the_same_seed_gives_the_same_result():
    """The seed determines the result; another seed gives nearly the same."""
    words = ["--devices", "30000", "--seconds", "2"]
    assert result(*words) == result(*words)
    one, other = result(*words), result(*words, "--seed", "2")
    assert one != other
    assert 0.8 < one["near"]["p50"] / other["near"]["p50"] < 1.25, (one, other)


def story_more_devices_cause_more_load():
    """A hundred times the devices: more relays, more memory, higher utilisation, and less
    reserve."""
    few, many = result("--devices", "10000"), result("--devices", "1000000", "--seconds", "1")
    assert few["relays"] < many["relays"] and few["relayBytes"] < many["relayBytes"]
    for part, share in few["busy"].items():
        assert share < many["busy"][part], (part, few, many)
    assert few["borne"] > many["borne"] >= 1, (few, many)
    # All saves arrived, except those under way at the end.
    assert few["arrived"] > 0.95 and many["arrived"] > 0.95, (few, many)


def story_a_hundred_million_devices_need_many_clusters():
    """So many do not fit on one database: accounts are distributed over clusters, each with its
    share."""
    output = scale("--devices", "100000000", "--seconds", "1")
    assert output.returncode == 0, output.stderr
    assert output.stdout.startswith("34 cluster(s) of "), output.stdout
    assert "at twice as much the end is at" in output.stdout, output.stdout


def story_the_model_agrees_with_measurements():
    """For a measured cluster the model gives similar values: less than double, and more than
    half."""
    for relays, way in [("1", "near"), ("3", "across")]:
        modelled = result(*AS_MEASURED, "--relays", relays)[way]
        for name, measured in zip(("p50", "p99"), MEASURED[way]):
            ratio = modelled[name] / measured
            assert 0.5 < ratio < 2, (way, name, modelled, measured)


def story_more_relays_do_not_speed_up_one_account():
    """All saves go to one account: they have one order, and a second relay that accepts them must
    wait for the first."""
    words = ["--devices", "3", "--saves-a-day", "1000000", "--peak", "40", "--seconds", "4"]
    alone, together = result(*words, "--relays", "1"), result(*words, "--relays", "4")
    assert together["near"]["p99"] > alone["near"]["p99"], (alone, together)


def story_queues_agree_with_queueing_theory():
    """The mean wait of random arrivals at one processor with constant service time follows the
    Pollaczek–Khinchine formula; two requests for the same lock get it one after the other."""
    sys.path.insert(0, os.path.join(ROOT, "Tests", "Performance", "scale"))
    from events import Locks, Processors, Timeline

    timeline, draw, waits = Timeline(), random.Random(1), []
    processor, service, load = Processors(timeline, 1), 100, 0.7

    def come():
        begun = timeline.now
        processor.work(service, lambda: waits.append(timeline.now - begun - service))
        timeline.after(draw.expovariate(load / service), come)

    come()
    timeline.run(50_000_000)
    mean, known = sum(waits) / len(waits), service * load / (2 * (1 - load))
    assert abs(mean / known - 1) < 0.05, (mean, known)
    assert abs(processor.share(50_000_000) - load) < 0.02, processor.share(50_000_000)

    locks, order = Locks(), []
    locks.acquire({"a", "b"}, lambda: order.append("first"))
    locks.acquire({"b", "c"}, lambda: order.append("second"))
    locks.acquire({"d"}, lambda: order.append("third"))
    assert order == ["first"], order
    locks.release({"a", "b"})
    assert order == ["first", "second", "third"], order


def story_a_wrong_option_is_reported():
    """The error names the option, and its allowed values."""
    helped = scale("--help")
    assert helped.returncode == 0 and "--devices-an-account" in helped.stdout, helped
    for words in [["--devices", "0"], ["--relays", "65"], ["--devices", "many"], ["--speed", "9"]]:
        done = scale(*words)
        assert done.returncode == 2 and words[0] in done.stderr, (words, done)
        assert "Traceback" not in done.stderr, done.stderr


if __name__ == "__main__":
    main(globals())
