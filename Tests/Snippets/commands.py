"""Commands in documents: `lockstep` must know them and their options."""

import functools
import os
import re
import subprocess

LOCKSTEP = os.environ["LOCKSTEP_BINARY"]
START = re.compile(r"(?:^|[|&;(]|\bsudo (?:-u \w+ )?|\$ )\s*(?:\w+=\S+ )*\$?lockstep((?: [^|&;#>)]*)?)")


def faults(block):
    """Returns the commands of a block that the program does not have."""
    found = []
    text = block.text.replace("\\\n", " ")
    for line in text.split("\n"):
        for match in START.finditer(line):
            found += [f"{block.place}: {fault}" for fault in command_faults(match[1].split())]
    return found


def command_faults(words):
    names = []
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*", word):
            break
        names.append(word)
    help = ""
    while names and not (help := help_of(*names)):
        names.pop()
    if not help:
        return [f"there is no command: lockstep {' '.join(words)}"] if words else []
    options = [re.match(r"--[a-z][a-z-]*", word) for word in words]
    return [f"lockstep {' '.join(names)} has no option {option[0]}" for option in options
            if option and not re.search(rf"^ *{option[0]}\b", help, re.MULTILINE)]


@functools.lru_cache(maxsize=None)
def help_of(*names):
    """The usage of a command; nothing if there is none."""
    done = subprocess.run(
        [LOCKSTEP, *names, "--help-all"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else ""
