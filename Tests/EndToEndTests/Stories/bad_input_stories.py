"""Invalid input from clients, for each call of docs/protocol.md's table: types, members, names,
tokens, queries, methods; ids of other accounts; limits at, one under and one over.

Every refusal is a problem with the right status, no part of the request has an effect, and the
relay continues. Data of another account is answered like data that never existed, byte for byte.
"""

import asyncio
import copy
import hashlib
import json
import os
import urllib.parse

import websockets

from story import ROOT, Connection, Person, Relay, expect, main, new_id, now, record

UUID = "7b0c2d4e-8f1a-4c3b-9d5e-6f7a8b9c0d1e"
DEVICE = {"deviceName": "x", "platform": "test", "appVersion": "1"}


def scene(relay):
    """A person with two devices and a record, and a second account with the same."""
    people = []
    for zone in ("Notes", "Secrets"):
        first = Person.new(relay)
        second = first.pair()
        expect(first.save(record("mine"), zone=zone), 200)
        people += [first, second]
    return people


# MARK: bodies

def text(least):
    """Returns a check for labels: UTF-8 without control characters, at least `least` bytes."""
    return lambda value: (isinstance(value, str) and least <= len(value.encode()) <= 255
                          and not any(ord(each) < 32 or 127 <= ord(each) < 160 for each in value))


def whole(value):
    return type(value) in (int, float) and value == int(value) and 0 <= value < 1 << 53


def whole_or_none(value):
    return value is None or whole(value)


def kind(*types):
    return lambda value: isinstance(value, types)


def none_of_these(value):
    return False


POOL = [None, True, False, 0, 5, -1, 1.5, 1e300, 1 << 53, 1 << 63, 10 ** 40, "", "x", "x\u0007",
        "\u0085", "n" * 256, "é" * 128, [], ["x"], {}, {"x": 1}]
DESCRIPTION = {("deviceName",): text(1), ("platform",): text(0), ("appVersion",): text(0)}
SAVED = {"name": "a", "type": "T", "fields": {}, "modifiedAt": 1, "baseTag": 0}
DELETED = {"name": "a", "deleted": True, "modifiedAt": 1}
ONE = ("records", 0)
# For each call with a body: a valid body, the valid values of each member, the optional members.
BODIES = [
    ("POST", "/v1/accounts", DEVICE, DESCRIPTION, ()),
    ("POST", "/v1/devices", {"code": "AAAA-BBBB-CCCC", **DEVICE},
     {("code",): kind(str), **DESCRIPTION}, ()),
    ("PATCH", "/v1/devices/{second}", {"deviceName": "x"}, {("deviceName",): text(1)}, ()),
    ("POST", "/v1/zones/Notes/records", {"id": UUID, "atomic": True, "records": [SAVED]},
     {("id",): none_of_these, ("atomic",): kind(bool, type(None)), ("records",): lambda value: value == [],
      ONE: none_of_these, (*ONE, "name"): text(1), (*ONE, "type"): text(1),
      (*ONE, "fields"): kind(dict), (*ONE, "modifiedAt"): whole_or_none,
      (*ONE, "baseTag"): whole_or_none},
     (("atomic",), (*ONE, "modifiedAt"), (*ONE, "baseTag"))),
    ("POST", "/v1/zones/Notes/records", {"id": UUID, "records": [{**DELETED, "type": "T"}]},
     {(*ONE, "name"): text(1), (*ONE, "deleted"): lambda value: value is True,
      (*ONE, "type"): text(1), (*ONE, "modifiedAt"): whole_or_none},
     ((*ONE, "type"), (*ONE, "modifiedAt"))),
    ("PUT", "/v1/zones/Notes/records/a", {"type": "T", "fields": {}, "modifiedAt": 1, "baseTag": 0},
     {("type",): text(1), ("fields",): kind(dict), ("modifiedAt",): whole_or_none,
      ("baseTag",): whole_or_none},
     (("modifiedAt",), ("baseTag",))),
    ("PUT", "/v1/subscriptions/s", {"kind": "database"}, {("kind",): none_of_these}, ()),
    ("PUT", "/v1/subscriptions/s", {"kind": "zone", "zone": "Z"},
     {("kind",): none_of_these, ("zone",): text(1)}, ()),
    ("PUT", "/v1/subscriptions/s",
     {"kind": "query", "recordType": "T", "zone": "Z", "where": {"a": 1}, "events": ["create"]},
     {("kind",): none_of_these, ("recordType",): text(1),
      ("zone",): lambda value: value is None or text(1)(value), ("where",): kind(dict, type(None)),
      ("events",): lambda value: value is None},
     (("zone",), ("where",), ("events",))),
    ("POST", "/v1/chunks/missing", {"hashes": ["0" * 64]}, {
        ("hashes",): lambda value: value == [], ("hashes", 0): none_of_these}, ()),
]
# Not a valid body of any call.
NO_BODY = [b"", b"null", b"[]", b'"x"', b"5", b"{", b"}", b'{"a":}', b"{}{}", b"{},", b"\xff",
           b'{"\xc3":1}', b"\xef\xbb\xbf{}", b'{"a":"\\ud800"}', b'{"a":"\n"}', b'{"a":01}',
           b'{"a":+1}', b'{"a":NaN}', b"{'a':1}", b'{"a":1,}', b"{\x00}", b"[" * 70, b'{"a":' * 70,
           b'{"id":1,"id":1}', b'{"deviceName":"a","deviceName":"a"}']


