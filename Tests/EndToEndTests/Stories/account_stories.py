"""Administration of accounts by a relay's owner: with a running relay, and in the store of a
stopped one."""

import asyncio
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pty
import pwd
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import threading
import time
import uuid

from notification_stories import PendingRequest
from refusal_stories import check_problem
from story import (
    LOCKSTEP, PATIENCE, Person, Relay, curl, expect, folder, main, record, refused, run, upload,
    wait_until)
from websocket_stories import Socket

CODE = r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}"


class Owner:
    """The owner of a relay, at the command line."""

    def __init__(self, store):
        self.store = store

    def run(self, *words, **options):
        return run("account", *words, "--store", self.store, **options).stdout

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))

    def refused(self, *words, **options):
        return refused("account", *words, "--store", self.store, **options)

    def list(self):
        return [json.loads(line) for line in self.run("list", "--json").splitlines()]

    def account(self, name):
        return next(each for each in self.list() if name in (each["label"], each["accountID"]))


@contextlib.contextmanager
def online_and_offline_owners():
    """Two owners: one of a running relay, and one of a store without a relay."""
    with Relay(is_open=False) as relay, folder() as directory:
        yield [Owner(relay.store), Owner(os.path.join(directory, "store"))]


def join(relay, code):
    body = {"code": code, "deviceName": "curl", "platform": "test", "appVersion": "1"}
    return Person(relay, expect(curl(relay, "POST", "/v1/devices", body), 201).json)


def story_accounts_are_made_and_listed_alike_with_a_relay_and_without():
    """A table for people, one JSON object per line for programs, and the same output in both
    cases."""
    with online_and_offline_owners() as offices:
        shapes = []
        for owner in offices:
            made = owner.json("create", "mum")
            assert re.fullmatch(CODE, made["code"]) and len(made["accountID"]) == 16, made
            told = owner.run("create", "the children's", "--zones", "timer,memos")
            assert re.match(CODE + "\n", told) and "agent join" in told, told
            assert (f"lockstep relay --store {owner.store}" in told) == (owner is offices[1]), told
            listed = owner.list()
            assert [each["accountID"] for each in listed] == sorted(
                each["accountID"] for each in listed)
            assert owner.account("mum")["accountID"] == made["accountID"]
            assert owner.account("mum")["plan"] == {"zones": None}
            assert owner.account("the children's")["plan"] == {"zones": ["Memos", "Timer"]}
            for each in listed:
                assert each["devices"] == each["newestTag"] == each["chunkBytes"] == 0, each
            table = owner.run("list").splitlines()
            assert table[0].split() == [
                "ACCOUNT", "NAME", "DEVICES", "PLAN", "RECORDS", "FILES", "MADE"], table
            assert any(re.match(
                made["accountID"] + r"  mum +0  all zones +0 B +0 B  20\d\d-\d\d-\d\d \d\d:\d\d UTC",
                line) for line in table), table
            shapes.append([sorted(each) for each in listed])
        assert shapes[0] == shapes[1]


def story_an_empty_list_says_what_to_do():
    """With no account yet, people get a sentence, and programs get no output."""
    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        assert "lockstep account create NAME" in owner.run("list")
        assert owner.run("list", "--json") == ""


def calls_owner(store, label):
    """Creates an account by the relay's control socket. Returns the status, and the answer."""
    done = subprocess.run(
        ["curl", "--silent", "--unix-socket", os.path.join(store, "admin.sock"), "--write-out",
         "%{stderr}%{http_code}", "--json", json.dumps({"label": label}),
         "http://localhost/v1/admin/accounts"],
        capture_output=True, timeout=PATIENCE, check=True)
    return int(done.stderr), json.loads(done.stdout)


