"""Outside checkers judge what clients were told (scripts/histories): they accept recorded
histories, and say where a wrong one is wrong."""

import copy
import glob
import json
import os
import shutil
import subprocess
import sys

from story import LOCKSTEP, ROOT, folder, has_postgres, main

HISTORIES = os.path.join(ROOT, "Tests", "Histories")
RECORDED = os.path.join(HISTORIES, "recorded.jsonl")
sys.path.append(HISTORIES)

from checker import Checker  # noqa: E402
from device_checker import PROMISED, RULES, DeviceChecker  # noqa: E402
from sabotage import KINDS, KINDS_OF_RECORDS, sabotage  # noqa: E402


def histories(*words, directory=None):
    command = [sys.executable, os.path.join(ROOT, "scripts", "histories"), *words]
    if not (shutil.which("go") and glob.glob(os.path.join(ROOT, ".cache", "porcupine-*"))):
        print("      NOT RUN: Porcupine: there is no Go here, or its sources were not fetched")
        command.append("--without-porcupine")
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def recorded():
    with open(RECORDED, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def story_a_recorded_history_is_accepted_and_each_wrong_one_is_rejected():
    """A person has a history of three relays judged, and then made wrong on purpose."""
    done = histories("--check", RECORDED)
    assert done.returncode == 0 and ": 0 violations" in done.stdout, done.stdout + done.stderr
    done = histories("--sabotage", RECORDED)
    assert done.returncode == 0 and "MISSED" not in done.stdout, done.stdout + done.stderr
    for kind in KINDS:
        assert f"sabotage: {kind}: " in done.stdout, done.stdout


def story_the_independent_checker_names_the_broken_rule():
    lines = recorded()
    assert Checker(copy.deepcopy(lines)).check() == []
    rules = {"lost": "no acknowledged save is lost", "stale": "no stale read",
             "twice": "a base tag is compared and replaced",
             "torn": "an atomic batch is seen whole",
             "reordered": "changes come in the order of their tags"}
    assert sorted(rules) == sorted(KINDS) and len(KINDS_OF_RECORDS) == 3
    for kind, rule in rules.items():
        found = Checker(sabotage(kind, lines)[0]).check()
        assert any(words.startswith(rule) for words in found), (kind, found)


def story_a_history_that_was_cut_off_is_none():
    """A run that broke off must not pass for a good one."""
    lines = recorded()
    with folder() as directory:
        path = os.path.join(directory, "cut.jsonl")
        for kept in (lines[:-1], lines[:-2] + lines[-1:]):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in kept)
            done = histories("--check", path)
            assert done.returncode == 2 and "cut off" in done.stdout + done.stderr, done


# Two devices; d1 makes two transactions, and d2 one after it has read both.
def device_history():
    def read(process, begun, d1=None, d2=None, **members):
        counts = {name: each for name, each in (("d1", d1), ("d2", d2)) if each}
        return {"process": process, "operation": "read", "begun": begun, "counts": counts,
                **members}

    def transaction(process, begun, keys):
        return {"process": process, "operation": "transaction", "begun": begun, "outcome": "done",
                "keys": keys}

    return [
        read("d1", 1), transaction("d1", 2, ["a", "b"]), transaction("d1", 3, ["b", "c"]),
        read("d1", 4, {"a": 1, "b": 2, "c": 1}), read("d2", 5, {"a": 1, "b": 2, "c": 1}),
        transaction("d2", 6, ["d"]), read("d2", 7, {"a": 1, "b": 2, "c": 1}, {"d": 1}),
        read("d3", 8, {"a": 1, "b": 2, "c": 1}, {"d": 1}),
        *(read(name, 9, {"a": 1, "b": 2, "c": 1}, {"d": 1}, final=True)
          for name in ("d1", "d2", "d3"))]


def story_the_checker_of_devices_names_the_broken_rule():
    assert not DeviceChecker(device_history()).check()
    last, seen = slice(-3, None), -4
    for rule, at, counts in [
            ("read your writes", 3, {"d1": {"a": 1, "b": 1, "c": 1}}),
            ("monotonic reads", 6, {"d1": {"a": 1, "b": 1, "c": 1}, "d2": {"d": 1}}),
            ("no count without an edit", seen, {"d1": {"a": 2, "b": 2, "c": 1}, "d2": {"d": 1}}),
            ("atomic transactions", seen, {"d1": {"a": 1}}),
            ("monotonic writes", seen, {"d1": {"b": 2, "c": 1}}),
            ("writes follow reads", seen, {"d2": {"d": 1}}),
            ("the same on all devices", -1, {"d1": {"a": 1, "b": 2, "c": 1}}),
            ("no lost edit", last, {"d1": {"a": 1, "b": 2, "c": 1}})]:
        history = device_history()
        for each in history[at] if isinstance(at, slice) else [history[at]]:
            each["counts"] = counts
        found = DeviceChecker(history).check()
        assert found[rule], (rule, found)


def devices(*words):
    """The results of a short run of the plan, one line for each fault."""
    with folder() as directory:
        # The database's user, who is not root, must be able to open its folder in there.
        os.chmod(directory, 0o711)
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "scripts", "histories"), "--minutes", "0.2",
             "--binary", LOCKSTEP, "--dir", directory, *words],
            capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if " transactions (" in line]


def story_devices_that_are_killed_and_disconnected_lose_no_transaction():
    """Five devices count in shared records for some seconds, under two faults of the plan."""
    if not has_postgres():
        return
    lines = devices("--devices", "kill,disconnect")
    assert len(lines) == 2, lines
    for line in lines:
        for rule in PROMISED:
            assert f"{rule}: 0" in line, line


def story_devices_whose_edits_do_not_conflict_see_them_whole_and_in_order():
    """Each counts in records of its own, while the network loses them; all see the transactions of
    the others as these were made."""
    if not has_postgres():
        return
    lines = devices("--devices", "partition", "--own-records")
    assert len(lines) == 1, lines
    for rule in RULES:
        assert f"{rule}: 0" in lines[0], lines


if __name__ == "__main__":
    main(globals())
