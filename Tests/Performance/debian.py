"""Programs from Debian's archive, unpacked below the build folder. Nothing is installed, and no
service is started."""

import glob
import os
import subprocess
import sys


def unpack(folder, packages, name):
    """Downloads `packages` and unpacks them into `folder`. Prints the reason and returns False if
    that fails; `name` is the script that needs them."""
    os.makedirs(folder, exist_ok=True)
    download = ["apt-get", "download", *packages]
    # A new machine has no package list yet, and only root can fetch one.
    tries = [[download], [["apt-get", "-qq", "update"], download]]
    for commands in tries:
        try:
            fault = next((f"{' '.join(command)} says:\n{done.stderr}" for command in commands
                          if (done := subprocess.run(
                              command, cwd=folder, capture_output=True, text=True,
                              timeout=300)).returncode != 0), None)
        except (OSError, subprocess.TimeoutExpired) as error:
            fault = f"{' '.join(download)}: {error}"
        if fault is None:
            for package in glob.glob(os.path.join(folder, "*.deb")):
                subprocess.run(["dpkg", "-x", package, folder], check=True)
                os.remove(package)
            return True
    print(f"{name}: {fault}", file=sys.stderr)
    return False
