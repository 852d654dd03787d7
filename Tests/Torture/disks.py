"""File systems of a few megabytes that can fill up and lose power."""

import os
import subprocess


# Nothing is written before a sync, or before half a minute has passed.
OPTIONS = "loop,commit=300"


class Disk:
    """A folder on the machine's own file system; it never fills up."""

    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)

    is_small = False

    def end(self):
        pass


class SmallDisk(Disk):
    """A separate file system. Raises OSError if this process may not mount."""

    is_small = True

    def mount(self, *words):
        done = subprocess.run(["mount", *words, self.path], capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr.strip() or "mount failed")

    @property
    def ballast(self):
        return os.path.join(self.path, "ballast")

    def fill(self, left):
        """Uses up all free space except for `left` bytes."""
        status = os.statvfs(self.path)
        room = status.f_bavail * status.f_frsize - left
        with open(self.ballast, "wb") as file:
            # The file system's own tables take a little of it.
            for least in (1 << 20, 1 << 16, status.f_frsize):
                while room >= least:
                    try:
                        os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, least)
                    except OSError:
                        break
                    room -= least

    def free_space(self):
        if os.path.exists(self.ballast):
            os.remove(self.ballast)

    def end(self):
        subprocess.run(["umount", "--lazy", self.path], capture_output=True)


class MemoryDisk(SmallDisk):
    def __init__(self, path, megabytes):
        super().__init__(path)
        self.mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs")


class ImageDisk(SmallDisk):
    """An ext4 file system in a file. The file contains what survives a power failure: data that
    was written but not synced is only in memory."""

    # No background writes: neither the journal nor the tables are initialised later.
    MAKE = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"]

    def __init__(self, path, image, megabytes=None):
        """`megabytes`: size of a new image; None if the image exists."""
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
        """Number of completed writes to the device, and of writes under way."""
        name = os.path.basename(os.path.realpath(
            f"/sys/dev/block/{os.major(self.device)}:{os.minor(self.device)}"))
        with open(f"/sys/block/{name}/stat") as file:
            words = file.read().split()
        return int(words[4]), int(words[8])

    @property
    def device(self):
        return os.stat(self.path).st_dev

    def copy(self):
        """Copies the device's current contents, and repeats this until nothing was written
        meanwhile. All processes that use it must be frozen."""
        copy = f"{self.image}.copy"
        for _ in range(50):
            before = self.writes()
            subprocess.run(["cp", "--sparse=always", self.image, copy], check=True)
            if before == self.writes() and before[1] == 0:
                return copy
        raise OSError("the device was written all the while it was copied")

    def restore(self, copy):
        """Power is back: data that was only in memory is lost. All processes that used the disk
        must have been killed."""
        subprocess.run(["umount", "--lazy", self.path], check=True)
        os.replace(copy, self.image)
        self.mount("-o", OPTIONS, self.image)
        # The removal of the ballast may have been only in memory.
        self.free_space()
