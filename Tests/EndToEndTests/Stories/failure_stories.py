"""Errors of all kinds: one clear line with the next step, and no data loss."""

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading

from story import (
    LOCKSTEP, PATIENCE, Background, Connection, Home, Person, Relay, SmallDisk, curl, expect,
    folder, main, record, refused, run, wait_until)


def damage(path):
    """Overwrites the beginning of every database in a folder with nonsense."""
    for name in os.listdir(path):
        if "sqlite" in name:
            with open(os.path.join(path, name), "r+b") as file:
                file.write(b"nonsense" * 1_000)


def made_read_only(path):
    """Makes a folder read-only, and returns the wrapper that a command needs to be affected by it:
    root can write anywhere, unless it drops that capability."""
    for root, _, names in os.walk(path):
        os.chmod(root, 0o500)
        for name in names:
            os.chmod(os.path.join(root, name), 0o400)
    return ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []


def lose_files(store):
    for name in os.listdir(store):
        if name.startswith("zones.sqlite"):
            os.unlink(os.path.join(store, name))


def replace_database(store):
    path = os.path.join(store, "zones.sqlite")
    shutil.copy(path, path + ".copy")
    os.rename(path + ".copy", path)


def story_nothing_is_acknowledged_into_files_that_are_gone():
    """The store's files are removed, moved or replaced below a running relay. It accepts nothing
    more, reports that by its readiness check, and logs it once, with the next step."""
    losses = [
        ("zones.sqlite", lose_files), ("zones.sqlite", replace_database),
        ("zones.sqlite-wal", lambda store: os.unlink(os.path.join(store, "zones.sqlite-wal"))),
        ("zones.commitlog", lambda store: os.unlink(os.path.join(store, "zones.commitlog"))),
        ("chunks", lambda store: shutil.rmtree(os.path.join(store, "chunks"))),
        ("", lambda store: os.rename(store, store + ".aside")),
    ]
    for name, lose in losses:
        with Relay("--loops=1", "--admin-listen=127.0.0.1:0") as relay:
            person = Person.new(relay)
            expect(person.save(record("before")), 200)
            expect(curl(relay, "GET", "/readyz"), 200)
            lose(relay.store)
            # It is detected even if no device saves.
            told = wait_until(
                lambda: (answer := curl(relay, "GET", "/readyz")).status == 503 and answer,
                f"the loss of {name or 'the folder'}", 30)
            expect(told, 503, "storeUnavailable")
            assert relay.store not in told.json["detail"], told
            expect(person.save(record("after")), 503, "storeUnavailable")
            expect(person.save(record("again")), 503, "storeUnavailable")
            port = re.search(r"health on http://127.0.0.1:(\d+)", relay.text())[1]
            owners = Connection(type("Owner", (), {"port": int(port)}))
            words = expect(owners.request("GET", "/readyz"), 503).json["detail"]
            assert "lockstep relay restore" in words and name in words, words
            failures = re.search(
                r"lockstep_store_failures_total (\d+)",
                owners.request("GET", "/metrics").body.decode())[1]
            assert int(failures) > 0, failures
            if name:
                asked = run("doctor", "--store", relay.store, expect_code=1)
                assert "lockstep relay restore" in asked.stdout + asked.stderr, asked
            assert relay.text().count("removed, moved or replaced") == 1, relay.text()
            if not name:
                # The very same files are there again: the relay continues.
                os.rename(relay.store + ".aside", relay.store)
                wait_until(lambda: curl(relay, "GET", "/readyz").status == 200, "the folder to be back")
                expect(person.save(record("after")), 200)
                assert [each["name"] for each in person.changes().json["changes"]] == [
                    "before", "after"]
            assert relay.stop() == 0, relay.text()