def story_an_account_is_named_by_its_id_or_by_its_label():
    """Two accounts with the same label, which older programs allowed, need an id, and the error
    names the candidates. An unknown label is reported. A label can be given once."""
    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        only = owner.json("create", "only")["accountID"]
        told = owner.refused("create", "only", says=["already", f"account pair {only}", "another"])
        assert "nothing was created" in told and len(owner.list()) == 1, told
        twins = [owner.json("create", name)["accountID"] for name in ("twin", "twin 2")]
        relay.stop()
        # As older programs left them.
        database = os.path.join(relay.store, "zones.sqlite")
        with contextlib.closing(sqlite3.connect(database)) as store:
            with store:
                store.execute("UPDATE accounts SET label = 'twin', label_key = NULL "
                              "WHERE label LIKE 'twin%'")
        relay.start()
        for has_relay in (True, False):
            if not has_relay:
                relay.stop()
            for name in ("only", only, "ONLY"):
                assert owner.json("plan", name) == {"zones": None, "accountID": only}
            for words in [("plan", "twin"), ("pair", "twin"), ("remove", "twin", "--yes")]:
                told = owner.refused(*words, says=["2 accounts have the label \"twin\"", *twins])
                assert "id" in told, told
            assert owner.json("pair", twins[0])["accountID"] == twins[0]
            for name in ["nobody", "0123456789abcdef", "", "onl"]:
                for words in [("plan", name), ("pair", name), ("remove", name, "--yes")]:
                    owner.refused(*words, says=["there is no account", "account list"])
            owner.refused("create", "Twin", says="already")
            assert len(owner.list()) == 3
    with online_and_offline_owners() as offices:
        label = "x" * 256
        for owner in offices:
            owner.refused("create", label, says="255 bytes")
            owner.refused("create", "a\tb", says="control characters")


def story_a_label_is_given_once_even_by_two_at_one_moment():
    """Several owners create the same account at once, in different case and spelling: one wins, and
    the others are refused with `labelTaken`, which names the account."""
    with Relay(is_open=False) as relay:
        for round in range(8):
            names = [f"Ren\u00e9e {round}", f"Rene\u0301e {round}", f"REN\u00c9E {round}"]
            with concurrent.futures.ThreadPoolExecutor(6) as owners:
                answers = list(owners.map(lambda name: calls_owner(relay.store, name), names * 2))
            made = [answer for status, answer in answers if status == 201]
            assert len(made) == 1, answers
            for status, answer in answers:
                if status != 201:
                    check_problem("labelTaken", answer, status)
                    assert made[0]["accountID"] in answer["detail"], answer
        assert len(Owner(relay.store).list()) == 8


def story_what_is_no_store_is_left_alone():
    """A mistyped folder name does not create a store; only `create` may do that."""
    with folder() as directory:
        owner = Owner(os.path.join(directory, "slip"))
        for words in [("list",), ("plan", "x"), ("pair", "x"), ("remove", "x", "--yes")]:
            owner.refused(*words, says=["there is no store", "--store"])
        assert not os.path.exists(owner.store)
        owner.run("create", "x")
        mode = stat.S_IMODE(os.stat(owner.store).st_mode)
        assert mode == 0o700, oct(mode)
        for name in os.listdir(owner.store):
            mode = stat.S_IMODE(os.stat(os.path.join(owner.store, name)).st_mode)
            assert mode & 0o077 == 0, (name, oct(mode))


def story_only_the_owner_reaches_the_control_listener():
    """Only the owner can open admin.sock. Without a session, no other listener serves its calls."""
    with Relay("--admin-listen", "127.0.0.1:0") as relay:
        mode = os.stat(os.path.join(relay.store, "admin.sock")).st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(os.stat(relay.store).st_mode) == 0o700
        person = Person.new(relay)
        admin = re.search(r"metrics and health on (http://\S+)", relay.text()).group(1)
        relay_at_admin = Relay()
        relay_at_admin.address = admin
        for method, path in [
            ("GET", "/v1/admin/accounts"), ("GET", f"/v1/admin/accounts/{person.account}"),
            ("DELETE", f"/v1/admin/accounts/{person.account}"),
            ("PUT", f"/v1/admin/accounts/{person.account}/plan"),
            ("GET", f"/v1/admin/accounts/{person.account}/changes"),
        ]:
            expect(person.call(method, path), 404, "notFound")
            expect(curl(relay_at_admin, method, path), 401, "badToken")
        expect(person.changes(), 200)


