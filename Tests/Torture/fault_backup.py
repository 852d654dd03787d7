"""Restores an old backup: the devices must bring back what the relay has lost."""

import os
import shutil
import sqlite3
import subprocess

from faults import Fault
from program import Trouble
from writers import COUNTER


class BackupFault(Fault):
    name = "backup"
    about = "a backup is made while everybody saves, and is put back once it is old"

    def __init__(self, world):
        super().__init__(world)
        asked = subprocess.run(
            [world.options.binary, "relay", "backup", "--help"], capture_output=True, text=True)
        self.has_command = "relay backup" in asked.stdout
        # Folder of the backup to restore, and the saves acknowledged before it began, by account.
        self.place, self.before = None, {}
        self.number = 0
        # Number of restores before this backup was made.
        self.line = 0

    def act(self, dice, until):
        self.pause(dice, 1, 6, until)
        before = {}
        for account, held in self.world.writers.held.items():
            before[account] = set(held.expected)
            for writer in self.world.writers.of(account):
                with writer.lock:
                    before[account].update(writer.saved)
        self.number += 1
        place = os.path.join(self.world.folder, f"{self.name}-{self.number}")
        try:
            self.make(place)
        except (sqlite3.Error, Trouble) as reason:
            # Another fault, such as a full disk, can prevent the backup.
            self.notes.count("backups that could not be made")
            self.notes.say(f"no backup was made: {reason}")
            shutil.rmtree(place, ignore_errors=True)
            return
        self.place, self.before, self.line = place, before, self.world.copies_put_back
        self.acted("made under load")
        self.pause(dice, 5, 20, until)

    def make(self, place):
        store = self.world.relay.store
        if self.has_command:
            done = subprocess.run(
                [self.world.options.binary, "relay", "backup", place, "--store", store],
                capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise Trouble(done.stderr.strip())
            return
        # Order as in docs/operations.md: the database first, then the chunks of files.
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
        """At rest, with all devices in sync: restores the backup on the relay."""
        if not self.place:
            return
        place, self.place = self.place, None
        if self.line != self.world.copies_put_back:
            # The backup belongs to a history that was abandoned by a later restore. The result of
            # restoring it depends on the apps' rules (docs/reliability.md).
            shutil.rmtree(place, ignore_errors=True)
            self.notes.count("copies of a history that was left, which were not put back")
            return
        self.world.copies_put_back += 1
        relay = self.world.relay
        with relay.lock:
            relay.end()
            self.put_back(place, relay.store)
            relay.start()
        shutil.rmtree(place, ignore_errors=True)
        self.acted("put back")
        when = f"{when}, after an old copy was put back"
        self.world.rest(when)
        self.forgive(when)
        self.world.check(when)

    def put_back(self, place, store):
        if self.has_command:
            done = subprocess.run(
                [self.world.options.binary, "relay", "restore", place, "--store", store, "--force"],
                capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise Trouble(f"relay restore: {done.stderr.strip()}")
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
        for account, held in self.world.writers.held.items():
            held.forget()
            held.read(self.world.relay)
            has_devices = account in self.world.families
            for writer in self.world.writers.of(account):
                held.expected.update(writer.taken())
            for name in list(held.expected):
                if has_devices and name in held.tags:
                    held.expected[name] = held.tags[name]
                elif not has_devices and name not in held.tags and name not in self.before[account]:
                    del held.expected[name]
                    held.forgotten.add(name)
                    self.notes.count("saves forgotten, which no device held")
            for name in held.forgotten & set(held.tags):
                held.expected[name] = held.tags[name]
                held.forgotten.remove(name)
            if not has_devices:
                self.forgive_count(account, held)

    def forgive_count(self, account, held):
        """The counter is also back at an earlier value."""
        added = sum(writer.added for writer in self.world.writers.of(account))
        held.counted_before = added - held.counter
        for writer in self.world.writers.of(account):
            writer.seen = (held.counter, held.tags.get(COUNTER, 0))
