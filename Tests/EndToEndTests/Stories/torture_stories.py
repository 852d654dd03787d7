"""Short runs of scripts/torture: relay and devices under faults, after which nothing is lost and
everything recovers."""

import json
import os
import subprocess
import sys

from story import LOCKSTEP, ROOT, folder, has_postgres, main


# Faults that need no privileges; the second list needs a preloaded library, which a sanitizer's
# runtime does not allow.
FAULTS = ["kill", "stop", "line", "clock", "backup", "rollback"]
FAULTS_OF_DISKS = ["disk-errors", "replay"]


def faults():
    with open(LOCKSTEP, "rb") as file:
        program = file.read()
    if b"__asan_init" in program or b"__tsan_init" in program:
        print(f"      NOT RUN, under a sanitizer: {', '.join(FAULTS_OF_DISKS)}")
        return FAULTS
    return FAULTS + FAULTS_OF_DISKS


def torture(*words):
    script = os.path.join(ROOT, "scripts", "torture")
    with folder() as directory:
        # The database's user, who is not root, must be able to open its folder in there.
        os.chmod(directory, 0o711)
        return subprocess.run(
            [sys.executable, script, "--binary", LOCKSTEP, "--json", "--dir", directory, *words],
            capture_output=True, text=True, timeout=500)


def story_under_faults_nothing_is_lost_and_everything_heals():
    """A short run of scripts/torture, with the faults that need no privileges."""
    done = torture("--minutes", "0.75", "--only", ",".join(faults()))
    assert done.returncode == 0, done.stderr[-8000:]
    account = json.loads(done.stdout)
    assert account["lost"] == 0 and not account["wrong"], account
    assert account["edits"]["acknowledged"] and account["saves"]["acknowledged"], account
    assert account["edits"]["present everywhere"], account
    for fault, reason in account["skipped"].items():
        print(f"      NOT RUN: {fault}: {reason}")


def story_relays_on_one_database_lose_nothing_whatever_dies():
    """A minute of scripts/torture with three relays: they and their database die and restart. What
    the recorded clients were told is one history, also to a checker that shares no code with the
    program."""
    if not has_postgres():
        return
    with folder() as directory:
        path = os.path.join(directory, "history.jsonl")
        # Few kinds of faults, so that each occurs within a minute.
        done = torture("--minutes", "1", "--postgres", "--relays", "3", "--only",
                       "kill,database,bus", "--history", path)
        assert done.returncode == 0, done.stderr[-8000:]
        judged = subprocess.run(
            [sys.executable, os.path.join(ROOT, "Tests", "Histories", "checker.py"), path],
            capture_output=True, text=True, timeout=120)
        assert judged.returncode == 0 and ": 0 violations" in judged.stdout, judged
    account = json.loads(done.stdout)
    assert account["lost"] == 0 and not account["wrong"], account
    assert account["order violations"] == 0, account
    assert account["saves"]["acknowledged"] and account["edits"]["present everywhere"], account
    assert any(fault.startswith("database: ") for fault in account["faults"]), account
    assert account["counts"]["saves asked of another relay at once, and there"], account


def story_a_row_that_a_database_drops_is_found_out():
    """The checks of shared stores can fail: a deleted row and an older token are detected."""
    if not has_postgres():
        return
    done = torture("--minutes", "0.1", "--postgres", "--only", "bus", "--sabotage")
    account = json.loads(done.stdout)
    assert done.returncode == 1, account
    assert account["lost"] == 2 and account["order violations"] > 0, account


def story_a_disk_that_syncs_nothing_is_found_out():
    """The check of power failures can fail: if no sync reaches the disk, lost saves are
    detected."""
    if "replay" not in faults():
        return
    done = torture("--minutes", "0.1", "--only", "replay", "--sabotage")
    account = json.loads(done.stdout)
    if "replay" in account["skipped"]:
        print(f"      NOT RUN: {account['skipped']['replay']}")
        return
    assert done.returncode == 1 and account["lost"] > 0, account


if __name__ == "__main__":
    main(globals())
