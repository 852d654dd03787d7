"""The owner's page of a relay, by its calls: a link that works once opens a session, with which the
owner makes accounts and revokes devices. (The page itself: the browser stories.)"""

import concurrent.futures
import json
import os
import pwd
import re
import stat

from backup_stories import chunk_files, flip
from story import Person, Relay, curl, expect, folder, main, refused, run, upload

LOOPBACK = "127.0.0.1:0"


class Door:
    """An address at which a relay serves its owner's page, for curl."""

    def __init__(self, address):
        self.address = address


def admin_door(relay):
    """The address of --admin-listen."""
    return Door(re.search(r"metrics and health on (http://[0-9.:]+)", relay.text()).group(1))


def link(relay, *words):
    """A new link, and what was printed with it."""
    told = run("relay", "admin", "--store", relay.store, *words).stdout
    return re.search(r"http\S+/admin#code=\S+", told).group(0), told


def redeem(door, code, **options):
    return curl(door, "POST", "/v1/admin/sessions", {"code": code}, **options)


def sign_in(relay, door):
    """A new session's token."""
    return expect(redeem(door, link(relay)[0].partition("#code=")[2]), 201).json["token"]


def join(relay, code, name="phone"):
    answer = curl(relay, "POST", "/v1/devices",
                  {"code": code, "deviceName": name, "platform": "test", "appVersion": "1"})
    return Person(relay, expect(answer, 201).json)


def story_a_link_lets_the_owner_manage_accounts():
    """It is printed for the machine on which the relay runs, and works once. The owner makes an
    account, whose first device joins by its link, revokes that device, and signs out. A restart
    ends every session. No log and no file of the store has a code or a token."""
    with Relay("--admin-listen", LOOPBACK, "--log-level", "trace", is_open=False) as relay:
        door = admin_door(relay)
        url, told = link(relay)
        assert url.startswith(door.address + "/admin#code="), (url, door.address)
        port = door.address.rpartition(":")[2]
        assert f"ssh -L {port}:127.0.0.1:{port} " in told, told
        assert max(map(len, told.splitlines())) <= 100, told
        page = expect(curl(door, "GET", "/admin"), 200)
        assert page.headers["content-type"].startswith("text/html"), page
        assert "default-src 'none'" in page.headers["content-security-policy"], page
        assert page.headers["referrer-policy"] == "no-referrer", page
        code = url.partition("#code=")[2]
        token = expect(redeem(door, code), 201).json["token"]
        expect(redeem(door, code), 401, "badToken")
        made = expect(
            curl(door, "POST", "/v1/admin/accounts", {"label": "mum"}, token=token), 201).json
        assert made["link"] == f"{relay.address}/#code={made['code']}", made
        phone = join(relay, made["code"])
        listed = expect(curl(door, "GET", "/v1/admin/accounts", token=token), 200).json
        assert [(it["label"], it["devices"]) for it in listed["accounts"]] == [("mum", 1)], listed
        account = f"/v1/admin/accounts/{phone.account}"
        devices = expect(curl(door, "GET", account + "/devices", token=token), 200).json["devices"]
        assert [it["deviceID"] for it in devices] == [phone.device], devices
        expect(curl(door, "DELETE", f"{account}/devices/{phone.device}", token=token), 204)
        expect(phone.changes(), 401, "badToken")
        offer = expect(curl(door, "POST", account + "/pairings", {}, token=token), 201).json
        laptop = join(relay, offer["code"], "laptop")
        expect(laptop.changes(), 200)
        second = sign_in(relay, door)
        expect(curl(door, "DELETE", "/v1/admin/sessions", token=token), 204)
        expect(curl(door, "GET", "/v1/admin/accounts", token=token), 401, "badToken")
        expect(curl(door, "GET", "/v1/admin/accounts", token=second), 200)
        left = link(relay)[0].partition("#code=")[2]
        first_log = relay.text()
        assert relay.stop() == 0
        relay.start()
        door = admin_door(relay)
        expect(curl(door, "GET", "/v1/admin/accounts", token=second), 401, "badToken")
        expect(redeem(door, left), 401, "badToken")
        secrets = [code, token, second, left]
        for text in [first_log, relay.text()]:
            assert not [it for it in secrets if it in text], text
        assert "the owner signed in" in first_log, first_log
        for at, _, names in os.walk(relay.store):
            for name in names:
                if not name.endswith(".sock"):
                    with open(os.path.join(at, name), "rb") as file:
                        data = file.read()
                    assert not [it for it in secrets if it.encode() in data], name


