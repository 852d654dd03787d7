"""Comparison in the idle state: the contents of every home and of the relay with each other, and
with the outcomes reported to users."""

import json
import os
import shutil
import subprocess
import time

from ledger import MADE, REFUSED, UNKNOWN
from users import ITEM, LINE, MEMO, TITLE
from processes import RunError

# A push may still be under way after a device reported that it is in sync.
AGREEMENT_SECONDS = 40


def compare(system, when):
    """Every home of an account must hold the same records as the relay, and every acknowledged
    edit."""
    found = {}
    for account, state in system.account_states.items():
        relay = agreed_records(system, state, when)
        if relay is not None:
            for what, count in compare_account(system, account, state, relay, when).items():
                found[what] = found.get(what, 0) + count
    system.ledger.found = found


def agreed_records(system, state, when):
    """The account's records; None if the homes still differ after PATIENCE_SECONDS."""
    deadline = time.monotonic() + AGREEMENT_SECONDS
    while True:
        relay = relay_records(system, state)
        others = {}
        for home in state.homes:
            records, unsent = home_records(system, home)
            if records != relay or unsent:
                others[home.name] = difference(records, relay, unsent)
        if not others:
            return relay
        if time.monotonic() > deadline:
            for name, words in others.items():
                system.run_log.violation(f"{when}: {name} differs from the relay: {words}")
            return None
        for home in state.homes:
            system.sync(home)


def difference(records, relay, unsent):
    keys = [key for key in {**records, **relay} if records.get(key) != relay.get(key)]
    return f"{len(keys)} records, {unsent} unsent; first " + "; ".join(
        f"{key}: home {records.get(key)}, relay {relay.get(key)}" for key in sorted(keys)[:2])


def key_and_value(record):
    return ((record["type"], record["name"]),
            (record["modifiedAt"], record["device"], json.dumps(record["fields"], sort_keys=True)))


