"""Simulated users who edit with the command line, each with one home."""

import os
import pty
import threading

MEMO, ITEM, LINE, TITLE = "memo", "clipboard item", "line of a shared memo", "title of a habit"

# Actions of users, with their weights.
ACTS = [("memo", 6), ("copy", 2), ("count", 5), ("line", 4), ("press", 3), ("title", 1),
        ("drop", 1), ("uncopy", 1)]
PRESSES = ("start", "pause", "resume", "skip", "stop")
# A clipboard holds at most 100 items; a person clears it once it has this many.
ITEMS_MAX = 70


class User(threading.Thread):
    """A user with one home, who edits while `gate` is open."""

    def __init__(self, home, state, ledger, run_log, gate, rng):
        super().__init__(daemon=True, name=home.name)
        self.home, self.state, self.ledger, self.run_log = home, state, ledger, run_log
        self.gate, self.rng = gate, rng
        self.number = 0
        self.is_idle = threading.Event()

    def run(self):
        while not self.gate.is_over and not self.run_log.has_too_many_violations:
            if not self.gate.is_open.is_set():
                self.is_idle.set()
                self.gate.is_open.wait(0.2)
                continue
            self.is_idle.clear()
            try:
                self.act()
            except Exception as fault:  # A user must keep acting.
                self.run_log.violation(f"{self.home.name}: {type(fault).__name__}: {fault}")
            self.gate.over.wait(self.rng.uniform(0.05, 0.6))
        self.is_idle.set()

    def act(self):
        names, weights = zip(*ACTS)
        getattr(self, self.rng.choices(names, weights)[0])()

    def word(self):
        self.number += 1
        return f"{self.home.name}.{self.number}"

    def edit(self, kind, text, *words, **options):
        """Runs the command of an edit, and records the outcome that it reports."""
        entry = self.ledger.add(kind, text, self.home)
        done = self.home.run(*words, **options)
        self.ledger.finish(entry, done)
        if done.code == 0 and "--json" in words:
            entry.name = done.json["name"]
        return entry

    # MARK: actions

    def memo(self):
        text = f"memo {self.word()}"
        entry = self.edit(MEMO, text, "memo", "add", "--json", input=text + "\nof its own\n")
        if entry.name:
            self.state.own_memos.setdefault(self.home.name, []).append(entry)

    def drop(self):
        """Removes a memo that this person wrote; no other person changes it."""
        own = self.state.own_memos.get(self.home.name)
        if own:
            entry = own.pop(self.rng.randrange(len(own)))
            entry.removal = "asked"
            done = self.home.run("memo", "remove", entry.name)
            entry.removal = "made" if done.code == 0 else "unknown"

    def copy(self):
        if self.state.room_for_item():
            text = f"item {self.word()}"
            self.edit(ITEM, text, "clipboard", "add", input=text)

    def uncopy(self):
        """Removes the newest visible item; the command prints which one that was."""
        done = self.home.run("clipboard", "remove", "1")
        words = done.output.strip().removeprefix("removed: ")
        if done.code == 0:
            self.state.removed_item(words, self.ledger)
        elif "there is no item" not in done.error:
            self.state.some_item_may_be_gone()

    def count(self):
        day = self.state.day
        done = self.home.run("habits", "count", "Water", "1", "--day", day)
        self.ledger.add_count(self.home, self.state.water, day, done)

    def title(self):
        """Two people who change the same habit at the same time are asked to choose a version."""
        text = f"Run {self.word()}"
        self.edit(TITLE, text, "habits", "edit", self.state.running, "--title", text)

    def press(self):
        self.home.run("timer", self.rng.choice(PRESSES))

    def line(self):
        """Appends a line to a memo that all the account's devices edit: in an editor, so that
        changes made meanwhile are shown, or kept as a copy."""
        text = f"line {self.word()}"
        person, terminal = pty.openpty()
        try:
            self.edit(
                LINE, text, "memo", "edit", self.state.shared, stdin=terminal,
                environment={"EDITOR": self.state.editor, "VISUAL": "", "TORTURE_LINE": text})
        finally:
            os.close(person)
            os.close(terminal)


class Gate:
    """Events that let people and writers continue, and that end the run."""

    def __init__(self):
        self.is_open = threading.Event()
        self.over = threading.Event()

    @property
    def is_over(self):
        return self.over.is_set()


class AccountState:
    """State shared by the homes of one account."""

    def __init__(self, account, folder):
        self.account = account
        self.homes = []
        self.water = self.running = self.shared = ""
        self.day = "2026-03-01"
        self.own_memos = {}
        self.items, self.lock = 0, threading.Lock()
        # Removals of an unidentified item: this many items may be missing.
        self.unnamed_removals = 0
        self.editor = os.path.join(folder, "editor")
        with open(self.editor, "w") as file:
            file.write('#!/bin/sh\nprintf "%s\\n" "$TORTURE_LINE" >> "$1"\n')
        os.chmod(self.editor, 0o700)

    def room_for_item(self):
        with self.lock:
            if self.items >= ITEMS_MAX:
                return False
            self.items += 1
            return True

    def removed_item(self, text, ledger):
        with ledger.lock:
            for entry in ledger.entries:
                if entry.kind == ITEM and entry.account == self.account and entry.text == text:
                    entry.removal = "made"

    def some_item_may_be_gone(self):
        with self.lock:
            self.unnamed_removals += 1

    def cleared(self, ledger):
        """Records that all items are gone."""
        with ledger.lock:
            for entry in ledger.entries:
                if entry.kind == ITEM and entry.account == self.account:
                    entry.removal = "made"
        with self.lock:
            self.items = self.unnamed_removals = 0
