"""Devices of a database that may lose its last commits: they keep their saves, and save again what
was lost (docs/protocol.md, "An invalid cursor")."""

from newest_tokens import position
from roaming_clients import ASK_SECONDS, Follower, RoamingWriter
from writers import COUNTER, LATER, ZONE

# Codes of refused positions in a history that was lost.
RESTORED = ("storeRestored", "badChangeToken")
# Records saved again at once.
PORTION = 50
# Generations of which saves may still be found to be lost.
GENERATIONS_MAX = 8


def is_restored(status, problem):
    return status in (400, 410) and problem.get("code") in RESTORED


class RestoringWriter(RoamingWriter):
    """A writer that asks after each change of the generation, and in every idle period, how far the
    database went back."""

    def __init__(self, cluster, *words):
        super().__init__(cluster, *words)
        # Generation, tag and content of each acknowledged save.
        self.held = {}
        # The newest token that was told in each of the last generations.
        self.tokens, self.asks_what_is_lost = {}, False
        # Names of saves that the database lost.
        self.returning = set()
        self.generation = ""

    def has_work(self):
        return bool(self.pending or self.returning or self.asks_what_is_lost)

    def save(self):
        if self.asks_what_is_lost and not self.pending:
            self.ask_what_is_lost()
            if not self.gate.is_open.is_set() and not self.returning:
                return True
        known = self.pending
        is_saved = super().save()
        if known and not is_saved and self.pending is None:
            self.add_uncertain(known)
        return is_saved

    def ask_what_is_lost(self):
        """Raises an OSError if the relay cannot answer."""
        relay = self.rng.choice(self.cluster.relays)
        for generation, token in list(self.tokens.items()):
            status, page = relay.call(
                "GET", f"/v1/changes?limit=1&since={token}", None, self.token, ASK_SECONDS)
            if is_restored(status, page):
                after, through = page.get("restoredThrough", 0), page.get("lostThrough", 1 << 53)
                lost = {name for name, (known, tag, _) in self.held.items()
                        if known == generation and after < tag <= through}
                self.returning |= lost
                self.cluster.watch.add_told(lost)
                self.cluster.report_lost(
                    sorted(lost), f"writer {self.number} was told {page['token']} of {generation}")
            elif status != 200:
                raise ConnectionError(f"the relay answered {status}")
        self.asks_what_is_lost = False

    def add_uncertain(self, batch):
        for record in batch["records"]:
            if record["name"] == COUNTER:
                self.uncertain_counts += 1
            else:
                self.uncertain.add(record["name"])

    def batch(self):
        if not self.returning:
            return super().batch()
        batch = super().batch()
        names = sorted(self.returning)[:PORTION]
        batch["records"] = [
            {"name": name, "type": "Round", "fields": {"n": self.held[name][2]}, "modifiedAt": 1,
             "baseTag": 0} for name in names]
        return batch

    def apply_saved(self, sent, tag):
        name = sent["name"]
        if name in self.returning:
            self.returning.discard(name)
            self.total -= 1
            self.run_log.count("saves that their writers brought back")
        super().apply_saved(sent, tag)
        self.held[name] = (self.generation, tag, sent["fields"]["n"])
        self.cluster.saved(name, tag)

    def apply_conflict(self, sent, result):
        theirs = result.get("conflict")
        if not theirs or (theirs.get("fields") or {}).get("n") != sent["fields"]["n"]:
            super().apply_conflict(sent, result)
            return
        self.run_log.count("saves that another device had brought back before their writer")
        self.apply_saved(sent, theirs["tag"])

    def apply_answer(self, body):
        self.generation = position(body["token"])[0]
        if self.generation not in self.tokens:
            # The tokens of the former ones say how far the database went back.
            self.asks_what_is_lost = bool(self.tokens)
        self.tokens[self.generation] = body["token"]
        while len(self.tokens) > GENERATIONS_MAX:
            del self.tokens[next(iter(self.tokens))]
        super().apply_answer(body)

    def report_missing(self, words):
        self.cluster.report_missing(words)

    def is_expected(self, status, expected, body):
        if is_restored(status, body):
            return False
        return super().is_expected(status, expected, body)


class RestoringFollower(Follower):
    """A follower that reads a snapshot if its position was lost."""

    def apply_answer(self, page, before):
        # The last page of a snapshot contains what was there when the first one was read.
        if self.since is None:
            self.at_snapshot = before
        is_snapshot = self.since is None or ".p" in self.since
        super().apply_answer(page, self.at_snapshot if is_snapshot else before)

    def refuse(self, status, problem):
        if not is_restored(status, problem):
            super().refuse(status, problem)
            return
        self.run_log.count("followers that began again after a failover")
        self.since, self.tags = None, {}
