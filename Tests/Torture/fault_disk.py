"""Disks that fill up, and disks that fail."""

import errno

from faults import Fault


class Excused:
    """While a disk is bad, processes that use it may end with an error, and may fail to
    start."""

    def __init__(self, world, kept):
        self.world, self.kept = world, kept

    def __enter__(self):
        self.kept.excuses += 1

    def __exit__(self, *_):
        # It must run again before the excuse ends.
        if self.kept is self.world.relay:
            self.kept.start()
        else:
            self.kept.start()
            self.kept.status()
        self.kept.look()
        self.kept.excuses -= 1


class DiskFullFault(Fault):
    name = "disk-full"
    about = "the relay's disk, or a home's, fills up under it, and has room again later"

    def places(self):
        sandbox = self.world.sandbox
        places = [(self.world.relay, sandbox.relay_disk)]
        places += [(home, sandbox.home_disks.get(home.name)) for home in self.world.homes]
        return [(kept, disk) for kept, disk in places if disk and disk.is_small]

    def reason_to_skip(self):
        return None if self.places() else (
            self.world.sandbox.no_namespaces or "nothing may be mounted here")

    def act(self, dice, until):
        while self.pause(dice, 0.2, 2, until):
            kept, disk = dice.choice(self.places())
            with kept.power, Excused(self.world, kept):
                try:
                    disk.fill(dice.choice([0, 8_000, 100_000, 400_000]))
                    self.acted("the relay's was full" if kept is self.world.relay
                               else "a home's was full")
                    self.pause(dice, 1, 10, until)
                finally:
                    disk.free()


class DiskErrorsFault(Fault):
    name = "disk-errors"
    about = "fsync (EIO) and write (EIO, ENOSPC) fail now and then, under the relay or a home"

    def reason_to_skip(self):
        return self.world.sandbox.no_shim

    def act(self, dice, until):
        while self.pause(dice, 0.2, 2, until):
            kept = dice.choice([self.world.relay] * 2 + self.world.homes)
            disk = self.world.sandbox.failing[kept.name]
            before = disk.failed()
            with kept.power, Excused(self.world, kept):
                try:
                    error = dice.choice([errno.EIO, errno.EIO, errno.ENOSPC])
                    # A full disk returns its error from write, not from sync.
                    syncs = dice.choice([0, 0.02, 0.3, 1]) if error == errno.EIO else 0
                    disk.order(syncs=syncs, writes=dice.choice([0, 0.01, 0.2]), error=error)
                    self.pause(dice, 0.5, 8, until)
                finally:
                    disk.order()
            for what, count in zip(("syncs", "writes"), map(
                    lambda now, was: now - was, disk.failed(), before)):
                self.notes.count(f"{what} that failed on purpose", count)
            self.acted("the relay's failed" if kept is self.world.relay else "a home's failed")
