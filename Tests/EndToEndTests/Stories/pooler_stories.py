"""Relays that reach PostgreSQL through PgBouncer in transaction mode: each transaction may run in
another session of the server. Notices between relays, and uploads, use the server's own address."""

import contextlib
import os

from database_rollback_stories import holds
from database_stories import ThreadedSocket, same_device_at
from failover_stories import BackgroundWriter, all_texts, wait_until_not_ready, wait_until_ready
from postgres_servers import Pooler, Server
from story import (
    Home, Person, Relay, expect, folder, has_postgres, main, record, refused, run, upload,
    wait_until)

NO_NOTICES = "notifications do not arrive"


@contextlib.contextmanager
def relays(store, bus, count=2, **options):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Relay("--loops", "1", "--bus", bus, store=store, **options))
               for _ in range(count)]


def story_changes_and_files_cross_relays_behind_a_pooler():
    """A push, a read and a file, at the other relay than the one that received them. The sessions
    that the pooler lends to others keep no setting and no lock of a relay."""
    if not has_postgres("--pooler"):
        return
    with Server() as server, Pooler(server.make()) as pooler:
        with relays(pooler.url, server.url) as (here, there):
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            since = expect(laptop.changes(), 200).json["token"]
            with ThreadedSocket(laptop, since) as socket:
                for number in range(20):
                    token = expect(phone.save(record(f"r{number}")), 200).json["token"]
                    push = socket.receive("changes")
                    assert push["token"] == token, (push, token)
                    assert expect(laptop.changes(since=since), 200).json["token"] == token
                hashes = []
                for place, person in [(phone, laptop), (laptop, phone)] * 3:
                    data = os.urandom(300_000)
                    hashes.append(upload(place, data))
                    name = f"file-{len(hashes)}"
                    expect(place.save(record(name, chunks=[hashes[-1]])), 200)
                    answer = expect(person.call("GET", f"/v1/chunks/{hashes[-1]}"), 200)
                    assert len(answer.body) == len(data), len(answer.body)
            expect(phone.call("DELETE", f"/v1/devices/{laptop.device}"), 204)
            expect(laptop.changes(), 401, "badToken")
            for relay in (here, there):
                assert NO_NOTICES not in relay.text(), relay.text()
        left = run_at(pooler, "SHOW enable_seqscan", "SHOW statement_timeout",
                      "SHOW plan_cache_mode", "SELECT count(*) FROM pg_locks "
                      "WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
                      "SELECT count(*) FROM pg_prepared_statements")
        assert left == ["on", "0", "auto", "0", "0"], left


def run_at(pooler, *questions):
    """The answers, in the session of the server that the pooler lends now."""
    return [pooler.server.query(each, pooler) for each in questions]


def story_without_the_direct_address_a_relay_says_what_to_do():
    """Relays that are given only the pooler hear no notices: they say so and name the option, and
    changes arrive later. A bus at another database than the store's is refused."""
    if not has_postgres("--pooler"):
        return
    with Server() as server, Pooler(server.make()) as pooler, Server() as other:
        with Relay("--loops", "1", store=pooler.url) as here, \
                Relay("--loops", "1", store=pooler.url) as there:
            for relay in (here, there):
                assert NO_NOTICES in relay.text() and "--bus" in relay.text(), relay.text()
            phone = Person.new(here)
            laptop = same_device_at(there, phone.pair())
            since = expect(laptop.changes(), 200).json["token"]
            with ThreadedSocket(laptop, since) as socket:
                token = expect(phone.save(record("later")), 200).json["token"]
                assert socket.receive("changes")["token"] == token
            hash = upload(laptop, b"bytes" * 100_000)
            expect(phone.call("GET", f"/v1/chunks/{hash}"), 200)
        other.make()
        for address in (other.url, server.url.replace("/postgres?", "/template1?")):
            words = ["--store", pooler.url, "--bus", address]
            refused("relay", *words, says="failed to serve as the bus")
            checked = run("relay", "--check", *words, expect_code=2).stderr
            assert "failed to serve as the bus" in checked, checked
        refused("relay", "--store", server.place, "--bus", server.url, says="is a folder", code=2)
        run("relay", "--check", "--store", pooler.url, "--bus", server.url)


def story_prepared_statements_are_for_poolers_that_know_them():
    """The address says that the pooler knows prepared statements. PgBouncer 1.18 does not: the relay
    names the setting to remove. A newer one runs them."""
    if not has_postgres("--pooler"):
        return
    with Server() as server, Pooler(server.make()) as pooler:
        words = ["--loops", "1", "--bus", server.url]
        with Relay(*words, store=pooler.url) as relay:
            phone = Person.new(relay)
        store = pooler.url + "&prepared_statements=on"
        if pooler.version < (1, 21):
            refused("relay", *words, "--store", store, says="remove prepared_statements=on")
            return
        with Relay(*words, store=store) as here, Relay(*words, store=store) as there:
            for number in range(20):
                for at in (here, there):
                    expect(same_device_at(at, phone).save(record(f"r{number}")), 200)
            assert len(all_texts(same_device_at(there, phone))) == 20


def story_the_server_and_the_pooler_are_started_again():
    """Under load the server is stopped and started, and the pooler killed and started: nothing that
    was acknowledged is missing, and nobody has to act."""
    if not has_postgres("--pooler"):
        return
    with Server() as server, Pooler(server.make()) as pooler:
        with relays(pooler.url, server.url) as (here, there):
            load = BackgroundWriter.new(here, there)
            load.wait_for_save()
            server.kill()
            wait_until_not_ready(here, there)
            server.start()
            wait_until_ready("the server is started again", here, there)
            load.wait_for_save()
            pooler.kill()
            wait_until_not_ready(here, there)
            pooler.start()
            wait_until_ready("the pooler is started again", here, there)
            load.wait_for_save()
            load.check_complete()
            assert here.stop() == 0 and there.stop() == 0


def story_a_server_that_lacks_commits_is_put_behind_the_pooler():
    """The server's machine is lost, and the pooler leads to a standby that lacks some acknowledged
    saves. The relay's connections to the pooler stay; it notices all the same, before it saves
    anything, and devices bring back what is missing."""
    if not has_postgres("--pooler"):
        return
    with folder() as directory, Server() as primary, Server() as standby:
        primary.make()
        standby.follow(primary)
        direct = (f"postgres://postgres@{primary.host},{standby.host}/postgres"
                  "?target_session_attrs=read-write")
        with Pooler(primary) as pooler, relays(
                pooler.url, direct, count=1, environment=Server.environment) as (relay,):
            phone = Home.new(relay, directory)
            laptop = phone.pair(relay, directory)
            phone.run("memo", "add", "Early")
            holds(laptop, "Early")
            standby.fall_behind(primary)
            phone.run("memo", "add", "Late")
            holds(laptop, "Early", "Late")
            standby.promote()
            # The pooler ends no client's connection: it leads each next transaction elsewhere.
            pooler.lead_to(standby)
            laptop.run("memo", "add", "Meanwhile")
            for home in (laptop, phone, laptop):
                home.run("sync")
            wait_until(lambda: "older copy" in relay.text(), "the relay to notice")
            primary.kill()
            wait_until_ready("the standby leads", relay)
            for home in (laptop, phone, phone.pair(relay, directory, "fresh")):
                holds(home, "Early", "Late", "Meanwhile")
            assert relay.text().count("older copy") == 1, relay.text()
            assert relay.stop() == 0


if __name__ == "__main__":
    main(globals(), at_once=4)
