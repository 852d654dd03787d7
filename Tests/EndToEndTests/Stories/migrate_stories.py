"""A store is migrated from a folder to a database and back; its devices notice only a pause."""

import json
import os
import signal
import subprocess

from chunk_stories import missing, put, random_chunk
from database_stories import Database
from story import (
    LOCKSTEP, Home, Person, Relay, expect, folder, has_postgres, main, record, refused, run,
    wait_until)


def migrate(origin, target, *words, code=0):
    return json.loads(
        run("relay", "migrate", "--from", origin, "--to", target, "--json", *words,
            expect_code=code).stdout)


def relay_at(port, store):
    """A relay on that store, at the port that the devices use."""
    relay = Relay("--loops", "1", store=store)
    relay.port = port
    return relay


def account_contents(person):
    """Everything in the account, including its tags. `lostTags` is left out, because each store
    begins its own runs of tags."""
    page = expect(person.changes(), 200).json
    page.pop("lostTags", None)
    return page


def story_devices_notice_nothing_but_a_pause():
    """To a database and back, with running agents and with tokens issued before."""
    if not has_postgres():
        return
    database = Database()
    with folder() as directory:
        old, new = [os.path.join(directory, name) for name in ("old", "new")]
        try:
            first = relay_at(0, old)
            with first:
                phone = Home.new(first, directory)
                laptop = phone.pair(first, directory)
                laptop.run("habits", "restore", "yes")
                person = phone.person(first).pair("curl")
                data, _ = random_chunk(9_000_000 >> 3, seed=3)
                expect(put(person, data), 201)
                batch = "0190c3e2-0000-4000-8000-000000000001"
                expect(person.save(record("gone")), 200)
                note = record("kept")
                saved = expect(person.save(note, id=batch), 200).json
                expect(person.save({"name": "gone", "deleted": True, "modifiedAt": 1}), 200)
                since = expect(person.changes(), 200).json["token"]
                before = account_contents(person)
                agents = [phone.start_agent(), laptop.start_agent()]
                assert first.stop() == 0
            for number, (origin, target) in enumerate([(old, database.url), (database.url, new)]):
                told = migrate(origin, target)
                assert told["accounts"] == 1 and told["devices"] == 3 and told["pieces"] == 1, told
                assert told["lost"] == [] and told["pieceBytes"] == len(data), told
                with relay_at(first.port, target) as relay:
                    same = Person(relay, {"accountID": person.account, "deviceID": person.device,
                                          "token": person.token})
                    if number == 0:
                        assert account_contents(same) == before
                    # Nothing is sent again, and a repeated batch is recognised.
                    assert expect(same.changes(since=since), 200).json["changes"] == []
                    again = expect(same.save(note, id=batch), 200).json
                    assert again["results"] == saved["results"], again
                    assert missing(same, data) == []
                    title = f"at {number}"
                    phone.run("memo", "add", title)
                    wait_until(lambda: title in laptop.run("memo", "list"),
                               "a memo on the other device")
                    since = expect(same.changes(), 200).json["token"]
                    for home in (phone, laptop):
                        wait_until(lambda: home.status()["waiting"] == 0, "nothing to wait")
                    assert relay.stop() == 0
                    assert "restored" not in relay.text(), relay.text()
            for each in agents:
                assert each.stop() == 0
            run("relay", "check", "--store", new)
        finally:
            database.end()


def story_a_store_that_is_in_use_is_not_moved():
    """Neither from a store with a running relay, nor to the database of one."""
    if not has_postgres():
        return
    database = Database()
    try:
        with folder() as directory, Relay() as relay:
            Person.new(relay)
            place = os.path.join(directory, "new")
            words = ("relay", "migrate", "--from", relay.store, "--to")
            refused(*words, place, says="stop all relays on it first")
            assert relay.stop() == 0
            with Relay("--loops", "1", store=database.url):
                refused(*words, database.url, says="stop all relays on it first")
            refused(*words, relay.store, says="the same store")
            assert migrate(relay.store, database.url)["accounts"] == 1
            # A second migration is refused.
            refused(*words, database.url, says="is 1 account in it already")
            refused("relay", "migrate", "--from", place, "--to", database.url, says="no store")
            refused(*words, "postgres://me:hunter2@db.example/lockstep", says="password", code=2)
    finally:
        database.end()


def story_a_move_that_is_interrupted_leaves_no_store():
    """Ctrl-C ends a migration early; so does the loss of the database. The next one is complete."""
    if not has_postgres():
        return
    database = Database()
    try:
        with folder() as directory, Relay() as relay:
            person = Person.new(relay)
            for number in range(12):
                expect(put(person, random_chunk(4 << 20, seed=number)[0]), 201)
            assert relay.stop() == 0
            for end in (lambda moving: moving.send_signal(signal.SIGINT),
                        lambda _: database.crash()):
                moving = subprocess.Popen(
                    [LOCKSTEP, "relay", "migrate", "--from", relay.store, "--to", database.url],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
                wait_until(lambda: has_chunks(database), "chunks in the database")
                end(moving)
                said, complained = moving.communicate(timeout=60)
                assert moving.returncode != 0 and said == "" and complained, complained
                wait_until(lambda: not is_open(database), "no session in the database")
            told = migrate(relay.store, database.url)
            assert told["pieces"] == 12 and told["lost"] == [], told
            with Relay("--loops", "1", store=database.url) as other:
                same = Person(other, {"accountID": person.account, "deviceID": person.device,
                                      "token": person.token})
                assert missing(same, *[random_chunk(4 << 20, seed=number)[0] for number in range(12)]) == []
    finally:
        database.end()


def ask(database, question):
    done = subprocess.run(["psql", "-X", "-A", "-t", "-d", database.url, "-c", question],
                          capture_output=True, text=True)
    return done.stdout.strip()


def has_chunks(database):
    return ask(database, "SELECT count(*) > 0 FROM file_parts") == "t"


def is_open(database):
    return ask(database, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE "
                         "'lockstep%'") != "0"


if __name__ == "__main__":
    main(globals())
