"""A relay's complete store goes back to an earlier state, as with a machine snapshot, without any
announcement: the relay recognises tokens of the lost history, and the devices bring back what they
hold."""

import os
import shutil
from contextlib import ExitStack

from restored_store_stories import live_records
from story import Home, Person, Relay, expect, folder, main, record, run, wait_until


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


def three_homes(relay, directory):
    phone = Home.new(relay, directory, "phone")
    laptop = phone.pair(relay, directory, "laptop")
    tablet = phone.pair(relay, directory, "tablet")
    for title in ("Early", "Old"):
        phone.run("memo", "add", title)
    for home in (laptop, tablet):
        home.run("sync")
        assert home.memos() == ["Early", "Old"]
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
    assert phone.memos() == laptop.memos() == sorted(["Early"] + lost)
    put_back(relay, place)
    later = [f"Later {number}" for number in range(8)]
    for title in later:
        homes[first].run("memo", "add", title)
    whole = sorted(["Early"] + lost + later)
    for home in (phone, laptop, tablet, phone, laptop, tablet):
        home.run("sync")
    for home in homes:
        assert home.memos() == whole, (home.path, home.memos(), whole)
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
            stack.enter_context(home.start_agent())
        place = copied(relay, directory)
        phone.run("memo", "add", "Lost")
        wait_until(lambda: "Lost" in laptop.memos(), "the laptop to have it")
        put_back(relay, place)
        tablet.run("memo", "add", "Later")
        stack.enter_context(tablet.start_agent())
        whole = ["Early", "Later", "Lost", "Old"]
        wait_until(lambda: all(home.memos() == whole for home in homes), "all to hold all")
        wait_until(
            lambda: all(home.status()["state"] == "inSync" for home in homes), "all in sync")
        assert all(home.memos() == whole for home in homes)


# MARK: what one device knows better

def remove_victim(home):
    home.run("memo", "remove", "Victim")


def edit_victim(home):
    run("agent", "memo", "edit", "Victim", home=home.path, input="Edited\n")


def story_what_was_removed_or_edited_stays_so_whoever_syncs_first():
    """One device holds an unchanged memo that the other has removed or edited, before the relay
    forgot it, while it was out of reach, or afterwards. The unchanged copy is not a change, whoever
    wrote the memo."""
    for act, left in [(remove_victim, []), (edit_victim, ["Edited"])]:
        for when in ["saved", "offline", "afterwards"]:
            for is_author in [True, False]:
                for is_first in [True, False]:
                    stays(act, left, when, is_author, is_first)


def stays(act, left, when, is_author, is_first):
    """`is_author`: the device that acts has written the memo. `is_first`: it syncs first."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone")
        laptop = phone.pair(relay, directory, "laptop")
        for home in (phone, laptop):
            home.run("sync")
        place = copied(relay, directory)
        actor, holder = (phone, laptop) if is_author else (laptop, phone)
        phone.run("memo", "add", "Victim")
        for home in (phone, laptop):
            home.run("sync")
        assert laptop.memos() == ["Victim"]
        if when == "saved":
            act(actor)
            actor.run("sync")
        if when == "offline":
            relay.stop()
            act(actor)
            relay.start()
        put_back(relay, place)
        if when == "afterwards" and is_first:
            act(actor)
        for home in (actor, holder) if is_first else (holder, actor):
            home.run("sync")
        if when == "afterwards" and not is_first:
            act(actor)
        for home in (phone, laptop, phone, laptop):
            home.run("sync")
        for home in (phone, laptop):
            assert home.memos() == left, (
                act.__name__, when, is_author, is_first, home.path, home.memos())


def story_a_device_that_was_put_back_with_the_relay_overrules_nothing():
    """A machine that holds the relay and a device's home is put back. The device does not know its
    own lost edit any more, and edits the older version. The lost one stays, beside it."""
    for act, wanted in [(edit_victim, ["Edited", "Lost"]), (remove_victim, ["Lost"])]:
        with folder() as directory, Relay() as relay:
            phone = Home.new(relay, directory, "phone")
            laptop = phone.pair(relay, directory, "laptop")
            phone.run("memo", "add", "Victim")
            for home in (phone, laptop):
                home.run("sync")
            place = copied(relay, directory)
            shutil.copytree(phone.path, phone.path + "-copy")
            run("agent", "memo", "edit", "Victim", home=phone.path, input="Lost\n")
            for home in (phone, laptop):
                home.run("sync")
            assert laptop.memos() == ["Lost"]
            put_back(relay, place)
            shutil.rmtree(phone.path)
            shutil.copytree(phone.path + "-copy", phone.path)
            act(phone)
            for home in (phone, laptop, phone, laptop):
                home.run("sync")
            for home in (phone, laptop):
                assert home.memos() == wanted, (act.__name__, home.path, home.memos())


def story_a_timer_that_was_stopped_stays_stopped():
    """A focus that was stopped or skipped within seconds, on either device, does not run again
    after the relay has forgotten both, whoever syncs first."""
    for act in ["stop", "skip", "pause"]:
        for acts_on_laptop in [False, True]:
            for laptop_first in [False, True]:
                with folder() as directory, Relay() as relay:
                    phone = Home.new(relay, directory, "phone")
                    laptop = phone.pair(relay, directory, "laptop")
                    for home in (phone, laptop):
                        home.run("sync")
                    place = copied(relay, directory)
                    phone.timer("start", "--minutes", "25")
                    for home in (phone, laptop):
                        home.run("sync")
                    assert laptop.timer("status")["stateType"] == "focus"
                    actor = laptop if acts_on_laptop else phone
                    actor.timer(act)
                    actor.run("sync")
                    wanted = shown(actor)
                    put_back(relay, place)
                    first, second = (laptop, phone) if laptop_first else (phone, laptop)
                    for home in (first, second, first, second):
                        home.run("sync")
                    assert shown(phone) == shown(laptop) == wanted, (
                        act, acts_on_laptop, laptop_first, shown(phone), shown(laptop))


def shown(home):
    status = home.timer("status")
    return status["stateType"], status["isPaused"]


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
        assert [name for _, name in live_records(ada)] and len(live_records(ada)) == 2
        # A restart alone changes nothing.
        relay.kill()
        relay.start()
        page = expect(ada.changes(since=kept["token"]), 200).json
        assert [each["name"] for each in page["changes"]] == ["c"], page
        expect(ada.changes(since=lost["token"]), 410, "storeRestored")


if __name__ == "__main__":
    main(globals())
