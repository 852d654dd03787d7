"""Test setup with several relays on one database: each device may use any relay at any time."""

import random
import time

from database import NAME, Database
from program import Relay, Trouble
from rovers import Follower, Rover
from told import Told, place
from world import World
from writers import ZONE, Held

# Time limit within which a waiting client must learn of a change at another relay, even if a notice
# between the relays was lost: relays poll the database every few seconds.
HEAR_SECONDS = 20
# Time limit for all relays to return the same data for an account; a device may be changing it.
PATIENCE_SECONDS = 20


class SharedRelay(Relay):
    """One of several relays on a database."""

    def is_turned_away(self):
        """True if the relay ended at start because the database was not available."""
        said = self.said()
        return "listening on" not in said and "is not available" in said

    turned_away = "starts while the database was away"


class SharedHeld(Held):
    """Contents of an account, read from each relay; all relays must return the same."""

    def __init__(self, account, token, relays):
        super().__init__(account, token)
        self.each = {}
        for relay in relays:
            held = self.each[relay.name] = Held(account, token)
            # Expected and lost saves are shared: they are the same for each relay.
            held.expected, held.lost, held.duplicated = self.expected, self.lost, self.duplicated

    def read_all(self, relays):
        """Reads from each relay until all have the same token; returns False if they do not in
        time."""
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

    # MARK: setup

    def make_relays(self):
        self.database = Database(self.folder, self.notes)
        self.database.make()
        self.notes.say(f"the database listens on {self.database.socket}")
        for number in range(1, self.options.relays + 1):
            # Alternates between the Unix socket and TCP, because their failures differ.
            relay = SharedRelay(
                self.options.binary, self.database.url if number % 2 else
                self.database.loopback_url, self.folder, self.notes, f"relay-{number}")
            relay.environment = self.database.environment
            with relay.lock:
                relay.launch()
            self.relays.append(relay)
        # All start at the same time; the first one creates the tables.
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
        """No more saves: each waiting follower has received all changes, or receives them soon."""
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
        """The pages that the followers received must add up to the current contents."""
        for follower in self.followers:
            held = self.writers.held[follower.account].each[self.relay.name]
            differing = [name for name in {**held.tags, **follower.tags}
                         if held.tags.get(name) != follower.tags.get(name)]
            for name in sorted(differing)[:3]:
                self.notes.disorder(f"{when}: the {follower.name} was told {name} with "
                                    f"{follower.tags.get(name)}, and it has {held.tags.get(name)}")

    # MARK: sabotage (the checks must fail)

    def sabotage(self):
        """Makes the test expect too new a token for one account, once; see also `spoil`."""
        self.is_lying = True

    def lies(self, rover):
        """True, once, if this rover is to expect a newer token than any relay returned."""
        if not self.is_lying or not rover.before:
            return False
        self.is_lying = False
        self.notes.say(f"sabotage: {rover.name} takes its account to be a million saves further")
        return True

    def spoil(self):
        """After a check, at rest: deletes a committed row, and changes the expected tag of
        another."""
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
