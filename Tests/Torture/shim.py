"""The failing disk (shim.c): build of the library, and control of its faults."""

import fcntl
import mmap
import os
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FORM = struct.Struct("IIIIQQ")


class NoCompiler(Exception):
    """The machine cannot build the shim; the message has the reason."""


def library(root):
    """Path of the shim, rebuilt if its source is newer."""
    folder = os.path.join(root, ".build", "torture")
    os.makedirs(folder, exist_ok=True)
    source, made = os.path.join(HERE, "shim.c"), os.path.join(folder, "shim.so")
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(made) and os.path.getmtime(made) > os.path.getmtime(source):
            return made
        try:
            done = subprocess.run(
                ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", made + ".new", source],
                capture_output=True, text=True)
        except FileNotFoundError:
            raise NoCompiler("there is no C compiler (cc)") from None
        if done.returncode != 0:
            raise NoCompiler(f"cc: {done.stderr.strip().splitlines()[0]}")
        os.rename(made + ".new", made)
    return made


class FailingDisk:
    """Failures of the disk for one process and its child processes."""

    def __init__(self, path):
        self.path, self.never_syncs = path, False
        with open(path, "wb") as file:
            file.write(bytes(FORM.size))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), FORM.size)
        self.configure()

    def configure(self, syncs=0.0, writes=0.0, error=0):
        """`syncs`, `writes`: fraction of them that fails, with `error`."""
        self.map[:16] = struct.pack(
            "IIII", int(syncs * 1_000_000), int(writes * 1_000_000), error,
            self.never_syncs)

    def failed(self):
        """Number of failed syncs and of failed writes so far."""
        return FORM.unpack(self.map[:])[4:]


def environment(library, disk, trace=None):
    variables = {"LD_PRELOAD": library, "TORTURE_DISK": disk.path}
    return {**variables, "TORTURE_TRACE": trace} if trace else variables