def story_nobody_else_is_the_owner():
    """Neither the token of a device, nor a page of another origin, nor a name that is not the
    relay's opens a call of the owner, whatever origins the owner allows."""
    options = ("--admin-listen", LOOPBACK, "--admin-page", "--origin", "*")
    with Relay(*options) as relay:
        phone = Person.new(relay)
        url, told = link(relay)
        assert url.startswith(relay.address + "/admin#code="), url
        token = sign_in(relay, relay)
        for door in [relay, admin_door(relay)]:
            expect(curl(door, "GET", "/admin"), 200)
            for path in ["accounts", f"accounts/{phone.account}", "store", "metrics"]:
                path = "/v1/admin/" + path
                expect(curl(door, "GET", path), 401, "badToken")
                expect(curl(door, "GET", path, token=phone.token), 401, "badToken")
                expect(curl(door, "GET", path, token=token), 200)
                foreign = curl(door, "GET", path, token=token,
                               headers=["Origin: https://evil.example"])
                expect(foreign, 403, "originNotAllowed")
                assert "access-control-allow-origin" not in foreign.headers, foreign
            name = ["Host: evil.example"]
            expect(curl(door, "GET", "/v1/admin/store", token=token, headers=name), 421)
            own = [f"Origin: {door.address}"]
            expect(curl(door, "GET", "/v1/admin/store", token=token, headers=own), 200)
            asked = curl(door, "OPTIONS", "/v1/admin/accounts",
                         headers=["Origin: https://evil.example"])
            assert not [it for it in asked.headers if it.startswith("access-control")], asked
            code = link(relay)[0].partition("#code=")[2]
            expect(redeem(door, code, headers=["Origin: https://evil.example"]), 403)
            expect(redeem(door, code), 201)
        expect(phone.call("GET", "/v1/devices"), 200)
        expect(curl(relay, "GET", "/v1/devices", token=token), 401, "badToken")


def story_two_who_open_one_link_are_one_session():
    """Whichever loop of the relay gets them, one of several requests at one moment is the first."""
    with Relay("--admin-page", "--loops", "4") as relay:
        for _ in range(3):
            code = link(relay)[0].partition("#code=")[2]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                told = list(pool.map(lambda _: redeem(relay, code).status, range(2)))
            assert sorted(told) == [201, 401], told


def story_wrong_codes_have_a_limit():
    """Five in a minute from one network; a right one is none of them, and is taken still."""
    with Relay("--admin-page") as relay:
        code = link(relay)[0].partition("#code=")[2]
        for _ in range(5):
            expect(redeem(relay, "wrong"), 401, "badToken")
        answer = expect(redeem(relay, "wrong"), 429, "tooManyRequests")
        assert int(answer.headers["retry-after"]) > 0, answer
        expect(redeem(relay, code), 201)


def story_the_page_is_where_the_owner_wants_it():
    """Without --admin-page the public address knows nothing of it; without any address for it, the
    command says what to set. A relay that would send sessions over plain HTTP does not start."""
    with Relay("--admin-listen", LOOPBACK) as relay:
        for path in ["/admin", "/admin/index.html", "/v1/admin/accounts", "/v1/admin/sessions"]:
            answer = expect(curl(relay, "GET", path), 404, "notFound")
            assert answer.body == curl(relay, "GET", "/nothing").body, answer
    with Relay() as relay:
        refused("relay", "admin", "--store", relay.store,
                says=["--admin-listen 127.0.0.1:5626", "--admin-page"])
    with folder() as store:
        run("account", "create", "mum", "--store", store)
        refused("relay", "admin", "--store", store, says="no relay runs")
        started = ("relay", "--store", store, "--admin-page", "--listen")
        refused(*started, "0.0.0.0:0", says="--admin-page", code=2)
        assert "--admin-page" in run(*started, "0.0.0.0:0", "--check", expect_code=2).stderr
        for words in [["127.0.0.1:0"], ["0.0.0.0:0", "--trust-proxy", "10.0.0.1"],
                      ["0.0.0.0:0", "--public-url", "https://sync.example.org"]]:
            run(*started, *words, "--check")
    with Relay("--admin-page", "--public-url", "https://sync.example.org") as relay:
        told = json.loads(run("relay", "admin", "--store", relay.store, "--json").stdout)
        assert told["url"] == f"https://sync.example.org/admin#code={told['code']}", told
        # Behind a proxy that ends TLS, the page's own origin is that of the public URL.
        proxied = ["Host: sync.example.org", "Origin: https://sync.example.org"]
        expect(redeem(relay, told["code"], headers=proxied), 201)


