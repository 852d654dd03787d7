"""Conflicts of each kind on three real devices of one person, which were offline at the same time.
Those of the vault have their own stories."""

import contextlib

from story import Home, Relay, folder, main, run


@contextlib.contextmanager
def devices():
    """A relay, and three devices that have synced with it while it was empty."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone")
        others = [phone.pair(relay, directory, name) for name in ("laptop", "desk")]
        for home in others:
            home.run("sync")
        yield relay, phone, *others


@contextlib.contextmanager
def all_offline(relay, *homes):
    """All homes are offline in this block, and all have synced after it."""
    relay.stop()
    yield
    relay.start()
    for home in homes + homes:
        assert home.status()["state"] in ("inSync", "needsPerson"), home.status()


def write(home, *words, text):
    run("agent", *words, home=home.path, input=text)


def same(homes, *words):
    """The output of a command, the same on all homes."""
    views = [home.json(*words) for home in homes]
    assert all(view == views[0] for view in views), views
    return views[0]


def story_a_focus_outlives_a_stop_of_the_same_moment():
    """Within five seconds the state decides, not the order of time; the count never decreases."""
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        phone.timer("start")
        for home in (laptop, desk):
            home.run("sync")
        with all_offline(relay, *homes):
            phone.timer("skip")
            desk.timer("pause")
            laptop.timer("stop")
        faces = [home.timer("status") for home in homes]
        assert {face["stateType"] for face in faces} == {"focus"}, faces
        assert len({face["device"] for face in faces}) == 1, faces
        assert faces[0]["device"] == desk.status()["device"], faces
        # No conflicts from here on.
        laptop.timer("stop")
        for home in homes:
            home.run("sync")
        assert {home.timer("status")["stateType"] for home in homes} == {"idle"}


def story_of_two_values_of_one_setting_the_newer_stands():
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        with all_offline(relay, *homes):
            phone.run("timer", "settings", "set", "focusMinutes=40", "longBreakEvery=3")
            laptop.run("timer", "settings", "set", "focusMinutes=45")
            desk.run("timer", "settings", "set", "focusMinutes=50", "autoStart=false")
        settings = same(homes, "timer", "settings", "get")
        assert settings["focusMinutes"] == 50 and settings["longBreakEvery"] == 3, settings
        assert settings["autoStart"] is False, settings


def story_what_is_cleared_here_and_copied_there():
    """A clear removes only the items that its device had seen; items copied elsewhere meanwhile
    stay."""
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        for text in ("one", "two", "three"):
            phone.run("clipboard", "add", text)
        for home in (laptop, desk):
            home.run("sync")
        with all_offline(relay, *homes):
            phone.run("clipboard", "clear")
            laptop.run("clipboard", "remove", "2")
            desk.run("clipboard", "add", "four")
        items = same(homes, "clipboard", "list")["items"]
        assert [each["content"] for each in items] == ["four"], items


def story_three_texts_of_one_memo_are_all_kept():
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        phone.run("memo", "add", "Shared")
        for home in (laptop, desk):
            home.run("sync")
        with all_offline(relay, *homes):
            for home, text in zip(homes, ("From the phone", "From the laptop", "From the desk")):
                write(home, "memo", "edit", "1", text=text)
        memos = same(homes, "memo", "list")["memos"]
        assert {each["title"] for each in memos} == {
            "From the phone", "From the laptop", "From the desk"}, memos
        [kept] = [each for each in memos if "copyOf" not in each]
        assert kept["title"] == "From the desk", "the newest stays under its name"


def story_a_memo_that_was_edited_outlives_its_removal():
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        for text in ("Edited elsewhere", "Left alone"):
            phone.run("memo", "add", text)
        for home in (laptop, desk):
            home.run("sync")
        with all_offline(relay, *homes):
            write(desk, "memo", "edit", "edited elsewhere", text="Edited")
            for memo in ("edited elsewhere", "left alone"):
                laptop.run("memo", "remove", memo)
        assert [each["title"] for each in same(homes, "memo", "list")["memos"]] == ["Edited"]


def story_a_habit_removed_here_and_renamed_there_waits_for_the_person():
    """Neither wins automatically. The counts survive the habit's removal, and return with it."""
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        phone.run("habits", "add", "Water", "--count", "--target", "8")
        for home in (laptop, desk):
            home.run("habits", "restore", "yes")
        with all_offline(relay, *homes):
            phone.run("habits", "remove", "water")
            laptop.run("habits", "edit", "water", "--title", "Tea")
            desk.run("habits", "count", "water", "+3", "--day", "2026-03-01")
        [conflict] = laptop.json("habits", "conflicts")["conflicts"]
        assert conflict["local"]["fields"]["title"] == "Tea", conflict
        assert conflict["cloud"]["fields"] is None, conflict
        assert phone.json("habits", "day", "2026-03-01")["habits"] == []
        laptop.run("habits", "keep", "local", "tea")
        for home in homes:
            home.run("sync")
        [habit] = same(homes, "habits", "day", "2026-03-01")["habits"]
        assert (habit["title"], habit["total"]) == ("Tea", 3), habit
        # The opposite choice: the person lets the habit go.
        with all_offline(relay, *homes):
            phone.run("habits", "remove", "tea")
            laptop.run("habits", "edit", "tea", "--title", "Coffee")
        laptop.run("habits", "keep", "cloud", "coffee")
        for home in homes:
            home.run("sync")
        assert same(homes, "habits", "day", "2026-03-01")["habits"] == []


def story_what_three_devices_counted_adds_up():
    with devices() as (relay, *homes):
        phone, laptop, desk = homes
        phone.run("habits", "add", "Water", "--count", "--target", "8")
        for home in (laptop, desk):
            home.run("habits", "restore", "yes")
        with all_offline(relay, *homes):
            for home, amount in zip(homes, ("+1", "+2", "+4")):
                home.run("habits", "count", "water", amount, "--day", "2026-03-01")
            desk.run("habits", "count", "water", "+1", "--undo", "--day", "2026-03-01")
        [habit] = same(homes, "habits", "day", "2026-03-01")["habits"]
        assert (habit["total"], habit["done"]) == (6, False), habit


if __name__ == "__main__":
    main(globals())
