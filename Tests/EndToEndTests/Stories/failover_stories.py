"""Failures of PostgreSQL below relays: the server stops, is not reachable, dies and is replaced,
has no disk space for saves."""

import concurrent.futures
import contextlib
import os
import subprocess
import threading
import time
import urllib.parse

from database_stories import ThreadedSocket, same_device_at
from notification_stories import PendingRequest, Stream
from postgres_servers import FaultyLink, Server
from story import (
    PATIENCE, WITH_POSTGRES, Connection, Person, Relay, SmallDisk, curl, expect, has_postgres,
    main, new_id, record, wait_until)


@contextlib.contextmanager
def relays(*stores, **options):
    """One relay for each address, all on the same database."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Relay("--loops", "1", store=store, **options))
               for store in stores]


class ConnectedDevice:
    """A device connected by every transport. `polls`: False if the story takes longer than a
    poll."""

    def __init__(self, person, polls=True):
        self.person = person
        self.since = expect(person.changes(), 200).json["token"]
        self.poll = (
            PendingRequest(person, f"/v1/changes?wait=55&since={self.since}") if polls else None)
        self.stream = Stream(person, self.since)
        self.live = ThreadedSocket(person, self.since)

    @property
    def is_open(self):
        waits = self.poll is None or self.poll.is_pending
        return waits and self.live.is_open and self.stream.events.empty()

    def wait_for_change(self, name):
        """Waits for the change on all connections that stayed open; other changes may come before
        it."""
        if self.poll:
            status, page = self.poll.answer()
            assert status == 200 and page["changes"], (status, page)
        for hear in (self.stream.receive, self.live.receive):
            while name not in [each["name"] for each in hear("changes")["changes"]]:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in filter(None, (self.poll, self.stream)):
            each.process.kill()
            each.process.wait()
        self.live.__exit__()


class BackgroundWriter:
    """A device that saves one record at a time, at each relay in turn, and repeats each batch until
    it is acknowledged. `kept` has the acknowledged records."""

    @staticmethod
    def new(*relays):
        person = Person.new(relays[0], "load")
        return BackgroundWriter(*(same_device_at(relay, person) for relay in relays))

    def __init__(self, *people):
        self.people, self.acknowledged, self.refused, self.wrong = people, set(), 0, []
        self.ends = False
        self.thread = threading.Thread(target=self.save, daemon=True)
        self.thread.start()

    def save(self):
        lines = [Connection(each.relay, each) for each in self.people]
        number = 0
        while not self.ends:
            batch = {"id": new_id(), "records": [record(f"load-{number}")]}
            while True:
                line = lines[number % len(lines)]
                answer = line.request("POST", "/v1/zones/Notes/records", batch)
                if answer.status == 200:
                    break
                self.refused += 1
                if answer.status != 503 or "retry-after" not in answer.headers:
                    self.wrong.append(answer)
                    return
            self.acknowledged.add(f"load-{number}")
            number += 1

    def wait_for_save(self):
        """Waits until one more save is acknowledged."""
        before = len(self.acknowledged)
        wait_until(lambda: len(self.acknowledged) > before or self.wrong, "a save of the load")
        assert not self.wrong, self.wrong

    def check_complete(self):
        """Ends the load; every acknowledged record must exist at each relay, once."""
        self.ends = True
        self.thread.join(PATIENCE)
        assert not self.wrong and not self.thread.is_alive(), self.wrong
        assert self.refused > 0, "the load was never refused"
        for person in self.people:
            found = all_texts(person)
            assert set(found) == self.acknowledged, set(found) ^ self.acknowledged


def all_texts(person):
    """Texts of all records, read without a cursor."""
    found, query = {}, {}
    while True:
        page = expect(person.changes(**query), 200).json
        found.update({each["name"]: each["fields"]["text"] for each in page["changes"]})
        if not page["more"]:
            return found
        query = {"since": page["token"]}


def is_refused(answer):
    """Checks for the refusal of every call that needs the store."""
    expect(answer, 503, "storeUnavailable")
    assert int(answer.headers["retry-after"]) >= 1, answer


def ready(relay, status=200):
    answer = curl(relay, "GET", "/readyz")
    return answer if answer.status == status else None


def wait_until_not_ready(*relays):
    for relay in relays:
        wait_until(lambda: ready(relay, 503), "the relay to notice")


def wait_until_ready(what, *relays):
    """Waits until all relays are ready, and prints the time."""
    begun = time.monotonic()
    for relay in relays:
        wait_until(lambda: ready(relay), f"{relay.address} to be ready: {relay.text()}")
    print(f"      {what}: ready after {time.monotonic() - begun:.1f} s", flush=True)


# MARK: the server is not running

def story_a_server_that_stops_and_is_started_again():
    """For some seconds there is no server: relays keep running and report the error, refuse what
    they cannot do, and keep their devices connected. Then everything works again, and all listeners
    receive the next change."""
    if not has_postgres():
        return
    with Server() as server:
        server.make()
        with relays(server.url, server.url) as (here, there):
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            with ConnectedDevice(laptop) as listener:
                load = BackgroundWriter.new(here, there)
                load.wait_for_save()
                server.stop()
                # The load's requests suffice for the relays to notice.
                wait_until_not_ready(here, there)
                away = time.monotonic()
                while time.monotonic() - away < 4:
                    for person in (phone, laptop):
                        is_refused(person.save(record("refused")))
                        is_refused(person.changes())
                        assert ready(person.relay, 503)
                        expect(curl(person.relay, "GET", "/healthz"), 200)
                assert listener.is_open
                server.start()
                wait_until_ready("the server was started", here, there)
                load.wait_for_save()
                load.wait_for_save()
                expect(phone.save(record("after")), 200)
                listener.wait_for_change("after")
                load.check_complete()
            assert "the store works again" in here.text(), here.text()
            assert here.stop() == 0 and there.stop() == 0


def story_the_server_has_no_connection_left():
    """Other clients take all connections, and the relays lose theirs. The relays report the error,
    refuse what they cannot do, and keep their devices connected; once connections are free,
    everything works again without help."""
    if not has_postgres():
        return
    with Server() as server:
        server.make()
        # With its own schema, because it may not create tables elsewhere.
        server.query("CREATE ROLE crowded LOGIN; CREATE SCHEMA AUTHORIZATION crowded")
        store = server.url.replace("postgres@", "crowded@")
        with relays(store, store) as (here, there):
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            with ConnectedDevice(laptop) as listener:
                load = BackgroundWriter.new(here, there)
                load.wait_for_save()
                server.query("ALTER ROLE crowded CONNECTION LIMIT 0")
                server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                             "WHERE usename = 'crowded'")
                for relay in (here, there):
                    wait_until_not_ready(relay)
                    expect(curl(relay, "GET", "/healthz"), 200)
                for person in (phone, laptop):
                    is_refused(person.save(record("refused")))
                    is_refused(person.changes())
                    assert "too many connections" in person.relay.text(), person.relay.text()
                assert listener.is_open
                server.query("ALTER ROLE crowded CONNECTION LIMIT -1")
                wait_until_ready("there are connections again", here, there)
                load.wait_for_save()
                expect(phone.save(record("after")), 200)
                listener.wait_for_change("after")
                load.check_complete()
            assert here.stop() == 0 and there.stop() == 0


# MARK: the server is not reachable

@contextlib.contextmanager
def faulty_links():
    """A server on loopback with a password, and two cables to it: yields the cables, an address
    through each, and the environment with the password."""
    server = subprocess.Popen(
        [WITH_POSTGRES, "--fast", "--tcp", "sh", "-c",
         'echo "$LOCKSTEP_POSTGRES"; echo "$PGPASSWORD"; read line'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url, password = [server.stdout.readline().strip() for _ in range(2)]
        port = urllib.parse.urlsplit(url).port
        with FaultyLink(port) as one, FaultyLink(port) as other:
            stores = [url.replace(f":{port}/", f":{each.port}/") for each in (one, other)]
            yield (one, other), stores, {"PGPASSWORD": password}
    finally:
        server.communicate("\n", timeout=PATIENCE)


class TimedCall:
    """A call on a separate thread: its result, and its duration in seconds."""

    def __init__(self, call):
        begun = time.monotonic()
        self.future = concurrent.futures.ThreadPoolExecutor(1).submit(
            lambda: (call(), time.monotonic() - begun))

    @property
    def is_pending(self):
        return not self.future.done()

    def is_refused(self):
        answer, seconds = self.future.result(timeout=ANSWER)
        is_refused(answer)
        print(f"      refused after {seconds:.1f} s", flush=True)


# Seconds: 30 for an answer of the database, 30 for a call that waited for another, and a margin for
# a very busy machine. It bounds a failure: a call that is never answered.
ANSWER = 60 + PATIENCE


def story_a_connection_that_goes_silent_one_way():
    """The database's data no longer reaches one relay, and another relay's data no longer reaches
    the database; no connection closes. Calls that need the store are refused within a bound; health
    checks are answered throughout; devices stay connected. Then everything works again."""
    if not has_postgres():
        return
    with faulty_links() as (lines, stores, environment):
        with relays(*stores, environment=environment) as (deaf, mute):
            phone = Person.new(deaf)
            laptop = same_device_at(mute, phone.pair())
            batches = [(each, new_id(), record(f"cut-{each.device}")) for each in (phone, laptop)]
            with ConnectedDevice(laptop, polls=False) as listener:
                lines[0].cut("down")
                lines[1].cut("up")
                asked = [TimedCall(lambda each=each, id=id, cut=cut: each.save(cut, id=id))
                         for each, id, cut in batches]
                asked += [TimedCall(each.changes) for each in (phone, laptop)]
                for relay in (deaf, mute):
                    expect(curl(relay, "GET", "/healthz"), 200)
                assert any(each.is_pending for each in asked), "no answer came while calls waited"
                for each in asked:
                    each.is_refused()
                assert ready(deaf, 503) and ready(mute, 503)
                assert listener.is_open
                for line in lines:
                    line.heal()
                begun = time.monotonic()
                for each, id, cut in batches:
                    wait_until(lambda: each.save(cut, id=id).status == 200, "a save")
                print(f"      saved after {time.monotonic() - begun:.1f} s", flush=True)
                wait_until_ready("the lines carry again", deaf, mute)
                expect(phone.save(record("after")), 200)
                listener.wait_for_change("after")
            assert set(all_texts(laptop)) == {"after", *(cut["name"] for _, _, cut in batches)}
            assert deaf.stop() == 0 and mute.stop() == 0


# MARK: another server, no disk space

def story_a_standby_takes_over():
    """The server's machine dies, and a standby with everything acknowledged takes over. Relays find
    it by themselves; nothing that they acknowledged is missing."""
    if not has_postgres():
        return
    with Server() as primary, Server() as standby:
        primary.make()
        standby.follow(primary)
        primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.query("SELECT pg_reload_conf()")
        store = (f"postgres://postgres@{primary.host},{standby.host}/postgres"
                 "?target_session_attrs=read-write")
        with relays(store, store, environment=Server.environment) as (here, there):
            load = BackgroundWriter.new(here, there)
            load.wait_for_save()
            primary.kill()
            wait_until_not_ready(here, there)
            standby.promote()
            wait_until_ready("the standby was promoted", here, there)
            load.wait_for_save()
            load.check_complete()
            assert here.stop() == 0 and there.stop() == 0


def story_the_servers_disk_is_full():
    """Saves are refused with the reason, and the relay keeps running; with free space everything
    works again, and all acknowledged records exist."""
    if not has_postgres():
        return
    with SmallDisk(120 << 10) as disk:
        if not disk.mounted:
            print("      NOT RUN: nothing may be mounted here")
            return
        with Server(place=disk.path) as server, contextlib.ExitStack() as stack:
            server.make()
            (relay,) = stack.enter_context(relays(server.url))
            phone = Person.new(relay)
            kept, answer = set(), None
            for number in range(2_000):
                answer = phone.save(record(f"kept-{number}", os.urandom(60_000).hex()))
                if answer.status != 200:
                    break
                kept.add(f"kept-{number}")
            assert kept and answer.status in (503, 507), answer
            expect(curl(relay, "GET", "/healthz"), 200)
            disk.grow(400 << 10)
            if not server.runs:
                # PostgreSQL panics if its log finds no space; its operator starts it again.
                server.start()
            wait_until(lambda: phone.save(record("after")).status == 200, "a save again")
            assert kept | {"after"} <= set(all_texts(phone))
            assert relay.stop() == 0


if __name__ == "__main__":
    main(globals(), at_once=3)
