"""Events of a run, for the final report: counts, and every violation."""

import collections
import json
import sys
import threading
import time


class Notes:
    """Used by all threads."""

    # Number of violations printed in full; fewer of those with the same beginning.
    TOLD, TOLD_ALIKE, ALIKE = 40, 5, 24
    # A run with more violations gives no further information and is stopped.
    TOO_MANY = 400

    def __init__(self, told):
        self.told = told
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.counts = collections.Counter()
        self.wrongs = []
        self.skipped = {}
        self.faults = collections.Counter()
        self.lost_replayed = 0
        self.disorders = 0

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] += by

    def wrong(self, words):
        """Records a violation: something that must not happen, whatever the faults."""
        with self.lock:
            self.wrongs.append(words)
            alike = sum(1 for each in self.wrongs if each[:self.ALIKE] == words[:self.ALIKE])
        if alike <= self.TOLD_ALIKE:
            self.say(f"WRONG: {words[:600]}")

    def lose_replayed(self, count, words):
        """Records a loss on a replayed disk."""
        with self.lock:
            self.lost_replayed += count
        self.wrong(words)

    def disorder(self, words):
        """Records an order violation: data already reported was missing from a later answer, or
        came before data that it depends on."""
        with self.lock:
            self.disorders += 1
        self.wrong(f"out of order: {words}")

    @property
    def is_hopeless(self):
        return len(self.wrongs) > self.TOO_MANY

    def worst(self):
        """The violations as text, without too many similar ones."""
        told, alike = [], collections.Counter()
        for words in self.wrongs:
            alike[words[:self.ALIKE]] += 1
            if alike[words[:self.ALIKE]] <= self.TOLD_ALIKE and len(told) < self.TOLD:
                told.append(words[:600])
        if len(self.wrongs) > len(told):
            told.append(f"and {len(self.wrongs) - len(told)} more, much like these")
        return told

    def acted(self, fault, what):
        """Counts one action of a fault."""
        with self.lock:
            self.faults[f"{fault}: {what}"] += 1

    def skip(self, fault, reason):
        with self.lock:
            self.skipped[fault] = reason
        self.say(f"SKIPPED: {fault}: {reason}")

    def say(self, words):
        """Prints a line of progress, with the time since the start."""
        seconds = int(time.monotonic() - self.begun)
        with self.lock:
            print(f"{seconds // 60:3}:{seconds % 60:02} {words}", file=self.told, flush=True)


class Account:
    """Final report: the work done, and its outcome."""

    def __init__(self, notes, ledger, writers):
        edits = ledger.totals()
        saves = writers.totals()
        conflicts = {what.partition("conflict: ")[2]: count for what, count in
                     sorted(notes.counts.items()) if what.startswith("conflict: ")}
        self.json = {
            "seconds": int(time.monotonic() - notes.begun),
            "edits": edits,
            "saves": saves,
            "lost": edits["lost"] + saves["lost"] + notes.lost_replayed,
            "duplicated": edits["duplicated"] + saves["duplicated"],
            "order violations": notes.disorders,
            "conflicts": conflicts,
            "faults": dict(sorted(notes.faults.items())),
            "skipped": notes.skipped,
            "counts": {what: count for what, count in sorted(notes.counts.items())
                       if not what.startswith("conflict: ")},
            "wrong": notes.worst(),
        }
        self.wrongs = len(notes.wrongs)

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
              f"wrong {self.wrongs}")
        sys.stdout.flush()