def story_a_home_that_cannot_be_used_says_why():
    """Corrupt, read-only, missing folder: one sentence each, and the file is not changed."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        damage(laptop.path)
        for words in [["status"], ["timer", "start"], ["run"], ["sync"]]:
            refused("agent", *words, home=laptop.path, says=[laptop.path, "damaged", "backup"])
        file = os.path.join(directory, "file")
        with open(file, "w"):
            pass
        refused("agent", "status", home=file, says=["no home", "agent join"])
        refused("agent", "join", "--relay", relay.address, "--new", home=file, says=file)
        refused("agent", "join", "--relay", relay.address, "--new", home="/proc/nowhere",
                says="/proc/nowhere")
        wrapper = made_read_only(phone.path)
        for words in [["timer", "start"], ["status"], ["run"]]:
            refused("agent", *words, home=phone.path, says=[phone.path, "permissions"],
                    wrapper=wrapper)


def story_a_relay_that_cannot_begin_says_why():
    """Port in use, store in use, corrupt, not writable, missing folder: exit code 1 and a
    sentence."""
    def start(*words, says, **options):
        listen = [] if "--listen" in words else ["--listen", "127.0.0.1:0"]
        told = refused("relay", *listen, *words, says=says, **options)
        assert "listening" not in told, told

    with folder() as directory, Relay() as relay:
        other = os.path.join(directory, "store")
        start("--store", relay.store, says=["in use", f"process {relay.id}"])
        start("--store", other, "--listen", f"127.0.0.1:{relay.port}", says=["in use"])
        start("--store", other, "--listen", f"127.0.0.1:{relay.port}", "--loops", "1",
              says=["in use"])
        start("--store", other, "--admin-listen", f"127.0.0.1:{relay.port}", says=["in use"])
        start("--store", other, "--listen", "192.0.2.1:0", says="192.0.2.1")
        start("--store", other, "--listen", "no-such-name.invalid:0", says="no-such-name.invalid")
        person = Person.new(relay)
        expect(person.save(record("a")), 200)
        file = os.path.join(directory, "file")
        with open(file, "w"):
            pass
        start("--store", file, says=file)
        start("--store", os.path.join(file, "store"), says=file)
        start("--store", "/proc/store", says="/proc/store")
        relay.stop()
        wrapper = made_read_only(relay.store)
        start("--store", relay.store, says=[relay.store, "permissions"], wrapper=wrapper)
    with Relay() as relay:
        Person.new(relay)
        relay.stop()
        damage(relay.store)
        start("--store", relay.store, says=[relay.store, "damaged", "backup"])
    with Relay(store=os.path.join("/tmp", "lockstep-story-" + "long" * 30)) as relay:
        try:
            Person.new(relay)
        finally:
            shutil.rmtree(relay.store)


def story_a_full_disk_refuses_saves_and_heals():
    """The relay's disk becomes full: saves get 503 and Retry-After, reads still work, and nothing
    acknowledged is lost; with free space, saves work again without a restart."""
    with SmallDisk(6_000) as disk:
        if not disk.mounted:
            print("      NOT RUN: this user may not mount a small file system")
            return
        with Relay(store=os.path.join(disk.path, "store")) as relay:
            person = Person.new(relay)
            kept = {}
            ballast = os.path.join(disk.path, "ballast")
            with open(ballast, "wb") as file:
                file.write(b"x" * 2_000_000)
            for n in range(200):
                answer = person.save(record(f"r{n}", "x" * 100_000))
                if answer.status != 200:
                    break
                kept[f"r{n}"] = answer.json["results"][0]["tag"]
            expect(answer, 503, "storeUnavailable")
            assert int(answer.headers["retry-after"]) >= 1, answer
            assert kept, "the disk was full from the start"
            assert "no space is left" in relay.text(), relay.text()
            expect(person.call("GET", "/v1/zones/Notes/records/r0"), 200)
            assert curl(relay, "GET", "/readyz").status in (200, 503)
            expect(curl(relay, "GET", "/livez"), 200)
            os.remove(ballast)
            wait_until(
                lambda: person.save(record("after")).status == 200, "saves to work again")
            relay.kill()
            relay.start()
            for name, tag in kept.items():
                found = expect(person.call("GET", f"/v1/zones/Notes/records/{name}"), 200)
                assert found.json["tag"] == tag
    with SmallDisk(64) as disk:
        refused("relay", "--listen", "127.0.0.1:0", "--store", os.path.join(disk.path, "store"),
                says="no space")


def fill(path):
    """Uses up all free space of a file system."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4_096)
        except OSError:
            pass


