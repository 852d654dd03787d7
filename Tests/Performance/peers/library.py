"""Counts the work of a durable save by the library for apps, without the hardware's counters: user
instructions and allocations by valgrind, writes and syncs of files by strace.

Two runs of `lockstep bench library` differ only in their number of saves, so that their difference
includes neither start nor end."""

import os
import re
import shutil
import subprocess

from counting import Instructions, SystemCalls
from programs import RunError

SAVE = "a save by the library"
# Saves of the two runs; the bench makes as many more to warm up.
FEW, MANY, RUN_SECONDS = 100, 300, 300
# How often threads wake each other depends on timing; what is written and synced does not.
FILE_CALLS = ("fdatasync", "fsync", "pwrite64", "write", "ftruncate", "unlink")


def count(setting, progress):
    """Figures of one save by (counter, figure), and the reason for each counter left out."""
    found, skipped = {}, {}
    for kind, per_run in ((Instructions, instructions), (SystemCalls, file_calls)):
        if not shutil.which(kind.tool):
            skipped["a library's save"] = f"{kind.tool} is not installed ({kind.about})"
            continue
        progress(f"{kind.names[0]}: {SAVE}")
        try:
            few, many = (per_run(setting, saves) for saves in (FEW, MANY))
        except RunError as error:
            skipped[f"{kind.names[0]} of {SAVE}"] = str(error)
            continue
        for name, total in many.items():
            found[name, SAVE] = (total - few[name]) / (2 * (MANY - FEW))
    progress.end()
    return found, skipped


def instructions(setting, saves):
    counter = Instructions(setting, None)
    folder = new_folder(setting)
    out = os.path.join(folder, "callgrind")
    run(setting, saves, folder, counter.binary, counter.environment,
        ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}"])
    with open(out) as file:
        text = file.read()
    total = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))
    return dict(zip(counter.names, (total, counter.allocations(text))))


def file_calls(setting, saves):
    folder = new_folder(setting)
    out = os.path.join(folder, "strace")
    run(setting, saves, folder, setting.binary, {},
        ["strace", "-f", "-e", "trace=" + ",".join(FILE_CALLS), "-o", out])
    syncs, writes = 0, 0
    with open(out) as file:
        for line in file:
            call = re.match(r"\d+\s+(\w+)\(", line)
            syncs += bool(call) and call[1] in ("fdatasync", "fsync")
            writes += bool(call) and call[1] == "pwrite64"
    return {"syncs": syncs, "file writes": writes}


def new_folder(setting):
    folder = setting.new_folder(True)
    os.makedirs(folder)
    return folder


def run(setting, saves, folder, binary, environment, wrapper):
    done = subprocess.run(
        [*wrapper, binary, "bench", "library", "--only", "save", "--alone", "--rounds", "1",
         "--operations", str(saves)],
        env={**os.environ, **environment, "TMPDIR": folder}, capture_output=True, text=True,
        timeout=RUN_SECONDS)
    if done.returncode != 0:
        raise RunError(f"bench library: {done.stderr.strip()}")
