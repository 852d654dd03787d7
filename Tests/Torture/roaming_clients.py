"""Devices that change relays: data reported by one relay must be present on every other."""

import http.client
import json
import threading
import time

from newest_tokens import position
from writers import COUNTER, LATER, ZONE, Writer

# Timeout of requests to a relay that may be frozen, so that its clients can continue with others.
ASK_SECONDS = 6
# Maximum duration of a long-poll; a client that is not woken polls again then.
WAIT_SECONDS = 50
FAULTS = (OSError, http.client.HTTPException, ValueError)


class RoamingWriter(Writer):
    """A writer that changes its relay every few saves, and sometimes immediately reads from another
    relay what it has just saved. `cluster`: the relays, and the reported tokens."""

    def __init__(self, cluster, *words):
        super().__init__(*words)
        self.cluster = cluster
        self.saves_left, self.relay, self.answer, self.before = 0, None, None, None

    def save(self):
        if self.saves_left <= 0:
            self.change_relay()
        self.before = self.cluster.newest_tokens.floor(self.account)
        if self.cluster.should_sabotage(self):
            self.before = (self.before[0], self.before[1] + 1_000_000)
        sent = self.pending
        if not super().save():
            return False
        self.saves_left -= 1
        self.check_answer(sent)
        return True

    def close(self):
        super().close()
        self.saves_left = 0

    def change_relay(self):
        """Connects directly to a relay, or through the proxy, which picks one."""
        self.close()
        self.saves_left = self.rng.randint(1, 8)
        relay = self.rng.choice(self.cluster.relays)
        by_proxy = self.rng.random() < 0.5
        self.relay = None if by_proxy else relay
        self.route = lambda: (("127.0.0.1", self.cluster.proxy.port) if by_proxy
                              else (relay.address, relay.port))

    def apply_answer(self, body):
        super().apply_answer(body)
        self.answer = body

    def check_answer(self, again):
        """Compares the answer with the tokens reported earlier, and sometimes with the answers of
        other relays. `again`: the batch, if it had been sent before."""
        answer, newest = self.answer, self.cluster.newest_tokens
        who = f"writer {self.number}"
        newest.check(self.account, self.before, answer["since"], who)
        newest.check(self.account, self.before, answer["token"], who)
        own = {result["name"]: result["tag"] for result in answer["results"]
               if "tag" in result and result["name"] != COUNTER}
        last = position(answer["token"])[1]
        for result in answer["results"]:
            if "tag" not in result:
                continue
            if result["tag"] > last or (not again
                                        and result["tag"] <= position(answer["since"])[1]):
                self.run_log.order_violation(
                    f"{who} was told the tag {result['tag']} between the tokens "
                    f"{answer['since']} and {answer['token']}")
        if own and self.rng.random() < 0.2:
            others = [relay for relay in self.cluster.relays if relay is not self.relay]
            relay = self.rng.choice(others or self.cluster.relays)
            self.check_other_relay(relay, None if again else answer["since"], own)

    def check_other_relay(self, relay, since, own):
        """Reads from another relay, immediately, what was just acknowledged."""
        try:
            if since and self.rng.random() < 0.5:
                tags = self.changes(relay, since)
            else:
                name = self.rng.choice(sorted(own))
                path = f"/v1/zones/{ZONE}/records/{name}"
                own = {name: own[name]}
                status, record = relay.call("GET", path, None, self.token, ASK_SECONDS)
                tags = None if status in LATER else {name: record.get("tag")}
                self.is_expected(status, (200, 404), record)
        except FAULTS:
            tags = None
        if tags is None:
            self.run_log.count("saves asked of another relay, which could not answer")
            return
        for name, tag in own.items():
            if tags.get(name) != tag:
                self.report_missing(
                    f"writer {self.number} was told {name} with tag {tag}, and "
                    f"{relay.name} gave it with {tags.get(name)} after that")
        self.run_log.count("saves asked of another relay at once, and there",
                           sum(tags.get(name) == tag for name, tag in own.items()))

    def report_missing(self, words):
        self.run_log.order_violation(words)

    def is_expected(self, status, expected, body):
        if status not in expected and status not in LATER:
            self.run_log.violation(f"writer {self.number} asked, and was answered {status} {body}")
        return status in expected

    def changes(self, relay, since):
        """Tags of all changes since `since` on that relay; None if it cannot answer."""
        tags, before = {}, self.cluster.newest_tokens.floor(self.account)
        while True:
            status, page = relay.call(
                "GET", f"/v1/changes?since={since}", None, self.token, ASK_SECONDS)
            if status in LATER or not self.is_expected(status, (200,), page):
                return None
            tags.update({record["name"]: record["tag"] for record in page["changes"]
                         if record["zone"] == ZONE})
            since = page["token"]
            if not page["more"]:
                self.cluster.newest_tokens.check(self.account, before, since,
                                                 f"who asked {relay.name}")
                return tags


