"""Linux namespaces: networks and mounts that are private to this run."""

import ctypes
import fcntl
import os
import socket
import struct

NEW_MOUNTS, NEW_USER, NEW_NETWORK = 0x00020000, 0x10000000, 0x40000000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14
SET_FLAGS, SET_ADDRESS, SET_MASK, SET_TUN = 0x8914, 0x8916, 0x891C, 0x400454CA
UP, RUNNING, TUN, NO_HEADER = 0x1, 0x40, 0x0001, 0x1000

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def unshare_process(kinds):
    """Moves this process, which must have only one thread, to new namespaces."""
    checked(libc.unshare(kinds))


def enter_network(path):
    """Moves the calling process to that network."""
    file = os.open(path, os.O_RDONLY)
    try:
        checked(libc.setns(file, NEW_NETWORK))
    finally:
        os.close(file)


def isolate_process():
    """Creates private mounts and networks, as root or, if allowed, as root of a user namespace.
    Raises OSError if neither works."""
    try:
        unshare_process(NEW_MOUNTS | NEW_NETWORK)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        unshare_process(NEW_USER | NEW_MOUNTS | NEW_NETWORK)
        for name, text in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"),
                           ("gid_map", f"0 {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    checked(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))
    start_interface("lo")


def mount_memory(path, options):
    """Mounts an empty disk in memory; visible to the processes that share the caller's mounts."""
    checked(libc.mount(b"none", path.encode(), b"tmpfs", 0, options.encode()))


def start_interface(name, address=None):
    """Gives an interface of this network an address, and enables it."""
    def request(*rest):
        return struct.pack("16s", name.encode()) + b"".join(rest).ljust(24, b"\0")

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
        if address:
            for code, text in [(SET_ADDRESS, address), (SET_MASK, "255.255.255.0")]:
                inet = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(text))
                fcntl.ioctl(any, code, request(inet))
        fcntl.ioctl(any, SET_FLAGS, request(struct.pack("H", UP | RUNNING)))


def open_tun(name):
    """An interface whose packets are read and written by this process."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, SET_TUN, struct.pack("16sH22x", name.encode(), TUN | NO_HEADER))
    return file
