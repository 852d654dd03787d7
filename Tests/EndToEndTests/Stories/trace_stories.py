"""Timing of a change, step by step: reported by the relay on request, and by `lockstep trace` to a
person and to programs."""

import json

from proxy import Proxy
from story import Person, Relay, expect, main, new_id, now, record, refused, run
from websocket_stories import Socket, play

MILESTONES = [
    ("deviceA", "acted"), ("deviceA", "stored"), ("deviceA", "sent"), ("relay", "received"),
    ("relay", "committed"), ("relay", "pushed"), ("deviceB", "received"), ("deviceB", "applied")]


def milestones(change):
    return [(each["place"], each["milestone"]) for each in change["milestones"]]


def holds_together(change):
    """The milestones are in order, and the sum of their steps is the total."""
    at = [each["atMs"] for each in change["milestones"]]
    assert at == sorted(at) and at[0] == 0 and at[-1] == change["totalMs"] > 0, change
    assert abs(sum(each["stepMs"] for each in change["milestones"]) - at[-1]) < 0.1, change


def in_order(timing, since):
    assert set(timing) == {"received", "durable", "pushed"}, timing
    # By the clock of the same machine, truncated to milliseconds.
    assert since - 1 <= timing["received"] <= timing["durable"] <= timing["pushed"] <= now() + 1, timing


def story_each_change_is_followed_through_all_its_milestones():
    """With its own relay, and with a given one; by all transports except poll, which would only
    wait."""
    with Relay() as relay:
        for words in [[], ["--relay", relay.address], ["--transport", "events"],
                      ["--relay", relay.address, "--transport", "long-poll"]]:
            told = json.loads(run("trace", "--count", "3", *words, "--json").stdout)
            assert told["changes"] == told["arrived"] == len(told["runs"]) == 3, told
            assert told["failures"] == [], told
            for change in told["runs"]:
                assert milestones(change) == MILESTONES, change
                holds_together(change)
                assert change["relayUncertaintyMs"] >= 0, change
            totals = sorted(change["totalMs"] for change in told["runs"])
            assert [told["leastMs"], told["medianMs"], told["mostMs"]] == totals, told
            assert told["largest"]["place"] in ("deviceA", "relay", "deviceB"), told


def story_a_person_sees_a_timeline():
    """One line for each milestone, with a bar, and the largest part."""
    text = run("trace", "--count", "1").stdout
    assert text.startswith("one change by websocket\n"), text
    for word in ["device A", "relay", "device B", "committed", "applied", "█", "The largest part is",
                 "earlier or later"]:
        assert word in text, text
    assert "\x1b" not in text and max(map(len, text.splitlines())) < 110, text
    many = run("trace").stdout
    assert many.startswith("5 changes by websocket") and "the change with the median time" in many, many


def story_a_relay_that_tells_no_times_is_one_step():
    """An older relay ignores the request for times, and is traced as one step."""
    def older(message, up):
        return {name: value for name, value in message.items() if name != "timed"} if up else message

    with Relay() as relay:
        proxy = Proxy(relay)
        proxy.on_message = older
        told = json.loads(run("trace", "--count", "2", "--relay", proxy.address, "--json").stdout)
        assert told["arrived"] == 2 and told["failures"] == [], told
        for change in told["runs"]:
            assert milestones(change) == [each for each in MILESTONES if each[0] != "relay"], change
            holds_together(change)
            assert change["relayUncertaintyMs"] is None, change
        text = run("trace", "--count", "1", "--relay", proxy.address).stdout
        assert "This relay reports no times" in text and "committed" not in text, text


def story_a_save_tells_its_times_to_who_asks():
    """By HTTP and on the socket; only on request, and only if something was saved. Times are not
    part of the batch: a retry with or without them is the same batch."""
    with Relay() as relay:
        person = Person.new(relay)
        batch, note, since = new_id(), record("a"), now()
        first = expect(person.save(note, id=batch, timed=True), 200).json
        in_order(first["timing"], since)
        for members in ({}, {"timed": True}, {"timed": None}):
            again = expect(person.save(note, id=batch, **members), 200).json
            assert again["results"] == first["results"] and "timing" not in again, again
        assert "timing" not in expect(person.save(record("b"), timed=False), 200).json
        conflict = expect(person.save(record("a", baseTag=0), timed=True), 200).json
        assert "conflict" in conflict["results"][0] and "timing" not in conflict, conflict
        expect(person.save(record("c"), timed="yes"), 400)


def story_the_socket_tells_them_too():
    """The receivers of the change do not get the times."""
    async def scene(relay):
        person = Person.new(relay)
        start = person.changes().json["token"]
        one, two = [await Socket.open(each, since=start) for each in (person, person.pair())]
        for timed in (True, False):
            since = now()
            await one.send({"op": "save", "id": new_id(), "zone": "Notes", "timed": timed,
                            "records": [record(f"timed {timed}")]})
            saved = await one.receive("saved")
            assert ("timing" in saved) == timed, saved
            if timed:
                in_order(saved["timing"], since)
            push = await two.receive("changes")
            assert "timing" not in push and "timed" not in push["changes"][0], push

    play(scene)


def story_what_cannot_be_followed_is_said():
    """A relay that is not available, or accepts no new accounts, and invalid options."""
    with Relay(is_open=False) as relay:
        refused("trace", "--relay", relay.address, says="new accounts")
        relay.stop()
        refused("trace", "--relay", relay.address, says="refused")
    refused("trace", "--count", "0", says="--count", code=2)
    refused("trace", "--transport", "pigeon", says="long-poll", code=2)


if __name__ == "__main__":
    main(globals())
