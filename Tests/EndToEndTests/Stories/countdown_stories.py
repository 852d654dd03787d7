"""Countdowns that end on an offline device: what a person did elsewhere meanwhile must persist."""

import contextlib
import signal

from proxy import Proxy
from story import Home, Relay, folder, main, now, wait_until

# A focus and a break, in minutes. The break is long, so that a next focus started soon is started
# more than 5 s before the end of the break.
FOCUS, BREAK = 0.05, 0.25
BOTH = int((FOCUS + BREAK) * 60_000)


@contextlib.contextmanager
def devices():
    """A phone with a connection to the relay, and a laptop behind a proxy. Both run continuously,
    and have a short focus with a short break set; the phone's next focus is a long one."""
    with folder() as directory, Relay() as relay, Proxy(relay) as proxy:
        phone = Home.new(relay, directory)
        laptop = phone.pair(proxy, directory)
        with phone.start_agent(), laptop.start_agent() as agent:
            phone.run("timer", "settings", "set", f"focusMinutes={FOCUS}",
                      f"shortBreakMinutes={BREAK}")
            begun = phone.timer("start")["at"]
            phone.run("timer", "settings", "set", "focusMinutes=25")
            wait_until(lambda: laptop.timer("status")["stateType"] != "idle",
                       "the focus to be on the laptop")
            wait_in_sync(phone, laptop)
            yield phone, laptop, proxy, agent, begun + BOTH


def wait_in_sync(*homes):
    for home in homes:
        home.run("sync")
        wait_until(lambda: home.status()["state"] == "inSync" and home.status()["waiting"] == 0,
                   lambda: f"it to be in sync: {home.status()}")


def start_next_focus(phone):
    """The person starts the next focus once the first has ended."""
    wait_until(lambda: phone.timer("status")["stateType"] != "focus", "the focus to end")
    shown = phone.timer("start")
    assert shown["stateType"] == "focus" and shown["remaining"] > 20 * 60_000, shown
    wait_in_sync(phone)


def check_long_focus(phone, laptop):
    """The long focus is on both screens, now and after everything is in sync."""
    wait_in_sync(laptop, phone, laptop)
    for home in (phone, laptop):
        shown = home.timer("status")
        assert shown["stateType"] == "focus" and shown["remaining"] > 20 * 60_000, shown
        assert shown["completedPomodoros"] == 1, shown
        check_one_focus(home)


def check_one_focus(home):
    """The focus that ended counts once, whatever number of devices noticed it."""
    for unit in ("day", "week", "month", "year"):
        shown = home.timer("stats", "--by", unit, "--last", "3")
        assert shown["withDay"] == 1 and len(shown["periods"]) == 3, shown
        sums = [(it["pomodoros"], it["milliseconds"]) for it in shown["periods"]]
        # The second to last, if midnight was between.
        done = (1, round(FOCUS * 60_000))
        assert sums in ([(0, 0), (0, 0), done], [(0, 0), done, (0, 0)]), shown


def story_a_lid_that_was_closed_over_the_end_of_a_focus_and_of_its_break():
    """The laptop sleeps over the end of the focus, and its connection is dropped; the next focus,
    started on the phone, is not changed when the laptop wakes."""
    with devices() as (phone, laptop, proxy, agent, over):
        agent.process.send_signal(signal.SIGSTOP)
        try:
            start_next_focus(phone)
            proxy.cut_connections()
            wait_until(lambda: now() > over + 3_000, "the break to be over")
        finally:
            agent.process.send_signal(signal.SIGCONT)
        check_long_focus(phone, laptop)


def story_a_device_without_a_network_lets_the_focus_and_its_break_end_by_itself():
    """It correctly shows idle; after it reconnects, it shows the focus that was started on the
    phone."""
    with devices() as (phone, laptop, proxy, _, over):
        proxy.shut_down()
        wait_until(lambda: laptop.status()["state"] == "offline",
                   lambda: f"the loss to be noticed: {laptop.status()}")
        start_next_focus(phone)
        wait_until(lambda: now() > over, "the break to be over")
        wait_until(lambda: laptop.timer("status")["stateType"] == "idle" and
                   laptop.status()["waiting"] == 2,
                   lambda: f"it to be written: {laptop.status()}")
        proxy.listen()
        check_long_focus(phone, laptop)


def story_a_paused_break_outlives_a_break_that_ran_out_elsewhere():
    """The person pauses the break on the phone; on the laptop, without a network, the same break
    runs out."""
    with devices() as (phone, laptop, proxy, _, over):
        proxy.shut_down()
        wait_until(lambda: laptop.status()["state"] == "offline", "the loss to be noticed")
        wait_until(lambda: phone.timer("status")["stateType"] == "breakTime", "the break")
        phone.run("timer", "pause")
        wait_in_sync(phone)
        wait_until(lambda: now() > over and laptop.timer("status")["stateType"] == "idle" and
                   laptop.status()["waiting"] >= 1, "the break to end on the laptop")
        proxy.listen()
        wait_in_sync(laptop, phone, laptop)
        for home in (phone, laptop):
            shown = home.timer("status")
            assert shown["stateType"] == "breakTime" and shown["isPaused"], shown


if __name__ == "__main__":
    main(globals())
