"""A network link that loses packets, and clocks that are wrong."""

from faults import Fault


class NetworkFault(Fault):
    name = "wire"
    about = "an IP link delays, loses and reorders packets, and goes silent without a FIN"

    def reason_to_skip(self):
        return self.system.sandbox.no_network

    def act(self, rng, until):
        network = self.system.sandbox.network
        try:
            while self.pause(rng, 0.2, 2, until):
                what = rng.choice(["slow", "lossy", "reordering", "cut", "cut"])
                if what == "slow":
                    network.configure(delay=rng.choice([0.02, 0.15]), jitter=rng.choice([0, 0.1]))
                elif what == "lossy":
                    network.configure(delay=0.01, loss=rng.choice([0.02, 0.1, 0.3]))
                elif what == "reordering":
                    network.configure(delay=0.01, reorder=0.3, loss=0.01)
                else:
                    network.configure(cut=rng.choice([["up"], ["down"], ["up", "down"]]))
                self.action(what)
                self.pause(rng, 1, rng.choice([3, 10, 40]), until)
                network.configure()
        finally:
            network.configure()


class ClockFault(Fault):
    name = "clock"
    about = "homes whose clock is wrong by seconds or days, and is set while they run"

    offsets = [-86_400 * 400, -86_400, -3_600, -7, 3, 90, 3_600, 86_400 * 30]

    def act(self, rng, until):
        homes = rng.sample(self.system.homes, rng.choice([1, 2, 3]))
        try:
            while True:
                home = rng.choice(homes)
                self.set(home, rng.choice(self.offsets) + rng.randint(-2, 2))
                self.action("a home's clock was set")
                if not self.pause(rng, 2, 12, until):
                    break
        finally:
            for home in homes:
                self.set(home, 0)

    def set(self, home, seconds):
        """Takes effect with the next command; the holder of the home is restarted with the
        new clock."""
        home.environment = {**home.environment, "LOCKSTEP_CLOCK_OFFSET": str(seconds)}
        home.end()
