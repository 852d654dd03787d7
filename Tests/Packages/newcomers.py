"""People who have just installed a relay: one answers the questions of `lockstep setup`, one opens
its link on a phone, and adds a terminal. For scripts/packages-check."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import types

import qr_code

PATIENCE = 120
PHONE = {"width": 390, "height": 844}
# Parts of the lines that differ from run to run.
PLACEHOLDERS = {"CODE": "[0-9A-Z]{4}(?:-[0-9A-Z]{4}){2}", "NUMBER": r"\d+(?:\.\d+)?", "REST": ".*"}


ASKED = """This sets up a relay. An empty line takes the answer in brackets. Ctrl-C ends
it, and nothing is changed then. The settings are in
/etc/lockstep/relay.conf.

By which address do phones and computers reach this relay?
  from anywhere: a name of your own, such as https://sync.example.org
  on this machine alone: http://127.0.0.1:5625
Address [http://127.0.0.1:5625]: URL

Usually only you make accounts (lockstep account create NAME).
May whoever reaches it make an account [no]: 

Each person who uses the relay has an account of their own, with all of
their devices.
Names of the people, separated by commas [none]: mum

"""
WRITTEN = """The settings are in CONFIG:
  public-url = URL
  listen = LISTEN
MORE  admin-listen = 127.0.0.1:5626
STORE"""
TO_START = """
Start the relay, again if it runs:
  COMMAND
Then check:
  lockstep doctor --relay URL
"""
STARTED = """Starting lockstep-relay.service …
ADDRESS

relay
  ok       name        127.0.0.1 is an address, resolved in NUMBER ms
  ok       connection  127.0.0.1:NUMBER was reached after NUMBER ms
SECURE  ok       relay       a Lockstep relayREST
  ok       clock       this machine's clock is REST
  ok       proxy       none detected in front of the relay

ladder
  –        account     not tested with a new account, because this relay accepts none
           → To test the transports, name the home of a device of this relay (--home DIR).

machine
  ok       open-files  a process may open NUMBER filesREST

nothing prevents sync; 1 skipped

"""
TLS = "  ok       tls         TLSREST, with a certificate that is trusted here, in REST\n"
RUNS = """
The relay runs, and starts with this machine (lockstep-relay.service).
"""
LINK = """
PERSON: open this link in a browser of this machine, within a day:
  URL/#code=CODE
"""
FORMER = """
PERSON has an account already; for one more device: lockstep account pair PERSON
"""
TO_MANAGE = """
To manage the relay in a browser:
  MANAGE
"""


def compare(text, *expected, **values):
    """Compares all lines that setup prints, but those of a QR code, with the expected ones. These
    have placeholders, such as URL, for `values` and for what differs from run to run."""
    wanted = "".join(expected) + TO_MANAGE
    for name, value in {"MORE": "", "STORE": "", "MANAGE": "lockstep relay admin",
                        **values}.items():
        wanted = wanted.replace(name, value)
    lines = re.sub(r"(?m)(?:^\x1b.*\n)+\n*", "", text).strip("\n").split("\n")
    patterns = wanted.strip("\n").split("\n")
    for line, pattern in zip(lines, patterns):
        pattern = re.escape(pattern)
        for name, regex in PLACEHOLDERS.items():
            pattern = pattern.replace(name, regex)
        assert re.fullmatch(pattern, line), f"unexpected line {line!r} in:\n{text}"
    assert len(lines) == len(patterns), f"{len(lines)} lines, not {len(patterns)}:\n{text}"


class TypedSetup:
    """A command on a terminal of 80 columns, whose questions a person answers."""

    def __init__(self, command, environment):
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 80, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal,
            env={**environment, "TERM": "xterm-256color"})
        os.close(terminal)
        self.text = ""
        # What is read may end in the middle of a character, or of a line's end.
        self.came = b""

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            came = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.came += came
        self.text = self.came.decode(errors="replace").replace("\r\n", "\n")
        return came != b""

    def answers(self, question, answer):
        """Waits for the question at the end of what is shown."""
        deadline = time.monotonic() + PATIENCE
        while not re.search(question + r" $", self.text):
            assert time.monotonic() < deadline and self.process.poll() is None, self.text
            self._read(1)
        os.write(self.master, answer.encode() + b"\n")

    def ends(self):
        """Returns all that was shown."""
        assert self.process.wait(timeout=PATIENCE) == 0, self.text
        while self._read(0):
            pass
        os.close(self.master)
        return self.text


def drawn_link(text):
    """The text of the QR code that a terminal shows."""
    modules = qr_code.modules(text)
    assert modules, f"no QR code:\n{text}"
    return qr_code.text_of(modules)


class BrowserPhone:
    """A phone's browser, at whose page a person presses."""

    def __init__(self, browser, url):
        from stage import Visitor

        self.visitor = Visitor(
            types.SimpleNamespace(browser=browser), types.SimpleNamespace(url=url),
            viewport=PHONE, is_mobile=True, has_touch=True, ignore_https_errors=True)

    def opens(self, link):
        """Joins the account, which nobody has used yet. The page seals it."""
        visitor = self.visitor
        visitor.open(link.removeprefix(visitor.url))
        visitor.press("Pair", exact=True)
        visitor.reads_phrase()
        visitor.is_in_sync()

    def code(self):
        return self.visitor.show_code()

    def writes(self, memo):
        self.visitor.go("Memos")
        self.visitor.press("New memo")
        self.visitor.page.get_by_label("Memo", exact=True).fill(memo)
        # The page saves a text when its person leaves it.
        self.visitor.go("Timer")
        self.visitor.is_in_sync()

    def sees(self, memo):
        from stage import expect

        self.visitor.go("Memos")
        expect(self.visitor.page.get_by_text(memo)).to_be_visible()

    def closes(self):
        self.visitor.close()
        assert self.visitor.faults == [], self.visitor.faults


class TerminalPhone:
    """A second terminal, in the place of a phone."""

    def __init__(self, url, agent):
        self.url, self.agent = url, agent

    def opens(self, link):
        code = link.split("#code=")[1]
        self.agent("join", "--relay", self.url, "--code", "-", "--name", "phone", input=code + "\n")

    def code(self):
        return json.loads(self.agent("pair", "--json"))["code"]

    def writes(self, memo):
        self.agent("memo", "add", memo)

    def sees(self, memo):
        self.agent("sync")
        assert memo in self.agent("memo", "list")

    def closes(self):
        pass


class Phones:
    """One Chromium for the phones of all installations."""

    def __init__(self):
        from playwright.sync_api import sync_playwright
        from stage import CHROMIUM

        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM)

    def phone(self, url):
        return BrowserPhone(self.browser, url)

    def close(self):
        self.browser.close()
        self.playwright.stop()
