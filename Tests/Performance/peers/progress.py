"""Terminal output of a measurement: progress, and the message if it is interrupted."""

import signal
import subprocess
import sys

from programs import RunError

NOT_MEASURED = 3


class Progress:
    """One line that is overwritten on a terminal; no output otherwise."""

    def __init__(self):
        self.shows = sys.stderr.isatty()

    def __call__(self, text):
        if self.shows:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def end(self):
        self("")


def run_measurement(name, measure):
    """Runs `measure` with the progress as its argument, and returns the exit code."""
    progress = Progress()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(NOT_MEASURED))
    try:
        return measure(progress)
    except (RunError, OSError, ValueError, subprocess.CalledProcessError) as error:
        progress.end()
        print(f"{name}: {error}", file=sys.stderr)
        return NOT_MEASURED
    except KeyboardInterrupt:
        progress.end()
        print(f"{name}: interrupted", file=sys.stderr)
        return NOT_MEASURED
