"""System under test with several relays on PostgreSQL nodes that fail over: what was acknowledged
is compared with what each new leader has."""

import statistics
import threading
import time

from cluster import Cluster, SharedRecords
from newest_tokens import NewestTokens, position
from patroni_nodes import READY_SECONDS, Nodes
from processes import wait_until
from system import IDLE_SECONDS
from restoring_clients import RestoringFollower, RestoringWriter, is_restored
from writers import COUNTER, ZONE, StoredRecords

# Shorter times without an acknowledged save are usual on a busy computer.
PAUSE_SECONDS = 2
# Time after which a person would have a replica copied anew.
STUCK_SECONDS = 45
# Time around a promotion in which two leaders may answer.
PROMOTION_SECONDS = 60


class FailoverTokens(NewestTokens):
    """A promotion begins another generation, with greater sequences. An older one is never given
    again."""

    def __init__(self, run_log):
        super().__init__(run_log)
        self.generations = {}

    def check(self, account, before, token, who):
        generation, sequence = position(token)
        with self.lock:
            known = self.generations.setdefault(account, [])
            if generation not in known:
                known.append(generation)
            is_replaced = before and generation != before[0] and generation != known[-1]
            newest = self.newest.get(account)
            if newest is None or newest[1] < sequence:
                self.newest[account] = (generation, sequence)
        if before and sequence < before[1]:
            words = ", by a leader that had been replaced" if is_replaced else ""
            self.run_log.order_violation(
                f"{who} was told the token {token} of {account}{words}, after somebody "
                f"had been told {before[0]}.{before[1]}")


class ReplicatedDatabase:
    """The nodes, with the methods of a single server that a cluster uses."""

    def __init__(self, nodes, run_log):
        self.nodes, self.run_log, self.lock = nodes, run_log, threading.RLock()

    def start(self):
        """Ends all faults, and waits until there are a leader and two replicas."""
        renewal = time.monotonic() + STUCK_SECONDS

        def is_healthy():
            nonlocal renewal
            self.nodes.start()
            if self.nodes.is_healthy():
                return True
            if time.monotonic() > renewal:
                renewal += STUCK_SECONDS
                self.run_log.count("replicas that could not follow, and were copied anew",
                                   self.nodes.copy_stuck())
            return time.sleep(0.5)

        wait_until(is_healthy, lambda: self.nodes.explain("patroni"), READY_SECONDS)

    def check_running(self):
        return True

    def query(self, question, seconds=10):
        leader = self.nodes.leader()
        if not leader:
            raise OSError("there is no leader")
        return leader.query(question, seconds=seconds)

    def errors(self):
        return {}

    def end(self):
        self.nodes.end()


class RestorableRecords(StoredRecords):
    def begins_again(self, status, problem):
        return is_restored(status, problem)


class FailoverRecords(SharedRecords):
    def __init__(self, account, token, relays):
        super().__init__(account, token, relays)
        for name in self.by_relay:
            stored = self.by_relay[name] = RestorableRecords(account, token)
            stored.expected, stored.lost = self.expected, self.lost
            stored.duplicated = self.duplicated


class PromotionWatch(threading.Thread):
    """Compares each new leader with what was acknowledged before."""

    def __init__(self, cluster):
        super().__init__(daemon=True, name="promotions")
        self.cluster, self.run_log = cluster, cluster.run_log
        self.lock = threading.Lock()
        # Times of the promotions that were noticed.
        self.timeline, self.times = 1, []
        # Tag of each save as last acknowledged, or as last found in the database.
        self.tags = {}
        # Saves that the database lost, and of which no copy has come back yet.
        self.missing = set()
        self.lost, self.brought_back = 0, 0

    def run(self):
        while not self.cluster.gate.is_over:
            for node in self.cluster.nodes.all:
                timeline = node.timeline()
                if timeline and timeline > self.timeline:
                    self.timeline = timeline
                    self.times.append(time.monotonic())
                    self.compare(node, f"the promotion of {node.name}")
            self.cluster.gate.over.wait(0.3)

    def add(self, name, tag):
        """An acknowledged save."""
        with self.lock:
            self.tags[name] = tag

    def compare(self, node, when):
        """All that was acknowledged before the query must be in its answer, unless the database
        has lost it."""
        with self.lock:
            expected = dict(self.tags)
        try:
            found = {name: int(tag) for name, tag in node.query(
                f"SELECT name, tag FROM records WHERE zone = '{ZONE}'", seconds=30)}
        except OSError:
            self.run_log.count("promotions that ended before they could be compared")
            return
        with self.lock:
            lost = [name for name, tag in expected.items()
                    if name not in self.missing and found.get(name) != tag]
            self.missing.update(lost)
            self.lost += len(lost)
            for name in sorted(self.missing & set(found)):
                self.missing.remove(name)
                self.brought_back += 1
                self.tags[name] = found[name]
        self.cluster.report_lost(sorted(lost), when)

    def add_told(self, names):
        """Saves that a relay told their writer to be lost; another promotion may have prevented
        the comparison."""
        with self.lock:
            unknown = [name for name in names if name not in self.missing]
            self.missing.update(unknown)
            self.lost += len(unknown)


