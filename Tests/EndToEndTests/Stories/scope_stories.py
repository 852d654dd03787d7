"""Devices for a part of an account: docs/devices.md, "For a part of the account", and "Scopes" in
docs/protocol.md."""

import json
import os

from story import Home, Person, Relay, curl, expect, folder, main, record, refused, run, wait_until

MEMOS = {"zones": ["Memos"], "access": "read"}


def joined(phone, relay, directory, *words, name="tablet"):
    """A new home whose device joins with a code that is limited by these options of `pair`."""
    offer = phone.json("pair", *words)
    home = Home(os.path.join(directory, name))
    told = run("agent", "join", "--relay", relay.address, "--code", "-", "--name", name,
               home=home.path, input=offer["code"] + "\n").stdout
    return home, offer, told


def code(person, **limits):
    return expect(person.call("POST", "/v1/pairings", limits), 201).json


def join(relay, offer, name="second"):
    """The relay's answer to a device that joins with a code."""
    return curl(relay, "POST", "/v1/devices", {
        "code": offer["code"], "deviceName": name, "platform": "test", "appVersion": "1"})


def story_a_tablet_for_one_zone_reads_it_and_changes_nothing():
    """It sees no other zone; each edit is refused at once, with the zone and the next step, also
    without the relay. The phone goes on, and the tablet follows."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        phone.run("memo", "add", "Milk")
        phone.run("clipboard", "add", "secret")
        phone.run("sync")
        tablet, offer, told = joined(
            phone, relay, directory, "--zones", "Memos", "--read-only")
        assert offer["scope"] == MEMOS and offer["opensVault"] is False, offer
        assert "It may read Memos, and nothing else of the account" in told, told
        assert tablet.memos() == ["Milk"]
        with tablet.start_agent():
            tablet.refuses("clipboard", "list", says=["without the zone Clipboard",
                                                      "pair this device again"])
        relay.stop()
        tablet.refuses("memo", "add", "Bread", says=["read the zone Memos", "change nothing",
                                                     "without --read-only"])
        tablet.refuses("timer", "start", says=["without the zone Timer", "--zones Memos,Timer"])
        relay.start()
        phone.run("memo", "add", "Eggs")
        phone.run("sync")
        tablet.run("sync")
        assert tablet.memos() == ["Eggs", "Milk"]
        status = tablet.status()
        assert (status["state"], status["waiting"]) == ("inSync", 0), status


def story_the_relay_enforces_a_scope_and_tells_no_zone_that_is_from_one_that_is_not():
    """By plain HTTP, without the program's own checks."""
    with Relay() as relay:
        owner = Person.new(relay)
        expect(owner.save(record("a"), zone="Memos"), 200)
        expect(owner.save(record("secret"), zone="Clipboard"), 200)
        answer = expect(join(relay, code(owner, **MEMOS)), 201).json
        assert answer["scope"] == MEMOS, answer
        tablet = Person(relay, answer)
        assert [each["name"] for each in expect(tablet.changes(), 200).json["changes"]] == ["a"]
        refusals = [
            expect(tablet.call("GET", f"/v1/zones/{zone}/records/secret"), 403, "outOfScope")
            for zone in ("Clipboard", "Nothing")]
        assert refusals[0].json == refusals[1].json, [each.json for each in refusals]
        for zone in ("Memos", "Clipboard", "Nothing"):
            expect(tablet.save(record("b"), zone=zone), 403, "outOfScope")
            expect(tablet.call("DELETE", f"/v1/zones/{zone}"), 403, "outOfScope")
        assert len(expect(owner.changes(), 200).json["changes"]) == 2, "nothing was changed"
        for more in ({"zones": ["Clipboard"]}, {"access": "write"}):
            expect(tablet.call("POST", "/v1/pairings", more), 403, "outOfScope")
        assert code(tablet)["scope"] == MEMOS


