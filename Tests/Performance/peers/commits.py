"""Times single commits to disk during a load: the minimum cost of a durable save."""

import os
import sqlite3
import statistics
import threading
import time

PAGE_BYTES, PAUSE_SECONDS = 4096, 0.01


class CommitProbe:
    """On the store's disk, alternates between two commits: a page, overwritten and synced, and a
    row of a SQLite database, changed and committed with its log synced. Runs rarely enough not to
    be a load of its own."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "commit-probe")
        self.pages, self.rows, self.is_over = [], [], threading.Event()
        self.thread = threading.Thread(target=self.probe)

    def probe(self):
        page, descriptor = b"\x5a" * PAGE_BYTES, os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        database = sqlite3.connect(self.path + ".sqlite", isolation_level=None)
        try:
            for question in ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
                             "CREATE TABLE probe (number INTEGER)", "INSERT INTO probe VALUES (0)"]:
                database.execute(question).fetchall()

            def write():
                os.pwrite(descriptor, page, 0)
                os.fdatasync(descriptor)

            kinds = [(self.pages, write),
                     (self.rows, lambda: database.execute("UPDATE probe SET number = number + 1"))]
            while not self.is_over.wait(PAUSE_SECONDS):
                times, act = kinds[0]
                kinds.reverse()
                begun = time.perf_counter_ns()
                act()
                times.append((time.perf_counter_ns() - begun) / 1000)
        finally:
            os.close(descriptor)
            database.close()
            os.unlink(self.path)
            os.unlink(self.path + ".sqlite")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    @property
    def page(self):
        """Median in microseconds; None if none was timed."""
        return statistics.median(self.pages) if self.pages else None

    @property
    def row(self):
        return statistics.median(self.rows) if self.rows else None
