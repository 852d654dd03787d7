"""Events of a run, for the final report: counts, and every violation."""

import collections
import json
import sys
import threading
import time


class RunLog:
    """Used by all threads."""

    # Number of violations printed in full; fewer of those with the same beginning.
    PRINTED_MAX, SIMILAR_MAX, PREFIX_LENGTH = 40, 5, 24
    # A run with more violations gives no further information and is stopped.
    VIOLATIONS_MAX = 400

    def __init__(self, output):
        self.output = output
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.counts = collections.Counter()
        self.violations = []
        self.skipped = {}
        self.faults = collections.Counter()
        self.lost_replayed = 0
        self.order_violations = 0

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] += by

    def violation(self, words):
        """Records a violation: something that must not happen, whatever the faults."""
        with self.lock:
            self.violations.append(words)
            alike = sum(1 for each in self.violations
                        if each[:self.PREFIX_LENGTH] == words[:self.PREFIX_LENGTH])
        if alike <= self.SIMILAR_MAX:
            self.info(f"WRONG: {words[:600]}")

    def replay_loss(self, count, words):
        """Records a loss on a replayed disk."""
        with self.lock:
            self.lost_replayed += count
        self.violation(words)

    def order_violation(self, words):
        """Records an order violation: data already reported was missing from a later answer, or
        came before data that it depends on."""
        with self.lock:
            self.order_violations += 1
        self.violation(f"out of order: {words}")

    @property
    def has_too_many_violations(self):
        return len(self.violations) > self.VIOLATIONS_MAX

    def violation_texts(self):
        """The violations as text, without too many similar ones."""
        output, alike = [], collections.Counter()
        for words in self.violations:
            alike[words[:self.PREFIX_LENGTH]] += 1
            is_new = alike[words[:self.PREFIX_LENGTH]] <= self.SIMILAR_MAX
            if is_new and len(output) < self.PRINTED_MAX:
                output.append(words[:600])
        if len(self.violations) > len(output):
            output.append(f"and {len(self.violations) - len(output)} more, much like these")
        return output

    def action(self, fault, what):
        """Counts one action of a fault."""
        with self.lock:
            self.faults[f"{fault}: {what}"] += 1

    def actions(self, fault):
        """Number of actions of a fault so far."""
        with self.lock:
            return sum(count for what, count in self.faults.items()
                       if what.startswith(f"{fault}: "))

    def skip(self, fault, reason):
        with self.lock:
            self.skipped[fault] = reason
        self.info(f"SKIPPED: {fault}: {reason}")

    def info(self, words):
        """Prints a line of progress, with the time since the start."""
        seconds = int(time.monotonic() - self.begun)
        with self.lock:
            print(f"{seconds // 60:3}:{seconds % 60:02} {words}", file=self.output, flush=True)


class Report:
    """Final report: the work done, and its outcome."""

    def __init__(self, run_log, ledger, writers):
        edits = ledger.totals()
        saves = writers.totals()
        conflicts = {what.partition("conflict: ")[2]: count for what, count in
                     sorted(run_log.counts.items()) if what.startswith("conflict: ")}
        self.json = {
            "seconds": int(time.monotonic() - run_log.begun),
            "edits": edits,
            "saves": saves,
            "lost": edits["lost"] + saves["lost"] + run_log.lost_replayed,
            "duplicated": edits["duplicated"] + saves["duplicated"],
            "order violations": run_log.order_violations,
            "conflicts": conflicts,
            "faults": dict(sorted(run_log.faults.items())),
            "skipped": run_log.skipped,
            "counts": {what: count for what, count in sorted(run_log.counts.items())
                       if not what.startswith("conflict: ")},
            "wrong": run_log.violation_texts(),
        }
        self.violations = len(run_log.violations)

    @property
    def is_good(self):
        return not (self.json["lost"] or self.json["duplicated"] or self.json["wrong"])

    def print(self, as_json):
        if as_json:
            print(json.dumps(self.json, ensure_ascii=False))
            return
        it = self.json
        for title, counts in [
                ("edits of people, by commands", it["edits"]), ("saves over HTTP", it["saves"]),
                ("conflicts, and how they ended", it["conflicts"]), ("faults", it["faults"]),
                ("besides", it["counts"])]:
            if counts:
                print(f"{title}:")
                for what, count in counts.items():
                    print(f"  {count:8} {what}")
        for fault, reason in it["skipped"].items():
            print(f"SKIPPED {fault}: {reason}")
        for words in it["wrong"]:
            print(f"WRONG {words}")
        print(f"{it['seconds'] // 60} min {it['seconds'] % 60} s: lost {it['lost']}, "
              f"duplicated {it['duplicated']}, order violations {it['order violations']}, "
              f"wrong {self.violations}")
        sys.stdout.flush()
