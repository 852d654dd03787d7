"""Calls of devices that were paired for a part of their account: every cell of the table
scope_calls.json, on each kind of store. The unit tests of the relay have the same table."""

import json
import os

from database_stories import relays
from story import Person, Relay, expect, has_postgres, main, new_id, record, upload

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scope_calls.json")
OWN, OTHER, MISSING = "Todos", "Journal", "Missing"


def call(device, row, zone):
    method, path = row["call"].split(" ")
    body = row.get("body")
    if body is not None:
        body = json.loads(json.dumps(body).replace("*", zone).replace("%", new_id()))
    return device.call(method, path.replace("*", zone), body)


def shown(answer):
    """All that an answer shows, but the time and the id of the request."""
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    return answer.status, headers, answer.body


def laptop_with_two_zones(relay):
    laptop = Person.new(relay)
    chunks = {}
    for zone in (OWN, OTHER):
        chunks[zone] = upload(laptop, f"chunk of {zone}".encode())
        expect(laptop.save(record("a", chunks=[chunks[zone]]), zone=zone), 200)
    return laptop, chunks


def check_all_cells(relay):
    """Returns the outcome of each cell."""
    laptop, chunks = laptop_with_two_zones(relay)
    with open(TABLE) as file:
        rows = json.load(file)
    outcomes = []
    for access, column in (("read", "reader"), ("write", "writer")):
        device = laptop.pair(zones=[OWN], access=access)
        for row in rows:
            answers = {zone: call(device, row, zone) for zone in (OWN, OTHER, MISSING)}
            for zone, answer in answers.items():
                wanted = row[column if zone == OWN else "outside"]
                assert answer.status == wanted, (row, access, zone, answer)
                if wanted == 403:
                    expect(answer, 403, "outOfScope")
                code = answer.json["code"] if answer.status >= 400 else None
                outcomes.append((access, row["call"], zone, answer.status, code))
            assert shown(answers[OTHER]) == shown(answers[MISSING]), (row, answers)
        # A chunk of another zone looks like one that nobody has.
        nobody = "0" * 64
        for method in ("GET", "HEAD"):
            there, unknown = (
                device.call(method, f"/v1/chunks/{hash}") for hash in (chunks[OTHER], nobody))
            assert there.status == 404, there
            assert shown(there) == shown(unknown), (there, unknown)
    expect(laptop.call("GET", f"/v1/zones/{OTHER}/records/a"), 200)
    return outcomes


def story_each_call_of_a_limited_device_has_the_outcome_of_the_table():
    """A laptop pairs one device that may change a zone, and one that only reads it. Every call about
    this zone has the outcome of the table; about another zone it is refused alike, whether or not
    there is such a zone."""
    with Relay() as relay:
        assert check_all_cells(relay)


def story_a_database_gives_limited_devices_the_same_answers():
    """The same on PostgreSQL: each cell has the outcome that it has on SQLite."""
    if not has_postgres():
        return
    with Relay() as here, relays(count=1) as (_, (there,)):
        assert check_all_cells(here) == check_all_cells(there)


if __name__ == "__main__":
    main(globals())
