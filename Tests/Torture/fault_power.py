"""Power failure: a disk keeps what was on the device, and loses what was only in memory."""

from faults import Fault


class PowerFault(Fault):
    name = "power"
    about = "the power fails, for the relay or a home: its disk goes on with what was synced"

    def places(self):
        sandbox = self.world.sandbox
        if sandbox.no_images:
            return []
        return [(self.world.relay, sandbox.relay_disk)] * 2 + [
            (home, sandbox.home_disks[home.name]) for home in self.world.homes
            if home.name == "ada-tablet"]

    def reason_to_skip(self):
        return self.world.sandbox.no_images

    def act(self, dice, until):
        while self.pause(dice, 0.5, 8, until):
            kept, disk = dice.choice(self.places())
            # The locks keep other threads from starting a process on that disk. Every
            # acknowledgement received so far was sent before the freeze.
            with kept.power, kept.lock:
                kept.freeze()
                copy = disk.copy()
                kept.cut_off()
                disk.go_on_with(copy)
            self.acted("the relay's failed" if kept is self.world.relay else "a home's failed")