def story_a_full_disk_under_a_home_refuses_presses_and_heals():
    """A device with a full disk reports it for each press; with free space everything works
    again."""
    with SmallDisk(600) as disk, Relay() as relay:
        if not disk.mounted:
            print("      NOT RUN: this user may not mount a small file system")
            return
        phone = Home.new(relay, disk.path)
        phone.run("timer", "start")
        ballast = os.path.join(disk.path, "ballast")
        fill(ballast)
        phone.refuses("timer", "pause", says=["no space", phone.path])
        os.remove(ballast)
        assert phone.timer("status")["isPaused"] is False
        with phone.start_agent() as agent:
            fill(ballast)
            # The store may have a little space left in files that it has created earlier.
            for n in range(200):
                done = subprocess.run(
                    [LOCKSTEP, "agent", "timer", ["pause", "resume"][n % 2], "--home", phone.path],
                    capture_output=True, text=True, timeout=PATIENCE)
                if done.returncode != 0:
                    break
            assert done.returncode == 1 and "no space" in done.stderr, done
            os.remove(ballast)
            wait_until(lambda: phone.status()["state"] == "inSync", "the device to sync again")
            shown = phone.timer("status")["stateType"]
            phone.run("timer", "stop" if shown != "idle" else "start")
            assert agent.stop() == 0
        assert phone.status()["waiting"] == 0


