"""First process of a machine with its own network, processes and mounts: it removes what has ended.

  network_node.py FOLDER                 FOLDER becomes a disk in memory, empty at first

Started by `unshare` (see patroni_nodes.py). It prints "ready"; if it ends, everything on the
machine ends.
"""

import os
import signal
import sys

import namespaces


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    folder = sys.argv[1]
    owner = os.stat(folder)
    namespaces.mount_memory(folder, f"mode=0700,uid={owner.st_uid},gid={owner.st_gid}")
    namespaces.start_interface("lo")
    print("ready", flush=True)
    while True:
        signal.sigwait({signal.SIGCHLD})
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


main()
