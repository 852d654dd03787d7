"""Comparison at rest: the contents of every home and of the relay with each other, and with the
outcomes reported to people."""

import json
import os
import shutil
import subprocess
import time

from ledger import MADE, REFUSED, UNKNOWN
from people import ITEM, LINE, MEMO, TITLE
from program import Trouble

# A push may still be under way after a device reported that it is in sync.
PATIENCE_SECONDS = 40


def compare(world, when):
    """Every home of an account must hold the same records as the relay, and every acknowledged
    edit."""
    found = {}
    for account, family in world.families.items():
        relay = agreed(world, family, when)
        if relay is not None:
            for what, count in reckon(world, account, family, relay, when).items():
                found[what] = found.get(what, 0) + count
    world.ledger.found = found


def agreed(world, family, when):
    """The account's records; None if the homes still differ after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        relay = of_relay(world, family)
        others = {}
        for home in family.homes:
            records, unsent = of_home(world, home)
            if records != relay or unsent:
                others[home.name] = difference(records, relay, unsent)
        if not others:
            return relay
        if time.monotonic() > deadline:
            for name, words in others.items():
                world.notes.wrong(f"{when}: {name} differs from the relay: {words}")
            return None
        for home in family.homes:
            world.synced(home)


def difference(records, relay, unsent):
    keys = [key for key in {**records, **relay} if records.get(key) != relay.get(key)]
    return f"{len(keys)} records, {unsent} unsent; first " + "; ".join(
        f"{key}: home {records.get(key)}, relay {relay.get(key)}" for key in sorted(keys)[:2])


def key_and_value(record):
    return ((record["type"], record["name"]),
            (record["modifiedAt"], record["device"], json.dumps(record["fields"], sort_keys=True)))


def of_relay(world, family):
    folder = os.path.join(world.folder, "export-relay")
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(
        [world.options.binary, "account", "export", family.id, folder, "--store",
         world.relay.store], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Trouble(f"account export failed: {done.stderr.strip()}")
    with open(os.path.join(folder, "records.jsonl")) as file:
        return dict(key_and_value(json.loads(line)) for line in file)


def of_home(world, home):
    folder = os.path.join(world.folder, f"export-{home.name}")
    shutil.rmtree(folder, ignore_errors=True)
    done = home.run("export", folder, "--json")
    if done.code != 0:
        raise Trouble(f"{home.name}: export failed: {done.error.strip()}")
    records = {}
    for app in ("timer", "clipboard", "memo", "habits", "vault", "other"):
        path = os.path.join(folder, f"{app}.json")
        if os.path.exists(path):
            with open(path) as file:
                records.update(key_and_value(record) for record in json.load(file))
    with open(os.path.join(folder, "home.json")) as file:
        return records, json.load(file)["unsent"]


# MARK: comparison with the reported outcomes

class Reckoning:
    """Comparison for one account at one moment."""

    def __init__(self, world, account, family, records, when):
        self.ledger, self.notes, self.when = world.ledger, world.notes, when
        self.account, self.family = account, family
        self.fields = {key: json.loads(value[2]) for key, value in records.items()}
        # Fate of the acknowledged edits.
        self.found = {"present everywhere": 0, "removed again by a person": 0,
                      "written over by a person": 0, "of unknown outcome, and there": 0}

    def find(self, what, count=1):
        self.found[what] += count

    def of_type(self, kind):
        return {name: fields for (type, name), fields in self.fields.items() if type == kind}

    def lose(self, key, words):
        if key not in self.ledger.lost:
            self.ledger.lost[key] = words
            self.notes.wrong(f"{self.when}: lost: {words}")

    def double(self, key, words):
        if key not in self.ledger.duplicated:
            self.ledger.duplicated[key] = words
            self.notes.wrong(f"{self.when}: twice: {words}")

    def contradict(self, key, words):
        if key not in self.ledger.contradicted:
            self.ledger.contradicted[key] = words
            self.notes.wrong(f"{self.when}: said not to be done, and yet there: {words}")

    def entries(self):
        memos = [fields["content"] for fields in self.of_type("Memo").values()]
        items = [fields["content"] for fields in self.of_type("ClipboardItem").values()]
        lines = [line for content in memos for line in set(content.splitlines())]
        found = {MEMO: tally(content.split("\n")[0] for content in memos), ITEM: tally(items),
                 LINE: tally(lines)}
        for content in memos:
            for line, count in tally(content.splitlines()).items():
                if count > 1 and line.startswith("line "):
                    self.double((LINE, line), f"{line} in one memo {count} times")
        missing_items = []
        for entry in self.ledger.entries:
            if entry.account != self.account:
                continue
            if entry.kind == TITLE:
                if entry.told == MADE:
                    title = self.of_type("Habit").get(self.family.running, {}).get("title")
                    self.find("present everywhere" if title == entry.text
                              else "written over by a person")
                continue
            count = found[entry.kind].get(entry.text, 0)
            self.hold(entry, count, missing_items)
        if len(missing_items) > self.family.unnamed_removals:
            for entry in missing_items:
                self.lose((ITEM, entry.text), f"{entry.text} of {entry.home}")

    def hold(self, entry, count, missing_items):
        key, words = (entry.kind, entry.text), f"{entry.text} of {entry.home}"
        if entry.told == REFUSED:
            if count:
                self.contradict(key, f"{words}: {entry.words}")
        elif entry.removal == "made":
            self.find("removed again by a person", entry.told == MADE)
            if count:
                self.notes.wrong(f"{self.when}: removed, and yet there: {words}")
        elif count == 0 and entry.told == MADE and not entry.removal:
            if entry.kind == ITEM:
                missing_items.append(entry)
            else:
                self.lose(key, words)
        elif count > 1 and entry.kind != LINE:
            self.double(key, f"{words}, {count} times")
        elif count:
            self.find("present everywhere" if entry.told == MADE
                      else "of unknown outcome, and there")
        elif entry.removal and entry.told == MADE:
            self.find("removed again by a person")

    def counts(self):
        days = self.of_type("CheckIn")
        for (account, habit, day, device), told in self.ledger.counted.items():
            if account != self.account:
                continue
            fields = days.get(f"{habit}/{day}", {})
            count = fields.get("counts", {}).get(device, 0)
            count -= (fields.get("undone") or {}).get(device, 0)
            words = f"counts of {day} by {device}: {count}, told {told}"
            if count < told[MADE]:
                self.lose(("count", account, day, device), words)
            elif count > told[MADE] + told[UNKNOWN]:
                kind = self.contradict if told[REFUSED] else self.double
                kind(("count", account, day, device), words)
            self.find("present everywhere", min(count, told[MADE]))
            self.find("of unknown outcome, and there", max(0, count - told[MADE]))

    def title(self):
        """The habit's title must be one of the titles that were not refused."""
        title = self.of_type("Habit").get(self.family.running, {}).get("title")
        known = {"Run"} | {entry.text for entry in self.ledger.entries
                           if entry.kind == TITLE and entry.told != REFUSED}
        if title not in known:
            self.notes.wrong(f"{self.when}: the habit of {self.account} is called {title!r}")


def reckon(world, account, family, records, when):
    reckoning = Reckoning(world, account, family, records, when)
    with world.ledger.lock:
        reckoning.entries()
        reckoning.counts()
        reckoning.title()
    copies = sum(1 for type, name in records if type == "Memo" and "~" in name)
    world.notes.counts[f"conflict: memos kept beside the one that stands, of {account}"] = copies
    return reckoning.found


def tally(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts
