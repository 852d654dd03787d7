"""Faults of a round. Each acts until its time is up, and then undoes everything."""

import time


class Fault:
    """A fault injected on purpose."""

    name = ""
    about = ""

    def __init__(self, system):
        self.system, self.run_log = system, system.run_log

    def reason_to_skip(self):
        """Reason why this machine cannot inject the fault; None if it can."""
        return None

    def act(self, rng, until):
        """Injects the fault until `until` (time.monotonic()), and undoes all of it."""
        raise NotImplementedError

    def after(self, when):
        """Runs after everything is idle and passed the checks."""

    def action(self, what):
        self.run_log.action(self.name, what)

    # Kinds of actions: the names of methods, with weights.
    acts = []

    def draw_act(self, rng):
        """Method of one of `acts`."""
        names, weights = zip(*self.acts)
        return getattr(self, rng.choices(names, weights)[0])

    def saves(self):
        """Number of saves that writers were told of so far."""
        return sum(writer.total for writer in self.system.writers.all)

    def pause(self, rng, least, most, until):
        """Waits, at most until the time is up; returns False if it is."""
        left = until - time.monotonic()
        if left > 0:
            time.sleep(min(left, rng.uniform(least, most)))
        return time.monotonic() < until


class KillFault(Fault):
    name = "kill"
    about = "kill -9 of a relay, of processes that hold homes, and of commands, at any moment"

    def act(self, rng, until):
        while self.pause(rng, 0.3, 4, until):
            home = rng.choice(self.system.homes)
            what = rng.choice(["relay", "relay", "holder", "holder", "command"])
            if what == "relay":
                rng.choice(self.system.relays).kill()
                self.action("a relay was killed")
            elif what == "holder" and home.is_running:
                home.kill()
                self.action("a holder of a home was killed")
            elif what == "command":
                self.kill_command(home, until)

    def kill_command(self, home, until):
        """Kills the next command that runs on that home."""
        while time.monotonic() < until:
            with home.lock:
                for process in home.running_commands:
                    process.kill()
                    self.action("a command was killed")
                    return
            time.sleep(0.002)


class StopFault(Fault):
    name = "stop"
    about = "SIGSTOP and, up to 40 s later, SIGCONT, of a relay and of holders"

    def act(self, rng, until):
        while self.pause(rng, 0.2, 3, until):
            targets = rng.sample(self.system.relays + self.system.homes, rng.choice([1, 1, 2]))
            for each in targets:
                each.suspend()
                self.action("a relay stood still" if each in self.system.relays
                            else "a holder stood still")
            # Mostly short; sometimes as long as the round.
            self.pause(rng, 0.1, rng.choice([2, 8, 40]), until)
            for each in targets:
                each.resume()


class SuspendFault(Fault):
    name = "suspend"
    about = "SIGSTOP of holders for longer than a countdown of the timer lasts, like a closed lid"

    # A countdown of one minute, and a margin.
    SECONDS = (62, 80)

    def act(self, rng, until):
        """Continues after the end of the round if a countdown is longer."""
        homes = rng.sample(self.system.homes, rng.choice([1, 1, 2]))
        for home in self.system.homes:
            self.shorten(home)
        for home in homes:
            home.suspend()
            self.action("a holder was suspended")
        time.sleep(rng.uniform(*self.SECONDS))
        for home in homes:
            home.resume()

    def shorten(self, home):
        """Sets the focus duration to one minute, from the next focus on."""
        try:
            home.run("timer", "settings", "set", "focusMinutes=1", "shortBreakMinutes=1")
        except Exception as reason:
            # Caused by other faults. A longer countdown does no harm.
            self.run_log.info(f"{home.name} keeps its countdowns: {reason}")


class ProxyFault(Fault):
    name = "line"
    about = "a TCP proxy delays, stalls, refuses, and cuts by RST or FIN at any byte, either way"

    def act(self, rng, until):
        proxy = self.system.proxy
        while self.pause(rng, 0.2, 2, until):
            what = rng.choice(["delay", "stall", "refuse", "rst", "fin", "rst", "fin"])
            if what == "delay":
                proxy.configure(delay=rng.choice([0.02, 0.2, 1]))
            elif what == "stall":
                proxy.configure(stall=rng.choice([["up"], ["down"], ["up", "down"]]))
            elif what == "refuse":
                proxy.configure(refuse=True)
            else:
                proxy.configure(cut=what, bytes=rng.choice([0, 40, 2000, 30000]),
                                way=rng.choice(["up", "down"]))
            self.action(what)
            self.pause(rng, 0.5, rng.choice([2, 6, 20]), until)
            proxy.configure()
        proxy.configure()


def available_faults(kinds, system, run_log):
    """The faults of a run; those that this machine cannot inject are reported as skipped."""
    available = []
    for kind in kinds:
        fault = kind(system)
        reason = fault.reason_to_skip()
        if reason:
            run_log.skip(kind.name, reason)
        else:
            available.append(fault)
    return available


class FaultSchedule:
    """Deals faults so that each comes equally often, in changing combinations."""

    def __init__(self, faults, rng):
        self.faults, self.rng, self.left = faults, rng, []

    def next_faults(self, count):
        selected = []
        while len(selected) < min(count, len(self.faults)):
            if not self.left:
                self.left = self.rng.sample(self.faults, len(self.faults))
            fault = self.left.pop()
            if fault not in selected:
                selected.append(fault)
            elif all(each in selected for each in self.left):
                self.left = []
        return selected
