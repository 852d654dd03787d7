"""Data that schemathesis cannot derive from the document alone: existing ids and tokens, unique
names, waits that end. Loaded by scripts/openapi-check.

A generated request is changed only in ways that a schema cannot express, so an intended error stays
an error.
"""

import atexit
import collections
import hashlib
import itertools
import json
import os
import re
import urllib.parse
import urllib.request

import schemathesis

from openapi_wake import NOTIFICATION, WAKE

RELAY = os.environ["OPENAPI_RELAY"]
TOKEN = os.environ["OPENAPI_TOKEN"]
DEVICE = os.environ["OPENAPI_DEVICE"]
BARE = [("GET", "/v1/devices"), ("GET", "/v1/subscriptions"), ("POST", "/v1/pairings"),
        ("GET", "/v1/time"), ("GET", "/v1/limits"), ("GET", "/livez"), ("GET", "/healthz"),
        ("GET", "/readyz")]
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
count, joins, turns = itertools.count(1), itertools.count(1), itertools.count(1)
answers = collections.defaultdict(collections.Counter)


@atexit.register
def write_answers():
    with open(os.environ["OPENAPI_ANSWERS"], "w") as file:
        json.dump(answers, file)


def ask(method, path, body=None):
    request = urllib.request.Request(
        RELAY + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def fit(value):
    """Cuts each string to at most 255 bytes, because a schema counts characters."""
    if isinstance(value, str):
        return value.encode()[:255].decode(errors="ignore")
    if isinstance(value, dict):
        return {name: each if name in ("fields", "where") else fit(each)
                for name, each in value.items()}
    return [fit(each) for each in value] if isinstance(value, list) else value


def fit_path(value):
    """The same for a name in a path, which is already percent-encoded: schemathesis measures the
    encoded form, and no letter may be cut in two."""
    if not isinstance(value, str) or len(value) <= 255:
        return value
    name = urllib.parse.unquote(value)
    while len(urllib.parse.quote(name, safe="")) > 255:
        name = name[:-1]
    return urllib.parse.quote(name, safe="")


@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(count)
    is_good = case.meta is None or case.meta.generation.mode.is_positive
    no_empty_number(case)
    change = CHANGES.get(case.operation.definition.raw.get("operationId"))
    if is_good:
        case.path_parameters = {
            name: fit_path(value) for name, value in (case.path_parameters or {}).items()}
        if isinstance(case.body, dict):
            case.body = fit(case.body)
    if change:
        change(case, number, is_good)


@schemathesis.hook
def after_call(context, case, response):
    # With another method the request was not for this operation.
    if case.method.upper() == case.operation.method.upper():
        answers[case.operation.label][response.status_code] += 1
    if next(turns) % 40 == 0:
        call_without_parameters(case.operation.schema)


def call_without_parameters(schema):
    """Calls without parameters, of which schemathesis makes only a few, while the account fills."""
    for method, path in BARE:
        call = schema[path][method]
        answer = call.Case().call(base_url=RELAY, headers={"Authorization": f"Bearer {TOKEN}"})
        call.validate_response(answer)


def reading(case, number, is_good):
    """Uses a token of the account itself, if a token is plausible; and avoids waits for changes
    that do not come."""
    query = case.query or {}
    if isinstance(query.get("since"), str) and 0 < len(query["since"]) <= 96:
        query["since"] = ask("GET", "/v1/changes")["token"]
        if "zone" in query and is_good:
            del query["since"]
    if isinstance(query.get("wait"), (int, float)) and query["wait"] > 0:
        # A snapshot is not empty, so it is answered at once.
        query.pop("since", None)
        if is_good:
            query.pop("zone", None)


def no_empty_number(case):
    """An empty number counts as omitted, which a schema of a number cannot say."""
    for name in ("limit", "wait"):
        if (case.query or {}).get(name) in ("", {}, []):
            case.query[name] = "x"


def listing(case, number, is_good):
    """The list of an existing zone, from its start or from a page of it."""
    query = case.query or {}
    if is_good and query.get("after"):
        case.path_parameters["zone"] = "Seeds"
        page = ask("GET", "/v1/zones/Seeds/records?limit=1")
        if page["more"]:
            query["after"] = page["token"]
        else:
            del query["after"]


def writing(case, number, is_good):
    """One condition at a time; some on the current version of a record."""
    if not is_good:
        return
    headers = case.headers
    if "If-Match" in headers and "If-None-Match" in headers:
        del headers["If-None-Match"]
    # Some generated texts do not match the pattern.
    if "If-Match" in headers and not re.fullmatch(r'\*|(W/)?"[1-9][0-9]{0,14}"', headers["If-Match"]):
        headers["If-Match"] = '"7"'
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f"20000000-0000-4000-8000-{number:012x}"
    if number % 3:
        name = f"w{number % 5}"
        save(number, name, "Written")
        case.path_parameters = {"zone": "Written", "name": name}
        tag = ask("GET", f"/v1/zones/Written/records/{name}")["tag"]
        headers.pop("If-None-Match", None)
        headers["If-Match"] = f'"{tag}"'


def save(number, name, zone):
    ask("POST", f"/v1/zones/{zone}/records", {
        "id": f"10000000-0000-4000-8000-{number:012x}",
        "records": [{"name": name, "type": "T", "fields": {}, "modifiedAt": 1,
                     "baseTag": "any"}]})


def deleting(case, number, is_good):
    """An existing zone in every second request, and a token of the account itself."""
    query = case.query or {}
    if isinstance(query.get("through"), str) and 0 < len(query["through"]) <= 96:
        query["through"] = ask("GET", "/v1/changes")["token"]
    if is_good and number % 2:
        case.path_parameters["zone"] = f"Doomed{number % 8}"
        save(number, f"r{number}", case.path_parameters["zone"])


def saving(case, number, is_good):
    """A new id for each batch, and unique names in it. Some batches have a conflict, and some name
    an existing chunk."""
    body = case.body
    if not isinstance(body, dict):
        return
    if isinstance(body.get("id"), str) and UUID.fullmatch(body["id"]):
        body["id"] = f"00000000-0000-4000-8000-{number:012x}"
    if is_good and isinstance(body.get("records"), list):
        records = body["records"] = list({each["name"]: each for each in body["records"]}.values())
        for each in records:
            if each.get("fields") is None:
                each["deleted"] = True
            else:
                each.pop("deleted", None)
        if records and number % 4 == 1:
            case.path_parameters["zone"] = "Seeds"
            body["records"] = [each for each in records[1:] if each["name"] != "seed"] + [
                {**records[0], "name": "seed", "baseTag": 0}]
        elif records and number % 4 == 2 and chunks and not records[0].get("deleted"):
            records[0]["chunks"] = chunks[-3:]


def joining(case, number, is_good):
    """A valid code, except for two requests: wrong codes make the relay refuse all attempts. A full
    account first loses devices."""
    if isinstance(case.body, dict) and isinstance(case.body.get("code"), str) and next(joins) > 2:
        case.body["code"] = ask("POST", "/v1/pairings")["code"]
        devices = [each["deviceID"] for each in ask("GET", "/v1/devices")["devices"]]
        for device in [each for each in devices if each != DEVICE][:len(devices) - 90]:
            ask("DELETE", f"/v1/devices/{device}")


def renaming(case, number, is_good):
    if number % 2 and re.fullmatch("[0-9A-Fa-f]{16}", str(case.path_parameters["deviceID"])):
        case.path_parameters["deviceID"] = DEVICE


def revoking(case, number, is_good):
    """Never the device that sends the requests; others, as long as there are any."""
    others = [each["deviceID"] for each in ask("GET", "/v1/devices")["devices"]
              if each["deviceID"] != DEVICE]
    if str(case.path_parameters["deviceID"]).lower() == DEVICE:
        case.path_parameters["deviceID"] = "0" * 16
    elif is_good and number % 2 and others:
        case.path_parameters["deviceID"] = others[0]


def reading_one(case, number, is_good):
    if is_good and number % 2:
        case.path_parameters = {"zone": "Seeds", "name": "seed"}


def subscribing(case, number, is_good):
    """One of a few ids, so that there is something to read, to replace and to remove."""
    if is_good and number % 3:
        id = case.path_parameters["subscriptionID"] = f"s{number % 40}"
        if case.method == "DELETE" and number % 4:
            ask("PUT", f"/v1/subscriptions/{id}", {"kind": "database"})


def registering(case, number, is_good):
    """A valid registration under one of a few ids: a device has at most four."""
    if is_good:
        case.body = {**WAKE, "endpoint": f"https://push.invalid/{number}"}
        if number % 2:
            case.body["notification"] = NOTIFICATION
        case.path_parameters["wakeID"] = f"w{number % 4}"


def registered(case, number, is_good):
    """An existing registration in every second request; the last one is not removed."""
    ids = [each["id"] for each in ask("GET", "/v1/wakes")["wakes"]]
    if is_good and number % 2 and len(ids) > (case.method == "DELETE"):
        case.path_parameters["wakeID"] = ids[-1]


chunks = []


def uploading(case, number, is_good):
    """Bytes that match the hash in the path."""
    if is_good:
        case.body = b"a chunk of a file " * (number % 50)
        case.path_parameters["sha256"] = hashlib.sha256(case.body).hexdigest()
        chunks.append(case.path_parameters["sha256"])


def downloading(case, number, is_good):
    if is_good and number % 2 and chunks:
        case.path_parameters["sha256"] = chunks[number % len(chunks)]


CHANGES = {
    "getChanges": reading, "saveRecords": saving, "deleteZone": deleting,
    "joinAccount": joining, "renameDevice": renaming,
    "revokeDevice": revoking, "getRecord": reading_one, "putChunk": uploading,
    "getSubscription": subscribing, "putSubscription": subscribing,
    "listRecords": listing, "putRecord": writing, "deleteRecord": writing,
    "deleteSubscription": subscribing, "putWake": registering, "getWake": registered,
    "deleteWake": registered, "verifyWake": registered, "getChunk": downloading, "keepChunk": downloading,
}