def relay_records(system, state):
    folder = os.path.join(system.folder, "export-relay")
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(
        [system.options.binary, "account", "export", state.id, folder, "--store",
         system.relay.store], env={**os.environ, **system.relay.environment},
        capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RunError(f"account export failed: {done.stderr.strip()}")
    with open(os.path.join(folder, "records.jsonl")) as file:
        return dict(key_and_value(json.loads(line)) for line in file)


def home_records(system, home):
    folder = os.path.join(system.folder, f"export-{home.name}")
    shutil.rmtree(folder, ignore_errors=True)
    done = home.run("export", folder, "--json")
    if done.code != 0:
        raise RunError(f"{home.name}: export failed: {done.error.strip()}")
    records = {}
    for app in ("timer", "clipboard", "memo", "habits", "vault", "other"):
        path = os.path.join(folder, f"{app}.json")
        if os.path.exists(path):
            with open(path) as file:
                records.update(key_and_value(record) for record in json.load(file))
    with open(os.path.join(folder, "home.json")) as file:
        return records, json.load(file)["unsent"]


# MARK: comparison with the reported outcomes

class AccountComparison:
    """Comparison for one account at one moment."""

    def __init__(self, system, account, state, records, when):
        self.system = system
        self.ledger, self.run_log, self.when = system.ledger, system.run_log, when
        self.account, self.state = account, state
        self.fields = {key: json.loads(value[2]) for key, value in records.items()}
        # Fate of the acknowledged edits.
        self.found = {"present everywhere": 0, "removed again by a person": 0,
                      "written over by a person": 0, "of unknown outcome, and there": 0}

    def count(self, what, count=1):
        self.found[what] += count

    def of_type(self, kind):
        return {name: fields for (type, name), fields in self.fields.items() if type == kind}

    def add_lost(self, key, words):
        if key not in self.ledger.lost:
            self.ledger.lost[key] = words
            self.run_log.violation(f"{self.when}: lost: {words}")

    def add_duplicate(self, key, words):
        if key not in self.ledger.duplicated:
            self.ledger.duplicated[key] = words
            self.run_log.violation(f"{self.when}: twice: {words}")

    def add_contradicted(self, key, words):
        if key not in self.ledger.contradicted:
            self.ledger.contradicted[key] = words
            self.run_log.violation(f"{self.when}: said not to be done, and yet there: {words}")

    def check_entries(self):
        memos = [fields["content"] for fields in self.of_type("Memo").values()]
        items = [fields["content"] for fields in self.of_type("ClipboardItem").values()]
        lines = [line for content in memos for line in set(content.splitlines())]
        found = {MEMO: tally(content.split("\n")[0] for content in memos), ITEM: tally(items),
                 LINE: tally(lines)}
        for content in memos:
            for line, count in tally(content.splitlines()).items():
                if count > 1 and line.startswith("line "):
                    self.add_duplicate((LINE, line), f"{line} in one memo {count} times")
        missing_items = []
        for entry in self.ledger.entries:
            if entry.account != self.account:
                continue
            if entry.kind == TITLE:
                if entry.outcome == MADE:
                    title = self.of_type("Habit").get(self.state.running, {}).get("title")
                    self.count("present everywhere" if title == entry.text
                               else "written over by a person")
                continue
            count = found[entry.kind].get(entry.text, 0)
            self.check_entry(entry, count, missing_items)
        if len(missing_items) > self.state.unnamed_removals:
            for entry in missing_items:
                self.add_lost((ITEM, entry.text), f"{entry.text} of {entry.home}")

    def check_entry(self, entry, count, missing_items):
        key, words = (entry.kind, entry.text), f"{entry.text} of {entry.home}"
        if entry.outcome == REFUSED:
            if count:
                self.add_contradicted(key, f"{words}: {entry.message}")
        elif entry.removal == "made":
            self.count("removed again by a person", entry.outcome == MADE)
            if count:
                self.system.report_returned(f"{self.when}: removed, and yet there: {words}")
        elif count == 0 and entry.outcome == MADE and not entry.removal:
            if entry.kind == ITEM:
                missing_items.append(entry)
            else:
                self.add_lost(key, words)
        elif count > 1 and entry.kind != LINE:
            self.add_duplicate(key, f"{words}, {count} times")
        elif count:
            self.count("present everywhere" if entry.outcome == MADE
                       else "of unknown outcome, and there")
        elif entry.removal and entry.outcome == MADE:
            self.count("removed again by a person")

    def check_counts(self):
        days = self.of_type("CheckIn")
        for (account, habit, day, device), reported in self.ledger.counted.items():
            if account != self.account:
                continue
            fields = days.get(f"{habit}/{day}", {})
            count = fields.get("counts", {}).get(device, 0)
            count -= (fields.get("undone") or {}).get(device, 0)
            words = f"counts of {day} by {device}: {count}, told {reported}"
            if count < reported[MADE]:
                self.add_lost(("count", account, day, device), words)
            elif count > reported[MADE] + reported[UNKNOWN]:
                kind = self.add_contradicted if reported[REFUSED] else self.add_duplicate
                kind(("count", account, day, device), words)
            self.count("present everywhere", min(count, reported[MADE]))
            self.count("of unknown outcome, and there", max(0, count - reported[MADE]))

    def check_title(self):
        """The habit's title must be one of the titles that were not refused."""
        title = self.of_type("Habit").get(self.state.running, {}).get("title")
        known = {"Run"} | {entry.text for entry in self.ledger.entries
                           if entry.kind == TITLE and entry.outcome != REFUSED}
        if title not in known:
            self.run_log.violation(f"{self.when}: the habit of {self.account} is called {title!r}")


def compare_account(system, account, state, records, when):
    comparison = AccountComparison(system, account, state, records, when)
    with system.ledger.lock:
        comparison.check_entries()
        comparison.check_counts()
        comparison.check_title()
    copies = sum(1 for type, name in records if type == "Memo" and "~" in name)
    system.run_log.counts[f"conflict: memos kept beside the one that stands, of {account}"] = copies
    return comparison.found


def tally(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts
