"""A world of several relays on one database: any device may speak to any of them at any time."""

import random
import time

from database import NAME, Database
from program import Relay, Trouble
from rovers import Follower, Rover
from told import Told, place
from world import World
from writers import ZONE, Held

# Whoever waits at a relay must hear of a change at another one within that time, also where what
# the relays tell one another was lost: they look every few seconds.
HEAR_SECONDS = 20
# Until all relays say the same of an account, which a device may just be changing.
PATIENCE_SECONDS = 20


class SharedRelay(Relay):
    """One of several on a database."""

    def is_turned_away(self):
        """A relay that starts while the database is away ends with that reason."""
        said = self.said()
        return "listening on" not in said and "is not available" in said

    turned_away = "starts while the database was away"


class SharedHeld(Held):
    """What an account holds, asked of each relay; they must all say the same."""

    def __init__(self, account, token, relays):
        super().__init__(account, token)
        self.each = {}
        for relay in relays:
            held = self.each[relay.name] = Held(account, token)
            # What was told and what is lost is the same, whoever is asked.
            held.expected, held.lost, held.duplicated = self.expected, self.lost, self.duplicated

    def read_all(self, relays):
        """Reads on at each relay, until all have come equally far; False where they do not."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            for relay in relays:
                self.each[relay.name].read(relay)
            if len({held.since for held in self.each.values()}) == 1:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.2)

    def forget(self):
        for held in self.each.values():
            held.forget()

    def check_all(self, writers, notes, when):
        for name, held in self.each.items():
            held.check(writers, notes, f"{when}, asked of {name}")


class Cluster(World):
    def __init__(self, options, notes, ledger, sandbox):
        super().__init__(options, notes, ledger, sandbox)
        self.told = Told(notes)
        self.database, self.followers, self.is_lying = None, [], False

    # MARK: making it

    def make_relays(self):
        self.database = Database(self.folder, self.notes)
        self.database.make()
        self.notes.say(f"the database listens on {self.database.socket}")
        for number in range(1, self.options.relays + 1):
            # By the socket and by TCP, which fail each in its own way.
            relay = SharedRelay(
                self.options.binary, self.database.url if number % 2 else
                self.database.loopback_url, self.folder, self.notes, f"relay-{number}")
            relay.environment = self.database.environment
            with relay.lock:
                relay.launch()
            self.relays.append(relay)
        # All at once: whoever comes first makes the tables.
        for relay in self.relays:
            relay.start()

    def make(self):
        super().make()
        for account, held in self.writers.held.items():
            self.followers.append(Follower(
                self, account, held.token, random.Random(f"{self.options.seed} {account}")))
        for follower in self.followers:
            follower.start()

    def make_writer(self, *words):
        return Rover(self, *words)

    def make_held(self, account, token):
        return SharedHeld(account, token, self.relays)

    # MARK: coming to rest

    def rest(self, when):
        self.database.start()
        super().rest(when)
        self.database.look()
        self.rest_followers(when)

    def rest_followers(self, when):
        """Nobody saves any more: whoever waits has been told of it all, or soon is, by itself."""
        longest = "milliseconds until a follower knew what all others did, at most"
        for follower in self.followers:
            newest, begun = self.told.by_now(follower.account), time.monotonic()
            if newest and not follower.wait_for(newest[1], HEAR_SECONDS):
                self.notes.wrong(f"{when}: the {follower.name} waits at {follower.since}, and was "
                                 f"not told of {newest[1]} within {HEAR_SECONDS} s")
            waited = int(1000 * (time.monotonic() - begun))
            self.notes.counts[longest] = max(self.notes.counts[longest], waited)

    def check_saves(self, when):
        for account, held in self.writers.held.items():
            if not held.read_all(self.relays):
                self.notes.wrong(f"{when}: of {account} the relays say " + ", ".join(
                    f"{name} {each.since}" for name, each in held.each.items()))
            held.check_all(self.writers.of(account), self.notes, when)
            first = held.each[self.relay.name]
            newest = self.told.by_now(account)
            if newest and newest[1] > place(first.since)[1]:
                self.notes.disorder(f"{when}: {account} is at {first.since}, and somebody had been "
                                    f"told {newest[0]}.{newest[1]}")
        self.check_followers(when)
        for words, count in self.database.errors().items():
            self.notes.counts[f"errors of the database to relays: {words}"] = count

    def check_followers(self, when):
        """What they were told, page by page, is what there is."""
        for follower in self.followers:
            held = self.writers.held[follower.account].each[self.relay.name]
            differing = [name for name in {**held.tags, **follower.tags}
                         if held.tags.get(name) != follower.tags.get(name)]
            for name in sorted(differing)[:3]:
                self.notes.disorder(f"{when}: the {follower.name} was told {name} with "
                                    f"{follower.tags.get(name)}, and it has {held.tags.get(name)}")

    # MARK: can it fail?

    def sabotage(self):
        """From now on one account's order is misremembered once; and see `spoil`."""
        self.is_lying = True

    def lies(self, rover):
        """Whether that one shall be told that more was told than was."""
        if not self.is_lying or not rover.before:
            return False
        self.is_lying = False
        self.notes.say(f"sabotage: {rover.name} takes its account to be a million saves further")
        return True

    def spoil(self):
        """At rest, after a check: a committed row goes, another one's tag was never told."""
        names = sorted(self.writers.held["cleo"].expected)
        gone, wrong = self.dice.sample(names, 2)
        rows = self.database.ask(
            f"DELETE FROM records WHERE zone = '{ZONE}' AND name = '{gone}' RETURNING tag")
        self.writers.held["cleo"].expected[wrong] += 1
        self.notes.say(f"sabotage: {len(rows)} row, {gone}, is dropped from {NAME}, and {wrong} "
                       "counts as told with another tag")

    def end(self):
        super().end()
        for follower in self.followers:
            if follower.ident:
                follower.join(1)
        if self.database:
            try:
                self.database.end()
            except Trouble as trouble:
                self.notes.say(str(trouble))
