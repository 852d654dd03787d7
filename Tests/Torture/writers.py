"""Devices without an app: they save over HTTP as fast as they can, and record each answer.

A batch is sent again, with the same id, until it is acknowledged. Regularly a writer adds one to a
shared counter record, based on the version that it saw: the counter must equal the number of
acknowledged increments.
"""

import http.client
import json
import threading
import uuid

ZONE = "Rounds"
COUNTER = "counter"
# Statuses that ask for a later retry.
LATER = (408, 429, 503)


class Writer(threading.Thread):
    """One device."""

    def __init__(self, number, account, device, token, route, run_log, gate, pause, rng):
        super().__init__(daemon=True, name=f"writer {number}")
        self.number, self.account, self.device, self.token = number, account, device, token
        # Address of its relay; it may change during the run.
        self.route, self.run_log, self.gate, self.pause, self.rng = route, run_log, gate, pause, rng
        # Saves acknowledged since the last check, with the tags in the answers.
        self.saved, self.lock = {}, threading.Lock()
        self.count, self.added, self.total = 0, 0, 0
        self.pending = None
        # The counter as last seen: its value and its tag.
        self.seen = (0, 0)
        self.connection = None
        self.is_idle = threading.Event()
        # Records and increments of which no answer said if they were saved.
        self.uncertain, self.uncertain_counts = set(), 0

    def run(self):
        try:
            self.write()
        except Exception as fault:  # A writer must keep writing.
            self.run_log.violation(f"writer {self.number}: {type(fault).__name__}: {fault}")
        self.is_idle.set()
        self.close()

    def write(self):
        while not self.gate.is_over and not self.run_log.has_too_many_violations:
            if not self.gate.is_open.is_set() and not self.has_work():
                self.is_idle.set()
                self.gate.is_open.wait(0.2)
                continue
            self.is_idle.clear()
            try:
                if self.save():
                    self.gate.over.wait(self.pause * self.rng.uniform(0.5, 1.5))
                    continue
            except (OSError, http.client.HTTPException, ValueError):
                self.run_log.count("answers to writers that were cut off")
            self.close()
            self.gate.over.wait(self.rng.uniform(0.02, 0.3))

    def has_work(self):
        """True if something must be sent even if no further edits are made."""
        return self.pending is not None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def batch(self):
        self.count += 1
        names = [f"w{self.number}-{self.count}-{k}" for k in range(1 + self.count % 3)]
        records = [
            {"name": name, "type": "Round", "fields": {"n": self.count}, "modifiedAt": 1,
             "baseTag": 0} for name in names]
        if self.count % 8 == 0:
            value, tag = self.seen
            records.append(
                {"name": COUNTER, "type": "Round", "fields": {"n": value + 1}, "modifiedAt": 1,
                 "baseTag": tag})
        return {"id": str(uuid.uuid4()), "records": records}

    def save(self):
        """Sends the pending batch, or a new one; returns False if it must be sent again later."""
        self.pending = self.pending or self.batch()
        if not self.connection:
            self.connection = http.client.HTTPConnection(*self.route(), timeout=15)
        self.connection.request(
            "POST", f"/v1/zones/{ZONE}/records", json.dumps(self.pending),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        status, body = answer.status, json.loads(answer.read())
        if status == 410 and body.get("code") == "storeRestored":
            # The save was based on a lost version; the next conflict returns the current one.
            self.run_log.count("saves made on what was lost, and made anew")
            self.pending, self.seen = None, (0, 0)
            return False
        if status != 200:
            if status not in LATER:
                self.run_log.violation(f"writer {self.number} was answered {status} {body}")
            self.run_log.count(f"saves answered {status}")
            return False
        self.apply_answer(body)
        return True

    def apply_answer(self, body):
        with self.lock:
            for sent, result in zip(self.pending["records"], body["results"]):
                if sent["name"] == COUNTER:
                    self.apply_counter(sent, result)
                elif "tag" in result:
                    self.apply_saved(sent, result["tag"])
                else:
                    self.apply_conflict(sent, result)
            self.pending = None

    def apply_saved(self, sent, tag):
        self.saved[sent["name"]] = tag
        self.total += 1

    def apply_conflict(self, sent, result):
        self.run_log.violation(f"writer {self.number}: {sent} was answered {result}")

    def apply_counter(self, sent, result):
        if "tag" in result:
            self.added += 1
            self.total += 1
            self.seen = (sent["fields"]["n"], result["tag"])
            return
        theirs = result.get("conflict")
        if theirs is None:
            self.run_log.violation(f"writer {self.number}: {sent} was answered {result}")
            return
        self.run_log.count("conflict: a writer's count was out of date, and was made anew")
        self.seen = ((theirs["fields"] or {"n": 0})["n"], theirs["tag"])

    def drain_saved(self):
        """Returns the saves acknowledged since the last call."""
        with self.lock:
            saved, self.saved = self.saved, {}
            return saved


class StoredRecords:
    """Writers' records of an account, read incrementally from check to check."""

    def __init__(self, account, token):
        self.account, self.token = account, token
        self.tags, self.since, self.counter = {}, None, 0
        # Number of increments lost with a relay that was restored from a backup.
        self.counted_before = 0
        self.expected = {}
        # Saves that no device held when an old copy was restored; another copy may still contain
        # them.
        self.forgotten = set()
        self.lost, self.duplicated = set(), set()
        # Order violations since the last check, as text.
        self.order_violations = []

    def read(self, relay):
        """Reads all changes since the last read."""
        newest = 0
        while True:
            path = "/v1/changes?limit=1000" + (f"&since={self.since}" if self.since else "")
            status, page = relay.call("GET", path, token=self.token)
            if status != 200 and self.since and self.begins_again(status, page):
                self.reset()
                newest = 0
                continue
            if status != 200:
                raise ConnectionError(f"{path} was answered {status} {page}")
            for record in page["changes"]:
                if record["tag"] <= newest:
                    self.order_violations.append(f"tag {record['tag']} was read after {newest}")
                newest = record["tag"]
                if record["zone"] != ZONE:
                    continue
                self.tags[record["name"]] = record["tag"]
                if record["name"] == COUNTER:
                    self.counter = record["fields"]["n"]
            self.since = page["token"]
            if not page["more"]:
                return

    def begins_again(self, status, problem):
        """True if the position was lost, and that is expected."""
        return False

    def reset(self):
        """Starts again without a token, as a new client does."""
        self.tags, self.since, self.counter = {}, None, 0

    def check(self, writers, run_log, when):
        """Compares the contents with the acknowledged saves."""
        for words in self.order_violations:
            run_log.order_violation(f"{when}: {words}, of {self.account}")
        self.order_violations = []
        for writer in writers:
            self.expected.update(writer.drain_saved())
        here = set(self.tags) - {COUNTER}
        for name, tag in self.expected.items():
            if self.tags.get(name) != tag and name not in self.lost:
                self.lost.add(name)
                run_log.violation(f"{when}: the save {name} of {self.account} was told tag {tag}, "
                                  f"and there is {self.tags.get(name)}")
        uncertain = set().union(*(writer.uncertain for writer in writers))
        for name in sorted(here - set(self.expected) - uncertain)[:5]:
            run_log.violation(
                f"{when}: {name} of {self.account} is there, and no writer was told so")
        if len(set(self.tags.values())) != len(self.tags):
            self.duplicated.add(when)
            run_log.violation(f"{when}: a tag of {self.account} stands twice")
        added = sum(writer.added for writer in writers) - self.counted_before
        uncertain = sum(writer.uncertain_counts for writer in writers)
        if not added <= self.counter <= added + uncertain:
            run_log.violation(
                f"{when}: {self.account} was counted up {added} times, to {self.counter}")


class Writers:
    """All writers, by account."""

    def __init__(self):
        self.all, self.stored = [], {}

    def of(self, account):
        return [each for each in self.all if each.account == account]

    def totals(self):
        here = sum(len(stored.expected) - len(stored.lost) for stored in self.stored.values())
        return {"acknowledged": sum(each.total for each in self.all),
                "of these to counters": sum(each.added for each in self.all),
                "present with the tags told": here,
                "lost": sum(len(stored.lost) for stored in self.stored.values()),
                "duplicated": sum(len(stored.duplicated) for stored in self.stored.values())}
