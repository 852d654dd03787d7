"""Builds the checker that uses Porcupine: its sources are fetched once, at a pinned version, and
compared with a checksum before anything of them is compiled."""

import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

VERSION = "v1.3.0"
REPOSITORY = "https://github.com/anishathalye/porcupine"
# Of the files that are compiled, as `checksum` computes it.
CHECKSUM = "e2f7912aa6c72a7970c29b6dc87f896d68c4580dc32dba494deecf49f536f57a"
FETCH_SECONDS, BUILD_SECONDS = 120, 300


class NotAvailable(Exception):
    """Porcupine cannot be run here; the message says why, and what helps."""


def checksum(folder):
    """SHA-256 of a list of all files that are compiled or embedded, each with its SHA-256."""
    paths = [path for path in glob.glob(os.path.join(folder, "*.go"))
             if not path.endswith("_test.go")]
    paths += glob.glob(os.path.join(folder, "visualization", "*"))
    paths.append(os.path.join(folder, "go.mod"))
    lines = []
    for path in sorted(paths):
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        lines.append(f"{digest}  {os.path.relpath(path, folder)}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_sources(folder):
    try:
        found = checksum(folder)
    except OSError as error:
        raise NotAvailable(f"{folder} has no sources of Porcupine: {error}") from error
    if found != CHECKSUM:
        raise NotAvailable(f"the sources in {folder} are not those of Porcupine {VERSION}: "
                           f"their checksum is {found}")
    return folder


def sources(root, given):
    """Folder of the sources: the given one, or one that was fetched before, or is now."""
    if given:
        return check_sources(given)
    kept = os.path.join(root, ".cache", f"porcupine-{VERSION}")
    if os.path.isdir(kept):
        return check_sources(kept)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    fetched = tempfile.mkdtemp(prefix="porcupine-", dir=os.path.dirname(kept))
    try:
        done = subprocess.run(
            ["git", "clone", "--quiet", "--depth", "1", "--branch", VERSION, REPOSITORY, fetched],
            capture_output=True, text=True, timeout=FETCH_SECONDS, stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        if done.returncode != 0:
            raise NotAvailable(
                f"Porcupine {VERSION} cannot be fetched ({done.stderr.strip()}); with its sources "
                "in a folder, name that with --porcupine")
        check_sources(fetched)
        os.rename(fetched, kept)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(f"Porcupine {VERSION} cannot be fetched: {error}") from error
    finally:
        shutil.rmtree(fetched, ignore_errors=True)
    return kept


def build(root, given, folder):
    """Compiles the checker into `folder`, without a network; returns its path."""
    if not shutil.which("go"):
        raise NotAvailable("there is no Go here (Debian's is 'golang-go', 1.19 or newer)")
    porcupine = os.path.abspath(sources(root, given))
    own = os.path.join(root, "Tests", "Histories", "porcupine")
    for name in ("go.mod", "main.go"):
        shutil.copy(os.path.join(own, name), folder)
    with open(os.path.join(folder, "go.mod"), "a", encoding="utf-8") as file:
        file.write(f'\nreplace github.com/anishathalye/porcupine => "{porcupine}"\n')
    program = os.path.join(folder, "porcupine-checker")
    done = subprocess.run(
        ["go", "build", "-o", program, "."], cwd=folder, capture_output=True, text=True,
        timeout=BUILD_SECONDS, stdin=subprocess.DEVNULL,
        env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOWORK": "off",
             "GOCACHE": os.path.join(folder, "go-cache"), "GOTOOLCHAIN": "local"})
    if done.returncode != 0:
        raise NotAvailable(f"the checker with Porcupine does not compile: {done.stderr.strip()}")
    return program
