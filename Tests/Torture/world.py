"""Setup of a run: a relay, families of homes, writers, and the transition of all of it to rest."""

import json
import os
import random
import threading

import exports
import people
from orders import Line
from program import Home, Relay, Trouble, wait_until
from writers import Held, Writer, Writers

# Homes by account: their names, and the transport that each must use.
FAMILIES = {
    "ada": [("phone", None), ("laptop", "events"), ("tablet", "long-poll")],
    "ben": [("desk", None), ("pocket", "websocket"), ("spare", None)],
}
# Writers by account: their number, and the pause between saves of each, in seconds.
WRITERS = {"ada": (1, 0.4), "ben": (1, 0.4), "cleo": (5, 0.015)}
# Seconds without a fault until everything must be at rest: the longest backoff of a device is a
# minute.
REST_SECONDS = 150


class World:
    def __init__(self, options, notes, ledger, sandbox):
        self.options, self.notes, self.ledger = options, notes, ledger
        self.sandbox, self.folder = sandbox, sandbox.folder
        self.dice = random.Random(options.seed)
        self.gate = people.Gate()
        self.families, self.homes, self.people = {}, [], []
        self.writers = Writers()
        self.rounds = 0
        # Number of restores of an older copy of the store.
        self.copies_put_back = 0
        # One relay, or several on one store.
        self.relays = []
        self.line = self.keeper = None

    @property
    def relay(self):
        return self.relays[0]

    # MARK: setup

    def make(self):
        self.make_relays()
        self.line = Line(self.relays)
        for account, homes in FAMILIES.items():
            self.make_family(account, homes)
        for account, (count, pause) in WRITERS.items():
            self.make_writers(account, count, pause)
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        for home in self.homes:
            home.start()
        self.keeper.start()
        for thread in self.people + self.writers.all:
            thread.start()

    def make_relays(self):
        place = self.sandbox.relay_place
        relay = Relay(
            self.options.binary, os.path.join(self.sandbox.relay_disk.path, "store"),
            self.folder, self.notes, address=place.address, port=place.port, enter=place.enter)
        relay.environment = self.sandbox.environment("relay")
        self.relays.append(relay.start())

    def route(self, number):
        """Address for the device of this number: the line; or, if the relay has a separate
        network, the relay itself for every second device."""
        if self.sandbox.relay_place.enter and number % 2:
            return self.relay.address, self.relay.port
        return "127.0.0.1", self.line.port

    def make_family(self, account, homes):
        family = people.Family(account, self.folder)
        self.families[account] = family
        for name, transport in homes:
            home = Home(
                self.options.binary,
                os.path.join(self.sandbox.home_disk(f"{account}-{name}").path, "home"),
                f"{account}-{name}", self.folder, self.notes, transport)
            home.account = account
            home.environment = self.sandbox.environment(home.name)
            host, port = self.route(len(self.homes))
            words = ["join", "--relay", f"http://{host}:{port}", "--name", home.name]
            if family.homes:
                code = made(family.homes[0].run("pair", "--json")).json["code"]
                made(home.run(*words, "--code", "-", input=code + "\n"))
                made(home.run("habits", "restore", "yes"))
            else:
                made(home.run(*words, "--new"))
                added = home.run("habits", "add", "Water", "--count", "--target", "8", "--json")
                family.water = made(added).json["name"]
                family.running = made(home.run("habits", "add", "Run", "--json")).json["name"]
            home.device = home.status()["device"]
            family.homes.append(home)
            self.homes.append(home)
            self.people.append(people.Person(
                home, family, self.ledger, self.notes, self.gate,
                random.Random(f"{self.options.seed} {home.name}")))

    def make_writers(self, account, count, pause):
        device = {"deviceName": "writer", "platform": "test", "appVersion": "1"}
        if account in self.families:
            code = made(self.families[account].homes[0].run("pair", "--json")).json["code"]
            joined = self.asked("POST", "/v1/devices", {"code": code, **device})
        else:
            joined = self.asked("POST", "/v1/accounts", device)
        for number in range(count):
            if number:
                code = self.asked("POST", "/v1/pairings", {}, token)["code"]
                joined = self.asked("POST", "/v1/devices", {"code": code, **device})
            token = joined["token"]
            number = len(self.writers.all)
            self.writers.all.append(self.make_writer(
                number, account, joined["deviceID"], token, lambda n=number: self.route(n),
                self.notes, self.gate, pause, random.Random(f"{self.options.seed} w{number}")))
        self.writers.held[account] = self.make_held(account, token)
        if account in self.families:
            self.families[account].id = joined["accountID"]

    def make_writer(self, *words):
        return Writer(*words)

    def make_held(self, account, token):
        return Held(account, token)

    def asked(self, method, path, body=None, token=None):
        status, answer = self.dice.choice(self.relays).call(method, path, body, token)
        if status >= 300:
            raise Trouble(f"{method} {path} was answered {status} {answer}")
        return answer

    # MARK: restarts

    def keep(self):
        """Restarts processes that have ended, after a moment."""
        dice = random.Random(self.options.seed + 1)
        while not self.gate.is_over:
            for each in self.relays + self.homes:
                try:
                    if each.look() or each.rests:
                        continue
                    if dice.random() < 0.3:
                        with each.lock:
                            if not each.rests and not each.runs:
                                each.launch()
                                self.notes.count("starts after an end")
                except Exception as fault:
                    self.notes.wrong(f"keeping {each.name}: {type(fault).__name__}: {fault}")
            self.gate.over.wait(0.15)

    def begin_round(self):
        self.rounds += 1
        for family in self.families.values():
            family.day = f"2026-{3 + self.rounds // 28:02}-{1 + self.rounds % 28:02}"
            # An offline home learns of it later; the memo reaches every home before anyone edits
            # it.
            home = self.dice.choice(family.homes)
            added = home.run("memo", "add", "--json", input=f"shared {self.rounds}\n")
            family.shared = made(added).json["name"]
        self.rest("before the round")
        self.gate.is_open.set()

    # MARK: coming to rest

    def rest(self, when):
        """Waits until all people and writers are idle, every home is in sync, and no save is under
        way."""
        self.gate.is_open.clear()
        for relay in self.relays:
            relay.start()
        busy = self.people + self.writers.all
        wait_until(
            lambda: all(each.is_idle.is_set() for each in busy),
            lambda: f"{when}: still busy: "
            + ", ".join(each.name for each in busy if not each.is_idle.is_set()), REST_SECONDS)
        states = {}

        def synced():
            for home in self.homes:
                if states.get(home.name) != "inSync":
                    states[home.name] = self.synced(home)
            return all(state == "inSync" for state in states.values())

        wait_until(synced, lambda: f"{when}: not in sync: {states}", REST_SECONDS)

    def synced(self, home):
        """Syncs a home and resolves its open conflicts, as its user would. Returns its state."""
        done = home.run("sync", "--json")
        if not done.output:
            return done.error.strip()
        status = done.json
        if status.get("asking"):
            self.decide(home)
            return f"decided {status['asking']}"
        if status["state"] == "inSync" and not status["waiting"]:
            return "inSync"
        return json.dumps({name: status.get(name) for name in (
            "state", "waiting", "reason", "parkedRecords", "blockedZones")})

    def decide(self, home):
        for conflict in home.run("habits", "conflicts", "--json").json["conflicts"]:
            version = self.dice.choice(["local", "cloud"])
            title = (conflict[version].get("fields") or {}).get("title", "nothing")
            done = home.run("habits", "keep", version, conflict["name"])
            if done.code == 0:
                self.notes.count(f"conflict: a habit waited for its person, who kept {version}")
            else:
                self.notes.say(f"{home.name} could not keep {title}: {done.error.strip()}")

    def check(self, when):
        """Compares every home with its account, and all accounts with the reported outcomes."""
        exports.compare(self, when)
        self.check_saves(when)

    def check_saves(self, when):
        for account, held in self.writers.held.items():
            held.read(self.relay)
            held.check(self.writers.of(account), self.notes, when)

    def sabotage(self):
        """Breaks something permanently, to verify that the checks can fail."""
        self.sandbox.sabotage()

    def spoil(self):
        """Breaks more, after the first check."""

    def clear_clipboards(self):
        """At rest: makes space for further items, as a person would."""
        for family in self.families.values():
            if family.items >= people.ITEMS_MAX:
                made(self.dice.choice(family.homes).run("clipboard", "clear"))
                family.cleared(self.ledger)

    def end(self):
        self.gate.over.set()
        self.gate.is_open.clear()
        if self.keeper:
            self.keeper.join(10)
        for thread in self.people + self.writers.all:
            if thread.ident:
                thread.join(30)
        for each in self.homes + self.relays:
            each.end()
        if self.line:
            self.line.end()


def made(done):
    if done.code != 0:
        raise Trouble(f"a command of the beginning failed with {done.code}: {done.error}")
    return done