def changed(body, path, value):
    """The body with this value at the path; `...` removes the member."""
    body = copy.deepcopy(body)
    place = body
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return body


def story_wrong_types_and_missing_members_are_named():
    """Each member of each body in turn, with values of every other kind, or missing: 400 that names
    the member."""
    with Relay() as relay:
        person, second, *_ = scene(relay)
        line = Connection(relay, person)
        devices = line.request("GET", "/v1/devices").json["devices"]
        token = line.request("GET", "/v1/changes").json["token"]
        tried = 0
        for method, path, good, members, optional in BODIES:
            path = path.format(second=second.device)
            for member, passes in members.items():
                values = [value for value in POOL if not passes(value)]
                if member not in optional and isinstance(member[-1], str):
                    values.append(...)
                for value in values:
                    answer = line.request(method, path, changed(good, member, value))
                    tried += 1
                    assert answer.status == 400, (method, path, member, value, answer)
                    expect(answer, 400, answer.json["code"])
                    assert answer.json["code"] in ("badRequest", "badName"), (member, value, answer)
                    # A record that is not deleted lacks its fields, and the error names these.
                    assert member[-1] in (0, "deleted") or member[-1] in answer.json["detail"], (
                        member, value, answer)
            for raw in NO_BODY:
                answer = line.request(method, path, raw=raw)
                tried += 1
                assert answer.status == 400, (method, path, raw, answer)
                assert answer.json["code"] in ("badJSON", "badRequest"), (raw, answer)
        assert tried > 300, tried
        after = line.request("GET", "/v1/devices").json["devices"]
        assert [each["deviceName"] for each in after] == [
            each["deviceName"] for each in devices], after
        assert line.request("GET", "/v1/changes").json["token"] == token
        assert line.request("GET", "/v1/subscriptions").json == {"subscriptions": []}


def story_what_a_record_cannot_be():
    """Members that exclude each other, duplicate names, and members that only the relay may set."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        token = line.request("GET", "/v1/changes").json["token"]
        for records in [
            [{**SAVED, "deleted": True}], [{**SAVED, "fields": None}],
            [{**SAVED, "fields": None, "deleted": False}],
            [{**DELETED, "chunks": ["0" * 64]}], [{**DELETED, "deleted": False}],
            [SAVED, SAVED], [SAVED, DELETED], [{**SAVED, "chunks": ["x"]}],
            [{**SAVED, "chunks": [5]}], [{**SAVED, "chunks": "x"}], [{**SAVED, "chunks": ["0" * 63]}],
        ]:
            expect(line.request("POST", "/v1/zones/Notes/records", {
                "id": UUID, "records": records}),
                   400, "badRequest")
        assert line.request("GET", "/v1/changes").json["token"] == token
        # The relay itself sets device, zone and tag; a device's values for them are ignored.
        liar = {**SAVED, "zone": "Other", "device": "0" * 16, "tag": 77, "unknown": [{}]}
        body = {"id": UUID, "zone": "Other", "unknown": 1, "records": [liar]}
        saved = expect(line.request("POST", "/v1/zones/Notes/records?unknown=1", body), 200).json
        found = expect(line.request("GET", "/v1/zones/Notes/records/a"), 200).json
        assert found["device"] == person.device and found["tag"] == saved["results"][0]["tag"]
        assert found["zone"] == "Notes" and "unknown" not in found and "chunks" not in found
        expect(line.request("GET", "/v1/zones/Other/records/a"), 404)


def story_a_body_must_be_json_by_its_name_too():
    """Other media types are 415, before the body is read; all names for JSON are accepted."""
    with Relay() as relay:
        person, second, *_ = scene(relay)
        line = Connection(relay, person)
        for method, path, good, _, _ in BODIES:
            path = path.format(second=second.device)
            for media in ["text/plain", "text/json", "application/jsonx", "application/xml", "json",
                          "", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
                          "application/octet-stream"]:
                answer = line.request(method, path, good, headers={"Content-Type": media})
                expect(answer, 415, "unsupportedMediaType")
        for media in ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8",
                      "application/json;x=y", "application/vnd.lockstep+json"]:
            expect(line.request("PATCH", f"/v1/devices/{second.device}", {"deviceName": "y"},
                                headers={"Content-Type": media}), 200)


# MARK: paths, queries, methods, tokens

BAD_NAMES = ["", "%00", "a%1F", "%7F", "%C2%80", "%C2%9Fx", "%0A", "n" * 256, "%C3%A9" * 128]
BAD_ESCAPES = ["%", "%2", "%zz", "a%", "%FF", "%C3", "%ED%A0%80", "%C0%AF"]
NAMED = [
    ("POST", "/v1/zones/{name}/records", {"id": "", "records": []}),
    ("GET", "/v1/zones/{name}/records/a", None), ("GET", "/v1/zones/Notes/records/{name}", None),
    ("GET", "/v1/changes?zone={name}", None), ("GET", "/v1/zones?after={name}", None),
    ("GET", "/v1/zones/{name}/records", None), ("GET", "/v1/zones/Notes/records?type={name}", None),
    ("PUT", "/v1/zones/{name}/records/a", {"type": "T", "fields": {}, "baseTag": "any"}),
    ("DELETE", "/v1/zones/Notes/records/{name}?baseTag=any", None),
    ("DELETE", "/v1/zones/{name}", None),
    ("GET", "/v1/subscriptions/{name}", None), ("DELETE", "/v1/subscriptions/{name}", None),
    ("PUT", "/v1/subscriptions/{name}", {"kind": "database"}),
]
# An empty parameter counts as omitted, except those without which more would be read or deleted.
MAY_BE_EMPTY = ("?after={name}", "?type={name}")
BAD_TOKENS = ["nonsense", "0", ".", "5", "5.", ".5", "zz.1", "5.-1", "5.1.", "5.01", "05.1", "F.1",
              "5." + "9" * 30, "5.9007199254740992", "100000000.1", "5.1.z", "5.1.p0", "5.1.zff.zff",
              "5.1" * 50, "%00", "%C3%A9", "5.1%20", "%205.1"]
QUERIES = {
    "/v1/changes": {
        "since": ("badChangeToken", BAD_TOKENS),
        "limit": ("badRequest", ["0", "-1", "abc", "1.5", "1e3", "0x10", "%2B5", "%205", "５", "null"]),
        "wait": ("badRequest", ["-1", "soon", "1.5", "1e1", "%2B1", "1s", "true"]),
    },
    "/v1/zones": {"limit": ("badRequest", ["0", "-1", "abc", "1.5", "%2B5"])},
    "/v1/zones/Notes/records": {
        "limit": ("badRequest", ["0", "-1", "abc", "1.5", "%2B5"]),
        "after": ("badChangeToken", [*BAD_TOKENS, "5.1", "5.1.zff"]),
    },
}


def story_wrong_names_in_a_path_or_a_query():
    """Empty, too long, with control characters, not UTF-8: 400. An unknown path is 404."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        for method, path, body in NAMED:
            for name in BAD_NAMES[1:] if path.endswith(MAY_BE_EMPTY) else BAD_NAMES:
                expect(line.request(method, path.format(name=name), body), 400, "badName")
            for name in BAD_ESCAPES:
                expect(Connection(relay, person).request(method, path.format(name=name), body), 400, "badRequest")
            for name in ["n" * 255, "%C3%A9" * 127, "a%2Fb", "%2E%2E", "+", "%20", "%25", "Ⅷ"]:
                answer = line.request(method, path.format(name=urllib.parse.quote(name, safe="%+")),
                                      body and {**body, "id": new_id()})
                assert answer.status in (200, 201, 204, 404), (path, name, answer)
        for path in ["/v1", "/v1/", "//v1/time", "/v1/time/", "/V1/time", "/v1/Time", "/v2/time",
                     "/v1/zones/Notes/records/a/b", "/v1/zones//records/a/b", "/v1/./time", "/v1//time",
                     "/%76%31/time/x", "/v1/admin/accounts", "/metrics", "/status", "/favicon.ico"]:
            for method in ["GET", "POST", "DELETE", "BREW"]:
                expect(line.request(method, path), 404, "notFound")
        for device in ["x", "0" * 15, "0" * 17, "g" * 16, "%00", "0" * 16]:
            for method, body in [("PATCH", {"deviceName": "x"}), ("DELETE", None)]:
                expect(line.request(method, f"/v1/devices/{device}", body), 404, "notFound")


