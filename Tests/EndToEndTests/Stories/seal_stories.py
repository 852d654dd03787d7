"""An account that was made plain, and is sealed zone by zone: docs/sealed-accounts.md."""

import contextlib
import json
import os
import signal
import subprocess

from account_stories import Owner
from story import (
    LOCKSTEP, PATIENCE, Home, Relay, expect, folder, main, record, refused, run, wait_until)


@contextlib.contextmanager
def plain_account():
    """A relay, and a phone and a laptop of an account that is not sealed."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        for text in ("Milk", "Bread"):
            phone.run("memo", "add", text)
        yield directory, relay, phone, phone.pair(relay, directory)


def give_keys(relay, giver, taker):
    """The taker joins its account again with a code of the giver."""
    return run("agent", "join", "--relay", relay.address, "--code", "-", "--name",
               os.path.basename(taker.path), home=taker.path, input=giver.code() + "\n").stdout


def at_relay(person, zone="Memos"):
    """The zone's live records at the relay: plain ones, and sealed ones."""
    found = ([], [])
    since = ""
    while True:
        page = expect(person.call("GET", f"/v1/changes?zone={zone}{since}"), 200).json
        for each in page["changes"]:
            if not each["deleted"]:
                found["sealed" in each["fields"] and "key" in each["fields"]].append(each)
        if not page["more"]:
            return found
        since = f"&since={page['token']}"


def story_a_zone_is_sealed_while_the_devices_go_on():
    """First the other device gets the keys; then the zone is sealed, while both run. Afterwards the
    relay has each memo once, and cannot read it."""
    with plain_account() as (_, relay, phone, laptop):
        told = phone.run("seal", "Memos", code=1)
        words = phone.run("key", "words").strip()
        assert all(part in told for part in ("nothing is sealed yet", "laptop", words)), told
        assert words in give_keys(relay, phone, laptop)
        assert len(phone.json("devices")["devices"]) == 2
        with phone.start_agent(), laptop.start_agent():
            told = phone.json("seal", "Memos")
            assert told == {"zones": [{"zone": "Memos", "sealed": 2, "remaining": 0}],
                            "words": words, "withoutKeys": [], "pairAgain": []}, told
            laptop.run("memo", "add", "Salt")
            wait_until(lambda: phone.memos() == ["Bread", "Milk", "Salt"], "the memo")
            phone.run("memo", "remove", "Milk")
            wait_until(lambda: laptop.memos() == ["Bread", "Salt"], "the removal")
            for home in (phone, laptop):
                wait_until(lambda: home.status()["state"] == "inSync", "both in sync")
        person = phone.person(relay)
        plain, sealed = at_relay(person)
        # Three memos, one of them a sealed deletion.
        assert plain == [] and len(sealed) == 3, (plain, len(sealed))
        assert "zone Memos is sealed: 0 records" in phone.run("seal", "Memos")
        # Other zones stay as they are.
        phone.run("clipboard", "add", "for all")
        plain, sealed = at_relay(person, "Clipboard")
        assert len(plain) == 1 and sealed == []


def story_a_device_without_the_keys_waits_and_loses_nothing():
    """It was away with changes when the zone was sealed. It sends nothing until it has the keys."""
    with plain_account() as (_, relay, phone, laptop):
        laptop.run("sync")
        relay.stop()
        run("agent", "memo", "edit", "Milk", home=laptop.path, input="Cream\n")
        laptop.run("memo", "add", "Salt")
        relay.start()
        told = phone.json("seal", "Memos", "--now")
        assert len(told["withoutKeys"]) == 1 and told["zones"][0]["remaining"] == 0, told
        laptop.run("sync", code=1)
        assert laptop.memos() == ["Bread", "Cream", "Salt"], laptop.memos()
        laptop.refuses("memo", "add", "More", says=["sealed", "does not have the keys"])
        give_keys(relay, phone, laptop)
        for home in (laptop, phone):
            home.run("sync")
        # What the laptop has sent before it heard of it, it has saved sealed as well.
        for home in (phone, laptop):
            assert home.memos() == ["Bread", "Cream", "Salt"], (home.path, home.memos())
        person = phone.person(relay)
        phone.run("seal", "Memos")
        assert at_relay(person)[0] == []
        for home in (phone, laptop):
            home.run("sync")
            assert home.memos() == ["Bread", "Cream", "Salt"], (home.path, home.memos())


