"""A device of the account, or the relay, that does not have the vault's key writes to the vault."""

import hashlib
import json
import os
import time

from story import Home, expect, main, run, wait_until
from vault_stories import devices, running_agents, wait_same


def device_without_key(relay, device):
    """A device by curl that was paired without the vault's key."""
    told = json.loads(device.home.run("pair", "--no-vault", "--json"))
    home = Home(device.home.path + "-stranger")
    run("agent", "join", "--code", "-", "--relay", relay.address, "--name", "stranger",
        home=home.path, input=told["code"] + "\n")
    return home.person(relay)


def record_of(person, device, name="vault.db"):
    """Record of a sealed file; only a device with the key can identify it."""
    files = json.loads(device.home.run("vault", "list", "--json"))["files"]
    [record] = [file["name"] for file in files if file["file"] == name]
    changes = person.call("GET", "/v1/changes?zone=Vault").json["changes"]
    return next(change for change in changes if change["name"] == record)


def plain(file, data=b""):
    return {"file": file, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(),
            "chunks": []}


def put(person, record, fields, kind="VaultFile"):
    answer = expect(person.save(
        {"name": record["name"], "type": kind, "fields": fields, "baseTag": record["tag"],
         "modifiedAt": int(time.time() * 1000)}, zone="Vault"), 200)
    assert "error" not in answer.json["results"][0], answer.json


def reports_forgery(device, reason="not sealed"):
    """True if the device reports that the record at the relay is not its file."""
    file = device.status().get("vault.db", {})
    return file.get("state") == "error" and reason in (file.get("reason") or "")


def story_who_has_no_key_cannot_empty_a_sealed_file():
    """An unencrypted record without chunks needs no key. Under the sealed file's record name it is
    rejected: no device accepts it, whatever file name it contains."""
    for names_itself in [False, True]:
        with devices(joins=["--plain"]) as (relay, phone, laptop):
            phone.write(b"dear diary, nobody shall read this")
            phone.add()
            laptop.add()
            stranger = device_without_key(relay, phone)
            record = record_of(stranger, phone)
            with running_agents(phone, laptop):
                put(stranger, record, plain(record["name"] if names_itself else "vault.db"))
                for device in [phone, laptop]:
                    wait_until(lambda: reports_forgery(device), "the record to be refused")
                    assert device.read() == b"dear diary, nobody shall read this"
                # A person who adds the file again replaces the forged record.
                laptop.add()
                laptop.write(b"what came after")
                wait_until(lambda: phone.read() == b"what came after", "the next version to come")
                wait_until(lambda: phone.state() == laptop.state() == "synced", "both in step")
                assert "sealed" in record_of(stranger, phone)["fields"]


def story_a_record_of_another_type_does_not_delete_a_file():
    """A writer without the key saves a record of another type under the file's record name. No
    device deletes the file, whether it is running or syncs later, and a person who adds the file
    again replaces the record. So does a change of the file with a relay out of reach."""
    with devices(3, joins=["--plain"]) as (relay, phone, laptop, tablet):
        phone.write(b"dear diary, nobody shall delete this")
        for device in [phone, laptop, tablet]:
            device.add()
        stranger = device_without_key(relay, phone)
        kinds = ["Note", "VaultKey"]
        with running_agents(phone, laptop):
            for kind in kinds:
                put(stranger, record_of(stranger, phone), {"a": 1}, kind=kind)
                for device in [phone, laptop]:
                    wait_until(lambda: reports_forgery(device, "not a file's record"),
                               "the record to be refused")
                    assert device.read() == b"dear diary, nobody shall delete this"
                laptop.add()
                for device in [phone, laptop]:
                    wait_until(lambda: device.state() == "synced", "the file's record to be back")
        put(stranger, record_of(stranger, phone), {"a": 1}, kind="Note")
        tablet.home.run("sync")
        assert reports_forgery(tablet, "not a file's record"), tablet.status()
        assert tablet.read() == b"dear diary, nobody shall delete this"
        tablet.write(b"what came after")
        tablet.add()
        with running_agents(phone, laptop, tablet):
            for device in [phone, laptop]:
                wait_until(lambda: device.read() == b"what came after", "the next version to come")
            for device in [phone, laptop, tablet]:
                wait_until(lambda: device.state() == "synced", "all in step")


def story_a_plain_file_does_not_take_the_place_of_the_vaults_key():
    """The record of a file that is not sealed has the file's name, and the vault's key has a record
    of its own in the same zone."""
    with devices(joins=["--plain"]) as (relay, phone, laptop):
        phone.write(b"not a key", name="key")
        for _ in range(2):
            phone.home.refuses("vault", "add", phone.path("key"), "--plain",
                               says=["--name"])
        phone.home.run("vault", "add", phone.path("key"), "--plain", "--name", "key.txt")
        phone.home.run("sync")
        # The key can still be handed on.
        phone.home.pair(relay, os.path.dirname(phone.home.path), "another")


def story_a_change_that_was_under_way_stands_against_a_stranger():
    """The file was changed when the stranger's record arrived: the sealed version wins."""
    with devices(joins=["--plain"]) as (relay, phone, laptop):
        phone.write(b"one")
        phone.add()
        laptop.add()
        stranger = device_without_key(relay, phone)
        record = record_of(stranger, phone)
        relay.stop()
        phone.write(b"two, written with no relay in reach")
        phone.home.run("vault", "status")
        relay.start()
        put(stranger, record, plain("vault.db"))
        with running_agents(phone, laptop):
            wait_same(laptop, what={"vault.db": b"two, written with no relay in reach"})
            assert "sealed" in record_of(stranger, phone)["fields"]


def story_an_export_keeps_a_strangers_files_apart():
    """Under the file's own name unencrypted, and under one that sorts before all others: the sealed
    file is the one in vault/."""
    with devices(joins=["--plain"]) as (relay, phone, _):
        phone.write(b"what is sealed")
        phone.add()
        stranger = device_without_key(relay, phone)
        for name in ["!", "vault.db"]:
            expect(stranger.save(
                {"name": name, "type": "VaultFile", "fields": plain("vault.db"),
                 "modifiedAt": 1}, zone="Vault"), 200)
        phone.home.run("sync")
        out = phone.path("out")
        json.loads(phone.home.run("export", out, "--json"))
        with open(os.path.join(out, "vault", "vault.db"), "rb") as file:
            assert file.read() == b"what is sealed"
        assert os.listdir(os.path.join(out, "vault-unsealed")) == ["vault.db"]


def story_a_file_that_was_emptied_elsewhere_leaves_a_copy():
    """A program on one device empties the file: the others keep its former contents, as a conflict
    copy that is the same everywhere."""
    with devices(3, joins=["--plain"]) as (_, phone, laptop, tablet):
        phone.write(b"what was in it")
        for device in [phone, laptop, tablet]:
            device.add()
        with running_agents(phone, laptop, tablet):
            phone.write(b"")

            def kept():
                files = phone.all()
                return (len(files) == 2 and files["vault.db"] == b""
                        and b"what was in it" in files.values()
                        and laptop.all() == files == tablet.all())

            wait_until(kept, lambda: f"a copy everywhere: {phone.all(), laptop.all(), tablet.all()}")
            [copy] = [name for name in phone.all() if name != "vault.db"]
            assert copy.startswith("vault_conflict_"), copy
            # It can be filled again, without a further copy.
            laptop.write(b"filled")
            wait_until(lambda: tablet.read() == phone.read() == b"filled", "the file to be filled")
            assert len(phone.all()) == 2


if __name__ == "__main__":
    main(globals(), at_once=2)