class Follower(threading.Thread):
    """Follows an account by long-poll, with pages from changing relays. It must receive all changes
    in order, each within a short time."""

    def __init__(self, cluster, account, token, rng):
        super().__init__(daemon=True, name=f"follower of {account}")
        self.cluster, self.account, self.token, self.rng = cluster, account, token, rng
        self.run_log, self.gate = cluster.run_log, cluster.gate
        self.since, self.tags, self.pages_left = None, {}, 0
        self.connection = None

    def run(self):
        while not self.gate.is_over and not self.run_log.has_too_many_violations:
            try:
                if self.read():
                    self.gate.over.wait(self.rng.uniform(0, 0.2))
                    continue
            except FAULTS:
                self.run_log.count("answers to followers that were cut off")
            except Exception as fault:  # A follower must keep reading.
                self.run_log.violation(f"{self.name}: {type(fault).__name__}: {fault}")
            self.close()
            self.gate.over.wait(self.rng.uniform(0.05, 0.5))
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection, self.pages_left = None, 0

    def read(self):
        if self.pages_left <= 0:
            self.close()
            self.pages_left = self.rng.randint(1, 6)
            relay = self.rng.choice(self.cluster.relays)
            host, port = self.rng.choice(
                [(relay.address, relay.port), ("127.0.0.1", self.cluster.proxy.port)])
            self.connection = http.client.HTTPConnection(host, port, timeout=WAIT_SECONDS + 10)
        self.pages_left -= 1
        path = f"/v1/changes?limit={self.rng.choice([7, 100, 1000])}&wait={WAIT_SECONDS}"
        before = self.cluster.newest_tokens.floor(self.account)
        self.connection.request("GET", path + (f"&since={self.since}" if self.since else ""),
                                headers={"Authorization": f"Bearer {self.token}"})
        answer = self.connection.getresponse()
        status, page = answer.status, json.loads(answer.read())
        if status != 200:
            self.refuse(status, page)
            return False
        self.apply_answer(page, before)
        return True

    def refuse(self, status, problem):
        if status not in LATER:
            self.run_log.violation(f"{self.name} was answered {status} {problem}")

    def apply_answer(self, page, before):
        last = position(self.since)[1] if self.since else 0
        for record in page["changes"]:
            if record["tag"] <= last:
                self.run_log.order_violation(
                    f"{self.name} was told the tag {record['tag']} after {last}")
            last = record["tag"]
            if record["zone"] == ZONE:
                self.tags[record["name"]] = record["tag"]
        if page["more"]:
            self.since = page["token"]
            return
        if last > position(page["token"])[1]:
            self.run_log.order_violation(
                f"{self.name} was told the tag {last} before {page['token']}")
        self.cluster.newest_tokens.check(self.account, before, page["token"], self.name)
        self.since = page["token"]

    def wait_for(self, sequence, seconds):
        """True if the follower reaches this sequence within `seconds`."""
        end = time.monotonic() + seconds
        while self.since is None or position(self.since)[1] < sequence:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True
