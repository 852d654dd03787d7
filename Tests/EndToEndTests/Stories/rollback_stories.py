"""A relay's complete store goes back to an earlier state, as with a machine snapshot, without any
announcement: the relay recognises tokens of the lost history, and the devices bring back what they
hold."""

import json
import os
import shutil
from contextlib import ExitStack

from history_stories import live
from story import Home, Person, Relay, expect, folder, main, record, wait_until


def copied(relay, directory):
    """Copies all files of the store while the relay runs and no device saves."""
    place = os.path.join(directory, "copy")
    shutil.copytree(relay.store, place, ignore=shutil.ignore_patterns("*.sock"))
    return place


def put_back(relay, place):
    """The relay dies, and restarts with the earlier store."""
    relay.kill()
    shutil.rmtree(relay.store)
    shutil.copytree(place, relay.store)
    relay.start()


def memos(home):
    return sorted(
        each["title"] for each in json.loads(home.run("memo", "list", "--json"))["memos"])


def three_homes(relay, directory):
    phone = Home.new(relay, directory, "phone")
    laptop = phone.pair(relay, directory, "laptop")
    tablet = phone.pair(relay, directory, "tablet")
    for title in ("Early", "Old"):
        phone.run("memo", "add", title)
    for home in (laptop, tablet):
        home.run("sync")
        assert memos(home) == ["Early", "Old"]
    return phone, laptop, tablet


def lose_and_go_on(relay, directory, restarts, first):
    """Five memos are saved and one is removed, and the relay forgets it; `first` is the index of
    the device that saves first afterwards. All devices report that they are in sync, and hold the
    same complete data."""
    homes = three_homes(relay, directory)
    phone, laptop, tablet = homes
    place = copied(relay, directory)
    if restarts:
        relay.kill()
        relay.start()
    lost = [f"Lost {number}" for number in range(5)]
    for title in lost:
        phone.run("memo", "add", title)
    laptop.run("memo", "remove", "Old")
    phone.run("sync")
    assert memos(phone) == memos(laptop) == sorted(["Early"] + lost)
    put_back(relay, place)
    later = [f"Later {number}" for number in range(8)]
    for title in later:
        homes[first].run("memo", "add", title)
    whole = sorted(["Early"] + lost + later)
    for home in (phone, laptop, tablet, phone, laptop, tablet):
        home.run("sync")
    for home in homes:
        assert memos(home) == whole, (home.path, memos(home), whole)
        status = home.status()
        assert status["waiting"] == 0 and not status.get("parked"), status


# MARK: devices

def story_a_device_that_lost_nothing_saves_first():
    with folder() as directory, Relay() as relay:
        lose_and_go_on(relay, directory, restarts=False, first=2)


def story_a_device_that_holds_what_is_lost_saves_first():
    with folder() as directory, Relay() as relay:
        lose_and_go_on(relay, directory, restarts=False, first=0)


def story_what_was_saved_after_a_restart_is_lost_as_a_whole():
    with folder() as directory, Relay() as relay:
        lose_and_go_on(relay, directory, restarts=True, first=2)


def story_devices_that_stay_connected_come_together_by_themselves():
    """No manual sync is needed, and no device reports that it is in sync while contents differ."""
    with folder() as directory, Relay() as relay, ExitStack() as stack:
        phone, laptop, tablet = homes = three_homes(relay, directory)
        for home in (phone, laptop):
            stack.enter_context(home.kept())
        place = copied(relay, directory)
        phone.run("memo", "add", "Lost")
        wait_until(lambda: "Lost" in memos(laptop), "the laptop to have it")
        put_back(relay, place)
        tablet.run("memo", "add", "Later")
        stack.enter_context(tablet.kept())
        whole = ["Early", "Later", "Lost", "Old"]
        wait_until(lambda: all(memos(home) == whole for home in homes), "all to hold all")
        wait_until(
            lambda: all(home.status()["state"] == "inSync" for home in homes), "all in sync")
        assert all(memos(home) == whole for home in homes)


# MARK: the wire

def story_a_token_of_what_is_lost_is_told_how_far_it_is_good():
    with folder() as directory, Relay() as relay:
        ada = Person.new(relay)
        kept = expect(ada.save(record("a")), 200).json
        place = copied(relay, directory)
        lost = expect(ada.save(record("b"), record("a", "two")), 200).json
        put_back(relay, place)
        # Before another save, and after it.
        for _ in range(2):
            told = expect(ada.changes(since=lost["token"]), 410, "storeRestored").json
            assert told["restoredThrough"] == kept["results"][0]["tag"], told
            page = expect(ada.changes(since=kept["token"]), 200).json
            assert page["since"] == kept["token"]
            stale = ada.save(record("a", "three", baseTag=lost["results"][1]["tag"]))
            assert expect(stale, 410, "storeRestored").json["restoredThrough"] == \
                kept["results"][0]["tag"]
            again = expect(ada.save(record("c")), 200).json
            # No tag is issued twice, and tokens keep increasing.
            assert again["results"][0]["tag"] > lost["results"][1]["tag"]
        assert [name for _, name in live(ada)] and len(live(ada)) == 2
        # A restart alone changes nothing.
        relay.kill()
        relay.start()
        page = expect(ada.changes(since=kept["token"]), 200).json
        assert [each["name"] for each in page["changes"]] == ["c"], page
        expect(ada.changes(since=lost["token"]), 410, "storeRestored")


if __name__ == "__main__":
    main(globals())
