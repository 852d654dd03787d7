"""What a relay's owner does about accounts: at the running relay, and in a stopped one's store."""

import asyncio
import contextlib
import json
import os
import pty
import re
import stat
import subprocess

from socket_stories import Socket
from story import (
    LOCKSTEP, Person, Relay, curl, expect, folder, main, record, refused, run, wait_until)

CODE = r"[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}"


class Owner:
    """The owner of a relay, at his command line."""

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
def each_way():
    """Two offices: that of a relay that runs, and that of a store that nobody serves."""
    with Relay(is_open=False) as relay, folder() as directory:
        yield [Owner(relay.store), Owner(os.path.join(directory, "store"))]


def join(relay, code):
    body = {"code": code, "deviceName": "curl", "platform": "test", "appVersion": "1"}
    return Person(relay, expect(curl(relay, "POST", "/v1/devices", body), 201).json)


def story_accounts_are_made_and_listed_alike_with_a_relay_and_without():
    """A table for people, a JSON object a line for programs, and the same from both places."""
    with each_way() as offices:
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
            assert owner.account("the children's")["plan"] == {"zones": ["memos", "timer"]}
            for each in listed:
                assert each["devices"] == each["newestTag"] == each["chunkBytes"] == 0, each
            table = owner.run("list").splitlines()
            assert table[0].split() == [
                "ACCOUNT", "NAME", "DEVICES", "PLAN", "CHANGES", "FILES", "MADE"], table
            assert any(re.match(
                made["accountID"] + r"  mum +0  all zones +0 +0 B  20\d\d-\d\d-\d\d \d\d:\d\d UTC",
                line) for line in table), table
            shapes.append([sorted(each) for each in listed])
        assert shapes[0] == shapes[1]


def story_an_empty_list_says_what_to_do():
    """No account yet: a sentence for people, and nothing at all for programs."""
    with Relay(is_open=False) as relay:
        owner = Owner(relay.store)
        assert "lockstep account create NAME" in owner.run("list")
        assert owner.run("list", "--json") == ""


def story_an_account_is_named_by_its_id_or_by_its_label():
    """Two labels alike need an id; the complaint names the candidates. Nobody's name is said so."""
    with each_way() as offices:
        for owner in offices:
            twins = [owner.json("create", "twin")["accountID"] for _ in range(2)]
            only = owner.json("create", "only")["accountID"]
            assert owner.json("plan", "only") == {"zones": None, "accountID": only}
            assert owner.json("plan", only)["accountID"] == only
            for words in [("plan", "twin"), ("pair", "twin"), ("remove", "twin", "--yes")]:
                told = owner.refused(*words, says=["2 accounts are called \"twin\"", *twins])
                assert "id" in told, told
            assert owner.json("pair", twins[0])["accountID"] == twins[0]
            for name in ["nobody", "0123456789abcdef", "", "ONLY"]:
                for words in [("plan", name), ("pair", name), ("remove", name, "--yes")]:
                    owner.refused(*words, says=["there is no account", "account list"])
            assert len(owner.list()) == 3
        label = "x" * 256
        for owner in offices:
            owner.refused("create", label, says="255 bytes")
            owner.refused("create", "a\tb", says="control characters")


def story_what_is_no_store_is_left_alone():
    """A slip in the folder's name makes no store there; only `create` may."""
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


def story_only_the_owner_reaches_the_control_door():
    """admin.sock is the owner's alone, and no other door knows the paths behind it."""
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
            expect(curl(relay_at_admin, method, path), 404, "notFound")
        expect(person.changes(), 200)


