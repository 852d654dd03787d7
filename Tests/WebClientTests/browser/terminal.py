"""A terminal's screen, as tmux captures it, drawn as HTML."""

import html
import os
import re
import signal
import subprocess

STYLES = {1: "bold", 2: "faint", 31: "red", 32: "green", 33: "yellow", 231: "qr"}


class Terminal:
    """A separate screen in which a command runs until it is closed."""

    def __init__(self, folder, words, columns, rows):
        self.socket = folder / "tmux"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                   *map(str, words))
        self.server = int(self._tmux("display-message", "-p", "#{pid}"))

    def _tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True,
                              check=True).stdout

    def text(self):
        return self._tmux("capture-pane", "-p")

    def drawn(self):
        """Returns the content of the screen, with a span for bold, faint or coloured text."""
        parts = re.split(r"\x1b\[([\d;]*)m", self._tmux("capture-pane", "-e", "-N", "-p"))
        styles = set()
        drawn = html.escape(parts[0])
        for codes, text in zip(parts[1::2], parts[2::2]):
            # A QR code is black on white, whatever the terminal's colours are.
            if "48;5;231" in codes:
                styles.add(231)
            for code in map(int, (codes or "0").split(";")):
                if code == 0:
                    styles.clear()
                elif code == 39:
                    styles -= {31, 32, 33}
                elif code == 49:
                    styles.discard(231)
                elif code in STYLES:
                    styles.add(code)
            names = " ".join(STYLES[code] for code in sorted(styles))
            drawn += f'<span class="{names}">{html.escape(text)}</span>' if names else \
                html.escape(text)
        return drawn

    def close(self):
        # SIGKILL, because after another signal tmux and its shell sometimes keep running.
        os.kill(self.server, signal.SIGKILL)