def story_a_plan_bounds_what_is_saved_at_once():
    """402 for a save into a zone outside the plan; records outside it stay readable; close code
    4502 without any zones."""
    async def scene(relay, owner, person):
        live = await Socket.open(person)
        told = owner.run("plan", "mum", "--zones", "timer,memo,notes")
        assert told == f'"mum" ({person.account}) may save into Memos, Timer, notes\n', told
        await live.save(record("b"))
        problem = await live.receive("error")
        assert problem["code"] == "planRequired", problem
        await live.save(record("b"), zone="Memos")
        await live.receive("saved")
        other = await Socket.open(person)
        assert owner.json("plan", "mum", "--none")["zones"] == []
        for socket in (live, other):
            assert await socket.closed() == 4502

    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        person = join(relay, owner.json("create", "mum")["code"])
        expect(person.save(record("a")), 200)
        asyncio.run(scene(relay, owner, person))
        expect(person.save(record("c")), 402, "planRequired")
        expect(person.changes(), 402, "planRequired")
        expect(person.call("GET", "/v1/devices"), 200)
        assert owner.run("plan", "mum") == f'"mum" ({person.account}) may save into no zone\n'
        owner.run("plan", "mum", "--zones", "timer")
        expect(person.save(record("c")), 402, "planRequired")
        assert [each["name"] for each in expect(person.changes(), 200).json["changes"]] == ["a", "b"]
        assert owner.json("plan", "mum", "--free")["zones"] == [
            "Clipboard", "Memos", "Timer", "Vault"]
        owner.run("plan", "mum", "--all")
        expect(person.save(record("c")), 200)
        # A plan that was set without a running relay applies as well.
        relay.stop()
        owner.run("plan", "mum", "--none")
        relay.start()
        expect(person.save(record("d")), 402, "planRequired")
        assert "has a new plan" not in relay.text()
        owner.run("plan", person.account, "--all")
        told = f'an account has a new plan (account {person.account}, label mum)'
        wait_until(lambda: told in relay.text(), lambda: f"{told} in {relay.text()}")
        expect(person.save(record("d")), 200)


def story_options_that_exclude_one_another_change_nothing():
    """The intended plan cannot be guessed: exit code 2."""
    with online_and_offline_owners() as offices:
        for owner in offices:
            owner.run("create", "mum")
            for words in [("--all", "--none"), ("--zones", "a", "--all"), ("--zones", "a", "--none"),
                          ("--free", "--all")]:
                owner.refused("plan", "mum", *words, code=2, says="exclude one another")
            for zones in ["", "a,,b", "a,", "x" * 256]:
                owner.refused("plan", "mum", "--zones", zones, code=2, says="--zones")
            assert owner.json("plan", "mum")["zones"] is None


def story_a_lost_code_is_replaced():
    """`pair` issues a code for one more device, like a device's own code; each code works once."""
    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        account = owner.json("create", "mum")["accountID"]
        told = owner.run("pair", "mum")
        code = re.match(CODE, told).group(0)
        assert "one device into the account \"mum\"" in told and "10 minutes" in told, told
        person = join(relay, code)
        assert person.account == account
        body = {"code": code, "deviceName": "x", "platform": "test", "appVersion": "1"}
        expect(curl(relay, "POST", "/v1/devices", body), 403, "badPairingCode")
        relay.stop()
        second = owner.json("pair", account)
        assert second["accountID"] == account
        relay.start()
        assert join(relay, second["code"]).account == account
        assert owner.account("mum")["devices"] == 2


def story_a_person_is_invited_by_a_link():
    """The owner sends a link that is valid for days. It joins one device, and names the address
    that the owner has set; without one, that of this machine."""
    with Relay(is_open=False) as relay, folder() as directory:
        owner = Owner(relay.store)
        offer = owner.json("create", "mum", "--expires-in", "3d")
        assert offer["relay"] == relay.address, offer
        assert offer["link"] == f"{relay.address}/#code={offer['code']}", offer
        lasts = offer["expiresAt"] / 1000 - time.time()
        assert 71 * 3600 < lasts <= 72 * 3600, lasts
        told = owner.run("pair", "mum")
        assert "on this machine alone (set --public-url for others)" in told, told
        assert "within 10 minutes" in told and f"  {relay.address}/#code=" in told, told
        run("agent", "join", "--code", offer["link"], home=os.path.join(directory, "phone"))
        refused("agent", "join", "--code", offer["link"], home=os.path.join(directory, "thief"),
                says=["unknown, used or too old"])
        assert owner.account("mum")["devices"] == 1
        owner.refused("pair", "mum", "--expires-in", "8d", code=2, says=["7d"])
        relay.stop()
        told = owner.run("pair", "mum")
        assert "or give --public-url URL here" in told and "#code" not in told, told
        told = owner.run("pair", "mum", "--public-url", "https://sync.example.org:443/")
        assert "  https://sync.example.org/#code=" in told and "machine alone" not in told, told


