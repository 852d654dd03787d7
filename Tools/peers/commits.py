"""Times one commit to disk beside a load: the least that a durable save costs there."""

import os
import statistics
import threading
import time

PAGE_BYTES, PAUSE_SECONDS = 4096, 0.02


class CommitProbe:
    """Writes a page over the last one and syncs it, again and again, on the disk of the store.
    Rarely enough not to be a load of its own."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "commit-probe")
        self.micros, self.is_over = [], threading.Event()
        self.thread = threading.Thread(target=self.probe)

    def probe(self):
        page, descriptor = b"\x5a" * PAGE_BYTES, os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not self.is_over.wait(PAUSE_SECONDS):
                begun = time.perf_counter_ns()
                os.pwrite(descriptor, page, 0)
                os.fdatasync(descriptor)
                self.micros.append((time.perf_counter_ns() - begun) / 1000)
        finally:
            os.close(descriptor)
            os.unlink(self.path)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    @property
    def median(self):
        return statistics.median(self.micros) if self.micros else None
