"""Faults of the database: it dies, restarts, freezes and refuses relays; and faults of the notices
between relays."""

import signal
import time

from database import USER, send
from faults import Fault

RELAYS = "application_name LIKE 'lockstep%' AND backend_type = 'client backend'"
# Sessions that wait for notices of other relays: their last query was LISTEN, or sent a beat.
LISTENERS = f"{RELAYS} AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify(channel%')"


class DatabaseFault(Fault):
    name = "database"
    about = ("kill -9 of the server or of one of its processes, a fast restart, SIGSTOP, ended "
             "sessions, no connection left")

    acts = [("killed", 3), ("lost_one", 2), ("restarted", 2), ("stood_still", 2),
            ("ended_sessions", 3), ("full", 2)]

    def act(self, rng, until):
        try:
            while self.pause(rng, 0.5, 6, until):
                with self.system.database.lock:
                    try:
                        self.draw_act(rng)(rng, until)
                    except OSError as fault:
                        # Another fault had stopped the database; the next one finds it running
                        # again.
                        self.run_log.count("faults of the database that did not reach it")
                        self.run_log.info(f"{self.name}: {fault}")
        finally:
            self.system.database.start()

    def killed(self, rng, until):
        self.system.database.kill()
        self.action("killed, with all that it began")
        self.pause(rng, 0.2, rng.choice([0.5, 3, 15]), until)
        self.system.database.start()

    def lost_one(self, rng, until):
        """The server then ends all other sessions and recovers."""
        rows = self.system.database.query(f"SELECT pid FROM pg_stat_activity WHERE {RELAYS}")
        if rows:
            send(int(rng.choice(rows)[0]), signal.SIGKILL)
            self.action("a session's process was killed")
            self.pause(rng, 0.2, 1, until)
            self.system.database.start()

    def restarted(self, rng, until):
        self.system.database.end()
        self.action("restarted (fast)")
        self.system.database.start()

    def stood_still(self, rng, until):
        stopped = self.system.database.suspend()
        self.action("stood still")
        try:
            self.pause(rng, 0.2, rng.choice([1, 8, 40]), until)
        finally:
            self.system.database.resume(stopped)

    def ended_sessions(self, rng, until):
        for _ in range(rng.choice([1, 1, 5, 20])):
            count = end_sessions(self.system.database, RELAYS)
            self.run_log.count("sessions of relays ended by the server", count)
            if not self.pause(rng, 0.02, 0.5, until):
                break
        self.action("ended all sessions of relays")

    def full(self, rng, until):
        """Other clients take all connections; then the relays lose theirs."""
        database, sessions = self.system.database, []
        end = min(until, time.monotonic() + rng.choice([1, 4, 12]))
        try:
            self.fill(sessions)
            end_sessions(database, RELAYS)
            while time.monotonic() < end:
                self.fill(sessions)
                time.sleep(0.05)
            self.action("had no connection left")
        finally:
            for session in sessions:
                session.socket.close()

    def fill(self, sessions):
        while True:
            try:
                sessions.append(self.system.database.session(user=USER, seconds=3))
            except OSError:
                return


class BusFault(Fault):
    name = "bus"
    about = ("notices between relays are lost or late: the sessions that listen for them end or "
             "are suspended")

    def act(self, rng, until):
        while self.pause(rng, 0.2, 3, until):
            try:
                if rng.random() < 0.7:
                    self.lose_notices(rng, until)
                else:
                    self.delay_notices(rng, until)
            except OSError:
                self.run_log.count("faults of the bus while the database was away")

    def lose_notices(self, rng, until):
        """Ends the listening sessions and their successors, so that all notices meanwhile are
        lost."""
        end, ended = min(until, time.monotonic() + rng.choice([0, 1, 5, 12])), 0
        before = self.saves()
        while True:
            ended += end_sessions(self.system.database, LISTENERS)
            if time.monotonic() >= end:
                break
            time.sleep(0.03)
        if ended:
            self.action("notices were lost on purpose")
            self.run_log.count("sessions ended that listened for notices", ended)
            self.run_log.count("saves acknowledged while they were ended again and again",
                               self.saves() - before)
        else:
            self.run_log.count("faults of the bus that found no session")

    def delay_notices(self, rng, until):
        """Freezes listening sessions, so that notices wait in the server."""
        rows = self.system.database.query(f"SELECT pid FROM pg_stat_activity WHERE {LISTENERS}")
        chosen = [int(row[0]) for row in rng.sample(rows, min(len(rows), rng.choice([1, 2, 9])))]
        for number in chosen:
            send(number, signal.SIGSTOP)
        try:
            if chosen:
                self.action("notices were held up")
                self.pause(rng, 0.2, rng.choice([1, 6, 20]), until)
            else:
                self.run_log.count("faults of the bus that found no session")
        finally:
            for number in chosen:
                send(number, signal.SIGCONT)


def end_sessions(database, which):
    """Returns the number of sessions."""
    rows = database.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {which}")
    return len(rows)
