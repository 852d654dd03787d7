"""A real device and a real relay that ended the device's cursor or plan: docs/protocol.md, "What a
device does", without a proxy."""

import contextlib
import os

from story import Home, Relay, expect, folder, main, record, run, tombstone, wait_until


@contextlib.contextmanager
def devices(*options):
    with folder() as directory, Relay(*options) as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = phone.pair(relay, directory)
        yield relay, phone, laptop


def wait_expired(writer, since):
    def is_expired():
        expect(writer.save(record("filler"), zone="Other"), 200)
        return writer.changes(since=since).status == 410

    wait_until(is_expired, "the history to end")


def story_a_device_that_was_away_for_longer_than_the_history():
    """Records deleted meanwhile disappear from the device's screen, although their tombstones have
    expired; edits made on the device meanwhile are uploaded; and it is in sync again."""
    for is_edited in (False, True):
        with devices("--retention", "1s") as (relay, phone, laptop):
            phone.run("timer", "start", "--minutes", "40")
            writer = laptop.person(relay).pair("writer")
            phone.run("sync")
            since = writer.changes().json["token"]
            relay.stop()
            if is_edited:
                phone.run("timer", "pause")
                assert phone.status()["waiting"] == 1
            relay.start()
            [timer] = [each for each in writer.changes().json["changes"] if each["zone"] == "Timer"]
            expect(writer.save(tombstone(timer["name"]), zone="Timer"), 200)
            wait_expired(writer, since)
            phone.run("sync")
            shown = phone.timer("status")
            assert shown["stateType"] == ("focus" if is_edited else "idle"), shown
            status = phone.status()
            assert (status["state"], status["waiting"], status["parked"]) == ("inSync", 0, 0), status
            laptop.run("sync")
            there = laptop.timer("status")
            assert (there["stateType"], there["isPaused"]) == (
                shown["stateType"], shown["isPaused"]), (shown, there)
            held = [each["zone"] for each in writer.changes().json["changes"]]
            assert ("Timer" in held) == is_edited, held


def story_a_running_agent_whose_cursor_expires_reads_a_snapshot():
    """`agent run` was disconnected for longer than the history: it reads a new snapshot by
    itself."""
    with devices("--retention", "1s") as (relay, phone, laptop):
        phone.run("timer", "start", "--minutes", "40")
        writer = laptop.person(relay).pair("writer")
        with phone.start_agent() as agent:
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            since = writer.changes().json["token"]
            os.kill(agent.process.pid, 19)
            try:
                [timer] = [each for each in writer.changes().json["changes"]
                           if each["zone"] == "Timer"]
                expect(writer.save(tombstone(timer["name"]), zone="Timer"), 200)
                wait_expired(writer, since)
                relay.kill()
                relay.start()
            finally:
                os.kill(agent.process.pid, 18)
            wait_until(lambda: phone.timer("status")["stateType"] == "idle", "the screen")
            wait_until(lambda: phone.status()["state"] == "inSync", "it to be in sync")
            laptop.run("timer", "start")
            wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the next change")
            assert agent.stop() == 0


def story_a_plan_that_ends_and_comes_back():
    """The owner removes a zone from the plan, then all zones, then restores them: the device keeps
    its changes, names the zone, and sends everything when its user syncs."""
    with devices() as (relay, phone, laptop):
        account = phone.status()["account"]

        def plan(*words):
            run("account", "plan", account, *words, "--store", relay.store)

        phone.run("timer", "start")
        laptop.run("sync")
        plan("--zones", "Elsewhere")
        with phone.start_agent() as agent:
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to be in sync")
            phone.run("timer", "pause")
            status = wait_until(
                lambda: (lambda seen: seen if seen.get("blockedZones") else None)(phone.status()),
                lambda: f"the plan to be felt: {phone.status()}")
            assert status["blockedZones"] == ["Timer"] and status["waiting"] == 1, status
            # It still receives changes of other zones.
            writer = laptop.person(relay)
            expect(writer.save(record("a"), zone="Elsewhere"), 200)
            plan("--none")
            wait_until(lambda: phone.status()["state"] == "failed",
                       lambda: f"the end of the plan: {phone.status()}")
            phone.run("timer", "resume")
            phone.run("timer", "skip")
            assert phone.status()["waiting"] == 1, phone.status()
            assert phone.timer("status")["stateType"] == "breakTime"
            plan("--all")
            phone.run("sync")
            wait_until(lambda: phone.status()["state"] == "inSync" and phone.status()["waiting"] == 0,
                       lambda: f"all to be sent: {phone.status()}")
            assert "blockedZones" not in phone.status(), phone.status()
            assert agent.stop() == 0
        laptop.run("sync")
        assert laptop.timer("status")["stateType"] == "breakTime"


if __name__ == "__main__":
    main(globals())
