"""Model of relays on one database under load; each thread and processor is a queue."""

import random
from dataclasses import dataclass

from costs import COMMIT_SAVES, POLL_ACCOUNTS, POLL_SECONDS, Costs
from events import Locks, Log, Processors, Timeline


@dataclass(frozen=True)
class Cluster:
    """relays: their number; processors: of the database; accounts, and the devices of each, which
    connect to random relays; saves: number per second, of random accounts; nats: relays notify each
    other over NATS, not by the database."""
    relays: int
    processors: int
    accounts: int
    devices: int
    saves: float
    costs: Costs = Costs()
    nats: bool = False


class Database:
    def __init__(self, timeline, cluster, draw):
        self.processors = Processors(timeline, cluster.processors)
        self.log = Log(timeline, draw)
        self.rows, self.notices = Locks(), Processors(timeline, 1)


class Relay:
    """A loop and three threads: one commits, one reads, one sends and receives notices."""

    def __init__(self, run):
        self.run, self.costs = run, run.cluster.costs
        self.loop = Processors(run.timeline, 1, waking=self.costs.turn)
        self.committer, self.reader, self.listener = [Processors(run.timeline, 1) for _ in range(3)]
        self.waiting, self.is_committing, self.commits = [], False, 0
        self.untold, self.is_telling = [], False

    def receive_save(self, save):
        self.loop.work(self.costs.save, self.queue, save)

    def queue(self, save):
        self.waiting.append(save)
        if not self.is_committing:
            self.is_committing = True
            self.run.timeline.after(self.costs.wake, self.commit)

    def commit(self):
        """Commits in two round trips; the accounts' rows are locked from the first to the end."""
        saves, self.waiting = self.waiting[:COMMIT_SAVES], self.waiting[COMMIT_SAVES:]
        self.commits += 1
        costs, database, count = self.costs, self.run.database, len(saves)
        accounts = {save.account for save in saves}

        def asks():
            self.travel(database.rows.acquire, accounts, locked)

        def locked():
            database.processors.work(costs.ask + costs.ask_save * count, asked)

        def asked():
            self.travel(self.committer.work,
                        (costs.commit + costs.commit_save * count) / 2, writes)

        def writes():
            self.travel(database.processors.work, costs.write + costs.write_save * count,
                        lambda: database.log.sync(synced))

        def synced():
            database.rows.release(accounts)
            self.travel(self.committed, saves)

        self.committer.work((costs.commit + costs.commit_save * count) / 2, asks)

    def committed(self, saves):
        if self.waiting:
            self.commit()
        else:
            self.is_committing = False
        self.run.timeline.after(self.costs.wake, self.deliver_all, saves)
        self.tell(saves)

    def tell(self, saves):
        """Notifies the relays that have other devices of the accounts; meanwhile, what is committed
        waits for the next message."""
        self.untold += [save for save in saves if any(each is not self for each in save.others)]
        if self.untold and not self.is_telling:
            self.is_telling = True
            self.run.timeline.after(self.costs.wake, self.listener.work, self.costs.tell, self.send)

    def send(self):
        told, self.untold = self.untold, []

        def sent():
            for relay in self.run.relays:
                here = [save for save in told if relay is not self and relay in save.others]
                if here:
                    self.run.timeline.after(self.costs.wake, relay.receive_notice, here)
            self.travel(self.told)

        if self.run.cluster.nats:
            self.travel(sent)
        else:
            self.travel(self.run.database.notices.work, self.costs.notice, sent)

    def told(self):
        self.is_telling = False
        self.tell([])

    def deliver_all(self, saves):
        for save in saves:
            self.deliver(save)

    def receive_notice(self, saves):
        """Handles a commit of another relay."""
        self.listener.work(self.costs.hear, self.read_all, saves)

    def read_all(self, saves):
        for save in saves:
            self.reader.work(
                self.costs.read, self.travel, self.run.database.processors.work,
                self.costs.answer, lambda save=save: self.travel(self.deliver, save))

    def deliver(self, save):
        for _ in range(save.others.count(self)):
            self.loop.work(self.costs.delivery, self.run.delivered, save, self)

    def travel(self, act, *given):
        self.run.timeline.after(self.costs.round_trip / 2, act, *given)


@dataclass(frozen=True)
class Save:
    account: int
    # The relay that received the save, and the relays of the account's other devices.
    relay: Relay
    others: list
    time: float


class Run:
    """One run of a cluster in virtual time."""

    def __init__(self, cluster, seed):
        self.cluster, self.random = cluster, random.Random(seed)
        self.timeline = Timeline()
        self.database = Database(self.timeline, cluster,
                                 lambda: cluster.costs.draw_sync(self.random))
        self.relays = [Relay(self) for _ in range(cluster.relays)]
        self.near, self.across, self.save_count = [], [], 0

    def simulate(self, seconds):
        """Results: the latency of a change to another device, and the utilisation of each
        part."""
        end = seconds * 1e6
        self.arrive(end)
        self.poll_database(end)
        self.timeline.run(end)
        commits = sum(relay.commits for relay in self.relays)
        done = len(self.near) + len(self.across)
        return {
            "near": quantiles(self.near), "across": quantiles(self.across),
            "savesACommit": self.save_count / commits if commits else None,
            "savesASync": self.save_count / max(1, self.database.log.syncs),
            "arrived": done / max(1, self.save_count * (self.cluster.devices - 1)),
            "busy": {
                "a relay's loop": max(relay.loop.share(end) for relay in self.relays),
                "a relay's commits": max(relay.committer.share(end) for relay in self.relays),
                "a relay's hearing": max(
                    relay.listener.share(end) + relay.reader.share(end) for relay in self.relays),
                "the database's processors": self.database.processors.share(end),
                "the database's log": self.database.log.share(end),
                "the lock of notices": self.database.notices.share(end)}}

    def arrive(self, end):
        if self.timeline.now >= end or not self.cluster.saves:
            return
        relay, *others = self.random.choices(self.relays, k=self.cluster.devices)
        account = self.random.randrange(self.cluster.accounts)
        self.save_count += 1
        relay.receive_save(Save(account, relay, others, self.timeline.now))
        self.timeline.after(self.random.expovariate(self.cluster.saves / 1e6), self.arrive, end)

    def poll_database(self, end):
        """Relays poll the newest sequence of their devices' accounts."""
        share = 1 - (1 - 1 / len(self.relays)) ** self.cluster.devices
        pages = -(-int(self.cluster.accounts * share) // POLL_ACCOUNTS)
        for _ in self.relays:
            begin = self.random.uniform(0, POLL_SECONDS * 1e6)
            while begin < end:
                for page in range(pages):
                    self.timeline.after(
                        begin + page * POLL_SECONDS * 1e6 / pages, self.database.processors.work,
                        self.cluster.costs.movement * POLL_ACCOUNTS, lambda: None)
                begin += POLL_SECONDS * 1e6

    def delivered(self, save, relay):
        times = self.near if relay is save.relay else self.across
        times.append(self.timeline.now - save.time)


def quantiles(times):
    if not times:
        return None
    times = sorted(times)
    return {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100]}
