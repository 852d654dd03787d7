"""Countdowns that end on a device which was away: what a person did elsewhere meanwhile stands."""

import contextlib
import signal

from middle import Middle
from story import Home, Relay, folder, main, now, wait_until

# A focus and a break, in minutes. The break is so long that whoever begins the next focus soon does
# so more than 5 s before it ends.
FOCUS, BREAK = 0.05, 0.25
BOTH = int((FOCUS + BREAK) * 60_000)


@contextlib.contextmanager
def devices():
    """A phone with the relay in reach, and a laptop behind a line. Both are kept running, and know a
    short focus with a short break behind it; the phone's next focus is a long one."""
    with folder() as directory, Relay() as relay, Middle(relay) as line:
        phone = Home.new(relay, directory)
        laptop = phone.pair(line, directory)
        with phone.kept(), laptop.kept() as kept:
            phone.run("timer", "settings", "set", f"focusMinutes={FOCUS}",
                      f"shortBreakMinutes={BREAK}")
            begun = phone.timer("start")["at"]
            phone.run("timer", "settings", "set", "focusMinutes=25")
            wait_until(lambda: laptop.timer("status")["stateType"] != "idle",
                       "the focus to be on the laptop")
            in_sync(phone, laptop)
            yield phone, laptop, line, kept, begun + BOTH


def in_sync(*homes):
    for home in homes:
        home.run("sync")
        wait_until(lambda: home.status()["state"] == "inSync" and home.status()["waiting"] == 0,
                   lambda: f"it to be in sync: {home.status()}")


def go_on(phone):
    """Its person begins the next focus once the first one has ended."""
    wait_until(lambda: phone.timer("status")["stateType"] != "focus", "the focus to end")
    shown = phone.timer("start")
    assert shown["stateType"] == "focus" and shown["remaining"] > 20 * 60_000, shown
    in_sync(phone)


def stands(phone, laptop):
    """The long focus is on both screens, now and when all is in step."""
    in_sync(laptop, phone, laptop)
    for home in (phone, laptop):
        shown = home.timer("status")
        assert shown["stateType"] == "focus" and shown["remaining"] > 20 * 60_000, shown
        assert shown["completedPomodoros"] == 1, shown


def story_a_lid_that_was_closed_over_the_end_of_a_focus_and_of_its_break():
    """The laptop sleeps while the focus ends, and its line is given up; the next focus, begun on the
    phone, outlives its waking up."""
    with devices() as (phone, laptop, line, kept, over):
        kept.process.send_signal(signal.SIGSTOP)
        try:
            go_on(phone)
            line.cut()
            wait_until(lambda: now() > over + 3_000, "the break to be over")
        finally:
            kept.process.send_signal(signal.SIGCONT)
        stands(phone, laptop)


def story_a_device_without_a_network_lets_the_focus_and_its_break_end_by_itself():
    """It shows idle, as it must; once it is back, the focus that was begun on the phone stands."""
    with devices() as (phone, laptop, line, _, over):
        line.fall()
        wait_until(lambda: laptop.status()["state"] == "offline",
                   lambda: f"the loss to be noticed: {laptop.status()}")
        go_on(phone)
        wait_until(lambda: now() > over, "the break to be over")
        wait_until(lambda: laptop.timer("status")["stateType"] == "idle" and
                   laptop.status()["waiting"] == 1,
                   lambda: f"it to be written: {laptop.status()}")
        line.rise()
        stands(phone, laptop)


def story_a_paused_break_outlives_a_break_that_ran_out_elsewhere():
    """The phone's person pauses the break; the laptop, without a network, lets the same one end."""
    with devices() as (phone, laptop, line, _, over):
        line.fall()
        wait_until(lambda: laptop.status()["state"] == "offline", "the loss to be noticed")
        wait_until(lambda: phone.timer("status")["stateType"] == "breakTime", "the break")
        phone.run("timer", "pause")
        in_sync(phone)
        wait_until(lambda: now() > over and laptop.timer("status")["stateType"] == "idle" and
                   laptop.status()["waiting"] == 1, "the break to end on the laptop")
        line.rise()
        in_sync(laptop, phone, laptop)
        for home in (phone, laptop):
            shown = home.timer("status")
            assert shown["stateType"] == "breakTime" and shown["isPaused"], shown


if __name__ == "__main__":
    main(globals())
