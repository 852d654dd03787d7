"""Accounts move between the stores of two relays, and their devices find them there."""

import json
import os
import random
import signal
import subprocess
import time

from chunk_stories import missing, put, random_chunk
from database_stories import Database
from migrate_stories import relay_at
from story import (
    LOCKSTEP, Person, Relay, expect, folder, has_postgres, main, record, refused, run)


def words(account, origin, target, relay):
    return ("relay", "migrate", "--account", account, "--from", origin, "--to", target,
            "--relay", relay)


def move(account, origin, target, relay, code=0):
    return json.loads(
        run(*words(account, origin, target, relay), "--json", expect_code=code).stdout)


def at(relay, person):
    """The same device at another relay."""
    return Person(relay, {"accountID": person.account, "deviceID": person.device,
                          "token": person.token})


def names(person):
    return {each["name"] for each in expect(person.changes(), 200).json["changes"]}


def expect_moved(person, relay):
    """The person's relay names the other one."""
    for answer in (person.changes(), person.save(record("late"))):
        problem = expect(answer, 421, "accountMoved").json
        assert problem["relay"] == relay, problem


def story_between_databases_nothing_is_lost_while_relays_run():
    """A device saves all the time; its account moves to the other database and back."""
    if not has_postgres():
        return
    one, other = Database(), Database()
    try:
        with Relay(store=one.url) as first, Relay(store=other.url) as second:
            person = Person.new(first)
            data, _ = random_chunk(300_000, seed=5)
            expect(put(person, data), 201)
            saved = []
            for origin, target, there, stores in (
                    (first, second, second, (one.url, other.url)),
                    (second, first, first, (other.url, one.url))):
                here = at(origin, person)
                moving = subprocess.Popen(
                    [LOCKSTEP, *words(person.account, *stores, there.address)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True)
                while True:
                    name = f"n{len(saved)}"
                    answer = here.save(record(name))
                    if answer.status == 200:
                        saved.append(name)
                    elif answer.status == 503:
                        assert answer.json["code"] == "accountMoving", answer
                        assert answer.headers["retry-after"] == "1", answer
                    else:
                        break
                output, errors = moving.communicate()
                assert moving.returncode == 0, (output, errors)
                expect_moved(here, there.address)
                here = at(target, person)
                assert names(here) == set(saved), names(here) ^ set(saved)
                assert missing(here, data) == []
                token = expect(here.changes(), 200).json["token"]
                saved.append(f"after{len(saved)}")
                expect(here.save(record(saved[-1])), 200)
                later = expect(here.changes(since=token), 200).json["changes"]
                assert [each["name"] for each in later] == saved[-1:], later
    finally:
        one.end()
        other.end()


def story_a_killed_move_is_completed_by_the_same_command():
    """Killed at any moment, the account works again, and the next run completes the move."""
    if not has_postgres():
        return
    one, other = Database(), Database()
    try:
        with Relay(store=one.url) as first, Relay(store=other.url) as second:
            person = Person.new(first)
            saved = {f"r{number}" for number in range(200)}
            expect(person.save(*[record(name) for name in sorted(saved)]), 200)
            command = [LOCKSTEP, *words(person.account, one.url, other.url, second.address)]
            chance = random.Random(4)
            for _ in range(8):
                moving = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0, 0.4))
                moving.send_signal(signal.SIGKILL)
                moving.wait()
            run(*command[1:])
            here = at(second, person)
            assert names(here) == saved
            expect(here.save(record("after")), 200)
            expect_moved(person, second.address)
    finally:
        one.end()
        other.end()


def story_between_folders_the_relays_are_stopped():
    """A folder has one holder; afterwards its relay names the other one, until it is told to
    forget the account."""
    with folder() as directory:
        old, new = [os.path.join(directory, name) for name in ("old", "new")]
        first, second = Relay(store=old), Relay(store=new)
        with second:
            address = second.address
        with first:
            person = Person.new(first)
            expect(person.save(record("a")), 200)
            refused(*words(person.account, old, new, address), says="stop all relays on it first")
        assert move(person.account, old, new, address)["records"] == 1
        assert move(person.account, old, new, address)["continued"]
        with relay_at(first.port, old) as first, relay_at(second.port, new) as second:
            person = at(first, person)
            expect_moved(person, address)
            here = at(second, person)
            assert names(here) == {"a"}
            assert person.account not in run("account", "list", "--store", old).stdout
            assert person.account in run("account", "list", "--store", new).stdout
            told = run("account", "remove", person.account, "--store", old, "--yes").stdout
            assert address in told, told
            expect(person.changes(), 401, "badToken")
            assert names(here) == {"a"}
        for store in (old, new):
            run("relay", "check", "--store", store)


def story_what_cannot_be_moved_is_refused():
    with folder() as directory:
        old, new = [os.path.join(directory, name) for name in ("old", "new")]
        with Relay(store=old) as relay:
            person = Person.new(relay)
        account, address = person.account, "https://b.example"
        command = words(account, old, new, address)
        refused(*command, says="no store of a relay")
        refused(*words(account, old, old, address), says="the same store")
        refused(*command[:-2], says="needs --relay", code=2)
        refused("relay", "migrate", "--from", old, "--to", new, "--relay", address,
                says="add --account", code=2)
        refused(*words(account, old, new, "b.example"), says="no address of a relay", code=2)
        with Relay(store=new):
            pass
        refused(*words("nobody", old, new, address), says="there is no account")
        refused(*command, "--repeat-departure", says="cannot depart again")
        move(account, old, new, address)


if __name__ == "__main__":
    main(globals())
