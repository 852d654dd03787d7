"""What things cost, in microseconds, as they were measured: `scripts/peers --stores`."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    # Of a relay's loop: to wake up where it slept, a save that comes and is answered, and one
    # delivery of it.
    turn: float = 100
    save: float = 20
    delivery: float = 20
    # Of a relay's thread that commits: for each commit, and each save in it.
    commit: float = 150
    commit_save: float = 14
    # Of a processor of the database: the first round trip of a commit and the second, and each save
    # in them.
    ask: float = 350
    ask_save: float = 20
    write: float = 400
    write_save: float = 32
    # The notice behind a commit, under a lock of the whole server.
    notice: float = 60
    # A relay that hears of another's commit: its looking up who is there, and for somebody who is,
    # reading the commit.
    hear: float = 10
    read: float = 60
    # The database's part of that, and of an account whose movement is asked after.
    answer: float = 100
    movement: float = 3
    # Between a relay and the database, there and back; a sync of the log, its median and the
    # hundredth that is slowest.
    round_trip: float = 60
    sync: float = 240
    sync_slow: float = 1200
    # Waking a thread that sleeps.
    wake: float = 40

    def draw_sync(self, random):
        spread = math.log(self.sync_slow / self.sync) / 2.326
        return self.sync * math.exp(random.gauss(0, spread))


# Bytes of a relay's memory for an idle device; of the database's disk for a save that shares its
# commit with many, and for one alone.
IDLE, IDLE_SECURE = 2_014, 15_495
WRITTEN_SAVE, WRITTEN_ALONE = 3_700, 23_000
# Saves that one commit takes at most; how often relays ask after accounts, and how many at once.
COMMIT_SAVES, LOOK_SECONDS, LOOK_ACCOUNTS = 512, 3, 1_000