def story_wrong_queries():
    """Each parameter of each call: malformed, out of range, duplicate; unknown parameters are
    ignored."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        for path, parameters in QUERIES.items():
            for name, (code, values) in parameters.items():
                for value in values:
                    value = urllib.parse.quote(value, safe="%.")
                    expect(line.request("GET", f"{path}?{name}={value}"), 400, code)
                expect(line.request("GET", f"{path}?{name}=1&{name}=1"), 400)
            good = line.request("GET", path).body
            for junk in ["?", "?&&", "?=", "?unknown", "?unknown=1", "?SINCE=x", "?a=b=c&%20=1"]:
                answer = expect(line.request("GET", path + junk), 200)
                assert answer.body == good, (junk, answer)
        token = line.request("GET", "/v1/changes").json["token"]
        for method, path in [("GET", "/v1/time"), ("GET", "/livez"), ("GET", "/v1/devices")]:
            expect(line.request(method, f"{path}?x=1&y"), 200)
        for value in BAD_TOKENS:
            value = urllib.parse.quote(value, safe="%.")
            expect(line.request("GET", f"/v1/events?since={value}"), 400, "badChangeToken")
            expect(line.request("DELETE", f"/v1/zones/Notes?through={value}"), 400,
                   "badChangeToken")
        expect(line.request("DELETE", "/v1/zones/Notes?through="), 400, "badChangeToken")
        for query in ("since=", "limit=", "wait=", "since=&limit=&wait="):
            assert len(expect(line.request("GET", f"/v1/changes?{query}"), 200).json["changes"]) == 1
        expect(line.request("DELETE", f"/v1/zones/Notes?through={token}&through={token}"), 400)
        expect(line.request("DELETE", f"/v1/zones/Elsewhere?through={token}&since=x&limit=0"), 204)
        assert line.request("GET", "/v1/changes").json["token"] == token
        for since in ("nonsense", "5.", token + "0" * 90, token[:-1] + "9" * 20):
            expect(line.request("GET", f"/v1/events?since={token}", headers={
                "Last-Event-ID": since}),
                   400, "badChangeToken")
        for digits in ["1", "0001", "1000", "1001", "9" * 50]:
            expect(line.request("GET", f"/v1/changes?limit={digits}"), 200)
            expect(line.request("GET", f"/v1/changes?wait={digits}"), 200)
        assert line.request("GET", f"/v1/changes?since={token}&wait=0").json["changes"] == []


def documented():
    """Methods of each path in docs/openapi.json, and whether they need a token."""
    with open(os.path.join(ROOT, "docs", "openapi.json")) as file:
        document = json.load(file)
    filled = {"{deviceID}": "0" * 16, "{zone}": "Notes", "{name}": "a", "{subscriptionID}": "s",
              "{sha256}": "0" * 64}
    for path, calls in document["paths"].items():
        calls = {method.upper(): call.get("security") != [] for method, call in calls.items()
                 if method != "parameters"}
        for brace, value in filled.items():
            path = path.replace(brace, value)
        if calls:
            yield path, calls


def story_other_methods_are_named_and_refused():
    """Each path with every method: 405 with the allowed methods, and OPTIONS for browsers."""
    with Relay("--origin=*") as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        for path, calls in documented():
            takes = sorted({*calls, "OPTIONS", *(["HEAD"] if "GET" in calls else [])})
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "get",
                           "PROPFIND", "X" * 300]:
                if method in takes:
                    continue
                answer = line.request(method, path)
                assert answer.status == 405, (method, path, answer)
                assert sorted(answer.headers["allow"].split(", ")) == takes, (method, answer)
                if method != "HEAD":
                    expect(answer, 405, "methodNotAllowed")
            # A browser's preflight has no token, whatever the page.
            asked = Connection(relay).request("OPTIONS", path, headers={
                "Origin": "https://example.org", "Access-Control-Request-Method": "POST"})
            assert asked.status == 204 and asked.body == b"", (path, asked)
            assert asked.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in asked.headers
            allowed = asked.headers["access-control-allow-methods"].split(", ")
            assert sorted(allowed) == takes, (path, asked)
            assert "authorization" in asked.headers["access-control-allow-headers"].lower()


def story_without_a_good_token_all_answers_are_the_same():
    """No token, a wrong one, a revoked one: 401 from every call, whatever else is wrong with the
    request."""
    with Relay() as relay:
        person, second, stranger, _ = scene(relay)
        expect(person.call("DELETE", f"/v1/devices/{second.device}"), 204)
        line = Connection(relay)
        missing = [{}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "},
                   {"Authorization": "Basic " + person.token}, {"Authorization": person.token},
                   {"Authorization": "Bearer" + person.token}]
        unknown = ["x", "A" * 43, person.token[:-1], person.token + "A", person.token.swapcase(),
                   second.token, "x" * 4_000, "é", person.device]
        for path, calls in documented():
            for method, is_signed in calls.items():
                if not is_signed or path == "/v1/socket":
                    continue
                def answers(headers):
                    for query in ["", "?limit=0&since=x&through=x&after=%01"]:
                        answer = line.request(method, path + query, headers=headers)
                        assert answer.status == 401, (method, path, query, headers, answer)
                        if method != "HEAD":
                            expect(answer, 401, "badToken")
                        yield answer.headers["www-authenticate"], answer.body
                told = {each for headers in missing for each in answers(headers)}
                assert len(told) == 1 and 'error' not in told.pop()[0], told
                told = {each for token in unknown
                        for each in answers({"Authorization": f"Bearer {token}".encode()})}
                assert len(told) == 1 and 'error="invalid_token"' in told.pop()[0], told
        for path, calls in documented():
            for method, is_signed in calls.items():
                if not is_signed and method == "GET":
                    # An open call accepts any token.
                    expect(line.request(method, path, token="nonsense"), 200)
        # The socket: a request may lack the token (the hello then has it); a bad one is refused.
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        for token in unknown[:2]:
            expect(line.request("GET", "/v1/socket", headers=upgrade, token=token), 401, "badToken")


def story_a_socket_is_asked_for_in_the_right_way():
    """Without an upgrade, with another version, with a broken key: no WebSocket, and an error
    text."""
    with Relay() as relay:
        line = Connection(relay)
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        for change, status in [
            ({"Upgrade": None}, 426), ({"Connection": None}, 426), ({"Upgrade": "h2c"}, 426),
            ({"Connection": "keep-alive"}, 426), ({"Sec-WebSocket-Version": "8"}, 426),
            ({"Sec-WebSocket-Version": None}, 426), ({"Sec-WebSocket-Key": None}, 400),
            ({"Sec-WebSocket-Key": "short"}, 400), ({"Sec-WebSocket-Key": "é"}, 400),
            ({"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAA"}, 400),
        ]:
            fields = {name: value for name, value in {**upgrade, **change}.items() if value}
            answer = line.request("GET", "/v1/socket", headers=fields)
            assert answer.status == status, (change, answer)
            assert answer.json["status"] == status, answer
            if status == 426:
                assert answer.headers["upgrade"] == "websocket", answer
                assert answer.headers["sec-websocket-version"] == "13", answer
        expect(line.request("GET", "/v1/socket", raw=b"x", headers=upgrade), 400, "badRequest")


# MARK: other accounts

def same(one, other, **names):
    """Checks that two answers are equal except for the requested name."""
    def plain(answer, which):
        body = answer.body.decode()
        for pair in names.values():
            body = body.replace(pair[which], "…")
        fields = {name: value for name, value in answer.headers.items() if name != "date"}
        return answer.status, {**fields, "content-length": str(len(body))}, body
    assert plain(one, 0) == plain(other, 1), (one, other)
    return one


def story_data_of_another_account_is_answered_like_missing_data():
    """Ids, names, cursors and codes of another account: the answers equal those for unknown
    ones."""
    with Relay() as relay:
        person, second, stranger, other = scene(relay)
        line, theirs = Connection(relay, person), Connection(relay, stranger)
        none = "0123456789abcdef"

        def listed():
            return [(each["deviceID"], each["deviceName"])
                    for each in theirs.request("GET", "/v1/devices").json["devices"]]

        before = listed()
        for device in (stranger.device, other.device, stranger.account):
            for method, body in [("PATCH", {"deviceName": "mine now"}), ("DELETE", None)]:
                expect(same(line.request(method, f"/v1/devices/{device}", body),
                            line.request(method, f"/v1/devices/{none}", body),
                            id=(device, none)), 404)
        assert listed() == before
        # Zones and records.
        expect(same(line.request("GET", "/v1/zones/Secrets/records/mine"),
                    line.request("GET", "/v1/zones/Nowhere/records/mine")), 404)
        expect(same(line.request("GET", "/v1/changes?zone=Secrets"),
                    line.request("GET", "/v1/changes?zone=Nowhere"),
                    token=[line.request("GET", f"/v1/changes?zone={zone}").json["token"]
                           for zone in ("Secrets", "Nowhere")]), 200)
        for base in (1, 7):
            wish = record("mine", baseTag=base)
            one = line.save(wish, zone="Secrets")
            another = line.save({**wish, "name": "mine"}, zone="Nowhere")
            expect(same(one, another, zone=("Secrets", "Nowhere")), 200)
        # Cursors: one of the other account, and one that was never issued.
        token = theirs.request("GET", "/v1/changes").json["token"]
        zoned = theirs.request("GET", "/v1/changes?zone=Secrets").json["token"]
        generation = token.split(".")[0]
        made_up = f"{int(generation, 16) ^ 0x5a5a5a5a:x}"
        for foreign in (token, zoned, f"{generation}.0", f"{generation}.999"):
            never = foreign.replace(generation, made_up)
            expect(same(line.request("GET", f"/v1/changes?since={foreign}"),
                        line.request("GET", f"/v1/changes?since={never}")), 400, "badChangeToken")
            expect(same(line.request("GET", f"/v1/events?since={foreign}"),
                        line.request("GET", f"/v1/events?since={never}")), 400, "badChangeToken")
            expect(same(line.request("DELETE", f"/v1/zones/Secrets?through={foreign}"),
                        line.request("DELETE", f"/v1/zones/Nowhere?through={never}")), 400)
            expect(same(line.request("GET", "/v1/events", headers={"Last-Event-ID": foreign}),
                        line.request("GET", "/v1/events", headers={"Last-Event-ID": never})), 400)
        expect(same(line.request("DELETE", "/v1/zones/Secrets"),
                    line.request("DELETE", "/v1/zones/Nowhere")), 204)
        expect(theirs.request("GET", "/v1/zones/Secrets/records/mine"), 200)
        # Zones, and the subscriptions of a device: only its own, not those of the account's other
        # device.
        assert line.request("GET", "/v1/zones").json == {
            "zones": [{"zone": "Notes"}], "more": False}
        expect(theirs.request("PUT", "/v1/subscriptions/theirs", {"kind": "database"}), 201)
        expect(Connection(relay, second).request("PUT", "/v1/subscriptions/theirs", {"kind": "database"}), 201)
        for method in ("GET", "DELETE"):
            expect(same(line.request(method, "/v1/subscriptions/theirs"),
                        line.request(method, "/v1/subscriptions/nobodys")), 404, "notFound")
        assert len(theirs.request("GET", "/v1/subscriptions").json["subscriptions"]) == 1
        # A batch id of the other account is free to use.
        expect(theirs.request("POST", "/v1/zones/Notes/records", {
            "id": UUID, "records": [SAVED]}), 200)
        expect(line.request("POST", "/v1/zones/Notes/records", {
            "id": UUID, "records": [DELETED]}), 200)
        # Pairing codes: used, or never issued.
        code = stranger.call("POST", "/v1/pairings").json["code"]
        expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 201)
        used = line.request("POST", "/v1/devices", {"code": code, **DEVICE})
        wrong = line.request("POST", "/v1/devices", {"code": "0" * 12, **DEVICE})
        no_code = line.request("POST", "/v1/devices", {"code": "x", **DEVICE})
        expect(same(used, wrong), 403, "badPairingCode")
        expect(same(used, no_code), 403, "badPairingCode")
        asyncio.run(nothing_is_told_on_a_socket(relay, person, token, made_up))


async def nothing_is_told_on_a_socket(relay, person, foreign, made_up):
    """The same for a socket's `hello` and `fetch`."""
    never = made_up + "." + foreign.split(".")[1]
    told = []
    for since in (foreign, never):
        url = relay.address.replace("http", "ws") + "/v1/socket"
        async with websockets.connect(url, close_timeout=0) as socket:
            await socket.send(json.dumps({"op": "hello", "token": person.token, "since": since}))
            assert json.loads(await socket.recv())["op"] == "welcome"
            told.append([await socket.recv()])
            await socket.send(json.dumps({"op": "fetch", "id": "f", "since": since}))
            told[-1].append(await socket.recv())
    assert told[0] == told[1] and '"badChangeToken"' in told[0][1], told