class FailoverCluster(Cluster):
    def make_relays(self):
        self.nodes = Nodes(self.folder, not self.options.asynchronous)
        self.database = ReplicatedDatabase(self.nodes, self.run_log)
        self.nodes.make()
        self.run_log.info(f"the nodes are ready, and {self.nodes.leader().name} leads")
        self.newest_tokens = FailoverTokens(self.run_log)
        self.watch = PromotionWatch(self)
        # Times without an acknowledged save, in seconds.
        self.pauses, self.last_save = [], None
        self.pause_lock = threading.Lock()
        self.promotions_checked = 0
        # Saves that another relay lacked, with the time.
        self.absences = []
        # Relays try the nodes in different orders: if two lead, they may use both.
        self.launch_relays([self.nodes.url(number) for number in range(self.options.relays)])

    def make(self):
        super().make()
        self.watch.start()

    def make_writer(self, *words):
        return RestoringWriter(self, *words)

    def make_follower(self, *words):
        return RestoringFollower(self, *words)

    def make_stored(self, account, token):
        return FailoverRecords(account, token, self.relays)

    def saved(self, name, tag):
        """Called for each acknowledged save."""
        self.watch.add(name, tag)
        now = time.monotonic()
        with self.pause_lock:
            pause = now - (self.last_save or now)
            if pause > PAUSE_SECONDS and self.gate.is_open.is_set():
                self.pauses.append(pause)
            self.last_save = now

    def report_returned(self, words):
        """In asynchronous mode, a device may bring back what another one had removed."""
        if self.options.asynchronous:
            self.run_log.count("removed by a person, and brought back after a loss")
        else:
            super().report_returned(words)

    def report_lost(self, names, when):
        """Acknowledged saves are not in the database."""
        if not names:
            return
        words = f"{when}: {len(names)} acknowledged saves are lost, as {names[:3]}"
        if self.nodes.is_synchronous:
            self.run_log.violation(words)
        else:
            self.run_log.info(words)

    def report_missing(self, words):
        """A relay lacked a save just after another one had acknowledged it."""
        if self.nodes.is_synchronous:
            self.run_log.order_violation(words)
        else:
            self.absences.append((time.monotonic(), words))

    # MARK: idle state

    def wait_until_idle(self, when):
        self.gate.is_open.clear()
        with self.pause_lock:
            self.last_save = None
        self.database.start()
        for writer in self.writers.all:
            writer.asks_what_is_lost = True
        wait_until(
            lambda: not any(writer.asks_what_is_lost or writer.returning
                            for writer in self.writers.all),
            f"{when}: writers did not learn what is lost, or could not save it", IDLE_SECONDS)
        super().wait_until_idle(when)

    def check_saves(self, when):
        leader = self.nodes.leader()
        if leader:
            self.watch.compare(leader, when)
        promotions = sum(node.promotions() for node in self.nodes.all)
        if self.options.asynchronous and promotions != self.promotions_checked:
            self.accept_new_tags()
        self.promotions_checked = self.run_log.counts["promotions"] = promotions
        self.check_generations(when, promotions)
        self.check_absences()
        super().check_saves(when)
        with self.watch.lock:
            self.run_log.counts["acknowledged saves that the database lost"] = self.watch.lost
            self.run_log.counts["of these brought back by devices"] = self.watch.brought_back
            missing = sorted(self.watch.missing)
        if missing:
            self.run_log.violation(f"{when}: {len(missing)} saves that the database lost did not "
                                   f"come back, as {missing[:3]}")
        with self.pause_lock:
            pauses = sorted(self.pauses)
        if pauses:
            self.run_log.counts["milliseconds without an acknowledged save, at most"] = int(
                1000 * pauses[-1])
            self.run_log.counts["milliseconds without an acknowledged save, median"] = int(
                1000 * statistics.median(pauses))

    def accept_new_tags(self):
        """What devices have brought back has new tags, and lost increments are gone."""
        for account, stored in self.writers.stored.items():
            stored.read_all(self.relays)
            tags = stored.by_relay[self.relay.name].tags
            writers = self.writers.of(account)
            for writer in writers:
                stored.expected.update(writer.drain_saved())
            for name in stored.expected:
                stored.expected[name] = tags.get(name, stored.expected[name])
            added = sum(writer.added for writer in writers)
            counter = stored.by_relay[self.relay.name].counter
            lost = added - counter
            for each in stored.by_relay.values():
                each.counted_before = lost
            for writer in writers:
                writer.seen = (counter, tags.get(COUNTER, 0))

    def check_absences(self):
        """In asynchronous mode, a promotion explains them."""
        absences, self.absences = self.absences, []
        for moment, words in absences:
            if any(abs(moment - promoted) < PROMOTION_SECONDS for promoted in self.watch.times):
                self.run_log.count("saves that a relay lacked, around a promotion")
            else:
                self.run_log.order_violation(words)

    def check_generations(self, when, promotions):
        for account, known in sorted(self.newest_tokens.generations.items()):
            if len(known) > 1 + promotions:
                self.run_log.order_violation(f"{when}: {account} had {len(known)} generations "
                                             f"after {promotions} promotions")
