"""`lockstep top`: the owner of a relay watches its activity."""

import fcntl
import json
import os
import re
import signal
import socket
import struct
import termios

from story import PATIENCE, Person, Relay, expect, main, record, refused, run
from terminal_stories import Screen


def admin(relay):
    return re.search(r"metrics and health on (http://\S+)", relay.text()).group(1)


def relay_with_metrics():
    """A relay with metrics; with one loop they are current at once."""
    return Relay("--admin-listen", "127.0.0.1:0", "--loops", "1")


class TopScreen(Screen):
    """`lockstep top` on its own terminal."""

    def command(self, home, words):
        return ["top", *words]


def story_figures_for_programs_and_in_a_pipe():
    """--json prints one object, a pipe gets plain lines without terminal escapes."""
    with relay_with_metrics() as relay:
        person = Person.new(relay)
        for number in range(3):
            expect(person.save(record(f"note {number}")), 200)
        expect(person.call("GET", "/v1/changes?since=nonsense"), 400)
        told = run("top", "--admin", admin(relay), "--json", "--every", "1")
        assert told.stderr == "" and len(told.stdout.splitlines()) == 1, told
        figures = json.loads(told.stdout)
        assert figures["source"] == admin(relay) and re.fullmatch(r"[\d.]+", figures["version"])
        assert figures["accounts"] == 1 and figures["total"]["saves"] == 3, figures
        assert sum(figures["rejected"].values()) == 1, figures
        assert figures["perSecond"]["saves"] == 0 and figures["perSecond"]["seconds"] >= 1, figures
        assert set(figures["connections"]) == {"websocket", "events", "long-poll", "http"}, figures
        assert figures["commitToSocket"]["p99Seconds"] is None, figures
        assert figures["process"]["residentBytes"] > 0 and figures["store"]["bytes"] > 0, figures
        assert 0 <= figures["uptimeSeconds"] < 3_600, figures
        for words in (["--once"], []):
            plain = run("top", *words, "--admin", admin(relay)[len("http://"):], "--every", "0.5",
                        environment={"TERM": "xterm"})
            assert "\x1b" not in plain.stdout and plain.stderr == "", plain
            assert re.search(r"^ ● Live \d\d:\d\d:\d\d +Lockstep relay, version", plain.stdout), plain
            for each in [r"of 0 accounts; 1 in the store", r"Saves a second +0 ", r"Commits +–",
                         r"Rejected, by reason +last", r"Database +[\d,.]+ [KM]iB"]:
                assert re.search(each, plain.stdout), (each, plain.stdout)


def story_where_no_relay_tells_figures_a_person_is_told_how_to_have_them():
    with Relay() as relay, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        for address, says in [(silent, "refused"), (relay.address, "no metrics (404)")]:
            for words in (["--once"], ["--json"]):
                refused("top", "--admin", address, *words, says=[
                    says, f"lockstep relay --admin-listen {address[len('http://'):]}", "--admin"])
        refused("top", "--admin", "ftp://relay", says="http://127.0.0.1:9625", code=2)
        refused("top", "--every", "0", says="0.5", code=2)
        # On a terminal too, which is restored afterwards.
        with TopScreen(None, "--admin", silent, columns=80, rows=24) as screen:
            assert screen.process.wait(timeout=PATIENCE) == 1
            screen.read()
            assert screen.text.endswith("\x1b[?1049l"), screen.text[-100:]
            assert "--admin-listen" in screen.process.stderr.read().decode()


def story_a_full_screen_follows_the_relay_and_is_gone_with_q():
    """Saves are shown; a resize is applied; colours are used only if wanted."""
    with relay_with_metrics() as relay:
        person = Person.new(relay)
        with TopScreen(None, "--admin", admin(relay), columns=80, rows=24) as screen:
            screen.shows(r"● Live \d\d:\d\d:\d\d")
            assert screen.text.startswith("\x1b[?1049h"), screen.text[:50]
            screen.shows(r"of 0 accounts; 1 in the store")
            screen.shows(r"Saves a second +0 ")
            expect(person.save(record("seen")), 200)
            screen.shows(r"Saves a second +0\.\d")
            screen.shows(r"Commits +\d[\d.]* [µm]?s")
            screen.text = ""
            fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 40, 0, 0))
            screen.shows(r"\x1b\[2J(?s:.*)q quit")
            anew = screen.text.rpartition("\x1b[2J")[2]
            assert max(int(row) for row in re.findall(r"\x1b\[(\d+);1H", anew)) == 8, anew
            assert not re.search(r"\x1b\[[0-9;]*[1-9]m", screen.text), screen.text
            screen.type("x")
            screen.type("q")
            assert screen.process.wait(timeout=PATIENCE) == 0
            screen.read()
            assert screen.text.endswith("\x1b[0m\x1b[?25h\x1b[?1049l"), screen.text[-50:]
        with TopScreen(None, "--admin", admin(relay), columns=80, rows=24,
                       environment={"NO_COLOR": ""}) as screen:
            screen.shows(r"\x1b\[1;32m ● Live")
            os.kill(screen.process.pid, signal.SIGTERM)
            assert screen.process.wait(timeout=PATIENCE) == 0
            screen.read()
            assert screen.text.endswith("\x1b[?1049l"), screen.text[-50:]


def story_a_relay_that_goes_is_told_to_be_silent_and_its_return_is_seen():
    """Old figures are shown with their time, also if the relay does not answer in time."""
    with relay_with_metrics() as relay:
        address = admin(relay)
        with TopScreen(None, "--admin", address, columns=100, rows=30) as screen:
            screen.shows(r"● Live \d\d:\d\d:\d\d")
            # The relay is frozen: its requests wait, and keys still work meanwhile.
            os.kill(relay.id, signal.SIGSTOP)
            screen.shows(r"○ No answer since \d\d:\d\d:\d\d; figures are of \d\d:\d\d:\d\d")
            screen.text = ""
            os.kill(relay.id, signal.SIGCONT)
            screen.shows(r"● Live \d\d:\d\d:\d\d")
            assert relay.stop() == 0
            screen.text = ""
            screen.shows(r"○ No answer since")
            screen.shows(r"refused")
            relay.options[relay.options.index("--admin-listen") + 1] = address[len("http://"):]
            relay.start()
            screen.text = ""
            screen.shows(r"● Live \d\d:\d\d:\d\d")
            screen.type("\x03")
            assert screen.process.wait(timeout=PATIENCE) == 0


if __name__ == "__main__":
    main(globals(), at_once=2)