def story_what_each_device_may_use_is_shown():
    """In `devices` and `status`, for a person and as JSON. The tablet gets itself alone, and cannot
    remove or admit others beyond what it has."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        tablet, _, _ = joined(phone, relay, directory, "--zones", "Memos", "--read-only")
        lines = {line.split()[1]: line for line in phone.run("devices").splitlines()[1:]}
        assert "Memos (read only)" in lines["tablet"], lines
        assert "everything" in lines["phone"], lines
        listed = phone.json("devices")["devices"]
        assert {each["deviceName"]: each.get("scope") for each in listed} == {
            "phone": None, "tablet": MEMOS}, listed
        told = tablet.run("devices")
        assert "phone" not in told and "the relay shows it no others" in told, told
        [own] = tablet.json("devices")["devices"]
        assert own["scope"] == MEMOS, own
        assert "scope     Memos (read only)\n" in tablet.run("status")
        assert tablet.status()["scope"] == MEMOS
        assert "scope" not in phone.run("status") and "scope" not in phone.status()
        tablet.refuses("pair", "--zones", "Timer", says="no more than that")
        tablet.refuses("revoke", "phone", says="on a device with the whole account")


def story_the_lifetime_limits_the_code_and_not_the_device():
    """A code for ten seconds, the least, admits a device within them and none afterwards. The
    device that has joined goes on."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        refused("agent", "pair", "--expires", "9", home=phone.path, code=2,
                says="9 is not between 10 and 600")
        tablet, offer, _ = joined(phone, relay, directory, "--zones", "Memos", "--expires", "10")
        unused = phone.json("pair", "--zones", "Memos", "--expires", "10")
        last = max(offer["expiresAt"], unused["expiresAt"])
        wait_until(lambda: expect(curl(relay, "GET", "/v1/time"), 200).json["time"] > last,
                   "the codes to end")
        late = Home(os.path.join(directory, "late"))
        refused("agent", "join", "--relay", relay.address, "--code", "-", home=late.path,
                input=unused["code"] + "\n", says="code")
        expect(join(relay, unused), 403, "badPairingCode")
        tablet.run("memo", "add", "Milk")
        tablet.run("sync")
        phone.run("sync")
        assert phone.memos() == ["Milk"]


def story_a_revoked_tablet_is_told_and_the_others_go_on():
    """Its connection ends, and so do the codes that it gave; a tablet for other zones stays."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        tablet, _, _ = joined(phone, relay, directory, "--zones", "Memos")
        other, _, _ = joined(phone, relay, directory, "--zones", "Timer", name="other")
        given = tablet.json("pair")
        with tablet.start_agent():
            wait_until(lambda: tablet.status()["state"] == "inSync", "the tablet to be connected")
            phone.run("revoke", "tablet")
            wait_until(lambda: tablet.status()["state"] != "inSync", "the tablet to be told")
        told = run("agent", "sync", home=tablet.path, expect_code=1).stdout
        assert "does not know this device any more" in told and "join the account again" in told
        expect(join(relay, given), 403, "badPairingCode")
        assert {each["deviceName"] for each in phone.json("devices")["devices"]} == {
            "phone", "other"}
        other.run("timer", "start")
        other.run("sync")
        phone.run("sync")
        assert phone.timer("status")["stateType"] == "focus"
        phone.run("memo", "add", "Milk")
        assert "in sync" in phone.run("sync")


def story_an_export_and_doctor_name_the_part_that_a_device_has():
    """A tablet is paired for other zones while a change waits: the export has what the home has,
    and says which part of the account that is; doctor says why the change is not sent and what to
    do. Of a device with the whole account neither says anything."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        phone.run("memo", "add", "Milk")
        phone.run("sync")
        tablet, _, _ = joined(phone, relay, directory, "--zones", "Memos")
        relay.stop()
        tablet.run("memo", "add", "Bread")
        relay.start()
        offer = phone.json("pair", "--zones", "Timer")
        run("agent", "join", "--relay", relay.address, "--code", "-", "--name", "tablet",
            home=tablet.path, input=offer["code"] + "\n")
        out = os.path.join(directory, "out")
        told = tablet.run("export", out)
        assert "paired for a part of the account: Timer\n" in told, told
        with open(os.path.join(out, "home.json")) as file:
            assert json.load(file)["scope"] == {"zones": ["Timer"], "access": "write"}
        with open(os.path.join(out, "memo.json")) as file:
            [memo] = json.load(file)
        assert memo["fields"]["content"] == "Bread" and memo["unsent"], memo

        def doctor(home):
            checks = json.loads(run("doctor", "--home", home.path, "--json").stdout)["checks"]
            return {each["name"]: each for each in checks if each["area"] == "home"}
        found = doctor(tablet)
        assert found["scope"]["verdict"] == "warning", found
        assert "1 change in Memos cannot be sent" in found["scope"]["seen"], found
        assert "--zones Memos,Timer on" in found["scope"]["nextStep"], found
        assert found["waiting"]["verdict"] == "ok", found
        assert "scope" not in doctor(phone)
        assert "scope" not in phone.json("export", os.path.join(directory, "whole"))


if __name__ == "__main__":
    main(globals())
