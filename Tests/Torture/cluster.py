"""System under test with several relays on one database: each device may use any relay at any
time."""

import random
import time

from database import NAME, Database
from processes import Relay, RunError
from roaming_clients import Follower, RoamingWriter
from newest_tokens import NewestTokens, position
from system import System
from writers import ZONE, StoredRecords

# Time limit within which a waiting client must learn of a change at another relay, even if a notice
# between the relays was lost: relays poll the database every few seconds.
NOTICE_SECONDS = 20
# Time limit for all relays to return the same data for an account; a device may be changing it.
AGREEMENT_SECONDS = 20


class SharedRelay(Relay):
    """One of several relays on a database."""

    def could_not_start(self):
        """True if the relay ended at start because the database was not available."""
        said = self.log_text()
        return "listening on" not in said and "is not available" in said

    start_failure = "starts while the database was away"


class SharedRecords(StoredRecords):
    """Contents of an account, read from each relay; all relays must return the same."""

    def __init__(self, account, token, relays):
        super().__init__(account, token)
        self.by_relay = {}
        for relay in relays:
            stored = self.by_relay[relay.name] = StoredRecords(account, token)
            # Expected and lost saves are shared: they are the same for each relay.
            stored.expected, stored.lost = self.expected, self.lost
            stored.duplicated = self.duplicated

    def read_all(self, relays):
        """Reads from each relay until all have the same token; returns False if they do not in
        time."""
        end = time.monotonic() + AGREEMENT_SECONDS
        while True:
            for relay in relays:
                self.by_relay[relay.name].read(relay)
            if len({stored.since for stored in self.by_relay.values()}) == 1:
                return True
            if time.monotonic() > end:
                return False
            time.sleep(0.2)

    def reset(self):
        for stored in self.by_relay.values():
            stored.reset()

    def check_all(self, writers, run_log, when):
        for name, stored in self.by_relay.items():
            stored.check(writers, run_log, f"{when}, asked of {name}")


class Cluster(System):
    def __init__(self, options, run_log, ledger, sandbox):
        super().__init__(options, run_log, ledger, sandbox)
        self.newest_tokens = NewestTokens(run_log)
        self.database, self.followers, self.sabotage_pending = None, [], False

    # MARK: setup

    def make_relays(self):
        self.database = Database(self.folder, self.run_log)
        self.database.make()
        self.run_log.info(f"the database listens on {self.database.socket}")
        # Alternates between the Unix socket and TCP, because their failures differ.
        self.launch_relays([self.database.loopback_url if number % 2 else self.database.url
                            for number in range(self.options.relays)], self.database.environment)

    def launch_relays(self, stores, environment=None):
        """One relay for each address of the database."""
        for number, store in enumerate(stores, 1):
            relay = SharedRelay(
                self.options.binary, store, self.folder, self.run_log, f"relay-{number}")
            relay.environment = environment or {}
            relay.options = self.relay_options(number - 1)
            with relay.lock:
                relay.launch()
            self.relays.append(relay)
        # All start at the same time; the first one creates the tables.
        for relay in self.relays:
            relay.start()

    def relay_options(self, number):
        """Further options of one relay."""
        return []

    def make(self):
        super().make()
        for account, stored in self.writers.stored.items():
            self.followers.append(self.make_follower(
                account, stored.token, random.Random(f"{self.options.seed} {account}")))
        for follower in self.followers:
            follower.start()

    def make_writer(self, *words):
        return RoamingWriter(self, *words)

    def make_follower(self, *words):
        return Follower(self, *words)

    def make_stored(self, account, token):
        return SharedRecords(account, token, self.relays)

    # MARK: idle state

    def wait_until_idle(self, when):
        self.database.start()
        super().wait_until_idle(when)
        self.database.check_running()
        self.wait_for_followers(when)

    def wait_for_followers(self, when):
        """No more saves: each waiting follower has received all changes, or receives them soon."""
        longest = "milliseconds until a follower knew what all others did, at most"
        for follower in self.followers:
            newest, begun = self.newest_tokens.floor(follower.account), time.monotonic()
            if newest and not follower.wait_for(newest[1], NOTICE_SECONDS):
                self.run_log.violation(
                    f"{when}: the {follower.name} waits at {follower.since}, and was "
                    f"not told of {newest[1]} within {NOTICE_SECONDS} s")
            waited = int(1000 * (time.monotonic() - begun))
            self.run_log.counts[longest] = max(self.run_log.counts[longest], waited)

    def check_saves(self, when):
        for account, stored in self.writers.stored.items():
            if not stored.read_all(self.relays):
                self.run_log.violation(f"{when}: of {account} the relays say " + ", ".join(
                    f"{name} {each.since}" for name, each in stored.by_relay.items()))
            stored.check_all(self.writers.of(account), self.run_log, when)
            first = stored.by_relay[self.relay.name]
            newest = self.newest_tokens.floor(account)
            if newest and newest[1] > position(first.since)[1]:
                self.run_log.order_violation(
                    f"{when}: {account} is at {first.since}, and somebody had been "
                    f"told {newest[0]}.{newest[1]}")
        self.check_followers(when)
        for words, count in self.database.errors().items():
            self.run_log.counts[f"errors of the database to relays: {words}"] = count

    def check_followers(self, when):
        """The pages that the followers received must add up to the current contents."""
        for follower in self.followers:
            stored = self.writers.stored[follower.account].by_relay[self.relay.name]
            differing = [name for name in {**stored.tags, **follower.tags}
                         if stored.tags.get(name) != follower.tags.get(name)]
            for name in sorted(differing)[:3]:
                self.run_log.order_violation(f"{when}: the {follower.name} was told {name} with "
                                             f"{follower.tags.get(name)}, and it has "
                                             f"{stored.tags.get(name)}")

    # MARK: sabotage (the checks must fail)

    def sabotage(self):
        """Makes the test expect too new a token for one account, once; see also `corrupt_more`."""
        self.sabotage_pending = True

    def should_sabotage(self, writer):
        """True, once, if this writer is to expect a newer token than any relay returned."""
        if not self.sabotage_pending or not writer.before:
            return False
        self.sabotage_pending = False
        self.run_log.info(
            f"sabotage: {writer.name} takes its account to be a million saves further")
        return True

    def corrupt_more(self):
        """After a check, while idle: deletes a committed row, and changes the expected tag of
        another."""
        names = sorted(self.writers.stored["cleo"].expected)
        gone, wrong = self.rng.sample(names, 2)
        rows = self.database.query(
            f"DELETE FROM records WHERE zone = '{ZONE}' AND name = '{gone}' RETURNING tag")
        self.writers.stored["cleo"].expected[wrong] += 1
        self.run_log.info(f"sabotage: {len(rows)} row, {gone}, is dropped from {NAME}, and {wrong} "
                          "counts as told with another tag")

    def end(self):
        super().end()
        for follower in self.followers:
            if follower.ident:
                follower.join(1)
        if self.database:
            try:
                self.database.end()
            except RunError as error:
                self.run_log.info(str(error))
