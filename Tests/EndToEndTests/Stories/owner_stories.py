"""What the owner of a relay sees of it: its settings, its log, its signals and its numbers."""

import json
import os
import re
import signal

from story import Line, Person, Relay, curl, expect, main, record, wait_until


def logged(relay, pattern, count=1):
    """Waits until the relay has said that so many times."""
    wait_until(lambda: len(re.findall(pattern, relay.text(), re.M)) >= count,
               lambda: f"{pattern!r} in the log:\n{relay.text()}")


def story_sighup_is_no_end():
    """Somebody sends SIGHUP to a relay that has nothing to read again: it says so and goes on."""
    with Relay() as relay:
        os.kill(relay.id, signal.SIGHUP)
        logged(relay, "^lockstep relay: SIGHUP: there is nothing to read again")
        Person.new(relay)
        assert relay.stop() == 0, relay.text()


def story_sigusr1_shows_the_state():
    """The owner asks a relay with a stream and a parked poll how it is."""
    with Relay("--loops", "2") as relay:
        person = Person.new(relay)
        expect(person.save(record("first", "nobody-may-read-this")), 200)
        cursor = person.changes().json["token"]
        streaming, parked = Line(relay, person), Line(relay, person)
        headers = {"Authorization": f"Bearer {person.token}"}
        streaming.connection.request("GET", "/v1/events", headers=headers)
        stream = streaming.connection.getresponse()
        assert stream.status == 200
        parked.connection.request("GET", f"/v1/changes?wait=50&since={cursor}", headers=headers)
        asked = 0

        def shown():
            nonlocal asked
            asked += 1
            os.kill(relay.id, signal.SIGUSR1)
            logged(relay, "^    store requests waiting", 2 * asked)
            block = relay.text()[relay.text().rindex("lockstep relay: state of version"):]
            return block if "longPoll 1" in block else None

        block = wait_until(shown, "the parked poll in the state")
        for part in [f"process {relay.id}, up ", "2 loops", "loop 0: running", "loop 1: running",
                     "events 1", "store requests waiting", "timers", "held ", "unsent "]:
            assert part in block, block
        assert person.token not in relay.text() and "nobody-may-read-this" not in relay.text()


if __name__ == "__main__":
    main(globals(), at_once=2)
