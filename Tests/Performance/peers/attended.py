"""How a measuring talks with the person who started it: progress, and what to say when it breaks
off."""

import signal
import subprocess
import sys

from programs import Trouble

NOT_MEASURED = 3


class Progress:
    """One line on a terminal, written over; nothing elsewhere."""

    def __init__(self):
        self.shows = sys.stderr.isatty()

    def __call__(self, text):
        if self.shows:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def end(self):
        self("")


def attend(name, measure):
    """The exit code of `measure`, which is given the progress."""
    progress = Progress()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(NOT_MEASURED))
    try:
        return measure(progress)
    except (Trouble, OSError, ValueError, subprocess.CalledProcessError) as trouble:
        progress.end()
        print(f"{name}: {trouble}", file=sys.stderr)
        return NOT_MEASURED
    except KeyboardInterrupt:
        progress.end()
        print(f"{name}: interrupted", file=sys.stderr)
        return NOT_MEASURED