def story_links_have_the_address_that_the_owner_has_set():
    """Behind a proxy: the relay itself listens on this machine alone. Devices print that address
    too, and clients may use its name."""
    url = "https://sync.example.org"
    with Relay("--public-url", url, is_open=False) as relay, folder() as directory:
        assert f"devices and browsers reach it at {url}" in relay.text(), relay.text()
        offer = Owner(relay.store).json("create", "mum")
        assert offer["link"] == f"{url}/#code={offer['code']}", offer
        home = os.path.join(directory, "desk")
        run("agent", "join", "--relay", relay.address, "--code", offer["code"], home=home)
        offer = json.loads(run("agent", "pair", "--json", home=home).stdout)
        assert offer["link"].startswith(f"{url}/#code="), offer
        assert offer["deviceLink"].startswith(f"lockstep+{url}/#code="), offer
        for name, status in (("sync.example.org", "200"), ("evil.example.org", "421")):
            answer = subprocess.run(
                ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-H", f"Host: {name}",
                 f"{relay.address}/v1/time"], capture_output=True, text=True)
            assert answer.stdout == status, (name, answer)


def story_an_account_that_is_removed_is_gone_at_once():
    """Sockets close with 4501, polls and calls end with 401, and none of its data is left."""
    async def scene(relay, owner, person):
        second = person.pair()
        sockets = [await Socket.open(person), await Socket.open(second)]
        token = person.changes().json["token"]
        third = person.pair()
        poll = PendingRequest(third, f"/v1/changes?wait=50&since={token}")

        def is_parked():
            devices = expect(person.call("GET", "/v1/devices"), 200).json["devices"]
            return {each["deviceID"]: each["connected"] for each in devices}[third.device]
        wait_until(is_parked, "the poll to be parked")
        told = owner.json("remove", "mum", "--yes")
        assert told == {"accountID": person.account}, told
        for socket in sockets:
            assert await socket.closed() == 4501
        assert poll.answer()[0] == 401

    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        person = join(relay, owner.json("create", "mum")["code"])
        other = join(relay, owner.json("create", "dad")["code"])
        for each in (person, other):
            expect(each.save(record("a")), 200)
        asyncio.run(scene(relay, owner, person))
        expect(person.changes(), 401, "badToken")
        expect(person.save(record("b")), 401, "badToken")
        assert [each["label"] for each in owner.list()] == ["dad"]
        assert f"an account was removed (account {person.account})" in relay.text()
        expect(other.changes(), 200)
        relay.stop()
        assert f"({other.account}) is removed" in owner.run("remove", "dad", "--yes")
        assert owner.list() == []
        relay.start()
        expect(other.changes(), 401, "badToken")


