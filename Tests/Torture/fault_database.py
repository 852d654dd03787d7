"""Faults of the database: it dies, restarts, freezes and refuses relays; and faults of the notices
between relays."""

import signal
import time

from database import USER, send
from faults import Fault

RELAYS = "application_name LIKE 'lockstep%' AND backend_type = 'client backend'"
# Sessions whose last query was LISTEN: they wait for notices of other relays.
LISTENERS = f"{RELAYS} AND query LIKE 'LISTEN%'"


class DatabaseFault(Fault):
    name = "database"
    about = ("kill -9 of all of it or of one of its processes, a fast restart, SIGSTOP, sessions "
             "that are ended, no connection left")

    acts = [("killed", 3), ("lost_one", 2), ("restarted", 2), ("stood_still", 2),
            ("ended_sessions", 3), ("full", 2)]

    def act(self, dice, until):
        names, weights = zip(*self.acts)
        try:
            while self.pause(dice, 0.5, 6, until):
                with self.world.database.lock:
                    try:
                        getattr(self, dice.choices(names, weights)[0])(dice, until)
                    except OSError as fault:
                        # Another fault had stopped the database; the next one finds it running
                        # again.
                        self.notes.count("faults of the database that did not reach it")
                        self.notes.say(f"{self.name}: {fault}")
        finally:
            self.world.database.start()

    def killed(self, dice, until):
        self.world.database.kill()
        self.acted("killed, with all that it began")
        self.pause(dice, 0.2, dice.choice([0.5, 3, 15]), until)
        self.world.database.start()

    def lost_one(self, dice, until):
        """The server then ends all other sessions and recovers."""
        rows = self.world.database.ask(f"SELECT pid FROM pg_stat_activity WHERE {RELAYS}")
        if rows:
            send(int(dice.choice(rows)[0]), signal.SIGKILL)
            self.acted("a session's process was killed")
            self.pause(dice, 0.2, 1, until)
            self.world.database.start()

    def restarted(self, dice, until):
        self.world.database.end()
        self.acted("restarted (fast)")
        self.world.database.start()

    def stood_still(self, dice, until):
        stopped = self.world.database.stop()
        self.acted("stood still")
        try:
            self.pause(dice, 0.2, dice.choice([1, 8, 40]), until)
        finally:
            self.world.database.go_on(stopped)

    def ended_sessions(self, dice, until):
        for _ in range(dice.choice([1, 1, 5, 20])):
            count = end_sessions(self.world.database, RELAYS)
            self.notes.count("sessions of relays ended by the server", count)
            if not self.pause(dice, 0.02, 0.5, until):
                break
        self.acted("ended all sessions of relays")

    def full(self, dice, until):
        """Other clients take all connections; then the relays lose theirs."""
        database, crowd = self.world.database, []
        end = min(until, time.monotonic() + dice.choice([1, 4, 12]))
        try:
            self.fill(crowd)
            end_sessions(database, RELAYS)
            while time.monotonic() < end:
                self.fill(crowd)
                time.sleep(0.05)
            self.acted("had no connection left")
        finally:
            for session in crowd:
                session.socket.close()

    def fill(self, crowd):
        while True:
            try:
                crowd.append(self.world.database.session(user=USER, seconds=3))
            except OSError:
                return


class BusFault(Fault):
    name = "bus"
    about = "what relays tell one another is lost or late: their listening sessions end or stand still"

    def act(self, dice, until):
        while self.pause(dice, 0.2, 3, until):
            try:
                if dice.random() < 0.7:
                    self.deafen(dice, until)
                else:
                    self.hold_up(dice, until)
            except OSError:
                self.notes.count("faults of the bus while the database was away")

    def deafen(self, dice, until):
        """Ends the listening sessions and their successors, so that all notices meanwhile are
        lost."""
        end, ended = min(until, time.monotonic() + dice.choice([0, 1, 5, 12])), 0
        before = self.saves()
        while True:
            ended += end_sessions(self.world.database, LISTENERS)
            if time.monotonic() >= end:
                break
            time.sleep(0.03)
        if ended:
            self.acted("notices were lost on purpose")
            self.notes.count("sessions ended that listened for notices", ended)
            self.notes.count("saves acknowledged while they were ended again and again",
                             self.saves() - before)

    def saves(self):
        return sum(writer.total for writer in self.world.writers.all)

    def hold_up(self, dice, until):
        """Freezes listening sessions, so that notices wait in the server."""
        rows = self.world.database.ask(f"SELECT pid FROM pg_stat_activity WHERE {LISTENERS}")
        chosen = [int(row[0]) for row in dice.sample(rows, min(len(rows), dice.choice([1, 2, 9])))]
        for number in chosen:
            send(number, signal.SIGSTOP)
        try:
            if chosen:
                self.acted("notices were held up")
                self.pause(dice, 0.2, dice.choice([1, 6, 20]), until)
        finally:
            for number in chosen:
                send(number, signal.SIGCONT)


def end_sessions(database, which):
    """Returns the number of sessions."""
    rows = database.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {which}")
    return len(rows)
