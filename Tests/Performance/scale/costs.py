"""Costs of operations, in microseconds, as measured by `scripts/peers --stores`; those of notices
and of reading another relay's commit, by `scripts/peers --buses`."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    # A relay's loop: to wake up, to receive and answer a save, and to deliver it once.
    turn: float = 100
    save: float = 20
    delivery: float = 20
    # A relay's committing thread: for each commit, and for each save in it.
    commit: float = 150
    commit_save: float = 14
    # A processor of the database: the first round trip of a commit and the second, each with the
    # share of one save.
    ask: float = 350
    ask_save: float = 20
    write: float = 400
    write_save: float = 32
    # A relay's thread of notices: to send one after a commit; and PostgreSQL's share, under a lock
    # of the whole server.
    tell: float = 80
    notice: float = 60
    # A relay that receives the notice of another relay's commit: to pass it on, and to read the
    # commit.
    hear: float = 40
    read: float = 100
    # The database's share of that, and of polling the sequence of one account.
    answer: float = 140
    movement: float = 3
    # Round trip between a relay and the database; a sync of the log: its median and its slowest
    # hundredth.
    round_trip: float = 60
    sync: float = 240
    sync_slow: float = 1200
    # Waking a sleeping thread.
    wake: float = 40

    def draw_sync(self, random):
        spread = math.log(self.sync_slow / self.sync) / 2.326
        return self.sync * math.exp(random.gauss(0, spread))


# Bytes of a relay's memory for an idle device; bytes on the database's disk for a save that shares
# its commit with many, and for a save alone.
IDLE, IDLE_SECURE = 2_014, 15_495
WRITTEN_SAVE, WRITTEN_ALONE = 3_700, 23_000
# Maximum number of saves in a commit; interval at which relays poll accounts, and accounts per
# poll.
COMMIT_SAVES, POLL_SECONDS, POLL_ACCOUNTS = 512, 60, 1_000