def story_killed_agents_lose_no_edit_that_was_shown():
    """kill -9 at the moment when the screen shows an edit: the edit exists afterwards, and
    syncs."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        relay.stop()
        events = ["start", "pause", "resume", "stop"] * 3
        for event in events:
            with phone.background("timer", "watch") as watch:
                first = json.loads(watch.line())
                # In another process: the watcher holds the home and makes the edit.
                press = subprocess.Popen(
                    [LOCKSTEP, "agent", "timer", event, "--home", phone.path],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                shown = json.loads(watch.line())
                watch.process.kill()
                press.wait(timeout=PATIENCE)
                watch.process.wait()
            after = phone.timer("status")
            for key in ("stateType", "isPaused", "device"):
                assert after[key] == shown[key], (event, first, shown, after)
        phone.run("timer", "start")
        relay.start()
        phone.run("sync")
        assert laptop.timer("status")["stateType"] == "focus"


def story_sigterm_under_load_loses_no_acknowledged_save():
    """The relay is stopped normally while eight people save: everything acknowledged exists."""
    with Relay() as relay:
        people = [Person.new(relay)]
        people += [people[0].pair() for _ in range(7)]
        saved, lock = {}, threading.Lock()

        def save(person, number):
            connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=PATIENCE)
            headers = {"Authorization": f"Bearer {person.token}", "Content-Type": "application/json"}
            try:
                for n in range(100_000):
                    name = f"p{number}-{n}"
                    id = f"00000000-0000-4000-8000-{number:04}{n:08}"
                    connection.request("POST", "/v1/zones/Notes/records", json.dumps(
                        {"id": id, "records": [record(name)]}), headers)
                    answer = connection.getresponse()
                    body = json.loads(answer.read())
                    if answer.status != 200:
                        assert body["code"] == "stopping", body
                        return
                    with lock:
                        saved[name] = body["results"][0]["tag"]
            except (OSError, http.client.HTTPException):
                pass

        for turn in range(3):
            threads = [threading.Thread(target=save, args=(each, number + turn * 10))
                       for number, each in enumerate(people)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(saved) > 100 * (turn + 1), "some saves")
            assert relay.stop() == 0
            for thread in threads:
                thread.join(PATIENCE)
            assert "stopped" in relay.text().splitlines()[-1], relay.text()
            relay.start()
            held, page = {}, None
            while page is None or page["more"]:
                query = {"since": page["token"]} if page else {}
                page = people[0].changes(limit=1000, **query).json
                held.update({each["name"]: each["tag"] for each in page["changes"]})
            lost = {name for name, tag in saved.items() if held.get(name) != tag}
            assert not lost, sorted(lost)[:5]


def story_a_second_sigterm_ends_at_once():
    """A second SIGTERM, even while a request is still arriving, ends the relay at once."""
    with Relay() as relay:
        person = Person.new(relay)
        with socket.create_connection(("127.0.0.1", relay.port)) as slow:
            slow.sendall(
                f"POST /v1/zones/Notes/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
                f"Content-Type: application/json\r\nAuthorization: Bearer {person.token}\r\n\r\n{{"
                .encode())
            expect(curl(relay, "GET", "/v1/time"), 200)
            relay.process.send_signal(signal.SIGTERM)

            def is_deaf():
                try:
                    socket.create_connection(("127.0.0.1", relay.port)).close()
                    return False
                except OSError:
                    return True

            wait_until(is_deaf, "the relay to take no more connections")
            relay.process.send_signal(signal.SIGTERM)
            relay.process.wait(timeout=PATIENCE)
            # A relay that waits for the request's timeout does not log this.
            assert "stopped before all requests were completed" in relay.text(), relay.text()
        relay.start()
        expect(person.save(record("a")), 200)


def story_no_secret_is_told_to_anybody():
    """Neither the process list nor a log, at the most verbose level, contains a token or a code;
    and no other user may open the files that contain one."""
    def processes():
        told = []
        for id in os.listdir("/proc"):
            if id.isdigit():
                try:
                    with open(f"/proc/{id}/cmdline", errors="replace") as file:
                        told.append(file.read())
                except OSError:
                    pass
        return "\n".join(told)

    with folder() as directory, Relay("--log-level", "trace") as relay:
        phone = Home.new(relay, directory)
        code = phone.code()
        home = os.path.join(directory, "laptop")
        join = subprocess.Popen(
            [LOCKSTEP, "agent", "join", "--relay", relay.address, "--home", home, "--code", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_until(lambda: home in processes(), "the command to be seen")
        seen = processes()
        said, _ = join.communicate(code + "\n", timeout=PATIENCE)
        assert join.returncode == 0, said
        with Background("agent", "run", "--home", home, "--log-level", "trace") as agent:
            wait_until(lambda: "trace" in "".join(agent.errors), "the agent to talk")
            phone.run("timer", "start")
            Home(home).timer("status")
            seen += processes()
            agent.stop()
            said += "".join(agent.errors)
        person = Person.new(relay)
        expect(person.save(record("a", "a-payload-of-mine")), 200)
        secrets = [code, code.replace("-", ""), person.token, person.pair().token]
        for path in (phone.path, home):
            for name in os.listdir(path):
                assert os.stat(os.path.join(path, name)).st_mode & 0o077 == 0, (path, name)
        for name in os.listdir(relay.store):
            path = os.path.join(relay.store, name)
            assert os.stat(path).st_mode & 0o077 == 0, path
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                stored = file.read()
            for secret in secrets:
                assert secret.encode() not in stored, f"{name} holds a secret"
        for secret in [*secrets, "a-payload-of-mine"]:
            for where, text in [("log", relay.text()), ("agent", said), ("ps", seen)]:
                assert secret not in text, f"{where} tells a secret: {secret}"


def story_hostile_bytes_hurt_nobody_else():
    """Random and malformed bytes on many connections; another device is not affected."""
    with Relay() as relay:
        person = Person.new(relay)
        dice = random.Random(5)
        starts = [b"GET /v1/time HTTP/1.1\r\n", b"POST ", b"\x16\x03\x01", b"\x81\xff", b"\r\n" * 50,
                  b"GET / HTTP/9.9\r\n\r\n", b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n",
                  b"POST /v1/accounts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                  b"POST /v1/accounts HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
                  b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"A" * 70_000]
        for n in range(120):
            with socket.create_connection(("127.0.0.1", relay.port), timeout=5) as hostile:
                try:
                    hostile.sendall(starts[n % len(starts)])
                    hostile.sendall(dice.randbytes(dice.randrange(2_000)))
                    if n % 3:
                        hostile.shutdown(socket.SHUT_WR)
                        while hostile.recv(4096):
                            pass
                except OSError:
                    pass
            if n % 20 == 0:
                expect(person.save(record(f"r{n}")), 200)
        assert relay.process.poll() is None
        assert "Fatal" not in relay.text()
        assert relay.stop() == 0


if __name__ == "__main__":
    main(globals())