def story_a_plain_record_that_comes_later_is_named_and_taken_on_request():
    """A program without the keys has saved it. No device takes it for a memo until a person says
    so."""
    with plain_account() as (_, relay, phone, laptop):
        assert "lockstep agent seal Memos" in phone.run("seal", "Memos", code=1)
        give_keys(relay, phone, laptop)
        phone.run("seal", "Memos")
        person = phone.person(relay)
        fields = {"title": "Smuggled", "body": "", "createdAt": 1, "updatedAt": 1}
        expect(person.save({"name": "smuggled", "type": "Memo", "fields": fields}, zone="Memos"),
               200)
        told = phone.run("sync", code=1)
        assert "1 record" in told and "cannot be read" in told, told
        assert phone.memos() == ["Bread", "Milk"]
        assert "1 record saved again" in phone.run("seal", "Memos")
        assert at_relay(person)[0] == []
        for home in (phone, laptop):
            home.run("sync")
            assert len(home.memos()) == 3, home.memos()


def story_a_command_that_was_killed_is_given_again():
    """It dies at different moments; in the end each record is there once, sealed."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        person = phone.person(relay)
        for start in range(0, 1_200, 400):
            wishes = [record(f"r{start + number}", f"text {start + number}")
                      for number in range(400)]
            expect(person.save(*wishes, zone="Notes"), 200)
        with phone.start_agent():
            phone.run("sync")
            for seconds in (0.05, 0.15, 0.3):
                command = subprocess.Popen(
                    [LOCKSTEP, "agent", "seal", "Notes", "--home", phone.path],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command.wait(seconds)
                command.send_signal(signal.SIGKILL)
                command.wait(PATIENCE)
        phone.run("seal", "Notes")
        plain, sealed = at_relay(person, "Notes")
        assert plain == [] and len(sealed) == 1_200, (len(plain), len(sealed))
        assert phone.status()["state"] == "inSync", phone.status()


def story_what_cannot_be_sealed_is_said():
    with plain_account() as (directory, relay, phone, laptop):
        phone.refuses("seal", "Memoz", says=["no records in a zone Memoz", "Clipboard, Habits"])
        phone.refuses("seal", "Keys", says="give each other keys")
        refused("agent", "seal", home=phone.path, code=2, says="ZONE")
        reader = Home(os.path.join(directory, "reader"))
        code = json.loads(phone.run("pair", "--zones", "Memos", "--json"))["code"]
        run("agent", "join", "--relay", relay.address, "--code", "-", home=reader.path,
            input=code + "\n")
        reader.refuses("seal", "Memos", says=["paired for", "whole account"])
        # Another device has made the keys first.
        told = json.loads(phone.run("seal", "Memos", "--json", code=1))
        devices = {each["deviceName"]: each["deviceID"] for each in phone.json("devices")["devices"]}
        assert told["zones"] == [] and told["withoutKeys"] == [devices["laptop"]], told
        laptop.refuses("seal", "Habits", says=["has keys", "agent pair"])
        # A device for some zones gets their keys only once they are sealed.
        give_keys(relay, phone, laptop)
        told = phone.json("seal", "Memos")
        assert told["withoutKeys"] == [] and len(told["pairAgain"]) == 1, told
        code = json.loads(phone.run("pair", "--zones", "Memos", "--json"))["code"]
        run("agent", "join", "--relay", relay.address, "--code", "-", home=reader.path,
            input=code + "\n")
        assert reader.memos() == ["Bread", "Milk"]


def story_an_account_that_its_owner_has_made_is_sealed_by_its_first_device():
    """With a code of the owner. A second device gets the keys from the first, and not from the
    owner; with --plain, nothing is sealed."""
    with folder() as directory, Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        homes = [Home(os.path.join(directory, name)) for name in ("mum", "second", "dad")]

        def join(home, code, *words):
            return run("agent", "join", "--relay", relay.address, "--code", "-", *words,
                       home=home.path, input=code + "\n").stdout

        told = join(homes[0], owner.json("create", "mum")["code"])
        words = homes[0].run("key", "words").strip()
        assert "the relay cannot read them" in told and words in told, told
        account = homes[0].status()["account"]
        told = join(homes[1], owner.json("pair", account)["code"])
        assert "does not have" in told or "carries no keys" in told, told
        told = join(homes[2], owner.json("create", "dad")["code"], "--plain")
        assert "key" not in told, told
        homes[2].refuses("key", "words", says="has no keys")


if __name__ == "__main__":
    main(globals(), at_once=3)
