"""Clients whose operations are recorded for outside checkers (scripts/histories): several devices
of one account save, delete and read the same few records, by any relay, and others follow the
account's changes."""

import http.client
import json
import random
import threading
import uuid

from history_file import HistoryFile, now

ACCOUNT, WRITERS = "history", 5
# Names of records in a zone. After this many operations the clients go on in the next zone, so that
# the work of the checkers per record is bounded.
NAMES, OPERATIONS_PER_ZONE = [f"r{number}" for number in range(6)], 400
# Seconds: pause between operations of a client, timeout of a request, and the time after which a
# client gives up a save, whose outcome is unknown then.
PAUSE, REQUEST_SECONDS, RETRY_SECONDS = 0.06, 8, 40
# Seconds of a long-poll and of silence on a stream, after which its client connects again.
POLL_SECONDS, STREAM_SECONDS = 10, 30
# Seconds until followers must have all changes at the end of a run.
END_SECONDS = 60
FAULTS = (OSError, http.client.HTTPException, ValueError)
RESTORED = ("storeRestored", "badChangeToken", "tokenExpired")


def version(record):
    """A record as it stands in a history; its value is null if it is deleted."""
    fields = record.get("fields") or {}
    return {"zone": record["zone"], "name": record["name"], "tag": record["tag"],
            "value": None if record.get("deleted") else fields.get("v")}


