"""Pairing codes that carry wrapped keys, on each kind of store."""

import base64
import glob
import os

from database_stories import relays
from story import Person, Relay, curl, expect, folder, has_postgres, main, run

MOST = 8_192
KEYS = base64.urlsafe_b64encode(bytes(range(256)) * 24).decode()


def issue(person, **members):
    return expect(person.call("POST", "/v1/pairings", members), 201)


def join(relay, code):
    return curl(relay, "POST", "/v1/devices", {
        "code": code, "deviceName": "new", "platform": "test", "appVersion": "1"})


def check_codes_with_keys(relay):
    """One code with the most characters, one with a few and a scope, and one without any."""
    assert len(KEYS) == MOST
    owner = Person.new(relay)
    answers = []
    for wrapped, scope in ((KEYS, {}), ("_-A", {"zones": ["Memos"], "access": "read"}), (None, {})):
        issued = issue(owner, **scope, **({"wrapped": wrapped} if wrapped else {}))
        assert set(issued.json) == {"code", "expiresAt"} | ({"scope"} if scope else set()), issued
        code = issued.json["code"]
        answers += [issued, expect(owner.call("GET", "/v1/devices"), 200)]
        joined = expect(join(relay, code), 201).json
        assert joined.get("wrapped") == wrapped, joined
        assert ("wrapped" in joined) == (wrapped is not None), joined
        assert joined.get("scope") == (scope or None), joined
        device = Person(relay, joined)
        answers += [expect(join(relay, code), 403, "badPairingCode"),
                    expect(device.call("GET", "/v1/devices"), 200), issue(device)]
    for answer in answers:
        text = answer.body.decode()
        assert "wrapped" not in text and KEYS[:16] not in text, answer
    assert KEYS[:16] not in relay.text(), "the log has the keys"


def check_faults_of_form(relay):
    owner = Person.new(relay)
    for wrapped in ("", 5, [], {}, True, "AAA=", "AA A", "A+A/", "A", "AB", "A" * (MOST + 4)):
        refusal = expect(owner.call("POST", "/v1/pairings", {"wrapped": wrapped}), 400, "badRequest")
        assert "`wrapped` must be 1 to 8192 characters of Base64" in refusal.json["detail"], refusal
    code = issue(owner, wrapped=None).json["code"]
    assert "wrapped" not in expect(join(relay, code), 201).json


def check_ends_of_codes(relay):
    """A code that waits through a restart has its keys; a revocation ends the code and the keys."""
    owner = Person.new(relay)
    second = owner.pair()
    kept = issue(owner, wrapped="AAAA").json["code"]
    assert relay.stop() == 0
    relay.start()
    assert expect(join(relay, kept), 201).json["wrapped"] == "AAAA"
    lost = issue(second, wrapped="AAAA").json["code"]
    expect(owner.call("DELETE", f"/v1/devices/{second.device}"), 204)
    expect(join(relay, lost), 403, "badPairingCode")


def check_all(relay):
    check_codes_with_keys(relay)
    check_faults_of_form(relay)
    check_ends_of_codes(relay)


def story_a_code_brings_wrapped_keys_to_the_device_that_uses_it():
    """With and without a scope, and up to the limit. No other answer has them, and no log."""
    with Relay() as relay:
        check_all(relay)


def story_a_database_keeps_wrapped_keys_as_a_folder_does():
    """The same on PostgreSQL."""
    if not has_postgres():
        return
    with relays(count=1) as (_, (relay,)):
        check_all(relay)


def story_a_used_code_leaves_no_keys_in_the_store():
    """A backup has the keys of a valid code alone, and `relay check` finds no fault in it."""
    with folder() as directory, Relay() as relay:
        owner = Person.new(relay)
        used, waiting = "dXNlZCBrZXlz", "d2FpdGluZyBrZXlz"
        expect(join(relay, issue(owner, wrapped=used).json["code"]), 201)
        code = issue(owner, wrapped=waiting).json["code"]
        place = os.path.join(directory, "backups")
        run("relay", "backup", place, "--store", relay.store)
        [database] = glob.glob(os.path.join(place, "*", "zones.sqlite"))
        with open(database, "rb") as file:
            content = file.read()
        assert waiting.encode() in content and used.encode() not in content
        expect(join(relay, code), 201)


if __name__ == "__main__":
    main(globals())