# MARK: limits

def story_wrong_hashes_and_wrong_bytes():
    """An invalid hash in the path is 400, bytes with another hash 422, a missing chunk 404; a chunk
    of another account is like a missing one."""
    with Relay() as relay:
        person, second, stranger, _ = scene(relay)
        line, theirs = Connection(relay, person), Connection(relay, stranger)
        data = b"bytes of the stranger's"
        hash = hashlib.sha256(data).hexdigest()
        none = "f" * 64
        for name in ["x", "0" * 63, "0" * 65, "g" * 64, "%00", "0" * 62 + "%2F0", hash + "%20"]:
            for method, raw in [("GET", None), ("PUT", b"x")]:
                expect(line.request(method, f"/v1/chunks/{name}", raw=raw), 400, "badRequest")
            assert line.request("HEAD", f"/v1/chunks/{name}").status == 400
        expect(line.request("POST", f"/v1/chunks/{hash}"), 405, "methodNotAllowed")
        expect(theirs.request("PUT", f"/v1/chunks/{hash}", raw=data), 201)
        for wrong in (b"", data[:-1], data + b"x", data.upper()):
            expect(theirs.request("PUT", f"/v1/chunks/{none}", raw=wrong), 422, "hashMismatch")
        expect(same(line.request("GET", f"/v1/chunks/{hash}"),
                    line.request("GET", f"/v1/chunks/{none}"),
                    hash=(hash, none)), 404, "notFound")
        expect(same(line.request("GET", f"/v1/chunks/{hash}",
                                 headers={"If-None-Match": f'"{hash}"'}),
                    line.request("GET", f"/v1/chunks/{none}",
                                 headers={"If-None-Match": f'"{none}"'}),
                    hash=(hash, none)), 404)
        assert line.request("HEAD", f"/v1/chunks/{hash}").status == 404
        missing = line.request("POST", "/v1/chunks/missing", {"hashes": [hash, none, hash.upper()]})
        assert expect(missing, 200).json == {"missing": [hash, none]}, missing
        one, other = [line.save({**record("a"), "chunks": [each]}) for each in (hash, none)]
        expect(same(one, other, hash=(hash, none)), 200)
        assert one.json["results"][0]["error"]["code"] == "chunksMissing", one
        # Even for a chunk that the account has, the uploaded bytes are checked against the hash.
        expect(line.request("PUT", f"/v1/chunks/{hash}", raw=b"guessed"), 422, "hashMismatch")
        expect(line.request("PUT", f"/v1/chunks/{hash}", raw=data), 201)
        expect(line.request("PUT", f"/v1/chunks/{hash}", raw=data), 200)
        assert expect(line.request("GET", f"/v1/chunks/{hash.upper()}"), 200).body == data


