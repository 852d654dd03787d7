"""Programs used by a measurement: those in C, rebuilt if their sources are newer, the relay, and
others that run to completion."""

import fcntl
import glob
import os
import shutil
import subprocess

SHARED = ["buffer.c", "websocket.c"]
FLOOR = ["floor.c", *SHARED]
SECURE = ["secure.c"]


class RunError(Exception):
    """Fatal error of the measurement, with a message for the person who started it."""


def output_of(command):
    """Output of a program that ends successfully."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RunError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def compiler():
    """The C compiler, or None."""
    return shutil.which("gcc") or shutil.which("cc")


def build(root):
    """Builds floor, load and secure; returns their paths."""
    sources = os.path.join(root, "Tests", "Performance", "load")
    folder = os.path.join(root, ".build", "load")
    os.makedirs(folder, exist_ok=True)
    names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(sources, "*.c")))
    parts = {"floor": FLOOR, "secure": SECURE,
             "load": [name for name in names if name not in ("floor.c", *SECURE)]}
    newest = max(os.path.getmtime(path) for path in glob.glob(os.path.join(sources, "*.[ch]")))
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [compile_program(folder, sources, name, parts[name], newest)
                for name in ("floor", "load", "secure")]


def compile_program(folder, sources, name, parts, newest):
    program = os.path.join(folder, name)
    if os.path.exists(program) and os.path.getmtime(program) > newest:
        return program
    if not compiler():
        raise RunError("there is no C compiler; install one (apt install gcc), then try again")
    done = subprocess.run(
        [compiler(), "-O2", "-g", "-Wall", "-Wextra", "-o", program + ".new",
         *[os.path.join(sources, part) for part in parts],
         *(["-lssl", "-lcrypto"] if name == "secure" else [])], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise RunError(f"{name} cannot be compiled:\n{done.stderr.strip()}")
    os.rename(program + ".new", program)
    return program


def release(root, given):
    """Path of the lockstep program: the given one, or a release built now."""
    if given:
        return os.path.abspath(given)
    return subprocess.run([os.path.join(root, "scripts", "build")], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
