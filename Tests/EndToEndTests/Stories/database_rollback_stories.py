"""Relays on PostgreSQL whose database returns in an older state: devices bring back what they saved
since then by themselves."""

import os

from failover_stories import wait_until_not_ready, wait_until_ready
from postgres_servers import Server
from story import Home, Relay, folder, has_postgres, main, wait_until


def holds(home, *titles):
    """The device is in sync, has exactly these memos, and nothing that waits."""
    home.run("sync")
    assert home.memos() == sorted(titles), (home.path, home.memos())
    status = home.status()
    assert (status["state"], status["waiting"], status["parked"]) == ("inSync", 0, 0), status


def story_a_dump_is_read_back():
    """The owner dumps the database, people keep saving, and then the tables are dropped. Relays are
    stopped, the dump is restored with PostgreSQL's own tools, and relays start normally."""
    if not has_postgres():
        return
    with folder() as directory, Server() as server:
        server.make()
        dump = os.path.join(server.place, "lockstep.dump")
        with Relay("--loops", "1", store=server.url) as relay:
            phone = Home.new(relay, directory)
            laptop = phone.pair(relay, directory)
            phone.run("memo", "add", "Early")
            holds(laptop, "Early")
            server.tool("pg_dump", "--format=custom", f"--file={dump}", server.url)
            phone.run("memo", "add", "Late")
            holds(laptop, "Early", "Late")
            # Removed on one device; the other has not received it yet.
            laptop.run("memo", "remove", "Early")
            assert relay.stop() == 0
            server.query("DROP TABLE records, accounts CASCADE")
            laptop.run("memo", "add", "Meanwhile")
            server.tool("pg_restore", "--clean", "--if-exists", "--exit-on-error",
                        f"--dbname={server.url}", dump)
            relay.start()
            wait_until(lambda: "older copy" in relay.text(), "the relay to notice")
            for home in (laptop, phone, laptop):
                home.run("sync")
            for home in (phone, laptop, phone.pair(relay, directory, "fresh")):
                holds(home, "Late", "Meanwhile")
            assert relay.stop() == 0


def story_a_standby_that_lagged_takes_over():
    """The standby lacked some acknowledged saves when the server's machine was lost. Relays find
    it, and devices bring back what it lacks."""
    if not has_postgres():
        return
    with folder() as directory, Server() as primary, Server() as standby:
        primary.make()
        standby.follow(primary)
        store = (f"postgres://postgres@{primary.host},{standby.host}/postgres"
                 "?target_session_attrs=read-write")
        with Relay("--loops", "1", store=store, environment=Server.environment) as relay:
            phone = Home.new(relay, directory)
            laptop = phone.pair(relay, directory)
            phone.run("memo", "add", "Early")
            holds(laptop, "Early")
            standby.fall_behind(primary)
            phone.run("memo", "add", "Late")
            holds(laptop, "Early", "Late")
            primary.kill()
            laptop.run("memo", "add", "Meanwhile")
            wait_until_not_ready(relay)
            standby.promote()
            wait_until_ready("the standby was promoted", relay)
            assert relay.text().count("older copy") == 1, relay.text()
            for home in (laptop, phone):
                home.run("sync")
            for home in (laptop, phone, phone.pair(relay, directory, "fresh")):
                holds(home, "Early", "Late", "Meanwhile")
            assert relay.stop() == 0


if __name__ == "__main__":
    main(globals(), at_once=2)
