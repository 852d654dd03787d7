"""Live full-screen views on real terminals."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from story import (
    LOCKSTEP,
    PATIENCE,
    Home,
    Relay,
    folder,
    main,
    run,
    terminal_decoder,
    wait_until,
)


class Screen:
    """A command on its own terminal; its output is recorded."""

    # Whether the terminal shows standard error, too.
    shows_errors = False

    def __init__(self, home, *words, columns=40, rows=5, environment=None):
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [LOCKSTEP, *self.command(home, words)], stdin=terminal, stdout=terminal,
            stderr=terminal if self.shows_errors else subprocess.PIPE,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(environment or {})})
        os.close(terminal)
        self.text = ""
        self.decoder = terminal_decoder()

    def command(self, home, words):
        return ["agent", *words, "--home", home.path]

    def read(self):
        """Reads the available output, without waiting."""
        came = ""
        while select.select([self.master], [], [], 0)[0]:
            try:
                came += self.decoder.decode(os.read(self.master, 1 << 16))
            except OSError:
                break
        self.text += came
        return came

    def type(self, keys):
        os.write(self.master, keys.encode())

    def shows(self, pattern):
        def found():
            self.read()
            return re.search(pattern, self.text)
        return wait_until(found, lambda: f"{pattern!r} in {self.text[-2000:]!r}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
        os.close(self.master)


@contextlib.contextmanager
def devices():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone")
        yield directory, relay, phone, phone.pair(relay, directory, "laptop")


def story_countdowns_of_two_devices_show_the_same_seconds():
    """Both count by the relay's clock, second by second; neither skips a second or goes back."""
    with devices() as (_, _relay, phone, laptop), Screen(phone, "timer", "watch") as one, \
            Screen(laptop, "timer", "watch") as other:
        for screen in (one, other):
            screen.shows(r"nothing runs")
            screen.shows(r"in sync")
        one.type("s")
        for screen in (one, other):
            screen.shows(r"focus 24:5\d(?s:.*)focus 24:4\d")
        seen = []
        for screen in (one, other):
            shown = re.findall(r"focus (\d\d):(\d\d)", screen.text)
            seconds = [int(minutes) * 60 + int(rest) for minutes, rest in shown]
            assert seconds == sorted(seconds, reverse=True), seconds
            seen.append(set(seconds))
        # The first second may be over on one device before it receives the start, and a busy
        # machine may skip one; but both count the same seconds.
        assert len(seen[0] & seen[1]) >= 2, seen


def story_the_end_of_a_countdown_is_rung_once_and_told_to_the_desktop():
    """The bell and notify-send; each can be disabled by its flag; no process is left behind."""
    with devices() as (directory, _, phone, laptop):
        tool = os.path.join(directory, "notify-send")
        with open(tool, "w") as file:
            file.write(f'#!/bin/sh\necho "$@" >> {directory}/told\n')
        os.chmod(tool, 0o700)
        desktop = {"PATH": directory + ":" + os.environ["PATH"], "DISPLAY": ":0"}
        with Screen(phone, "timer", "watch", environment=desktop) as loud, \
                Screen(laptop, "timer", "watch", "--no-bell", "--no-notify",
                       environment=desktop) as silent:
            for screen in (loud, silent):
                screen.shows(r"nothing runs")
                screen.shows(r"in sync")
            phone.run("timer", "start", "--minutes", "0.02")
            for screen in (loud, silent):
                screen.shows(r"break 05:00")
            wait_until(lambda: os.path.exists(directory + "/told"), "the desktop to be told")
            laptop.run("timer", "stop")
            for screen in (loud, silent):
                screen.shows(r"nothing runs(?s:.*)break(?s:.*)nothing runs")
            assert loud.text.count("\a") == 1, loud.text
            assert "\a" not in silent.text
            with open(directory + "/told") as file:
                assert file.read().splitlines() == [
                    "--app-name=Lockstep Lockstep timer Focus done: time for a break."]
            with open(f"/proc/{loud.process.pid}/task/{loud.process.pid}/children") as file:
                assert file.read().strip() == ""
            loud.type("q")
            assert loud.process.wait(timeout=PATIENCE) == 0
            loud.read()
            assert loud.text.endswith("\x1b[0m\x1b[?25h\x1b[?1049l"), loud.text[-50:]


def story_a_screen_follows_the_terminals_size_and_takes_no_colours_where_none_are_wanted():
    with devices() as (_, _relay, phone, _laptop):
        with Screen(phone, "timer", "watch", columns=80, rows=24) as screen:
            screen.shows(r"nothing runs")
            screen.shows(r"Other devices")
            screen.read()
            screen.text = ""
            fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
            # Output for the old size comes before it.
            screen.shows(r"\x1b\[2J(?s:.*)q quit")
            anew = screen.text.rpartition("\x1b[2J")[2]
            rows = [int(row) for row in re.findall(r"\x1b\[(\d+);1H", anew)]
            assert max(rows) == 10, rows
            assert not re.search(r"\x1b\[[0-9;]*[1-9]m", screen.text), screen.text
        # On a terminal without cursor movement the output is the lines for programs.
        with Screen(phone, "timer", "watch", environment={"TERM": "dumb"}) as screen:
            screen.shows(r'"stateType":"idle"')
            assert "\x1b" not in screen.text, screen.text


def story_a_list_is_a_screen_too():
    with devices() as (_, _relay, phone, laptop):
        with Screen(laptop, "clipboard", "watch", columns=60, rows=8) as screen:
            screen.shows(r"nothing was copied")
            phone.run("clipboard", "add", "an apple")
            screen.shows(r"phone +an apple")
            os.kill(screen.process.pid, signal.SIGTERM)
            assert screen.process.wait(timeout=PATIENCE) == 0
            screen.read()
            assert screen.text.endswith("\x1b[?1049l"), screen.text[-50:]


def story_people_of_several_languages_share_a_home():
    """One process holds the home; each person has the screens and answers in their own language,
    and programs get the same in all of them."""
    with devices() as (_, _relay, phone, _laptop), phone.start_agent():
        japanese, chinese = ({"LOCKSTEP_LANG": tag} for tag in ("ja", "zh-Hans"))
        with Screen(phone, "timer", "watch", columns=80, rows=24, environment=japanese) as one, \
                Screen(phone, "timer", "watch", columns=80, rows=24,
                       environment=chinese) as other:
            one.shows("タイマー(?s:.*)準備完了")
            other.shows("计时器(?s:.*)准备就绪")
            one.type("p")
            one.shows("タイマーは動いていません")
            one.type("s")
            one.shows("phoneが25分の集中を開始")
            other.shows("phone 开始了 25 分钟的专注")
            assert "動いていません" not in other.text, other.text
        assert phone.run("timer", "status").startswith("focus 2")
        answer = run("agent", "timer", "pause", home=phone.path, environment=japanese)
        assert re.match(r"集中 2\d:\d\d（一時停止中）", answer.stdout), answer.stdout
        shown = [run("agent", "timer", "status", "--json", home=phone.path, environment=language)
                 for language in ({}, japanese, chinese)]
        assert {each.stdout.partition(",")[2] for each in shown} == {
            shown[0].stdout.partition(",")[2]}, shown
        # Also the words of a habit's day, which the process that holds the home makes.
        phone.run("habits", "add", "Run")
        week = run("habits", "list", home=phone.path, environment=chinese).stdout
        assert re.search("[一二三四五六日]  [一二三四五六日]", week), week


if __name__ == "__main__":
    main(globals(), at_once=2)