def story_chunks_at_their_limits():
    """A chunk of 4 MiB; a record that names 4,096 chunks, and a query about as many."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        for length in ((4 << 20) - 1, 4 << 20, (4 << 20) + 1):
            data = b"x" * length
            hash = hashlib.sha256(data).hexdigest()
            answer = Connection(relay, person).request("PUT", f"/v1/chunks/{hash}", raw=data)
            expect(answer, *(201,) if length <= 4 << 20 else (413, "bodyTooLarge"))
            assert line.request("HEAD", f"/v1/chunks/{hash}").status == (
                200 if length <= 4 << 20 else 404)
        for count in (4095, 4096, 4097):
            hashes = [f"{number:064x}" for number in range(count)]
            answer = line.request("POST", "/v1/chunks/missing", {"hashes": hashes})
            saved = line.save({**record("many"), "chunks": hashes})
            if count <= 4096:
                assert expect(answer, 200).json["missing"] == hashes
                assert expect(saved, 200).json["results"][0]["error"]["code"] == "chunksMissing"
            else:
                expect(answer, 400, "badRequest")
                expect(saved, 400, "badRequest")
        # A duplicate counts once.
        hashes = [f"{number:064x}" for number in range(4096)] + ["0" * 64]
        assert len(expect(line.request("POST", "/v1/chunks/missing", {"hashes": hashes}), 200)
                   .json["missing"]) == 4096


def story_names_and_labels_at_their_limits():
    """254 and 255 bytes are accepted, 256 are not, for every name; bytes count, not letters."""
    with Relay() as relay:
        person, second, *_ = scene(relay)
        line = Connection(relay, person)
        for letter in ["n", "é"]:
            for length in (254, 255, 256):
                name = letter * (length // len(letter.encode()))
                name += "n" * (length - len(name.encode()))
                path = urllib.parse.quote(name)
                fits = length <= 255
                status, problem = (200, None) if fits else (400, "badName")
                expect(line.save(record(name)), status, problem)
                expect(line.save(record("a"), zone=path), status, problem)
                expect(line.save({**record("a"), "type": name}), status, problem)
                expect(line.request("GET", f"/v1/changes?zone={path}"), status, problem)
                expect(line.request("GET", f"/v1/zones/Notes/records/{path}"), status, problem)
                expect(line.request("PATCH", f"/v1/devices/{second.device}", {"deviceName": name}),
                       status, None if fits else "badRequest")
                for member in DEVICE:
                    expect(line.request("POST", "/v1/accounts", {**DEVICE, member: name}),
                           201 if fits else 400)


def story_a_batch_at_its_limits():
    """399, 400 and 401 records; a record of 1 MiB; a batch of 2 MiB. Only what exceeds a limit by
    one is refused."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        for count in (399, 400, 401):
            answer = line.save(*[record(f"r{n}") for n in range(count)])
            if count <= 400:
                assert len(expect(answer, 200).json["results"]) == count
            else:
                expect(answer, 400, "tooManyRecords")
        mebibyte = 1 << 20
        for length in (mebibyte - 1, mebibyte, mebibyte + 1):
            fields = '{"t":"' + "x" * (length - 8) + '"}'
            raw = (f'{{"id":"{new_id()}","records":[{{"name":"large","type":"T","fields":{fields},'
                   f'"baseTag":"any"}},{{"name":"small","type":"T","fields":{{}},"baseTag":"any"}}]}}')
            answer = expect(line.request("POST", "/v1/zones/Notes/records", raw=raw.encode()), 200)
            large, small = answer.json["results"]
            assert "tag" in small, small
            if length <= mebibyte:
                assert "tag" in large, large
            else:
                assert large["error"]["code"] == "recordTooLarge" and large["error"]["status"] == 413
        for length in (2 * mebibyte - 1, 2 * mebibyte, 2 * mebibyte + 1):
            raw = json.dumps({"id": new_id(), "records": [record("padded")]}).encode().ljust(length)
            answer = Connection(relay, person).request("POST", "/v1/zones/Notes/records", raw=raw)
            expect(answer, *(200,) if length <= 2 * mebibyte else (413, "bodyTooLarge"))
        for length in (16_384, 16_385):
            raw = json.dumps(DEVICE).encode().ljust(length)
            answer = Connection(relay).request("POST", "/v1/accounts", raw=raw)
            expect(answer, *(201,) if length <= 16_384 else (413, "bodyTooLarge"))
        for depth in (63, 64, 65):
            fields = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)
            raw = (f'{{"id":"{new_id()}","records":[{{"name":"deep","type":"T","fields":{fields},'
                   f'"modifiedAt":1}}]}}')
            answer = line.request("POST", "/v1/zones/Notes/records", raw=raw.encode())
            expect(answer, *(200,) if depth <= 64 else (400, "badJSON"))


