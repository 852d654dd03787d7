"""Power failure of a separate relay and home: from all possible disk states after it, some are
created, and each must contain everything acknowledged."""

import os
import random
import shutil
import threading

import people
import shim
from faults import Fault
from ledger import MADE, told
from program import Home, Relay, Trouble
from replay import TracedDisk
from writers import COUNTER, Held, Writer

# Fractions of the data that was not synced but survives: none, all, or a random part.
CHANCES = (0, 1, 0.5, 0.5, 0.1, 0.9)
WRITERS = 3


class Scene:
    """A relay with writers, and a home whose user writes memos; all their disk operations are
    traced."""

    def __init__(self, world, number, seed):
        self.world, self.notes = world, world.notes
        self.folder = os.path.join(world.folder, f"replay-{number}")
        os.makedirs(self.folder)
        binary = world.options.binary
        self.relay = Relay(
            binary, os.path.join(self.folder, "store"), self.folder, world.notes, "replay-relay")
        self.home = Home(
            binary, os.path.join(self.folder, "home"), "replay-home", self.folder, world.notes)
        for kept in (self.relay, self.home):
            kept.trace = os.path.join(self.folder, f"{kept.name}.trace")
            disk = shim.FailingDisk(os.path.join(self.folder, f"{kept.name}.disk"))
            kept.failing = disk
            kept.environment = shim.environment(world.sandbox.library, disk, kept.trace)
        self.gate, self.writers, self.texts = people.Gate(), [], []
        self.dice = random.Random(seed)
        self.threads = []

    def begin(self):
        self.relay.start()
        device = {"deviceName": "writer", "platform": "test", "appVersion": "1"}
        token = None
        for number in range(WRITERS):
            if token is None:
                joined = self.asked("/v1/accounts", device)
            else:
                code = self.asked("/v1/pairings", {}, token)["code"]
                joined = self.asked("/v1/devices", {"code": code, **device})
            token = joined["token"]
            self.writers.append(Writer(
                number, "replay", joined["deviceID"], token,
                lambda: (self.relay.address, self.relay.port), self.notes, self.gate, 0.005,
                random.Random(self.dice.random())))
        self.token = token
        done = self.home.run("join", "--relay", self.relay.url, "--new")
        if done.code != 0:
            raise Trouble(f"the home of a replay cannot join: {done.error.strip()}")
        if self.world.options.sabotage:
            for kept in (self.relay, self.home):
                kept.failing.never_syncs = True
                kept.failing.order()
        self.home.start()
        self.gate.is_open.set()
        self.threads = self.writers + [threading.Thread(target=self.write_memos, daemon=True)]
        for thread in self.threads:
            thread.start()

    def asked(self, path, body, token=None):
        status, answer = self.relay.call("POST", path, body, token)
        if status >= 300:
            raise Trouble(f"{path} of a replay was answered {status} {answer}")
        return answer

    def write_memos(self):
        number = 0
        while not self.gate.is_over:
            number += 1
            text = f"replayed {number}"
            if told(self.home.run("memo", "add", text)) == MADE:
                self.texts.append(text)

    def end(self):
        """Simulates the power failure; everything acknowledged before it must be present later."""
        self.relay.freeze()
        self.home.freeze()
        self.gate.over.set()
        self.relay.cut_off()
        self.home.cut_off()
        for thread in self.threads:
            thread.join(60)


class ReplayFault(Fault):
    name = "replay"
    about = "the power fails, in a model of the disk that keeps only what was synced, and any of " \
        "the rest"

    number = 0

    def reason_to_skip(self):
        return self.world.sandbox.no_shim

    def act(self, dice, until):
        ReplayFault.number += 1
        scene = Scene(self.world, self.number, dice.random())
        try:
            scene.begin()
            self.pause(dice, 1, 4, until)
        finally:
            scene.end()
        for kept, check in ((scene.relay, self.check_relay), (scene.home, self.check_home)):
            disk = TracedDisk(kept.store if kept is scene.relay else kept.path, kept.trace)
            self.notes.count(f"syncs of a traced {kept.name.partition('-')[2]}", disk.syncs)
            for number, chance in enumerate(CHANCES):
                place = os.path.join(scene.folder, f"{kept.name}-{number}")
                disk.write(place, dice, chance)
                check(scene, place, f"a {kept.name} that kept {chance} of what was not synced")
                shutil.rmtree(place, ignore_errors=True)
            what = kept.name.partition("-")[2]
            self.acted(f"a {what}'s, of which {len(CHANCES)} disks were made")
        if not self.notes.wrongs:
            shutil.rmtree(scene.folder)

    def check_relay(self, scene, place, words):
        relay = Relay(scene.relay.binary, place, scene.folder, self.notes, "replayed-relay")
        # A relay that cannot start prints the reason, which is reported below.
        relay.excuses = 1
        try:
            relay.launch()
            if not relay.listens(20):
                raise Trouble(relay.tail())
            held = Held("replay", scene.token)
            held.read(relay)
        except (Trouble, OSError) as trouble:
            self.notes.wrong(f"{words}: {trouble}")
            return
        finally:
            relay.kill()
        expected = {name: tag for writer in scene.writers for name, tag in writer.saved.items()}
        lost = [name for name, tag in expected.items() if held.tags.get(name) != tag]
        if lost:
            self.notes.lose_replayed(len(lost), f"{words}: {len(lost)} of {len(expected)} saves "
                                     f"were lost, as {lost[:3]}")
        if len(set(held.tags.values())) != len(held.tags):
            self.notes.wrong(f"{words}: a tag stands twice")
        added = sum(writer.added for writer in scene.writers)
        under_way = sum(1 for writer in scene.writers if writer.pending and any(
            record["name"] == COUNTER for record in writer.pending["records"]))
        if not added <= held.counter <= added + under_way:
            self.notes.wrong(f"{words}: counted up {added} times, to {held.counter}")
        self.notes.count("saves found on replayed disks", len(expected) - len(lost))

    def check_home(self, scene, place, words):
        home = Home(scene.home.binary, place, "replayed-home", scene.folder, self.notes)
        done = home.run("memo", "list", "--json")
        if done.code != 0:
            self.notes.lose_replayed(
                len(scene.texts), f"{words}: {done.error.strip()}")
            return
        there = {memo["title"] for memo in done.json["memos"]}
        lost = [text for text in scene.texts if text not in there]
        if lost:
            self.notes.lose_replayed(len(lost), f"{words}: {len(lost)} of {len(scene.texts)} memos "
                                     f"were lost, as {lost[:3]}")
        self.notes.count("memos found on replayed disks", len(scene.texts) - len(lost))
