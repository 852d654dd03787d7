"""Restores an old backup: the devices must bring back what the relay has lost."""

import os
import shutil
import sqlite3
import subprocess

from faults import Fault
from processes import RunError
from writers import COUNTER


class BackupFault(Fault):
    name = "backup"
    about = "a backup is made under load, and is restored once it is old"

    def __init__(self, system):
        super().__init__(system)
        help = subprocess.run(
            [system.options.binary, "relay", "backup", "--help"], capture_output=True, text=True)
        self.has_command = "relay backup" in help.stdout
        # Folder of the backup to restore, and the saves acknowledged before it began, by account.
        self.place, self.before = None, {}
        self.number = 0
        # Number of restores before this backup was made.
        self.restores_before = 0

    def act(self, rng, until):
        self.pause(rng, 1, 6, until)
        before = {}
        for account, stored in self.system.writers.stored.items():
            before[account] = set(stored.expected)
            for writer in self.system.writers.of(account):
                with writer.lock:
                    before[account].update(writer.saved)
        self.number += 1
        place = os.path.join(self.system.folder, f"{self.name}-{self.number}")
        try:
            self.make(place)
        except (sqlite3.Error, RunError) as reason:
            # Another fault, such as a full disk, can prevent the backup.
            self.run_log.count("backups that could not be made")
            self.run_log.info(f"no backup was made: {reason}")
            shutil.rmtree(place, ignore_errors=True)
            return
        self.place, self.before, self.restores_before = place, before, self.system.copies_put_back
        self.action("made under load")
        self.pause(rng, 5, 20, until)

    def make(self, place):
        store = self.system.relay.store
        if self.has_command:
            done = subprocess.run(
                [self.system.options.binary, "relay", "backup", place, "--store", store],
                capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise RunError(done.stderr.strip())
            return
        # Order as in docs/relay/backup.md: the database first, then the chunks of files.
        os.makedirs(place)
        source = sqlite3.connect(
            f"file:{os.path.join(store, 'zones.sqlite')}?mode=ro", uri=True, timeout=20)
        copy = sqlite3.connect(os.path.join(place, "zones.sqlite"))
        try:
            source.backup(copy, pages=500)
        finally:
            copy.close()
            source.close()

    def after(self, when):
        """In the idle state, with all devices in sync: restores the backup on the relay."""
        if not self.place:
            return
        place, self.place = self.place, None
        if self.restores_before != self.system.copies_put_back:
            # The backup belongs to a history that was abandoned by a later restore. The result of
            # restoring it depends on the apps' rules (docs/reliability.md).
            shutil.rmtree(place, ignore_errors=True)
            self.run_log.count("copies of a history that was left, which were not put back")
            return
        self.system.copies_put_back += 1
        relay = self.system.relay
        with relay.lock:
            relay.end()
            self.put_back(place, relay.store)
            relay.start()
        shutil.rmtree(place, ignore_errors=True)
        self.action("put back")
        when = f"{when}, after an old copy was put back"
        self.system.wait_until_idle(when)
        self.forgive(when)
        self.system.check(when)

    def put_back(self, place, store):
        if self.has_command:
            done = subprocess.run(
                [self.system.options.binary, "relay", "restore", place, "--store", store,
                 "--force"],
                capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise RunError(f"relay restore: {done.stderr.strip()}")
            # The replaced store is no longer needed, and the disk is small.
            for name in os.listdir(store):
                if name.startswith("replaced-"):
                    shutil.rmtree(os.path.join(store, name))
            return
        for name in ("zones.sqlite-wal", "zones.sqlite-shm"):
            if os.path.exists(os.path.join(store, name)):
                os.remove(os.path.join(store, name))
        shutil.copyfile(os.path.join(place, "zones.sqlite"), os.path.join(store, "zones.sqlite"))

    def forgive(self, when):
        """Adjusts the expectations: saves that devices held are present with new tags; saves that
        no device held and that came after the backup began may be lost."""
        for account, stored in self.system.writers.stored.items():
            stored.reset()
            stored.read(self.system.relay)
            has_devices = account in self.system.account_states
            for writer in self.system.writers.of(account):
                stored.expected.update(writer.drain_saved())
            for name in list(stored.expected):
                if has_devices and name in stored.tags:
                    stored.expected[name] = stored.tags[name]
                elif (not has_devices and name not in stored.tags
                      and name not in self.before[account]):
                    del stored.expected[name]
                    stored.forgotten.add(name)
                    self.run_log.count("saves forgotten, which no device held")
                elif (not has_devices and name not in self.before[account]
                      and stored.tags.get(name, 0) < stored.expected[name]):
                    # The copy was made while the disk failed: it holds an attempt that was
                    # answered with an error and undone, and was then repeated.
                    stored.expected[name] = stored.tags[name]
                    self.run_log.count("saves of which an old copy holds a failed attempt")
            for name in stored.forgotten & set(stored.tags):
                stored.expected[name] = stored.tags[name]
                stored.forgotten.remove(name)
            if not has_devices:
                self.forgive_count(account, stored)

    def forgive_count(self, account, stored):
        """The counter is also back at an earlier value."""
        added = sum(writer.added for writer in self.system.writers.of(account))
        stored.counted_before = added - stored.counter
        for writer in self.system.writers.of(account):
            writer.seen = (stored.counter, stored.tags.get(COUNTER, 0))
