"""Relays that share a PostgreSQL database: each device can use any of them; and the failure of a
relay or of the database."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import urllib.parse

from notification_stories import PendingRequest, Stream
from story import (
    PATIENCE, WITH_POSTGRES, Person, Relay, curl, expect, has_postgres, main, record, refused,
    run, wait_until)
from websocket_stories import Socket



class Database:
    """A temporary server that does not sync its disk; its URL. With LOCKSTEP_POSTGRES_POOLER in the
    environment, `url` is that of a pooler before it, and `direct` its own."""

    def __init__(self):
        pooler = ["--pooler"] if "LOCKSTEP_POSTGRES_POOLER" in os.environ else []
        self.process = subprocess.Popen(
            [WITH_POSTGRES, "--fast", *pooler, "sh", "-c",
             'echo "$LOCKSTEP_POSTGRES"; echo "$LOCKSTEP_POSTGRES_DIRECT"; read line'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url, self.direct = [self.process.stdout.readline().strip() for _ in range(2)]
        assert self.url, "the database did not start"
        query = urllib.parse.urlsplit(self.url).query
        self.folder = urllib.parse.parse_qs(query)["host"][0]

    @property
    def postmaster(self):
        with open(os.path.join(self.folder, "data", "postmaster.pid")) as file:
            return int(file.readline())

    def crash(self):
        """Kills one of the server's processes: all sessions end, and the server recovers from its
        log."""
        with open(f"/proc/{self.postmaster}/task/{self.postmaster}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)

    def run(self, program, *words):
        """Runs a program of PostgreSQL on the database; returns its output."""
        return subprocess.run([program, f"--dbname={self.direct or self.url}", *words], check=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE).stdout

    def end(self):
        self.process.communicate("\n", timeout=PATIENCE)

    close = end


class ThreadedSocket:
    """A socket on a separate thread, so that the relay's pings are always answered."""

    def __init__(self, person, since):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.socket = self.wait(Socket.open(person, since=since))

    def wait(self, outcome):
        return asyncio.run_coroutine_threadsafe(outcome, self.loop).result()

    def receive(self, op=None):
        return self.wait(self.socket.receive(op))

    def closed(self):
        return self.wait(self.socket.closed())

    @property
    def is_open(self):
        return self.socket.connection.open

    def __enter__(self):
        return self

    async def abort(self):
        self.socket.connection.transport.abort()
        await self.socket.connection.wait_closed()

    def __exit__(self, *_):
        self.wait(self.abort())
        Socket.opened.remove(self.socket.connection)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@contextlib.contextmanager
def relays(count=2, **options):
    """A database, and this many relays on it."""
    database = Database()
    try:
        with contextlib.ExitStack() as stack:
            # Together, on an empty database: the first one creates the tables.
            words = ["--loops", "1", *(["--bus", database.direct] if database.direct else [])]
            yield database, [
                stack.enter_context(Relay(*words, store=database.url, **options))
                for _ in range(count)]
    finally:
        database.end()


def same_device_at(relay, person):
    """The same device, at another relay."""
    return Person(relay, {"accountID": person.account, "deviceID": person.device,
                          "token": person.token})


def story_an_address_with_a_password_is_refused_and_not_repeated():
    """A process list would show the password; the error message must not."""
    for command in [("relay",), ("account", "list")]:
        said = refused(*command, "--store", "postgres://me:hunter2@db.example/lockstep",
                       says="password", code=2)
        assert "hunter2" not in said, said
        assert "PGPASS" in said or "pgpass" in said, said


def story_a_database_that_is_not_there_is_told_with_the_next_step():
    """Nothing listens on that port."""
    refused("account", "list", "--store", "postgres://me@127.0.0.1:1/lockstep", says="127.0.0.1:1")
    run("relay", "--check", "--store", "postgres://me@127.0.0.1:1/lockstep", expect_code=2)


