"""Faults of the bus over NATS: the server dies, restarts and freezes, and relays are cut off from
it or from the database."""

import signal

from faults import Fault

# Durations in seconds: shorter and longer than a relay waits for a beat.
DURATIONS = (0.5, 2, 6, 20)


class LineFault(Fault):
    """A fault that cuts relays off by their lines."""

    def last(self, rng, until):
        self.pause(rng, 0.2, rng.choice(DURATIONS), until)

    def stall(self, lines, what, rng, until):
        ways = rng.choice([["up"], ["down"], ["up", "down"]])
        try:
            for line in lines:
                line.configure(stall=ways)
            self.action(f"a relay was cut off {what}, {' and '.join(ways)}")
            self.last(rng, until)
        finally:
            for line in lines:
                line.configure()


class NATSFault(LineFault):
    name = "bus"
    about = ("kill -9, restart or SIGSTOP of the NATS server; one relay is cut off from it, either "
             "way, or its connection is cut")

    acts = [("killed", 3), ("restarted", 1), ("stood_still", 2), ("cut_off", 4), ("cut", 2)]

    def act(self, rng, until):
        try:
            while self.pause(rng, 0.2, 3, until):
                before = self.saves()
                self.draw_act(rng)(rng, until)
                self.run_log.count("saves acknowledged during faults of NATS",
                                   self.saves() - before)
        finally:
            self.system.nats.start()

    def killed(self, rng, until):
        with self.system.nats.lock:
            self.system.nats.kill()
        self.action("NATS was killed")
        self.last(rng, until)
        self.system.nats.start()

    def restarted(self, rng, until):
        self.system.nats.end()
        self.action("NATS was restarted")
        self.system.nats.start()

    def stood_still(self, rng, until):
        self.system.nats.suspend()
        self.action("NATS stood still")
        try:
            self.last(rng, until)
        finally:
            self.system.nats.resume()

    def cut_off(self, rng, until):
        """One relay, or each one alone; both reach the database."""
        lines = self.system.lines_to_nats
        self.stall(rng.sample(lines, rng.choice([1, 1, len(lines)])), "from NATS", rng, until)

    def cut(self, rng, until):
        line = rng.choice(self.system.lines_to_nats)
        line.configure(cut=rng.choice(["rst", "fin"]), bytes=rng.choice([0, 200, 20_000]),
                       way=rng.choice(["up", "down"]))
        self.action("a connection to NATS was cut")
        self.last(rng, until)
        line.configure()


class DatabaseLineFault(LineFault):
    name = "apart"
    about = "one relay is cut off from the database, but not from the bus"

    def act(self, rng, until):
        while self.pause(rng, 0.5, 5, until):
            self.stall([rng.choice(self.system.lines_to_database)], "from the database", rng,
                       until)