def story_a_plan_bounds_what_is_saved_at_once():
    """402 for a save into a zone that is not in it; what is held may be read; 4502 without zones."""
    async def scene(relay, owner, person):
        live = await Socket.open(person)
        told = owner.run("plan", "mum", "--zones", "timer,memos")
        assert told == f'"mum" ({person.account}) may save into memos, timer\n', told
        await live.save(record("b"))
        problem = await live.hear("error")
        assert problem["code"] == "planRequired", problem
        await live.save(record("b"), zone="memos")
        await live.hear("saved")
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
        owner.run("plan", "mum", "--all")
        expect(person.save(record("c")), 200)
        # A plan that was set while nobody served the store holds as well.
        relay.stop()
        owner.run("plan", "mum", "--none")
        relay.start()
        expect(person.save(record("d")), 402, "planRequired")
        assert "has a new plan" not in relay.text()
        owner.run("plan", person.account, "--all")
        assert f"account {person.account} has a new plan" in relay.text()
        expect(person.save(record("d")), 200)


def story_options_that_exclude_one_another_change_nothing():
    """Which plan was meant cannot be guessed: exit code 2."""
    with each_way() as offices:
        for owner in offices:
            owner.run("create", "mum")
            for words in [("--all", "--none"), ("--zones", "a", "--all"), ("--zones", "a", "--none")]:
                owner.refused("plan", "mum", *words, code=2, says="exclude one another")
            for zones in ["", "a,,b", "a,", "x" * 256]:
                owner.refused("plan", "mum", "--zones", zones, code=2, says="--zones")
            assert owner.json("plan", "mum")["zones"] is None


def story_a_lost_code_is_replaced():
    """`pair` lets one more device in, as the code of a device would, and each code only once."""
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


def story_an_account_that_is_removed_is_gone_at_once():
    """Sockets close with 4501, polls and calls end with 401, and nothing of it is left."""
    async def scene(relay, owner, person):
        second = person.pair()
        sockets = [await Socket.open(person), await Socket.open(second)]
        token = person.changes().json["token"]
        poll = subprocess.Popen(
            ["curl", "--silent", "--max-time", "60", "--write-out", "%{http_code}", "--output",
             os.devnull, "--header", f"Authorization: Bearer {second.token}",
             f"{relay.address}/v1/changes?wait=50&since={token}"], stdout=subprocess.PIPE)
        await asyncio.sleep(0.2)
        told = owner.json("remove", "mum", "--yes")
        assert told == {"accountID": person.account}, told
        for socket in sockets:
            assert await socket.closed() == 4501
        assert poll.communicate(timeout=20)[0] == b"401"

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
        assert f"account {person.account} was removed" in relay.text()
        expect(other.changes(), 200)
        relay.stop()
        assert f"({other.account}) is removed" in owner.run("remove", "dad", "--yes")
        assert owner.list() == []
        relay.start()
        expect(other.changes(), 401, "badToken")


def story_nothing_is_removed_without_a_yes():
    """A person is asked, and may say no; where nobody is there to be asked, --yes is needed."""
    def answer(owner, words):
        """What `remove` says on a terminal where `words` are typed, and its exit code."""
        person, terminal = pty.openpty()
        asked = subprocess.Popen(
            [LOCKSTEP, "account", "remove", "mum", "--store", owner.store], stdin=terminal,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(terminal)
        os.write(person, words.encode())
        out, errors = asked.communicate(timeout=20)
        os.close(person)
        return out, errors, asked.returncode

    with each_way() as offices:
        for owner in offices:
            account = owner.json("create", "mum")["accountID"]
            owner.refused("remove", "mum", code=2, says=["--yes", account])
            for words in ["no\n", "\n", "YES please\n", "\x04"]:
                out, errors, code = answer(owner, words)
                assert (out, code) == ("", 1) and "nothing was removed" in errors, (out, errors)
                assert account in errors and "0 devices" in errors, errors
            assert len(owner.list()) == 1
            out, errors, code = answer(owner, "yes\n")
            assert code == 0 and "is removed" in out and "for good" in errors, (out, errors)
            assert owner.list() == []


def story_what_the_relay_was_started_with_is_in_its_limits():
    """--retention, --quota and --keep-alive are told to every client; a bad one is named."""
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


if __name__ == "__main__":
    main(globals())
