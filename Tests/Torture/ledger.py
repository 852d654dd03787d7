"""Outcomes of edits as reported to people, and therefore the contents to expect."""

import dataclasses
import threading

# Possible outcomes of an edit, as reported by its command.
MADE, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"
# Messages of a command that does not know the outcome of its edit.
UNKNOWN_WORDS = ("may have been applied", "may still be applied", "it did not end within")


@dataclasses.dataclass
class Entry:
    """An edit whose text is unique."""

    kind: str
    text: str
    account: str
    home: str
    outcome: str
    # Name of the record, if the command reported it.
    name: str = ""
    # Removal by a person: confirmed, or of unknown outcome.
    removal: str = ""
    message: str = ""


def outcome_of(done):
    """Outcome of an edit, as reported by its command."""
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
        # (account, habit, day, device) -> number of counts, by reported outcome.
        self.counted = {}
        # Found by a check; each is recorded once and stays.
        self.lost, self.duplicated, self.contradicted = {}, {}, {}
        self.found = {}

    def add(self, kind, text, home):
        """Called before the command runs: others may see the edit, and remove it, before the
        command ends."""
        entry = Entry(kind, text, home.account, home.name, UNKNOWN)
        with self.lock:
            self.entries.append(entry)
        return entry

    @staticmethod
    def finish(entry, done):
        entry.outcome, entry.message = outcome_of(done), done.error.strip()

    def add_count(self, home, habit, day, done):
        key = (home.account, habit, day, home.device)
        with self.lock:
            counts = self.counted.setdefault(key, {MADE: 0, REFUSED: 0, UNKNOWN: 0})
            counts[outcome_of(done)] += 1

    def totals(self):
        with self.lock:
            counts = {MADE: 0, REFUSED: 0, UNKNOWN: 0}
            for entry in self.entries:
                counts[entry.outcome] += 1
            for each in self.counted.values():
                for what, count in each.items():
                    counts[what] += count
            return {"made": sum(counts.values()), **counts, **self.found,
                    "lost": len(self.lost), "duplicated": len(self.duplicated),
                    "refused and yet there": len(self.contradicted)}