def story_a_save_at_one_relay_is_on_the_screens_at_another():
    """By long-poll, events and WebSocket; and any relay can read it."""
    if not has_postgres():
        return
    with relays() as (_, (here, there)):
        phone = Person.new(here)
        laptop = same_device_at(there, phone.pair())
        since = expect(laptop.changes(), 200).json["token"]
        poll = PendingRequest(laptop, f"/v1/changes?wait=50&since={since}")
        stream = Stream(laptop, since)
        with ThreadedSocket(laptop, since) as socket:
            saved = expect(phone.save(record("first")), 200).json
            status, page = poll.answer()
            assert status == 200 and page["changes"][0]["name"] == "first", page
            assert stream.receive("changes")["changes"][0]["name"] == "first"
            push = socket.receive("changes")
            assert push["changes"][0]["name"] == "first" and push["token"] == saved["token"], push
        # A save acknowledged by one relay is visible at the other immediately.
        for number in range(20):
            told = expect(phone.save(record(f"r{number}")), 200).json["token"]
            page = expect(same_device_at(there, phone).changes(since=since), 200).json
            assert page["token"] == told, (number, page["token"], told)


def story_a_device_revoked_at_one_relay_is_out_at_all():
    """Its socket is closed, and its token is invalid at all relays."""
    if not has_postgres():
        return
    with relays() as (_, (here, there)):
        phone = Person.new(here)
        laptop = same_device_at(there, phone.pair())
        since = expect(laptop.changes(), 200).json["token"]
        with ThreadedSocket(laptop, since) as socket:
            def shown():
                devices = expect(phone.call("GET", "/v1/devices"), 200).json["devices"]
                return any(each["connected"] for each in devices if each["deviceID"] == laptop.device)

            wait_until(shown, "a device at another relay was shown as connected")
            expect(phone.call("DELETE", f"/v1/devices/{laptop.device}"), 204)
            assert socket.closed() == 4501
        expect(laptop.changes(), 401, "badToken")


def story_relays_outlive_their_database():
    """The database crashes and returns: nothing is lost, and nobody has to act."""
    if not has_postgres():
        return
    with relays() as (database, (here, there)):
        phone = Person.new(here)
        kept = []
        for round in range(3):
            expect(phone.save(record(f"kept-{round}")), 200)
            kept.append(f"kept-{round}")
            database.crash()

            def saves():
                answer = phone.save(record(f"again-{round}"))
                if answer.status != 200:
                    expect(answer, 503)
                    assert int(answer.headers["retry-after"]) >= 1, answer
                return answer.status == 200

            wait_until(saves, "a save after the crash of the database")
            kept.append(f"again-{round}")
            wait_until(lambda: curl(there, "GET", "/readyz").status == 200, "the other was ready")
            page = expect(same_device_at(there, phone).changes(), 200).json
            assert sorted(each["name"] for each in page["changes"]) == sorted(kept), page
        assert here.stop() == 0 and there.stop() == 0


def story_the_owner_works_in_the_database_beside_the_relays():
    """Accounts are created, limited and removed in the database; all relays apply it."""
    if not has_postgres():
        return
    with relays(is_open=False) as (database, (here, there)):
        made = run("account", "create", "mum", "--store", database.url, "--json").stdout
        assert '"code"' in made, made
        assert "mum" in run("account", "list", "--store", database.url).stdout
        code = made.split('"code":"')[1].split('"')[0]
        body = {"code": code, "deviceName": "phone", "platform": "test", "appVersion": "1"}
        phone = Person(there, expect(curl(there, "POST", "/v1/devices", body), 201).json)
        expect(phone.save(record("first")), 200)
        with ThreadedSocket(phone, expect(phone.changes(), 200).json["token"]) as socket:
            run("account", "remove", "mum", "--yes", "--store", database.url)
            assert socket.closed() == 4501
        expect(same_device_at(here, phone).changes(), 401, "badToken")
        refused("relay", "backup", here.directory, "--store", database.url, says="pg_dump")
        refused("relay", "check", "--store", database.url, says="pg_amcheck")


if __name__ == "__main__":
    main(globals())
