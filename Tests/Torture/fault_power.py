"""Power failure: a disk keeps what was on the device, and loses what was only in memory."""

from faults import Fault


class PowerFault(Fault):
    name = "power"
    about = "power failure of the relay or a home: its disk keeps only what was synced"

    def places(self):
        sandbox = self.system.sandbox
        if sandbox.no_images:
            return []
        return [(self.system.relay, sandbox.relay_disk)] * 2 + [
            (home, sandbox.home_disks[home.name]) for home in self.system.homes
            if home.name == "ada-tablet"]

    def reason_to_skip(self):
        return self.system.sandbox.no_images

    def act(self, rng, until):
        while self.pause(rng, 0.5, 8, until):
            target, disk = rng.choice(self.places())
            # The locks keep other threads from starting a process on that disk. Every
            # acknowledgement received so far was sent before the freeze.
            with target.disk_lock, target.lock:
                target.freeze()
                copy = disk.copy()
                target.kill_all()
                disk.restore(copy)
            self.action("the relay's failed" if target is self.system.relay else "a home's failed")
