"""The relay and a floor in C under the same load: the stories do not check the measured values, but
that every message arrives at its receivers, once and in order.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys

from story import LOCKSTEP, ROOT, folder, main


def peers(*words, binary=LOCKSTEP):
    script = os.path.join(ROOT, "scripts", "peers")
    with folder() as directory:
        return subprocess.run(
            [sys.executable, script, "--binary", binary, "--json", "--dir", directory, *words],
            capture_output=True, text=True, timeout=300)


def measured(*words):
    """Report of a completed run; None if there is no C compiler."""
    if not shutil.which("gcc") and not shutil.which("cc"):
        print("      NOT RUN: there is no C compiler")
        return None
    done = peers(*words)
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
    return json.loads(done.stdout)


def story_a_load_loses_nothing_and_all_connections_are_accepted():
    """A crowd connects, and devices of accounts exchange changes: no message is lost, duplicated,
    out of order or misrouted, and no connection is refused."""
    account = measured("--quick", "--only", "fanout,storm", "--peers", "floor,floor-batch,lockstep")
    if account is None:
        return
    assert not account["troubles"] and not account["skipped"], account
    rows = {(row["work"], row["shape"], row["peer"]): row for row in account["rows"]}
    assert len(rows) == 9, sorted(rows)
    for name, row in rows.items():
        assert not row["faults"], (name, row)
        assert len(row["runs"]) == 1 and row["runs"][0]["count"] > 0, (name, row)
    # All devices of the storm are connected: 20 accounts with 6 each.
    assert rows["storm", "20 × 6", "lockstep"]["runs"][0]["count"] == 120, rows


def story_saves_are_acknowledged_and_long_polls_miss_nothing():
    """Devices save as fast as they can, and devices receive by long-poll, also in an account with
    many devices."""
    account = measured("--quick", "--only", "pressure,longpoll,saves", "--peers", "lockstep")
    if account is None:
        return
    assert not account["troubles"], account
    assert [row["work"] for row in account["rows"]] == ["pressure", "longpoll", "saves"], account
    for row in account["rows"]:
        assert not row["faults"] and row["runs"][0]["count"] > 0, row


def story_a_server_that_loses_or_reorders_messages_is_detected():
    """The check can fail: messages that a broken server loses, duplicates, delays and misroutes are
    each reported by name."""
    account = measured("--quick", "--only", "fanout", "--peers", "floor-broken")
    if account is None:
        return
    for row in account["rows"]:
        for fault in ("lost", "duplicates", "outOfOrder", "misrouted"):
            assert row["faults"].get(fault, 0) > 0, (fault, row)


def story_a_cost_above_its_limit_fails_the_gate():
    """One figure is above its limit, and another cannot be measured here: both are reported, by
    name and by the exit code."""
    sys.path.insert(0, os.path.join(ROOT, "Tests", "Performance", "peers"))
    import gate

    limits = {("user instructions", "a save"): 100, ("system calls", "a save"): 10}

    def gate_result(measured):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = gate.print_report(argparse.Namespace(json=True), measured, limits, {})
        return code, [figure["verdict"] for figure in json.loads(output.getvalue())["figures"]]

    kept = {("user instructions", "a save"): 99, ("system calls", "a save"): 10}
    assert gate_result(kept) == (0, ["within", "within"]), gate_result(kept)
    dearer = {**kept, ("user instructions", "a save"): 101}
    assert gate_result(dearer) == (1, ["TOO MUCH", "within"]), gate_result(dearer)
    uncounted = {("user instructions", "a save"): 50}
    assert gate_result(uncounted) == (3, ["far below", "not measured"]), gate_result(uncounted)
    # The recorded limits have the names of measured figures.
    assert gate.IDLE_BYTES in gate.read_limits() and all(limit > 0 for limit in gate.read_limits().values())


def story_a_relay_that_does_not_start_is_reported():
    """The given program is not a relay: the message says so, and the exit code is not that of a
    measurement."""
    if not shutil.which("gcc") and not shutil.which("cc"):
        print("      NOT RUN: there is no C compiler")
        return
    done = peers("--quick", "--only", "storm", "--peers", "lockstep", binary="/bin/false")
    assert done.returncode == 3 and done.stdout == "", done
    assert "does not start" in done.stderr and "Traceback" not in done.stderr, done.stderr


if __name__ == "__main__":
    main(globals())