def story_nothing_is_removed_without_a_yes():
    """A person is asked, and may answer no; without a terminal, --yes is required."""
    def answer(owner, words):
        """Output of `remove` on a terminal on which `words` are typed, and its exit code."""
        person, terminal = pty.openpty()
        asked = subprocess.Popen(
            [LOCKSTEP, "account", "remove", "mum", "--store", owner.store], stdin=terminal,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(terminal)
        os.write(person, words.encode())
        out, errors = asked.communicate(timeout=PATIENCE)
        os.close(person)
        return out, errors, asked.returncode

    with online_and_offline_owners() as offices:
        for owner in offices:
            account = owner.json("create", "mum")["accountID"]
            owner.refused("remove", "mum", code=2, says=["--yes", account])
            for words in ["no\n", "\n", "YES please\n", "\x04"]:
                out, errors, code = answer(owner, words)
                assert (out, code) == ("", 1) and "nothing was removed" in errors, (out, errors)
                assert account in errors and "0 devices" in errors, errors
            assert len(owner.list()) == 1
            out, errors, code = answer(owner, "yes\n")
            assert code == 0 and "is removed" in out and "permanently" in errors, (out, errors)
            assert owner.list() == []


def exported(path):
    """Contents of an export, verified: only its owner can read it, and each chunk matches its
    hash."""
    for folder_, _, files in os.walk(path):
        assert stat.S_IMODE(os.stat(folder_).st_mode) == 0o700, folder_
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(folder_, name)).st_mode) == 0o600, name
    assert sorted(os.listdir(path)) == ["account.json", "chunks", "devices.jsonl", "records.jsonl"]

    def lines(name):
        with open(os.path.join(path, name), newline="\n") as file:
            return [json.loads(line) for line in file]

    account, = lines("account.json")
    records, devices = lines("records.jsonl"), lines("devices.jsonl")
    chunks = {}
    for name in os.listdir(os.path.join(path, "chunks")):
        with open(os.path.join(path, "chunks", name), "rb") as file:
            chunks[name] = file.read()
        assert hashlib.sha256(chunks[name]).hexdigest() == name
    assert account["records"] == len(records) and account["chunks"] == len(chunks)
    assert account["chunkBytes"] == sum(len(each) for each in chunks.values())
    assert len({(each["zone"], each["name"]) for each in records}) == len(records)
    assert {hash for each in records for hash in each.get("chunks", [])} <= set(chunks)
    return account, records, devices, chunks


def story_an_export_is_all_of_an_account():
    """Records as the relay returns them, devices, and chunks of files; with a running relay and
    without."""
    with Relay(is_open=False) as relay, folder() as directory:
        owner = Owner(relay.store)
        person = join(relay, owner.json("create", "mum")["code"])
        other = join(relay, owner.json("create", "dad")["code"])
        expect(other.save(record("secret")), 200)
        second = person.pair("laptop")
        large, small = os.urandom(3 << 20), b"small"
        names = [upload(person, large), upload(person, small)]
        expect(person.save(record("a", "\u2028 电脑\n", chunks=names),
                           record("b", chunks=names[:1]), record("gone")), 200)
        expect(second.save({"name": "gone", "deleted": True, "modifiedAt": 1}), 200)
        # White space within fields is kept, and a record is still one line.
        raw = b'{"id":"%s","records":[{"name":"c","type":"T","modifiedAt":1,"fields":{\n"x"\r\n:1}}]}'
        expect(person.call("POST", "/v1/zones/Other%2Fzone/records",
                           raw=raw % str(uuid.uuid4()).encode()), 200)
        token = expect(person.changes(), 200).json["token"]
        paths = [os.path.join(directory, name) for name in ("running", "stopped")]
        os.mkdir(paths[0])
        told = owner.json("export", "mum", paths[0])
        assert told == {"accountID": person.account, "token": token, "records": 3, "chunks": 2,
                        "chunkBytes": len(large) + len(small)}, told
        relay.stop()
        told = owner.run("export", person.account, paths[1] + "/")
        assert "3 records and 2 chunks of files (3.0 MiB)" in told, told
        relay.start()
        running, stopped = [exported(path) for path in paths]
        for account, records, devices, chunks in (running, stopped):
            assert account["label"] == "mum" and account["token"] == token
            assert account["accountID"] == person.account and account["plan"] == {"zones": None}
            assert chunks == {names[0]: large, names[1]: small}
            assert [each["deviceName"] for each in devices] == ["curl", "laptop"]
            assert not any("token" in each for each in devices)
        assert running[1] == stopped[1] == expect(person.changes(), 200).json["changes"]
        assert os.listdir(directory) and not any("partial" in each for each in os.listdir(directory))


