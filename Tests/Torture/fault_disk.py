"""Disks that fill up, and disks that fail."""

import errno

from faults import Fault


class ExpectedFailures:
    """While a disk is bad, processes that use it may end with an error, and may fail to
    start."""

    def __init__(self, system, target):
        self.system, self.target = system, target

    def __enter__(self):
        self.target.expected_failures += 1

    def __exit__(self, *_):
        # It must run again before failures are unexpected.
        if self.target is self.system.relay:
            self.target.start()
        else:
            self.target.start()
            self.target.status()
        self.target.check_running()
        self.target.expected_failures -= 1


class DiskFullFault(Fault):
    name = "disk-full"
    about = "the relay's disk, or a home's, becomes full, and has free space again later"

    def places(self):
        sandbox = self.system.sandbox
        places = [(self.system.relay, sandbox.relay_disk)]
        places += [(home, sandbox.home_disks.get(home.name)) for home in self.system.homes]
        return [(target, disk) for target, disk in places if disk and disk.is_small]

    def reason_to_skip(self):
        return None if self.places() else (
            self.system.sandbox.no_namespaces or "nothing may be mounted here")

    def act(self, rng, until):
        while self.pause(rng, 0.2, 2, until):
            target, disk = rng.choice(self.places())
            with target.disk_lock, ExpectedFailures(self.system, target):
                try:
                    disk.fill(rng.choice([0, 8_000, 100_000, 400_000]))
                    self.action("the relay's was full" if target is self.system.relay
                                else "a home's was full")
                    self.pause(rng, 1, 10, until)
                finally:
                    disk.free_space()


class DiskErrorsFault(Fault):
    name = "disk-errors"
    about = "fsync (EIO) and write (EIO, ENOSPC) fail now and then, for the relay or a home"

    def reason_to_skip(self):
        return self.system.sandbox.no_shim

    def act(self, rng, until):
        while self.pause(rng, 0.2, 2, until):
            target = rng.choice([self.system.relay] * 2 + self.system.homes)
            disk = self.system.sandbox.failing[target.name]
            before = disk.failed()
            with target.disk_lock, ExpectedFailures(self.system, target):
                try:
                    error = rng.choice([errno.EIO, errno.EIO, errno.ENOSPC])
                    # A full disk returns its error from write, not from sync.
                    syncs = rng.choice([0, 0.02, 0.3, 1]) if error == errno.EIO else 0
                    disk.configure(syncs=syncs, writes=rng.choice([0, 0.01, 0.2]), error=error)
                    self.pause(rng, 0.5, 8, until)
                finally:
                    disk.configure()
            for what, count in zip(("syncs", "writes"), map(
                    lambda now, was: now - was, disk.failed(), before)):
                self.run_log.count(f"{what} that failed on purpose", count)
            self.action("the relay's failed" if target is self.system.relay else "a home's failed")
