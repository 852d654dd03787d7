"""Relays that share a PostgreSQL database, and tell each other of changes over NATS instead of the
database; and failures of NATS."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from database_stories import Database, ThreadedSocket, same_device_at
from notification_stories import PendingRequest
from postgres_servers import free_port
from secure_relay import CA, CERTIFICATE, KEY
from story import (
    PATIENCE, Person, Relay, curl, expect, folder, has_postgres, main, record, refused, run,
    wait_until)

SECRET = "a-secret-that-no-log-has"


class NATS:
    """A NATS server, on a port that stays the same when it starts again. It is patient with slow
    clients."""

    def __init__(self, **settings):
        """`settings`: as in the server's configuration, in JSON."""
        self.directory = tempfile.mkdtemp(prefix="lockstep-story-")
        self.settings = settings
        self.port = free_port()
        self.process = None

    def start(self):
        file = os.path.join(self.directory, "settings")
        with open(file, "w") as settings:
            json.dump({"host": "127.0.0.1", "port": self.port, **self.settings}, settings)
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["nats-server", "--config", file], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log)

        def listens():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return True

        wait_until(listens, "the NATS server listens")
        return self

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def stop(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.thaw()
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Listener:
    """A client of NATS that hears all messages of relays."""

    def __init__(self, nats):
        self.heard = []
        self.connection = socket.create_connection(("127.0.0.1", nats.port), PATIENCE)
        self.connection.sendall(b'CONNECT {"verbose":false}\r\nSUB lockstep.> 1\r\nPING\r\n')
        self.lines = self.connection.makefile("rb")
        while self.lines.readline() != b"PONG\r\n":
            pass
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self.lines:
                words = line.split()
                if words[:1] == [b"PING"]:
                    self.connection.sendall(b"PONG\r\n")
                if words[:1] == [b"MSG"]:
                    self.heard.append((words[1], self.lines.read(int(words[-1]) + 2)))

    def notices(self, account):
        """Subjects of the notices of an account."""
        return [subject for subject, text in self.heard if account.encode() in text]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()


def is_missing():
    """True if a server is not installed, which is said once."""
    if not has_postgres():
        return True
    if not shutil.which("nats-server"):
        print("      NOT RUN: there is no NATS server here; Debian's is 'nats-server'")
        return True
    return False


@contextlib.contextmanager
def relays(bus, *others, options=(), environment=None):
    """A database, and relays on it with these buses; without one: None."""
    database = Database()
    try:
        with contextlib.ExitStack() as stack:
            yield database, [
                stack.enter_context(Relay(
                    "--loops", "1", *(["--bus", each] if each else []), *options, store=database.url,
                    environment=environment))
                for each in (bus, *others)]
    finally:
        database.end()


def arrives(phone, laptop, name):
    """Saves at one relay, and waits until the device at the other has it."""
    since = expect(laptop.changes(), 200).json["token"]
    poll = PendingRequest(laptop, f"/v1/changes?wait=50&since={since}")
    expect(phone.save(record(name)), 200)
    status, page = poll.answer()
    assert status == 200 and [each["name"] for each in page["changes"]] == [name], page


def story_changes_cross_relays_over_nats_and_not_the_database():
    """A save, and a revocation; the database has no notice of them. What concerns nobody elsewhere
    is not sent at all."""
    if is_missing():
        return
    with (NATS() as nats, relays(nats.url, nats.url) as (database, (here, there)),
          Listener(nats) as listener):
        phone = Person.new(here)
        laptop = same_device_at(there, phone.pair())
        # A device of an account that the other relay does not have.
        lonely = Person.new(here)
        for number in range(3):
            expect(lonely.save(record(f"r{number}")), 200)
            arrives(phone, laptop, f"r{number}")
        wait_until(lambda: listener.notices(phone.account), "a notice of the account")
        subjects = set(listener.notices(phone.account))
        assert len(subjects) == 1 and not subjects.pop().endswith(b".all"), listener.heard
        assert not listener.notices(lonely.account), listener.heard
        listening = database.run(
            "psql", "--tuples-only", "--no-align", "--command",
            "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN %' "
            "AND pid <> pg_backend_pid()")
        assert listening.strip() == b"0", listening
        since = expect(laptop.changes(), 200).json["token"]
        with ThreadedSocket(laptop, since) as laptops:
            expect(phone.call("DELETE", f"/v1/devices/{laptop.device}"), 204)
            assert laptops.closed() == 4501


def story_relays_outlive_nats():
    """NATS is killed, frozen, and back: changes arrive all the while, later without it, and nobody
    has to act."""
    if is_missing():
        return
    with NATS() as nats, relays(nats.url, nats.url) as (_, (here, there)):
        phone = Person.new(here)
        laptop = same_device_at(there, phone.pair())
        arrives(phone, laptop, "first")
        nats.stop()
        wait_until(lambda: "the connection to other relays is lost" in there.text(),
                   "the relay says so")
        arrives(phone, laptop, "without")
        assert curl(there, "GET", "/readyz").status == 200
        nats.start()
        for relay in (here, there):
            wait_until(lambda: "connected to other relays again" in relay.text(),
                       "the relay says that it hears")
        arrives(phone, laptop, "again")
        nats.freeze()
        wait_until(lambda: "nothing arrives on it any more" in there.text(),
                   "the relay notices that NATS is frozen")
        arrives(phone, laptop, "frozen")
        nats.thaw()
        arrives(phone, laptop, "thawed")
        assert here.stop() == 0 and there.stop() == 0


def story_a_relay_starts_without_nats_and_finds_it_later():
    """One of two servers of the address is there."""
    if is_missing():
        return
    with NATS() as nats:
        address = nats.url
        nats.stop()
        with relays(address, address.replace("nats://", "nats://127.0.0.1:1,")) as (
                _, (here, there)):
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            arrives(phone, laptop, "without")
            assert "Connection refused" in here.text(), here.text()
            nats.start()
            for relay in (here, there):
                wait_until(lambda: "connected to other relays again" in relay.text(),
                           "the relay says that it hears")
            arrives(phone, laptop, "with")


def story_nats_asks_for_a_password():
    """It comes from a file; a wrong one, or none, is told with the next step, and no log has it."""
    if is_missing():
        return
    login = {"users": [{"user": "relay", "password": SECRET}], "timeout": PATIENCE}
    with NATS(authorization=login) as nats, folder() as place:
        right, wrong = (os.path.join(place, name) for name in ("right", "wrong"))
        for path, text in ((right, SECRET), (wrong, "not-" + SECRET)):
            with open(path, "w") as file:
                file.write(text + "\n")
        named = nats.url.replace("//", "//relay@")
        with relays(named, named, options=["--bus-password-file", right]) as (_, (here, there)):
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            arrives(phone, laptop, "first")
            for relay in (here, there):
                assert "is lost" not in relay.text() and SECRET not in relay.text()
        for address, options in ((nats.url, ()), (named, ("--bus-password-file", wrong))):
            with relays(address, options=options) as (_, (relay,)):
                wait_until(lambda: "Authorization Violation" in relay.text(), "the refusal")
                assert "--bus-password-file" in relay.text(), relay.text()
                assert SECRET not in relay.text(), relay.text()
    refused("relay", "--store", "postgres://me@db.example/x", "--bus", "nats://me@bus.example",
            says="--bus-password-file", code=2)
    said = refused("relay", "--store", "postgres://me@db.example/x", "--bus",
                   "nats://me:hunter2@bus.example", says="--bus-password-file", code=2)
    assert "hunter2" not in said, said


def story_nats_over_tls():
    """The certificate must be signed by an authority that the system trusts, and name the host."""
    if is_missing():
        return
    with NATS(tls={"cert_file": CERTIFICATE, "key_file": KEY, "timeout": PATIENCE}) as nats:
        secure = nats.url.replace("nats://", "tls://")
        for address in (nats.url, secure):
            with relays(address, address, environment={"SSL_CERT_FILE": CA}) as (
                    _, (here, there)):
                phone = Person.new(here)
                arrives(phone, same_device_at(there, phone.pair()), "first")
                assert "is lost" not in here.text() + there.text(), here.text()
        with relays(secure) as (_, (relay,)):
            wait_until(lambda: "no authority that is trusted here" in relay.text(), "the refusal")
    with NATS() as plain, relays(plain.url.replace("nats://", "tls://")) as (_, (relay,)):
        wait_until(lambda: "does not use TLS" in relay.text(), "the refusal of a plain server")


def story_relays_with_different_buses_say_so_and_serve():
    """Neither hears the other; both look every few seconds, and tell the owner."""
    if is_missing():
        return
    with NATS() as nats, relays(nats.url, None) as (_, (here, there)):
        phone = Person.new(here)
        laptop = same_device_at(there, phone.pair())
        for sender, receiver in [(phone, laptop), (laptop, phone)]:
            receiver = same_device_at(there if receiver is laptop else here, receiver)
            arrives(sender, receiver, f"from-{sender.device}")
        since = expect(laptop.changes(), 200).json["token"]
        with ThreadedSocket(phone, since), ThreadedSocket(laptop, since):
            for relay in (here, there):
                wait_until(lambda: "another relay on this store is not heard" in relay.text(),
                           "the relay says that it does not hear the other")


def story_a_bus_needs_a_database():
    refused("relay", "--store", "/tmp/nowhere", "--bus", "nats://127.0.0.1", says="--bus", code=2)
    refused("relay", "--store", "postgres://me@db.example/x", "--bus", "nats://", says="host",
            code=2)
    refused("relay", "--store", "postgres://me@db.example/x", "--bus", "redis://h", says="nats://",
            code=2)


def story_the_owner_works_beside_relays_with_nats():
    """A command announces what it did over the relays' bus."""
    if is_missing():
        return
    with NATS() as nats, relays(nats.url, nats.url) as (database, (here, there)):
        phone = Person.new(here)
        phone = same_device_at(there, phone)
        with ThreadedSocket(phone, expect(phone.changes(), 200).json["token"]) as socket:
            run("account", "remove", phone.account, "--yes", "--store", database.url,
                "--bus", nats.url)
            assert socket.closed() == 4501


if __name__ == "__main__":
    main(globals())
