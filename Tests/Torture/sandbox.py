"""Environment of a run: its folder, disks and networks, and what this machine does not permit."""

import dataclasses
import os
import shutil
import tempfile

import namespaces
import shim
from disks import Disk, ImageDisk, MemoryDisk
from child_processes import NetworkProcess

# Enough for the records of a long run, and small enough to be filled, or copied, quickly.
RELAY_MEGABYTES, HOME_MEGABYTES = 768, 64
RELAY_PORT = 5625


@dataclasses.dataclass
class RelayLocation:
    """Address of the relay, and its network."""

    address: str = "127.0.0.1"
    port: int = 0
    # Called in the relay's process before it starts; None if it stays on this network.
    enter: object = None


class Sandbox:
    """`wanted`: faults of the run; the sandbox provides what they need."""

    def __init__(self, root, options, wanted):
        self.folder = tempfile.mkdtemp(prefix="lockstep-torture-", dir=options.dir)
        self.disks, self.failing = [], {}
        self.network, self.no_network = None, None
        self.no_namespaces = self.no_images = self.no_shim = None
        # The nodes of a database that fails over are in a network of this run.
        self.needs_network = options.patroni
        self.enter_namespaces(wanted)
        self.relay_location = self.make_location(wanted)
        self.library = None
        if wanted & {"disk-errors", "replay"} or (options.sabotage and not options.is_shared):
            try:
                self.library = shim.library(root)
            except shim.NoCompiler as reason:
                self.no_shim = str(reason)
        self.make_disks(wanted)

    def enter_namespaces(self, wanted):
        if not wanted & {"disk-full", "wire", "power"} and not self.needs_network:
            self.no_namespaces = "not wanted"
            return
        try:
            namespaces.isolate_process()
        except OSError as fault:
            self.no_namespaces = f"namespaces of its own are refused here: {fault.strerror}"

    def make_location(self, wanted):
        self.no_network = self.no_namespaces
        if not self.no_network and "wire" in wanted:
            try:
                self.network = NetworkProcess()
                network = self.network.far_network
                return RelayLocation(
                    NetworkProcess.far, RELAY_PORT, lambda: namespaces.enter_network(network))
            except OSError as fault:
                self.no_network = str(fault)
        return RelayLocation()

    def make_disks(self, wanted):
        """The relay and one home on images that can lose power; other homes on disks in memory; a
        plain folder if that is not possible."""
        self.relay_disk = Disk(os.path.join(self.folder, "relay"))
        self.home_disks = {}
        if self.no_namespaces:
            self.no_images = self.no_namespaces
            return
        if wanted & {"power", "disk-full"}:
            try:
                self.relay_disk = self.image("relay", RELAY_MEGABYTES)
                self.home_disks["ada-tablet"] = self.image("ada-tablet", HOME_MEGABYTES)
            except (OSError, FileNotFoundError) as fault:
                self.no_images = str(fault).splitlines()[0]
        if "disk-full" in wanted:
            try:
                if not self.relay_disk.is_small:
                    self.relay_disk = self.register(
                        MemoryDisk(os.path.join(self.folder, "relay"), RELAY_MEGABYTES))
                for name in ("ada-laptop", "ben-spare"):
                    self.home_disks[name] = self.register(
                        MemoryDisk(os.path.join(self.folder, name), HOME_MEGABYTES))
            except OSError:
                pass

    def image(self, name, megabytes):
        return self.register(ImageDisk(
            os.path.join(self.folder, name), os.path.join(self.folder, f"{name}.image"), megabytes))

    def register(self, disk):
        self.disks.append(disk)
        return disk

    def home_disk(self, name):
        return self.home_disks.get(name) or Disk(os.path.join(self.folder, name))

    def environment(self, name):
        """Additional environment of a process of this name: its failing disk."""
        if not self.library:
            return {}
        disk = shim.FailingDisk(os.path.join(self.folder, f"{name}.disk"))
        self.failing[name] = disk
        return shim.environment(self.library, disk)

    def sabotage(self):
        """Disables all syncs: no sync of any process reaches a disk any more."""
        os.sync()
        for disk in self.failing.values():
            disk.never_syncs = True
            disk.configure()

    def end(self, keeps):
        if self.network:
            self.network.end()
        if keeps:
            self.save_mounted()
        for disk in self.disks:
            disk.end()
        if not keeps:
            shutil.rmtree(self.folder, ignore_errors=True)

    def save_mounted(self):
        """Private mounts disappear with this process, so their contents are copied."""
        for disk in self.disks:
            disk.free_space()
            shutil.copytree(
                disk.path, disk.path + ".kept", dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.sock", "lost+found"))