def story_an_export_is_of_one_moment_while_devices_save():
    """Two records are always saved together, so they must be equal in every export."""
    with Relay("--loops", "1") as relay, folder() as directory:
        owner = Owner(relay.store)
        person = Person.new(relay)
        for page in range(0, 4_000, 400):
            expect(person.save(*[record(f"r{page + each}") for each in range(400)]), 200)
        ends = threading.Event()

        def save():
            count = 0
            while not ends.is_set():
                count += 1
                names = ["r1", f"r{count % 4_000}", "r3999"]
                expect(person.save(
                    *[record(name, str(count)) for name in dict.fromkeys(names)], atomic=True), 200)
                if count % 7 == 0:
                    expect(person.save({"name": "r2", "deleted": True, "modifiedAt": 1}), 200)
                    expect(person.save(record("r2", "back")), 200)

        saving = threading.Thread(target=save)
        saving.start()
        try:
            for number in range(5):
                path = os.path.join(directory, str(number))
                told = owner.json("export", person.account, path)
                _, records, _, _ = exported(path)
                texts = {each["name"]: each["fields"]["text"] for each in records}
                assert texts["r1"] == texts["r3999"], (texts["r1"], texts["r3999"])
                assert len(records) in (3_999, 4_000)
                newest = max(each["tag"] for each in records)
                assert newest <= int(told["token"].split(".")[1]), told
        finally:
            ends.set()
            saving.join()


