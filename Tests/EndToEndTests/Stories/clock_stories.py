"""Devices with wrong clocks: their edits get the relay's time, and the newer edit wins."""

import json

from story import Home, Relay, folder, main, now, refused, run, wait_until


def story_devices_whose_clocks_are_days_apart_agree_on_what_is_newer():
    """One clock is a day ahead, one a month behind: each device sees the other's last edit and can
    supersede it."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        ahead, behind = ("--clock-offset", "86400"), ("--clock-offset=-2592000",)
        begun = now()
        phone.run("memo", "add", "Milk", *ahead)
        run("agent", "memo", "edit", "1", *behind, home=laptop.path, input="Bread\n")
        run("agent", "memo", "edit", "1", *ahead, home=phone.path, input="Eggs\n")
        [memo] = json.loads(laptop.run("memo", "list", "--json", *behind))["memos"]
        assert memo["title"] == "Eggs", memo
        assert begun - 5_000 < memo["date"] < now() + 5_000, memo
        # The time shown is not a day in the past or in the future.
        told = phone.run("status", *ahead)
        assert "in sync, just now" in told or " s ago" in told, told
        assert "within 10 minutes" in phone.run("pair", *ahead)
        assert "d ago" not in phone.run("devices", *ahead)


def story_a_clock_that_is_set_while_edits_wait_does_not_date_them():
    """An edit is made without a relay and with a clock a day ahead, and sent after the clock was
    corrected."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        relay.stop()
        environment = {"LOCKSTEP_CLOCK_OFFSET": "86400"}
        run("agent", "memo", "add", "Milk", home=phone.path, environment=environment)
        relay.start()
        with phone.start_agent():
            wait_until(lambda: phone.status()["waiting"] == 0, "the memo to be sent")
        [memo] = json.loads(laptop.run("memo", "list", "--json"))["memos"]
        assert memo["title"] == "Milk", memo
        refused("agent", "status", "--clock-offset", "soon", home=phone.path, code=2,
                says="--clock-offset")


if __name__ == "__main__":
    main(globals())
