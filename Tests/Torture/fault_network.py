"""A network link that loses packets, and clocks that are wrong."""

from faults import Fault


class WireFault(Fault):
    name = "wire"
    about = "a network that delays, loses and reorders packets, and goes silent without a FIN"

    def reason_to_skip(self):
        return self.world.sandbox.no_wire

    def act(self, dice, until):
        wire = self.world.sandbox.wire
        try:
            while self.pause(dice, 0.2, 2, until):
                what = dice.choice(["slow", "lossy", "reordering", "cut", "cut"])
                if what == "slow":
                    wire.order(delay=dice.choice([0.02, 0.15]), jitter=dice.choice([0, 0.1]))
                elif what == "lossy":
                    wire.order(delay=0.01, loss=dice.choice([0.02, 0.1, 0.3]))
                elif what == "reordering":
                    wire.order(delay=0.01, reorder=0.3, loss=0.01)
                else:
                    wire.order(cut=dice.choice([["up"], ["down"], ["up", "down"]]))
                self.acted(what)
                self.pause(dice, 1, dice.choice([3, 10, 40]), until)
                wire.order()
        finally:
            wire.order()


class ClockFault(Fault):
    name = "clock"
    about = "homes whose clock is wrong by seconds or days, and is set while they run"

    offsets = [-86_400 * 400, -86_400, -3_600, -7, 3, 90, 3_600, 86_400 * 30]

    def act(self, dice, until):
        homes = dice.sample(self.world.homes, dice.choice([1, 2, 3]))
        try:
            while True:
                home = dice.choice(homes)
                self.set(home, dice.choice(self.offsets) + dice.randint(-2, 2))
                self.acted("a home's clock was set")
                if not self.pause(dice, 2, 12, until):
                    break
        finally:
            for home in homes:
                self.set(home, 0)

    def set(self, home, seconds):
        """Takes effect with the next command; the holder of the home is restarted with the
        new clock."""
        home.environment = {**home.environment, "LOCKSTEP_CLOCK_OFFSET": str(seconds)}
        home.end()
