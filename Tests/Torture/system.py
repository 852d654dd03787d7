"""System under test of a run: a relay, homes, their users, and writers; and its transition to an
idle state."""

import json
import os
import random
import threading

import exports
import users
from child_processes import ProxyProcess
from history_clients import Recording
from processes import Home, Relay, RunError, wait_until
from writers import StoredRecords, Writer, Writers

# Homes by account: their names, and the transport that each must use.
HOMES = {
    "ada": [("phone", None), ("laptop", "events"), ("tablet", "long-poll")],
    "ben": [("desk", None), ("pocket", "websocket"), ("spare", None)],
}
# Writers by account: their number, and the pause between saves of each, in seconds.
WRITERS = {"ada": (1, 0.4), "ben": (1, 0.4), "cleo": (5, 0.015)}
# Seconds without a fault until everything must be idle: the longest backoff of a device is a
# minute.
IDLE_SECONDS = 150


class System:
    def __init__(self, options, run_log, ledger, sandbox):
        self.options, self.run_log, self.ledger = options, run_log, ledger
        self.sandbox, self.folder = sandbox, sandbox.folder
        self.rng = random.Random(options.seed)
        self.gate = users.Gate()
        self.account_states, self.homes, self.users = {}, [], []
        self.writers = Writers()
        self.rounds = 0
        # Number of restores of an older copy of the store.
        self.copies_put_back = 0
        # One relay, or several on one store.
        self.relays = []
        self.proxy = self.restarter = None
        # The recorded history, if one is wanted.
        self.recording = None

    @property
    def relay(self):
        return self.relays[0]

    # MARK: setup

    def make(self):
        self.make_relays()
        self.proxy = ProxyProcess(self.relays)
        for account, homes in HOMES.items():
            self.make_account(account, homes)
        for account, (count, pause) in WRITERS.items():
            self.make_writers(account, count, pause)
        if self.options.history:
            self.recording = Recording(self, self.options.history)
        self.restarter = threading.Thread(target=self.restart_ended, daemon=True)
        for home in self.homes:
            home.start()
        self.restarter.start()
        for thread in self.users + self.writers.all:
            thread.start()
        if self.recording:
            self.recording.start()

    def make_relays(self):
        location = self.sandbox.relay_location
        relay = Relay(
            self.options.binary, os.path.join(self.sandbox.relay_disk.path, "store"),
            self.folder, self.run_log, address=location.address, port=location.port,
            enter=location.enter)
        relay.environment = self.sandbox.environment("relay")
        self.relays.append(relay.start())

    def route(self, number):
        """Address for the device of this number: the proxy; or, if the relay has a separate
        network, the relay itself for every second device."""
        if self.sandbox.relay_location.enter and number % 2:
            return self.relay.address, self.relay.port
        return "127.0.0.1", self.proxy.port

    def make_account(self, account, homes):
        state = users.AccountState(account, self.folder)
        self.account_states[account] = state
        for name, transport in homes:
            home = Home(
                self.options.binary,
                os.path.join(self.sandbox.home_disk(f"{account}-{name}").path, "home"),
                f"{account}-{name}", self.folder, self.run_log, transport)
            home.account = account
            home.environment = self.sandbox.environment(home.name)
            host, port = self.route(len(self.homes))
            words = ["join", "--relay", f"http://{host}:{port}", "--name", home.name]
            if state.homes:
                code = require_success(state.homes[0].run("pair", "--json")).json["code"]
                require_success(home.run(*words, "--code", "-", input=code + "\n"))
                require_success(home.run("habits", "restore", "yes"))
            else:
                require_success(home.run(*words, "--new", "--plain"))
                added = home.run("habits", "add", "Water", "--count", "--target", "8", "--json")
                state.water = require_success(added).json["name"]
                added = home.run("habits", "add", "Run", "--json")
                state.running = require_success(added).json["name"]
            home.device = home.status()["device"]
            state.homes.append(home)
            self.homes.append(home)
            self.users.append(users.User(
                home, state, self.ledger, self.run_log, self.gate,
                random.Random(f"{self.options.seed} {home.name}")))

    def make_writers(self, account, count, pause):
        device = {"deviceName": "writer", "platform": "test", "appVersion": "1"}
        if account in self.account_states:
            home = self.account_states[account].homes[0]
            code = require_success(home.run("pair", "--json")).json["code"]
            joined = self.call("POST", "/v1/devices", {"code": code, **device})
        else:
            joined = self.call("POST", "/v1/accounts", device)
        for number in range(count):
            if number:
                code = self.call("POST", "/v1/pairings", {}, token)["code"]
                joined = self.call("POST", "/v1/devices", {"code": code, **device})
            token = joined["token"]
            number = len(self.writers.all)
            self.writers.all.append(self.make_writer(
                number, account, joined["deviceID"], token, lambda n=number: self.route(n),
                self.run_log, self.gate, pause, random.Random(f"{self.options.seed} w{number}")))
        self.writers.stored[account] = self.make_stored(account, token)
        if account in self.account_states:
            self.account_states[account].id = joined["accountID"]

    def make_writer(self, *words):
        return Writer(*words)

    def make_stored(self, account, token):
        return StoredRecords(account, token)

    def call(self, method, path, body=None, token=None):
        status, answer = self.rng.choice(self.relays).call(method, path, body, token)
        if status >= 300:
            raise RunError(f"{method} {path} was answered {status} {answer}")
        return answer

    # MARK: restarts

    def restart_ended(self):
        """Restarts processes that have ended, after a moment."""
        rng = random.Random(self.options.seed + 1)
        while not self.gate.is_over:
            for each in self.relays + self.homes:
                try:
                    if each.check_running() or each.is_paused:
                        continue
                    if rng.random() < 0.3:
                        with each.lock:
                            if not each.is_paused and not each.is_running:
                                each.launch()
                                self.run_log.count("starts after an end")
                except Exception as fault:
                    self.run_log.violation(f"keeping {each.name}: {type(fault).__name__}: {fault}")
            self.gate.over.wait(0.15)

    def begin_round(self):
        self.rounds += 1
        for state in self.account_states.values():
            state.day = f"2026-{3 + self.rounds // 28:02}-{1 + self.rounds % 28:02}"
            # An offline home learns of it later; the memo reaches every home before anyone edits
            # it.
            home = self.rng.choice(state.homes)
            added = home.run("memo", "add", "--json", input=f"shared {self.rounds}\n")
            state.shared = require_success(added).json["name"]
        self.wait_until_idle("before the round")
        self.gate.is_open.set()

    # MARK: idle state

    def wait_until_idle(self, when):
        """Waits until all people and writers are idle, every home is in sync, and no save is under
        way."""
        self.gate.is_open.clear()
        for relay in self.relays:
            relay.start()
        busy = self.users + self.writers.all
        busy += self.recording.clients if self.recording else []
        wait_until(
            lambda: all(each.is_idle.is_set() for each in busy),
            lambda: f"{when}: still busy: "
            + ", ".join(each.name for each in busy if not each.is_idle.is_set()), IDLE_SECONDS)
        states = {}

        def all_synced():
            for home in self.homes:
                if states.get(home.name) != "inSync":
                    states[home.name] = self.sync(home)
            return all(state == "inSync" for state in states.values())

        wait_until(all_synced, lambda: f"{when}: not in sync: {states}", IDLE_SECONDS)

    def sync(self, home):
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
            version = self.rng.choice(["local", "cloud"])
            title = (conflict[version].get("fields") or {}).get("title", "nothing")
            done = home.run("habits", "keep", version, conflict["name"])
            if done.code == 0:
                self.run_log.count(f"conflict: a habit waited for its person, who kept {version}")
            else:
                self.run_log.info(f"{home.name} could not keep {title}: {done.error.strip()}")

    def check(self, when):
        """Compares every home with its account, and all accounts with the reported outcomes."""
        exports.compare(self, when)
        self.check_saves(when)

    def report_returned(self, words):
        """A record that was removed is there."""
        self.run_log.violation(words)

    def check_saves(self, when):
        for account, stored in self.writers.stored.items():
            stored.read(self.relay)
            stored.check(self.writers.of(account), self.run_log, when)

    def sabotage(self):
        """Breaks something permanently, to verify that the checks can fail."""
        self.sandbox.sabotage()

    def corrupt_more(self):
        """Breaks more, after the first check."""

    def clear_clipboards(self):
        """In the idle state: makes space for further items, as a person would."""
        for state in self.account_states.values():
            if state.items >= users.ITEMS_MAX:
                require_success(self.rng.choice(state.homes).run("clipboard", "clear"))
                state.cleared(self.ledger)

    def end(self):
        self.gate.over.set()
        self.gate.is_open.clear()
        if self.restarter:
            self.restarter.join(10)
        for thread in self.users + self.writers.all:
            if thread.ident:
                thread.join(30)
        if self.recording:
            self.recording.end()
        for each in self.homes + self.relays:
            each.end()
        if self.proxy:
            self.proxy.end()


def require_success(done):
    if done.code != 0:
        raise RunError(f"a command of the beginning failed with {done.code}: {done.error}")
    return done
