"""History of a run: each operation of the history clients as one line of JSON."""

import json
import threading
import time

# Bounds of a history. An hour of a run has about a tenth of them.
OPERATIONS_MAX, BYTES_MAX = 1_000_000, 512 * 1024 * 1024


def now():
    """The clock of a history: microseconds, never set back, the same for all clients of a run."""
    return time.monotonic_ns() // 1000


class HistoryFile:
    """Used by all threads. `about`: members of the first line."""

    def __init__(self, path, about):
        self.path, self.lock = path, threading.Lock()
        self.file = open(path, "w", encoding="utf-8")
        self.count, self.bytes = 0, 0
        self.write({"history": 1, **about})

    @property
    def is_full(self):
        """True if no further operation may begin; those under way are still written."""
        return self.count >= OPERATIONS_MAX or self.bytes >= BYTES_MAX

    def write(self, members):
        line = json.dumps(members, ensure_ascii=False, separators=(",", ":")) + "\n"
        self.bytes += len(line)
        self.file.write(line)

    def add(self, process, operation, begun, outcome, **members):
        """`outcome` of an operation that may or may not have happened is "unknown": it has no
        end."""
        ended = None if outcome == "unknown" else now()
        with self.lock:
            if self.file.closed:
                return
            self.count += 1
            self.write({"process": process, "operation": operation, "begun": begun,
                        "ended": ended, "outcome": outcome, **members})

    def close(self, is_complete):
        """The last line says how many operations there are; without it, the history was cut
        off."""
        with self.lock:
            if self.file.closed:
                return
            if is_complete:
                self.write({"end": True, "operations": self.count})
            self.file.close()
