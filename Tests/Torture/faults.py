"""Faults of a round. Each acts until its time is up, and then undoes everything."""

import time


class Fault:
    """A fault injected on purpose."""

    name = ""
    about = ""

    def __init__(self, world):
        self.world, self.notes = world, world.notes

    def reason_to_skip(self):
        """Reason why this machine cannot inject the fault; None if it can."""
        return None

    def act(self, dice, until):
        """Injects the fault until `until` (time.monotonic()), and undoes all of it."""
        raise NotImplementedError

    def after(self, when):
        """Runs after everything is at rest and passed the checks."""

    def acted(self, what):
        self.notes.acted(self.name, what)

    def pause(self, dice, least, most, until):
        """Waits, at most until the time is up; returns False if it is."""
        left = until - time.monotonic()
        if left > 0:
            time.sleep(min(left, dice.uniform(least, most)))
        return time.monotonic() < until


class KillFault(Fault):
    name = "kill"
    about = "kill -9 of a relay, of those that hold homes, and of commands, at any moment"

    def act(self, dice, until):
        while self.pause(dice, 0.3, 4, until):
            home = dice.choice(self.world.homes)
            what = dice.choice(["relay", "relay", "holder", "holder", "command"])
            if what == "relay":
                dice.choice(self.world.relays).kill()
                self.acted("a relay was killed")
            elif what == "holder" and home.runs:
                home.kill()
                self.acted("a holder of a home was killed")
            elif what == "command":
                self.kill_command(home, until)

    def kill_command(self, home, until):
        """Kills the next command that runs on that home."""
        while time.monotonic() < until:
            with home.lock:
                for process in home.under_way:
                    process.kill()
                    self.acted("a command was killed")
                    return
            time.sleep(0.002)


class StopFault(Fault):
    name = "stop"
    about = "SIGSTOP and, up to 40 s later, SIGCONT, of a relay and of holders"

    def act(self, dice, until):
        while self.pause(dice, 0.2, 3, until):
            targets = dice.sample(self.world.relays + self.world.homes, dice.choice([1, 1, 2]))
            for each in targets:
                each.stop()
                self.acted("a relay stood still" if each in self.world.relays
                           else "a holder stood still")
            # Mostly short; sometimes as long as the round.
            self.pause(dice, 0.1, dice.choice([2, 8, 40]), until)
            for each in targets:
                each.go_on()


class SuspendFault(Fault):
    name = "suspend"
    about = "SIGSTOP of holders for longer than a countdown of the timer lasts, as of closed lids"

    # A countdown of one minute, and a margin.
    SECONDS = (62, 80)

    def act(self, dice, until):
        """Continues after the end of the round if a countdown is longer."""
        homes = dice.sample(self.world.homes, dice.choice([1, 1, 2]))
        for home in self.world.homes:
            self.shorten(home)
        for home in homes:
            home.stop()
            self.acted("a holder was suspended")
        time.sleep(dice.uniform(*self.SECONDS))
        for home in homes:
            home.go_on()

    def shorten(self, home):
        """Sets the focus duration to one minute, from the next focus on."""
        try:
            home.run("timer", "settings", "set", "focusMinutes=1", "shortBreakMinutes=1")
        except Exception as reason:
            # Caused by other faults. A longer countdown does no harm.
            self.notes.say(f"{home.name} keeps its countdowns: {reason}")


class LineFault(Fault):
    name = "line"
    about = "a line that delays, stalls, refuses, and cuts by RST and FIN at any byte, either way"

    def act(self, dice, until):
        line = self.world.line
        while self.pause(dice, 0.2, 2, until):
            what = dice.choice(["delay", "stall", "refuse", "rst", "fin", "rst", "fin"])
            if what == "delay":
                line.order(delay=dice.choice([0.02, 0.2, 1]))
            elif what == "stall":
                line.order(stall=dice.choice([["up"], ["down"], ["up", "down"]]))
            elif what == "refuse":
                line.order(refuse=True)
            else:
                line.order(cut=what, bytes=dice.choice([0, 40, 2000, 30000]),
                           way=dice.choice(["up", "down"]))
            self.acted(what)
            self.pause(dice, 0.5, dice.choice([2, 6, 20]), until)
            line.order()
        line.order()


def chosen(kinds, world, notes):
    """The faults of a run; those that this machine cannot inject are reported as skipped."""
    able = []
    for kind in kinds:
        fault = kind(world)
        reason = fault.reason_to_skip()
        if reason:
            notes.skip(kind.name, reason)
        else:
            able.append(fault)
    return able


class Deck:
    """Deals faults so that each comes equally often, in changing combinations."""

    def __init__(self, faults, dice):
        self.faults, self.dice, self.left = faults, dice, []

    def deal(self, count):
        hand = []
        while len(hand) < min(count, len(self.faults)):
            if not self.left:
                self.left = self.dice.sample(self.faults, len(self.faults))
            fault = self.left.pop()
            if fault not in hand:
                hand.append(fault)
            elif all(each in hand for each in self.left):
                self.left = []
        return hand