def story_results_belong_to_the_stores_user():
    """Root makes the backups and checks of a service that has a user of its own: the relay of that
    user reads the results, and root does not follow what the user puts in their place."""
    if os.geteuid() != 0:
        print("      NOT RUN: only root can work for another user")
        return
    with folder() as directory, folder() as place:
        store = os.path.join(directory, "store")
        run("account", "create", "mum", "--store", store)
        user = pwd.getpwnam("nobody")
        trap = os.path.join(directory, "trap")
        with open(trap, "w"):
            pass
        for at, _, names in os.walk(store):
            for path in [at, *(os.path.join(at, name) for name in names)]:
                os.chown(path, user.pw_uid, user.pw_gid)
        os.chmod(directory, 0o755)
        for name in ["last-backup.json", "last-check.json.new"]:
            os.symlink(trap, os.path.join(store, name))
        run("relay", "backup", place, "--store", store)
        run("relay", "check", "--store", store)
        assert os.path.getsize(trap) == 0
        for name in ["last-backup.json", "last-check.json"]:
            status = os.lstat(os.path.join(store, name))
            assert stat.S_ISREG(status.st_mode) and status.st_uid == user.pw_uid, status
            with open(os.path.join(store, name)) as file:
                assert json.load(file)["ok"]


def story_the_owner_sees_backups_and_checks():
    """The last backup and the last check stand with their results, also after a restart; a backup
    that fails leaves the time of the last good one, which metrics show."""
    with Relay("--admin-listen", LOOPBACK) as relay, folder() as place:
        person = Person.new(relay)
        upload(person, b"a chunk of a file")
        door = admin_door(relay)
        token = sign_in(relay, door)

        def facts():
            return expect(curl(door, "GET", "/v1/admin/store", token=token), 200).json

        def metric(name):
            found = re.search(rf"^lockstep_{name} (\S+)$",
                              curl(door, "GET", "/metrics").body.decode(), re.MULTILINE)
            return found and float(found.group(1))

        before = facts()
        assert (before["kind"], before["backup"], before["check"]) == ("sqlite", None, None), before
        assert before["bytes"] > 0 and before["freeBytes"] > 0 and before["open"], before
        assert before["url"] == relay.address and before["version"], before
        assert metric("last_backup_timestamp_seconds") is None
        run("relay", "backup", place, "--store", relay.store)
        backup = facts()["backup"]
        assert backup["ok"] and os.path.exists(backup["path"] + "/backup.json"), backup
        assert backup["bytes"] > 17 and backup["goodAt"] == backup["at"], backup
        assert metric("last_backup_timestamp_seconds") == backup["at"] / 1000
        blocked = os.path.join(place, "file")
        with open(blocked, "w"):
            pass
        refused("relay", "backup", blocked, "--store", relay.store, says=blocked)
        failed = facts()["backup"]
        assert not failed["ok"] and blocked in failed["detail"], failed
        assert failed["goodAt"] == backup["at"], failed
        run("relay", "check", "--store", relay.store)
        check = facts()["check"]
        assert (check["ok"], check["findings"], check["target"]) == (True, 0, "store"), check
        assert metric("last_check_ok") == 1
        flip(chunk_files(backup["path"])[0], 0)
        run("relay", "check", backup["path"], "--store", relay.store, expect_code=1)
        check = facts()["check"]
        assert (check["ok"], check["findings"], check["target"]) == (False, 1, "backup"), check
        assert metric("last_check_ok") == 0
        assert metric("last_check_timestamp_seconds") == check["at"] / 1000
        assert relay.stop() == 0
        relay.start()
        door = admin_door(relay)
        token = sign_in(relay, door)
        assert facts()["check"] == check
        # Whatever stands there, the relay goes on.
        for name in ["last-backup.json", "last-check.json"]:
            path = os.path.join(relay.store, name)
            os.remove(path)
            os.mkfifo(path)
        damaged = facts()
        assert (damaged["backup"], damaged["check"]) == (None, None), damaged


if __name__ == "__main__":
    main(globals())
