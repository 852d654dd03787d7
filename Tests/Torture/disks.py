"""File systems of a few megabytes, which fill up, and whose power fails."""

import os
import subprocess


# Nothing is written before somebody syncs, or half a minute has passed.
OPTIONS = "loop,commit=300"


class Disk:
    """A folder of the machine's own file system: it never fills up."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)

    is_small = False

    def end(self):
        pass


class SmallDisk(Disk):
    """A file system of its own. OSError where this process may not mount."""

    is_small = True

    def mount(self, *words):
        done = subprocess.run(["mount", *words, self.path], capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr.strip() or "mount failed")

    @property
    def ballast(self):
        return os.path.join(self.path, "ballast")

    def fill(self, left):
        """Takes all room but so many bytes."""
        status = os.statvfs(self.path)
        room = status.f_bavail * status.f_frsize - left
        with open(self.ballast, "wb") as file:
            # A little of it goes to the file system's own tables.
            for least in (1 << 20, 1 << 16, status.f_frsize):
                while room >= least:
                    try:
                        os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, least)
                    except OSError:
                        break
                    room -= least

    def free(self):
        if os.path.exists(self.ballast):
            os.remove(self.ballast)

    def end(self):
        subprocess.run(["umount", "--lazy", self.path], capture_output=True)


class MemoryDisk(SmallDisk):
    def __init__(self, path, megabytes):
        super().__init__(path)
        self.mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs")


class ImageDisk(SmallDisk):
    """An ext4 in a file. What the file has is what survives when the power fails: what was written
    and not synced is in memory alone."""

    # Nothing is written without being asked for: neither journal nor tables on their own account.
    MAKE = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"]

    def __init__(self, path, image, megabytes=None):
        """`megabytes`: of a new one; None where the image is there."""
        super().__init__(path)
        self.image = image
        if megabytes:
            with open(image, "wb") as file:
                file.truncate(megabytes << 20)
            done = subprocess.run([*self.MAKE, image], capture_output=True, text=True)
            if done.returncode != 0:
                raise OSError(done.stderr.strip())
        self.mount("-o", OPTIONS, image)

    def writes(self):
        """How often the device was written so far, and what is under way."""
        name = os.path.basename(os.path.realpath(
            f"/sys/dev/block/{os.major(self.device)}:{os.minor(self.device)}"))
        with open(f"/sys/block/{name}/stat") as file:
            words = file.read().split()
        return int(words[4]), int(words[8])

    @property
    def device(self):
        return os.stat(self.path).st_dev

    def copy(self):
        """What the device has at this moment: copied until nothing was written meanwhile. Whoever
        works on it has been frozen before."""
        copy = f"{self.image}.copy"
        for _ in range(50):
            before = self.writes()
            subprocess.run(["cp", "--sparse=always", self.image, copy], check=True)
            if before == self.writes() and before[1] == 0:
                return copy
        raise OSError("the device was written all the while it was copied")

    def go_on_with(self, copy):
        """The power is back: what was in memory alone is gone. Whoever works on it was killed."""
        subprocess.run(["umount", "--lazy", self.path], check=True)
        os.replace(copy, self.image)
        self.mount("-o", OPTIONS, self.image)
        # That the ballast was removed may have been in memory alone.
        self.free()