def story_numbers_at_their_limits():
    """Tags and times below 2⁵³; a page of 1,000; a wait of 60 s."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        last = (1 << 53) - 1
        for number, status in [(last, 200), (last + 1, 400)]:
            tag = expect(line.save({**record("a"), "baseTag": number}), status)
            time = expect(line.save({**record("a"), "modifiedAt": number}), status)
            if status == 200:
                assert tag.json["results"][0]["conflict"]["tag"] == 0, tag
                error = time.json["results"][0]["error"]
                assert error["code"] == "clockAhead" and abs(error["time"] - now()) < 5_000, error
        assert "tag" in line.save({**record("a"), "modifiedAt": now() + 3_000}).json["results"][0]
        for batch in range(3):
            expect(line.save(*[record(f"r{batch}-{n}") for n in range(400)]), 200)
        for limit, count in [(1, 1), (999, 999), (1000, 1000), (1001, 1000)]:
            page = expect(line.request("GET", f"/v1/changes?limit={limit}"), 200).json
            assert len(page["changes"]) == count and page["more"] is True
        for wait in (59, 60, 61):
            page = expect(line.request("GET", f"/v1/changes?limit=1&wait={wait}"), 200).json
            assert len(page["changes"]) == 1


def story_a_push_of_64_kib_and_one_more_byte():
    """A push that fits contains the records; with one byte more it is a hint."""
    async def play(relay):
        person, second, *_ = scene(relay)
        line = Connection(relay, person)
        start = line.request("GET", "/v1/changes").json["token"]
        url = relay.address.replace("http", "ws") + "/v1/socket"
        async with websockets.connect(url, max_size=1 << 20, close_timeout=0) as socket:
            await socket.send(json.dumps({"op": "hello", "token": second.token, "since": start}))
            await socket.recv()
            stamp = now()

            async def told(name, length):
                """The message pushed for a record with a name of this length, and the size of its
                `changes` in bytes."""
                line.save({**record(name, "x" * length), "modifiedAt": stamp})
                message = await socket.recv()
                array = message[message.index('"changes":') + len('"changes":'):-1]
                return json.loads(message)["op"], len(array)

            op, small = await told("a" * 8, 1)
            assert op == "changes"
            rest = small - 1
            tag = json.loads(line.request("GET", "/v1/changes?since=" + start).body)["changes"][0]["tag"]
            assert tag < 8, "a longer tag makes a longer record"
            op, exact = await told("b" * 8, (64 << 10) - rest)
            assert (op, exact) == ("changes", 64 << 10), (op, exact)
            line.save({**record("c" * 8, "x" * ((64 << 10) - rest + 1)), "modifiedAt": stamp})
            hint = json.loads(await socket.recv())
            assert set(hint) == {"op", "token"} and hint["op"] == "changed", hint

    with Relay() as relay:
        asyncio.run(play(relay))


def story_devices_and_codes_at_their_limits():
    """A hundred devices per account; ten codes at a time, after which a new one replaces the
    oldest."""
    with Relay() as relay:
        person, *_ = scene(relay)
        line = Connection(relay, person)
        codes = [line.request("POST", "/v1/pairings").json["code"] for _ in range(11)]
        expect(line.request("POST", "/v1/devices", {"code": codes[0], **DEVICE}), 403,
               "badPairingCode")
        for number in range(98):
            code = (codes.pop() if len(codes) > 1
                    else line.request("POST", "/v1/pairings").json["code"])
            joined = expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 201).json
        assert len(line.request("GET", "/v1/devices").json["devices"]) == 100
        code = line.request("POST", "/v1/pairings").json["code"]
        expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 403, "tooManyDevices")
        expect(line.request("DELETE", f"/v1/devices/{joined['deviceID']}"), 204)
        code = line.request("POST", "/v1/pairings").json["code"]
        expect(line.request("POST", "/v1/devices", {"code": code, **DEVICE}), 201)


def story_subscriptions_at_their_limits():
    """64 per device; 16 members in a `where`; 4 KiB of body."""
    with Relay() as relay:
        person, second, *_ = scene(relay)
        line = Connection(relay, person)
        for number in range(65):
            answer = line.request("PUT", f"/v1/subscriptions/s{number}", {"kind": "database"})
            expect(answer, *(201,) if number < 64 else (403, "tooManySubscriptions"))
        expect(line.request("PUT", "/v1/subscriptions/s63", {"kind": "zone", "zone": "Z"}), 200)
        expect(line.request("DELETE", "/v1/subscriptions/s0"), 204)
        expect(line.request("PUT", "/v1/subscriptions/s64", {"kind": "database"}), 201)
        assert len(line.request("GET", "/v1/subscriptions").json["subscriptions"]) == 64
        line = Connection(relay, second)
        query = {"kind": "query", "recordType": "T"}
        for count in (16, 17):
            where = {f"m{number}": number for number in range(count)}
            expect(line.request("PUT", "/v1/subscriptions/q", {**query, "where": where}),
                   201 if count == 16 else 400)
        for length in (4096, 4097):
            raw = json.dumps(query).encode().ljust(length)
            answer = Connection(relay, second).request("PUT", "/v1/subscriptions/q", raw=raw)
            assert (answer.status == 200) == (length == 4096), (length, answer)


def story_wrong_messages_on_a_socket():
    """Each member of each message: a malformed message closes the socket (4400), a fault in a
    request is that request's `error`, and another socket is not affected."""
    save = {"op": "save", "id": UUID, "zone": "Notes", "records": [SAVED]}
    fetch = {"op": "fetch", "id": "f", "since": None, "zone": None, "limit": None}
    ask_time = {"op": "time", "id": "t", "t0": 1}
    ends = [(save, member, value) for member, values in [
        ("id", [None, 5, "", "x", [], ...]), ("zone", [None, 5, [], ...]), ("atomic", [1, "true", []]),
        ("records", [None, 5, {}, [5], [{}], [{**SAVED, "fields": 5}], ...]),
    ] for value in values]
    ends += [(fetch, member, value) for member, values in [
        ("id", [None, 5, "", "x" * 129, ...]), ("since", [5, [], {}]), ("zone", [5, []]),
        ("limit", ["1", 0, -1, 1.5, 1 << 53, [], True]),
    ] for value in values]
    ends += [(ask_time, member, value) for member, values in [
        ("id", [None, 5, "", ...]), ("t0", [None, "1", [], ...]), ("op", [None, 5, "", "TIME", ...]),
    ] for value in values]
    ends.append((ask_time, "op", "hello"))
    errors = [(save, "zone", "", "badName"), (save, "zone", "n" * 256, "badName"),
              (save, "records", [{**SAVED, "name": ""}], "badName"),
              (save, "records", [SAVED] * 2, "badRequest"),
              (save, "records", [{**SAVED, "name": f"r{n}"} for n in range(401)], "tooManyRecords"),
              (fetch, "since", "nonsense", "badChangeToken"), (fetch, "zone", "", "badName"),
              (fetch, "zone", "\u0007", "badName")]

    async def play(relay):
        person, *_ = scene(relay)
        url = relay.address.replace("http", "ws") + "/v1/socket"

        async def opened():
            socket = await websockets.connect(url, close_timeout=0)
            await socket.send(json.dumps({"op": "hello", "token": person.token}))
            assert json.loads(await socket.recv())["op"] == "welcome"
            return socket

        witness = await opened()
        for message, member, value in ends:
            socket = await opened()
            await socket.send(json.dumps(changed({member: None, **message}, (member,), value)))
            try:
                raise AssertionError((message, member, value, await socket.recv()))
            except websockets.ConnectionClosed as closed:
                assert closed.code == 4400 and closed.reason, (message, member, value, closed)
        for message, member, value, code in errors:
            await witness.send(json.dumps({**message, member: value}))
            error = json.loads(await witness.recv())
            assert error["op"] == "error" and error["id"] == message["id"], error
            assert error["code"] == code and error["detail"], error
        await witness.send(json.dumps({**save, "id": new_id(), "unknown": {"x": []}}))
        assert json.loads(await witness.recv())["op"] == "saved"
        await witness.close()

    with Relay() as relay:
        asyncio.run(play(relay))


if __name__ == "__main__":
    main(globals())
