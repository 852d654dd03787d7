"""What people were told of their edits, and what must therefore be there."""

import dataclasses
import threading

# What may be said of an edit by its command.
MADE, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"
# A command's words for an edit of which it does not know what became.
UNKNOWN_WORDS = ("before it said whether", "may still be done", "it did not end within")


@dataclasses.dataclass
class Entry:
    """A text that stands nowhere else."""

    kind: str
    text: str
    account: str
    home: str
    told: str
    # The record, where the command told its name.
    name: str = ""
    # Somebody removed it: told so, or nobody knows.
    removal: str = ""
    words: str = ""


def told(done):
    """What a command said of its edit."""
    if done.code == 0:
        return MADE
    if done.code < 0 or any(words in done.error for words in UNKNOWN_WORDS):
        return UNKNOWN
    return REFUSED


class Ledger:
    """All edits of all people."""

    def __init__(self):
        self.lock = threading.Lock()
        self.entries = []
        # (account, habit, day, device) -> how often it was counted, by what was told.
        self.counted = {}
        # Found at a check, once and for all.
        self.lost, self.duplicated, self.contradicted = {}, {}, {}
        self.found = {}

    def begin(self, kind, text, home):
        """Before its command runs: others may see it, and remove it, before that has ended."""
        entry = Entry(kind, text, home.account, home.name, UNKNOWN)
        with self.lock:
            self.entries.append(entry)
        return entry

    @staticmethod
    def end(entry, done):
        entry.told, entry.words = told(done), done.error.strip()

    def enter_count(self, home, habit, day, done):
        key = (home.account, habit, day, home.device)
        with self.lock:
            counts = self.counted.setdefault(key, {MADE: 0, REFUSED: 0, UNKNOWN: 0})
            counts[told(done)] += 1

    def totals(self):
        with self.lock:
            counts = {MADE: 0, REFUSED: 0, UNKNOWN: 0}
            for entry in self.entries:
                counts[entry.told] += 1
            for each in self.counted.values():
                for what, count in each.items():
                    counts[what] += count
            return {"made": sum(counts.values()), **counts, **self.found,
                    "lost": len(self.lost), "duplicated": len(self.duplicated),
                    "refused and yet there": len(self.contradicted)}
