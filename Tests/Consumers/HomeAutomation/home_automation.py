"""Home automation on a household's to-do list, with the installed package `lockstep`.

    home_automation.py HOME SENSORS [--relay URL --token FILE [--code CODE]]

SENSORS is a folder in which a sensor bridge keeps one file for each thing that runs out or needs
work: {"title": "coffee", "state": "empty", "minutes": 5, "tags": ["kitchen"]}. When a file appears
or changes, `empty` adds a to-do of that title unless there is one, `full` marks it as done, and
minutes and tags are added to it.

To-dos are made in HOME, which `lockstep agent run --home HOME --rules todos.json` holds: they are
durable at once, and reach the household when there is a network. The readings themselves are of use
only while they are fresh, so they go to the relay directly, and are dropped if it is away.

Prints the list as one line of JSON, at once and after every change.
"""

import argparse
import json
import os
import sys
import threading

from lockstep import Home, HomeClosed, HomeUnavailable, Relay, RelayUnreachable

ZONE, TYPE = "Todos", "Todo"
POLL_SECONDS = 0.2


def rows(records):
    """The list as the to-do apps of all languages print it."""
    listed = [
        {"done": record.fields.get("done", False), "id": record.name,
         "minutes": record.counters.get("minutes", 0),
         "tags": sorted(record.fields.get("tags", [])), "title": record.fields["title"]}
        for record in sorted(records.values(), key=lambda record: record.name)]
    return json.dumps(listed, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def follow(home, ended):
    """Prints the list after every change, until the process that holds the home ends."""
    try:
        with home.watch(ZONE, TYPE) as changes:
            for change in changes:
                print(rows(change.records), flush=True)
    except (HomeClosed, HomeUnavailable) as error:
        print(f"home automation: {error}", file=sys.stderr)
    ended.set()


def handle(home, reading):
    """Makes the edits that follow from a reading, all or none."""
    title = reading["title"]
    found = [record for record in home.records(ZONE, TYPE) if record.fields["title"] == title]
    with home.transaction() as edits:
        if found:
            names = [record.name for record in found]
        elif reading["state"] == "empty":
            names = [edits.save(ZONE, TYPE, {"title": title, "done": False})]
        else:
            return
        for name in names:
            fields = {}
            if reading["state"] == "full":
                fields["done"] = True
            if reading.get("tags"):
                before = [record for record in found if record.name == name]
                tags = before[0].fields.get("tags", []) if before else []
                fields["tags"] = sorted({*tags, *reading["tags"]})
            minutes = reading.get("minutes", 0)
            if fields or minutes:
                edits.update(ZONE, name, fields, add={"minutes": minutes} if minutes else None)


def report(relay, sensor, reading):
    """Gives a reading to the relay, in the place of the former one."""
    try:
        relay.put("Readings", sensor, "Reading", reading, overwrite=True)
    except RelayUnreachable as error:
        print(f"home automation: a reading of {sensor} is dropped: {error}", file=sys.stderr)


def changed_readings(folder, seen):
    """The readings of the files that are new or have changed."""
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        path = os.path.join(folder, name)
        state = os.stat(path)
        version = (state.st_mtime_ns, state.st_ino)
        if seen.get(name) == version:
            continue
        seen[name] = version
        with open(path, encoding="utf-8") as file:
            yield name.removesuffix(".json"), json.load(file)


def sign_in(options):
    """The relay as a device of its own; its token is kept in a file."""
    if options.code:
        token = Relay(options.relay).join(options.code, "sensors").token
        with open(os.open(options.token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(token)
    with open(options.token) as file:
        return Relay(options.relay, file.read(), timeout=5)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("sensors")
    parser.add_argument("--relay")
    parser.add_argument("--token", help="file of the device's token")
    parser.add_argument("--code", help="pairing code, the first time")
    options = parser.parse_args()
    relay = sign_in(options) if options.relay else None
    with Home(options.home) as home:
        ended, seen = threading.Event(), {}
        threading.Thread(target=follow, args=(home, ended), daemon=True).start()
        # A sensor is polled: the standard library cannot wait for a file to change.
        while not ended.wait(POLL_SECONDS):
            for sensor, reading in changed_readings(options.sensors, seen):
                handle(home, reading)
                if relay is not None:
                    report(relay, sensor, reading)
    sys.exit("home automation: nobody holds the home any more; run: lockstep agent run")


main()