def story_half_an_export_is_never_taken_for_a_whole_one():
    """An export is interrupted, killed, or finds a file in its way: its final name does not
    appear."""
    with Relay(is_open=False) as relay, folder() as directory:
        owner = Owner(relay.store)
        person = join(relay, owner.json("create", "mum")["code"])
        for each in range(40):
            upload(person, b"%d" % each + os.urandom(1 << 20))
        hashes = []
        for each in range(40):
            hashes.append(upload(person, b"x%d" % each * 400_000))
        expect(person.save(record("a", chunks=hashes)), 200)
        path = os.path.join(directory, "out")
        for how, left in [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGKILL, ["out.partial"])]:
            process = subprocess.Popen(
                [LOCKSTEP, "account", "export", "mum", path, "--store", relay.store],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            chunks = os.path.join(path + ".partial", "chunks")
            wait_until(lambda: process.poll() is not None or os.path.isdir(chunks)
                       and os.listdir(chunks), "the first chunk")
            process.send_signal(how)
            _, errors = process.communicate(timeout=PATIENCE)
            # The export may have completed before the signal.
            if process.returncode != 0:
                assert how == signal.SIGKILL or "interrupted" in errors, errors
                assert os.listdir(directory) == left, os.listdir(directory)
            else:
                assert os.listdir(directory) == ["out"]
                shutil.rmtree(path)
        if os.path.exists(path + ".partial"):
            owner.refused("export", "mum", path, says=["out.partial", "remove it"])
            shutil.rmtree(path + ".partial")
        owner.refused("export", "nobody", path, says="there is no account")
        assert os.listdir(directory) == []
        owner.run("export", "mum", path)
        exported(path)
        owner.refused("export", "mum", path, says="not empty")
        owner.refused("export", "mum", os.path.join(directory, "no", "where"), says="No such file")
        owner.refused("export", "mum", code=2, says="DIR is missing")
        owner.refused("export", code=2, says="ACCOUNT is missing")


def story_the_files_of_a_removed_account_are_gone():
    """None of its files is left in the store's folder, with a running relay and without."""
    def files(store):
        return [name for _, _, names in os.walk(os.path.join(store, "chunks")) for name in names]

    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        people = [join(relay, owner.json("create", name)["code"]) for name in ("mum", "dad", "kid")]
        for person in people:
            upload(person, os.urandom(1_000))
        assert len(files(relay.store)) == 3
        assert owner.account("mum")["chunkBytes"] == 1_000
        owner.run("remove", "mum", "--yes")
        wait_until(lambda: len(files(relay.store)) == 2, "the files to go")
        relay.stop()
        owner.run("remove", "dad", "--yes")
        assert len(files(relay.store)) == 1
        assert owner.account("kid")["chunkBytes"] == 1_000


def story_a_quota_bounds_the_files_of_an_account():
    """413 beyond --quota; another account has its own quota."""
    with Relay("--quota", "1M") as relay:
        person, other = Person.new(relay), Person.new(relay)
        upload(person, os.urandom(1 << 20))
        more = os.urandom(10)
        answer = person.call("PUT", f"/v1/chunks/{hashlib.sha256(more).hexdigest()}", raw=more,
                             headers=["Content-Type: application/octet-stream"])
        expect(answer, 413, "quotaExceeded")
        upload(other, more)


def story_what_the_relay_was_started_with_is_in_its_limits():
    """--retention, --quota and --keep-alive are reported to every client; a bad value is named in
    the error."""
    with Relay("--retention", "90s", "--quota", "5M", "--keep-alive", "0.5") as relay:
        limits = expect(curl(relay, "GET", "/v1/limits"), 200).json
        assert limits["historyMilliseconds"] == 90_000
        assert limits["chunkBytesPerAccount"] == 5 << 20
        assert limits["keepAliveMilliseconds"] == 500
        person = Person.new(relay)

        async def scene():
            socket = await Socket.open(person)
            assert socket.welcome["keepAlive"] == 500

        asyncio.run(scene())
    with Relay() as relay:
        limits = expect(curl(relay, "GET", "/v1/limits"), 200).json
        assert limits["historyMilliseconds"] == 30 * 86_400_000
        assert limits["chunkBytesPerAccount"] == 10 << 30
        assert limits["keepAliveMilliseconds"] == 25_000
    for words, says in [
        ("--retention 30", "30d"), ("--retention 0s", "between 1s"), ("--retention 9999d", "3650d"),
        ("--quota lots", "10G"), ("--quota -1", "10G"), ("--keep-alive 0", "between 0.1"),
        ("--keep-alive 301", "300"), ("--keep-alive soon", "no number"),
    ]:
        refused("relay", *words.split(), code=2, says=says)


def owners_of(path):
    """Owners of a path and of everything in it."""
    found = {os.lstat(path).st_uid}
    for at, folders, names in os.walk(path):
        found |= {os.lstat(os.path.join(at, name)).st_uid for name in folders + names}
    return found


def story_root_does_nothing_in_a_store_that_its_owner_could_not():
    """An attacker has taken over the relay's user, and replaced the store's files by links to
    root's files. Root creates an account, exports it, checks and restores: no file of root changes,
    and everything created in the store belongs to its user."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can become another user; run this story as root", flush=True)
        return
    nobody = pwd.getpwnam("nobody")
    with folder() as directory:
        # As under systemd: only root can reach the store.
        store, precious = os.path.join(directory, "store"), os.path.join(directory, "precious")
        owner = Owner(store)
        os.mkdir(store, 0o700)
        os.chown(store, nobody.pw_uid, nobody.pw_gid)
        for trick in (os.symlink, os.link):
            for name in ("lock", "opening", "opening.new", "zones.commitlog", "zones.sqlite-wal",
                         "zones.sqlite"):
                with open(precious, "w") as file:
                    file.write("precious")
                os.chmod(precious, 0o600)
                place = os.path.join(store, name)
                if os.path.lexists(place):
                    os.unlink(place)
                trick(precious, place)
                # The command may succeed, if it only removes the link.
                subprocess.run(
                    [LOCKSTEP, "account", "create", "mum", "--store", store], timeout=PATIENCE,
                    capture_output=True)
                with open(precious) as file:
                    assert file.read() == "precious", (trick, name)
                if os.path.lexists(place):
                    os.unlink(place)
                os.unlink(precious)
        for name in os.listdir(store):
            if name != "chunks":
                os.unlink(os.path.join(store, name))
        owner.run("create", "mum")
        assert owners_of(store) == {nobody.pw_uid}, owners_of(store)
        owner.run("export", "mum", os.path.join(directory, "out"))
        assert owners_of(os.path.join(directory, "out")) == {0}
        run("relay", "check", "--store", store)
        run("relay", "backup", os.path.join(directory, "backups"), "--store", store)
        os.symlink(precious, os.path.join(store, "restored.partial"))
        run("relay", "restore", os.path.join(directory, "backups"), "--store", store, "--force")
        assert not os.path.lexists(precious)
        assert owners_of(store) == {nobody.pw_uid}, owners_of(store)
        # The relay's user can read all of it.
        done = subprocess.run(
            [LOCKSTEP, "account", "list", "--store", "store"], timeout=PATIENCE, capture_output=True,
            text=True, cwd=directory)
        assert done.returncode == 0 and "mum" in done.stdout, done.stderr


if __name__ == "__main__":
    main(globals())