class HistoryClient(threading.Thread):
    """One device, which sends one request after another on connections to changing relays."""

    def __init__(self, recording, name, token, rng):
        super().__init__(daemon=True, name=name)
        self.recording, self.token, self.rng = recording, token, rng
        self.system, self.history = recording.system, recording.history
        self.gate, self.run_log = self.system.gate, self.system.run_log
        self.is_idle = threading.Event()
        self.connection, self.relay, self.requests_left = None, "", 0

    def run(self):
        try:
            while not self.gate.is_over and not self.history.is_full:
                self.work()
        except Exception as fault:  # Recorded as a violation: a client must go on.
            self.run_log.violation(f"{self.name}: {type(fault).__name__}: {fault}")
        self.is_idle.set()
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection, self.requests_left = None, 0

    def connect(self, seconds):
        """Selects a relay, or the line in front of all, for some requests."""
        self.close()
        self.requests_left = self.rng.randint(1, 12)
        relay = self.rng.choice(self.system.relays)
        if len(self.system.relays) > 1 and self.rng.random() < 0.6:
            self.relay, place = relay.name, (relay.address, relay.port)
        else:
            self.relay, place = "line", self.system.route(self.rng.randrange(2))
        self.connection = http.client.HTTPConnection(*place, timeout=seconds)

    def ask(self, method, path, body=None, seconds=REQUEST_SECONDS):
        """Status and JSON of the answer; raises one of FAULTS if there is none, or a part."""
        if self.requests_left <= 0:
            self.connect(seconds)
        self.requests_left -= 1
        try:
            self.connection.timeout = seconds
            if self.connection.sock:
                self.connection.sock.settimeout(seconds)
            self.connection.request(
                method, path, json.dumps(body) if body is not None else None,
                {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            answer = self.connection.getresponse()
            # A head that is cut off reads like a whole one with fewer fields, and no body.
            if answer.getheader("Content-Length") is None:
                raise ValueError("the head of an answer was cut off")
            return answer.status, json.loads(answer.read())
        except FAULTS:
            self.close()
            raise

    def get(self, path, expected=(200,), seconds=REQUEST_SECONDS):
        """Status and answer of a read; a status of None if there is none to use."""
        try:
            status, body = self.ask("GET", path, seconds=seconds)
        except FAULTS:
            return None, {}
        if status in expected:
            return status, body
        if status not in (408, 410, 429, 503):
            self.run_log.violation(f"{self.name}: {path} was answered {status} {body}")
        return None, body

    def add(self, operation, begun, outcome, **members):
        self.history.add(self.name, operation, begun, outcome, **members)


class HistoryWriter(HistoryClient):
    """Saves with base tags, alone and in batches, deletes and reads."""

    def __init__(self, *words):
        super().__init__(*words)
        self.count = 0
        # Tags of the records as last seen, by zone and name.
        self.known = {}

    def work(self):
        if not self.gate.is_open.is_set():
            self.is_idle.set()
            self.gate.is_open.wait(0.2)
            return
        self.is_idle.clear()
        self.zone = self.recording.zone()
        self.rng.choices([self.save, self.read, self.list], [6, 3, 1])[0]()
        self.gate.over.wait(PAUSE * self.rng.uniform(0.3, 1.7))

    def base(self, name):
        """Mostly the tag that was seen last; rarely none, or any version."""
        return self.rng.choices(
            [self.known.get((self.zone, name), 0), 0, "any"], [24, 1, 1])[0]

    def batch(self):
        self.count += 1
        kind = self.rng.choices(["single", "atomic", "several"], [6, 4, 1])[0]
        names = self.rng.sample(NAMES, 1 if kind == "single" else self.rng.randint(2, 4))
        records = []
        for position, name in enumerate(names):
            if self.rng.random() < 0.08:
                record = {"name": name, "deleted": True}
            else:
                record = {"name": name, "type": "Register",
                          "fields": {"v": f"{self.name}.{self.count}.{position}"}}
            records.append({**record, "baseTag": self.base(name)})
        return {"id": str(uuid.uuid4()), "atomic": kind != "several", "records": records}

    def save(self):
        """Sends a batch until it is answered, or for some time; then its outcome is unknown."""
        zone, batch, begun, attempts = self.zone, self.batch(), now(), 0
        patience = self.rng.choice([0, RETRY_SECONDS])
        body = None
        while body is None and not self.gate.is_over:
            attempts += 1
            try:
                status, body = self.ask("POST", f"/v1/zones/{zone}/records", batch)
            except FAULTS:
                status, body = None, None
            if status not in (200, 409, 410):
                if status not in (None, 408, 429, 503):
                    self.run_log.violation(f"{self.name}: a save was answered {status} {body}")
                body = None
                if now() - begun > patience * 1_000_000:
                    break
                self.gate.over.wait(self.rng.uniform(0.05, 0.5))
        sent = [{"name": record["name"], "base": record["baseTag"],
                 "value": record.get("fields", {}).get("v")} for record in batch["records"]]
        self.record_save(zone, begun, attempts, batch["atomic"], sent, body)

    def record_save(self, zone, begun, attempts, is_atomic, sent, body):
        members = {"zone": zone, "relay": self.relay, "atomic": is_atomic, "attempts": attempts,
                   "records": sent}
        if body is None:
            self.add("save", begun, "unknown", **members)
            return
        if "results" not in body:
            # The whole batch was refused; the tags that were seen may be lost.
            self.known.clear()
            self.add("save", begun, "refused", code=body.get("code"), **members)
            return
        results = []
        for result in body["results"]:
            if "tag" in result:
                results.append({"name": result["name"], "tag": result["tag"]})
                self.known[zone, result["name"]] = result["tag"]
            elif "conflict" in result:
                current = version({**result["conflict"], "zone": zone, "name": result["name"]})
                results.append({"name": result["name"], "conflict": current})
                self.learn(current)
            else:
                results.append({"name": result["name"], "error": result["error"]["code"]})
        self.add("save", begun, "answered", results=results, since=body["since"],
                 token=body["token"], **members)

    def learn(self, current):
        """The base for the next change; a deleted record counts as none."""
        place = (current["zone"], current["name"])
        self.known[place] = current["tag"] if current["value"] is not None else 0

    def read(self):
        zone, name, begun = self.zone, self.rng.choice(NAMES), now()
        status, body = self.get(f"/v1/zones/{zone}/records/{name}", (200, 404))
        if status is None:
            return
        current = version(body) if status == 200 else None
        self.learn(current or {"zone": zone, "name": name, "tag": 0, "value": None})
        self.add("read", begun, "read", relay=self.relay, zone=zone, name=name, record=current)

    def list(self):
        """All records of the zone, as of one moment."""
        zone, begun = self.zone, now()
        status, body = self.get(f"/v1/zones/{zone}/records")
        if status is None or body["more"]:
            return
        records = [version(record) for record in body["records"]]
        present = {record["name"] for record in records}
        for record in records + [{"zone": zone, "name": name, "tag": 0, "value": None}
                                 for name in NAMES if name not in present]:
            self.learn(record)
        self.add("list", begun, "read", relay=self.relay, zone=zone, names=NAMES, records=records)


class HistoryFollower(HistoryClient):
    """Follows the account by its cursor: by long-poll, with pages of different sizes."""

    def __init__(self, *words):
        super().__init__(*words)
        self.since, self.tags = None, {}

    def work(self):
        self.is_idle.set()
        if not self.fetch(POLL_SECONDS):
            self.gate.over.wait(self.rng.uniform(0.05, 0.5))

    def fetch(self, wait):
        """One page; returns False if there was no answer."""
        begun, since = now(), self.since
        limit = self.rng.choice([3, 50, 1000])
        path = f"/v1/changes?limit={limit}" + (f"&since={since}" if since else f"&wait={wait}")
        if since and not self.rng.randrange(3):
            path += f"&wait={wait}"
        status, page = self.get(path, seconds=POLL_SECONDS + REQUEST_SECONDS)
        if status is None:
            if page.get("code") in RESTORED:
                # This device lost its place; a new one begins with a snapshot.
                self.run_log.count("history followers that began again after a failover")
                self.since, self.tags = None, {}
            return False
        self.apply("changes", begun, page)
        return True

    def apply(self, operation, begun, page):
        records = [version(record) for record in page["changes"]]
        self.add(operation, begun, "read", relay=self.relay, since=self.since,
                 token=page["token"], more=page["more"], records=records)
        self.since = page["token"]
        for record in records:
            self.tags[record["zone"], record["name"]] = record["tag"]

    def has(self, newest):
        return max(self.tags.values(), default=0) >= newest


class HistoryListener(HistoryFollower):
    """Follows the account by server-sent events; after a hint or a gap it fetches."""

    def work(self):
        self.is_idle.set()
        if self.since is None:
            if not self.fetch(0):
                self.gate.over.wait(self.rng.uniform(0.05, 0.5))
            return
        try:
            self.listen()
        except FAULTS:
            pass
        self.close()
        self.gate.over.wait(self.rng.uniform(0.05, 0.5))

    def listen(self):
        self.connect(STREAM_SECONDS)
        self.connection.request("GET", f"/v1/events?since={self.since}", None,
                                {"Authorization": f"Bearer {self.token}"})
        answer = self.connection.getresponse()
        if answer.status != 200:
            if json.loads(answer.read()).get("code") in RESTORED:
                self.since, self.tags = None, {}
            return
        relay, kind = self.relay, ""
        while not self.gate.is_over and (line := answer.readline()):
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            kind = value if name == "event" else kind
            if name != "data":
                continue
            page = json.loads(value)
            self.relay = relay
            if kind == "changes" and page["since"] == self.since:
                self.apply("push", now(), page)
            elif kind in ("changes", "changed"):
                return self.fetch_rest()
            else:
                return None
        return None

    def fetch_rest(self):
        """Reads what is missing; the stream is opened again after it."""
        self.close()
        while not self.gate.is_over and self.fetch(0):
            if self.rng.random() < 0.7:
                return


class Recording:
    """The history of a run, and its clients."""

    def __init__(self, system, path):
        self.system = system
        options = system.options
        self.history = HistoryFile(path, {
            "store": "patroni" if options.patroni else "postgres" if options.postgres else "folder",
            "relays": len(system.relays), "account": ACCOUNT, "seed": options.seed,
            "names": NAMES})
        device = {"deviceName": "history", "platform": "test", "appVersion": "1"}
        token = system.call("POST", "/v1/accounts", device)["token"]
        self.token, self.clients = token, []
        kinds = [HistoryWriter] * WRITERS + [HistoryFollower, HistoryListener]
        for number, kind in enumerate(kinds, 1):
            if number > 1:
                code = system.call("POST", "/v1/pairings", {}, self.token)["code"]
                token = system.call("POST", "/v1/devices", {"code": code, **device})["token"]
            rng = random.Random(f"{options.seed} h{number}")
            self.clients.append(kind(self, f"h{number}", token, rng))

    def zone(self):
        """The zone that all writers use now."""
        return f"z{self.history.count // OPERATIONS_PER_ZONE}"

    def start(self):
        for client in self.clients:
            client.start()

    def finish(self):
        """While everything is idle: reads the whole account from each relay, waits until the
        followers have it all, and ends the history."""
        newest = 0
        for relay in self.system.relays:
            newest = max(newest, self.read_all(relay))
        followers = [each for each in self.clients if isinstance(each, HistoryFollower)]
        end = now() + END_SECONDS * 1_000_000
        while not all(each.has(newest) for each in followers) and now() < end:
            self.system.gate.over.wait(0.1)
        self.history.close(True)

    def read_all(self, relay):
        """A snapshot of the account by this relay; returns its greatest tag."""
        since, newest = None, 0
        while True:
            begun = now()
            path = "/v1/changes?limit=1000" + (f"&since={since}" if since else "")
            status, page = relay.call("GET", path, token=self.token)
            if status != 200:
                raise ConnectionError(f"{path} was answered {status} {page}")
            records = [version(record) for record in page["changes"]]
            self.history.add(f"end of {relay.name}", "changes", begun, "read", relay=relay.name,
                             since=since, token=page["token"], more=page["more"], records=records)
            newest = max([newest, *(record["tag"] for record in records)])
            since = page["token"]
            if not page["more"]:
                return newest

    def end(self):
        """After the run is over; a history that was not finished has no last line."""
        for client in self.clients:
            if client.ident:
                client.join(REQUEST_SECONDS)
        self.history.close(False)
