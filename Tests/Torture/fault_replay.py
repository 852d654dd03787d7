"""Power failure of a separate relay and home: from all possible disk states after it, some are
created, and each must contain everything acknowledged."""

import os
import random
import shutil
import threading

import users
import shim
from faults import Fault
from ledger import MADE, outcome_of
from processes import Home, Relay, RunError
from replay import TracedDisk
from writers import COUNTER, StoredRecords, Writer

# Fractions of the data that was not synced but survives: none, all, or a random part.
CHANCES = (0, 1, 0.5, 0.5, 0.1, 0.9)
WRITERS = 3


class ReplaySetup:
    """A relay with writers, and a home whose user writes memos; all their disk operations are
    traced."""

    def __init__(self, system, number, seed):
        self.system, self.run_log = system, system.run_log
        self.folder = os.path.join(system.folder, f"replay-{number}")
        os.makedirs(self.folder)
        binary = system.options.binary
        self.relay = Relay(
            binary, os.path.join(self.folder, "store"), self.folder, system.run_log, "replay-relay")
        self.home = Home(
            binary, os.path.join(self.folder, "home"), "replay-home", self.folder, system.run_log)
        for target in (self.relay, self.home):
            target.trace = os.path.join(self.folder, f"{target.name}.trace")
            disk = shim.FailingDisk(os.path.join(self.folder, f"{target.name}.disk"))
            target.failing = disk
            target.environment = shim.environment(system.sandbox.library, disk, target.trace)
        self.gate, self.writers, self.texts = users.Gate(), [], []
        self.rng = random.Random(seed)
        self.threads = []

    def start(self):
        self.relay.start()
        device = {"deviceName": "writer", "platform": "test", "appVersion": "1"}
        token = None
        for number in range(WRITERS):
            if token is None:
                joined = self.call("/v1/accounts", device)
            else:
                code = self.call("/v1/pairings", {}, token)["code"]
                joined = self.call("/v1/devices", {"code": code, **device})
            token = joined["token"]
            self.writers.append(Writer(
                number, "replay", joined["deviceID"], token,
                lambda: (self.relay.address, self.relay.port), self.run_log, self.gate, 0.005,
                random.Random(self.rng.random())))
        self.token = token
        done = self.home.run("join", "--relay", self.relay.url, "--new", "--plain")
        if done.code != 0:
            raise RunError(f"the home of a replay cannot join: {done.error.strip()}")
        if self.system.options.sabotage:
            for target in (self.relay, self.home):
                target.failing.never_syncs = True
                target.failing.configure()
        self.home.start()
        self.gate.is_open.set()
        self.threads = self.writers + [threading.Thread(target=self.write_memos, daemon=True)]
        for thread in self.threads:
            thread.start()

    def call(self, path, body, token=None):
        status, answer = self.relay.call("POST", path, body, token)
        if status >= 300:
            raise RunError(f"{path} of a replay was answered {status} {answer}")
        return answer

    def write_memos(self):
        number = 0
        while not self.gate.is_over:
            number += 1
            text = f"replayed {number}"
            if outcome_of(self.home.run("memo", "add", text)) == MADE:
                self.texts.append(text)

    def end(self):
        """Simulates the power failure; everything acknowledged before it must be present later."""
        self.relay.freeze()
        self.home.freeze()
        self.gate.over.set()
        self.relay.kill_all()
        self.home.kill_all()
        for thread in self.threads:
            thread.join(60)


class ReplayFault(Fault):
    name = "replay"
    about = "power failure in a model of the disk, which keeps what was synced, and any part of " \
        "the rest"

    number = 0

    def reason_to_skip(self):
        return self.system.sandbox.no_shim

    def act(self, rng, until):
        ReplayFault.number += 1
        setup = ReplaySetup(self.system, self.number, rng.random())
        try:
            setup.start()
            self.pause(rng, 1, 4, until)
        finally:
            setup.end()
        for target, check in ((setup.relay, self.check_relay), (setup.home, self.check_home)):
            disk = TracedDisk(target.store if target is setup.relay else target.path, target.trace)
            self.run_log.count(f"syncs of a traced {target.name.partition('-')[2]}", disk.syncs)
            for number, chance in enumerate(CHANCES):
                place = os.path.join(setup.folder, f"{target.name}-{number}")
                disk.write(place, rng, chance)
                check(setup, place, f"a {target.name} that kept {chance} of what was not synced")
                shutil.rmtree(place, ignore_errors=True)
            what = target.name.partition("-")[2]
            self.action(f"a {what}'s, of which {len(CHANCES)} disks were made")
        if not self.run_log.violations:
            shutil.rmtree(setup.folder)

    def check_relay(self, setup, place, words):
        relay = Relay(setup.relay.binary, place, setup.folder, self.run_log, "replayed-relay")
        # A relay that cannot start prints the reason, which is reported below.
        relay.expected_failures = 1
        try:
            relay.launch()
            if not relay.listens(20):
                raise RunError(relay.tail())
            stored = StoredRecords("replay", setup.token)
            stored.read(relay)
        except (RunError, OSError) as error:
            self.run_log.violation(f"{words}: {error}")
            return
        finally:
            relay.kill()
        expected = {name: tag for writer in setup.writers for name, tag in writer.saved.items()}
        lost = [name for name, tag in expected.items() if stored.tags.get(name) != tag]
        if lost:
            self.run_log.replay_loss(len(lost), f"{words}: {len(lost)} of {len(expected)} saves "
                                     f"were lost, as {lost[:3]}")
        if len(set(stored.tags.values())) != len(stored.tags):
            self.run_log.violation(f"{words}: a tag stands twice")
        added = sum(writer.added for writer in setup.writers)
        under_way = sum(1 for writer in setup.writers if writer.pending and any(
            record["name"] == COUNTER for record in writer.pending["records"]))
        if not added <= stored.counter <= added + under_way:
            self.run_log.violation(f"{words}: counted up {added} times, to {stored.counter}")
        self.run_log.count("saves found on replayed disks", len(expected) - len(lost))

    def check_home(self, setup, place, words):
        home = Home(setup.home.binary, place, "replayed-home", setup.folder, self.run_log)
        done = home.run("memo", "list", "--json")
        if done.code != 0:
            self.run_log.replay_loss(
                len(setup.texts), f"{words}: {done.error.strip()}")
            return
        there = {memo["title"] for memo in done.json["memos"]}
        lost = [text for text in setup.texts if text not in there]
        if lost:
            self.run_log.replay_loss(len(lost), f"{words}: {len(lost)} of {len(setup.texts)} memos "
                                     f"were lost, as {lost[:3]}")
        self.run_log.count("memos found on replayed disks", len(setup.texts) - len(lost))
