"""Operation of a relay by its owner: its settings, its log, its signals and its metrics."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess

from story import (
    LOCKSTEP, PATIENCE, ROOT, Background, Connection, Home, Person, Relay, curl, expect, folder,
    main, record, refused, run, wait_until)


def wait_for_log(relay, pattern, count=1):
    """Waits until the pattern has been logged this many times."""
    wait_until(lambda: len(re.findall(pattern, relay.text(), re.M)) >= count,
               lambda: f"{pattern!r} in the log:\n{relay.text()}")


def story_sighup_does_not_end_the_relay():
    """SIGHUP to a relay without anything to reload: it logs that and continues."""
    with Relay() as relay:
        os.kill(relay.id, signal.SIGHUP)
        wait_for_log(relay, "^lockstep relay: SIGHUP: there is nothing to reload")
        Person.new(relay)
        assert relay.stop() == 0, relay.text()


def story_sigusr1_shows_the_state():
    """SIGUSR1 to a relay with a stream and a parked poll logs its state."""
    with Relay("--loops", "2") as relay:
        person = Person.new(relay)
        expect(person.save(record("first", "nobody-may-read-this")), 200)
        cursor = person.changes().json["token"]
        streaming, parked = Connection(relay, person), Connection(relay, person)
        headers = {"Authorization": f"Bearer {person.token}"}
        streaming.connection.request("GET", "/v1/events", headers=headers)
        stream = streaming.connection.getresponse()
        assert stream.status == 200
        parked.connection.request("GET", f"/v1/changes?wait=50&since={cursor}", headers=headers)
        asked = 0

        def shown():
            nonlocal asked
            asked += 1
            os.kill(relay.id, signal.SIGUSR1)
            wait_for_log(relay, "^    store requests waiting", 2 * asked)
            block = relay.text()[relay.text().rindex("lockstep relay: state of version"):]
            return block if "longPoll 1" in block else None

        block = wait_until(shown, "the parked poll in the state")
        for part in [f"process {relay.id}, up ", "2 loops", "loop 0: running", "loop 1: running",
                     "events 1", "store requests waiting", "timers", "held ", "unsent "]:
            assert part in block, block
        assert person.token not in relay.text() and "nobody-may-read-this" not in relay.text()


# Settings.


def write_config(directory, text, name="relay.conf"):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def checked_settings(*options, environment=None):
    """Output of --check for each setting: its value, and its source."""
    done = run("relay", "--check", "--json", *options, environment=environment)
    return {s["name"]: (s["value"], s["from"]) for s in json.loads(done.stdout)["settings"]}


def story_the_owner_replaces_the_key_for_push_services():
    """The new key comes first; the former one stays for 30 days. With the relay or without it."""
    with Relay() as relay:
        def keys(word):
            told = run("relay", "wake-key", word, "--store", relay.store).stdout
            return [line.split()[0] for line in told.splitlines()]

        first = keys("show")
        second = keys("rotate")
        assert len(first) == 1 and second[1:] == first and second[0] != first[0], (first, second)
        relay.stop()
        assert keys("show") == second
        assert keys("rotate")[1:] == second


def story_settings_come_from_a_file():
    """The owner keeps settings in a file; the environment overrides it, and a flag overrides both.
    A relay that is started with them listens at the address that --check printed."""
    with folder() as directory:
        store = os.path.join(directory, "my store")
        path = write_config(directory, f"""
# Where the family's devices connect.
listen = 127.0.0.2:0
store = "{store}"   # a folder
open = true
log-format = json

[limits]
connections = 2000
uploads = 7
""")
        settings = checked_settings("--config", path)
        assert settings["listen"] == ("127.0.0.2:0", f"{path}:3"), settings
        assert settings["store"] == (store, f"{path}:4"), settings
        assert settings["open"] == ("true", f"{path}:5"), settings
        assert settings["retention"] == ("30d", "default"), settings
        assert settings["admin-listen"] == (None, "default"), settings
        assert settings["limits"] == ("connections=2000,uploads=7", f"{path}:9"), settings
        merged = checked_settings("--config", path, "--limits", "uploads=8")["limits"]
        assert merged == ("connections=2000,uploads=8", "flag"), merged
        assert not os.path.exists(store), "a check makes nothing"
        variables = {"LOCKSTEP_CONFIG": path, "LOCKSTEP_LISTEN": "127.0.0.3:0"}
        assert checked_settings(environment=variables)["listen"] == (
            "127.0.0.3:0", "environment LOCKSTEP_LISTEN")
        assert checked_settings("--listen", "127.0.0.4:0", environment=variables)["listen"] == (
            "127.0.0.4:0", "flag")
        shown = run("relay", "--config", path, "--check").stdout.splitlines()
        assert shown[0].split() == ["SETTING", "VALUE", "FROM"], shown
        assert any(line.split() == ["loops", "3", "flag"] for line in
                   run("relay", "--check", "--loops", "3").stdout.splitlines()), shown
        with subprocess.Popen([LOCKSTEP, "relay", "--config", path], stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stderr:
                if json.loads(line)["msg"] == "listening":
                    break
            url = json.loads(line)["url"]
            assert url.startswith("http://127.0.0.2:"), line
            limits = expect(curl(type("Front", (), {"address": url}), "GET", "/v1/limits"), 200).json
            assert limits["connections"] == 2000 and limits["uploads"] == 7, limits
            process.terminate()
            assert [json.loads(line)["level"] for line in process.stderr] == ["info"]
        assert process.returncode == 0 and os.path.exists(store)


def story_all_that_is_wrong_in_a_file_is_said_at_once():
    """All mistakes in a file are reported with line and remedy; the relay does not start."""
    with folder() as directory:
        path = write_config(directory, """lisen = 127.0.0.1:1
loops = many
open = yes
retention
open = no
[limit]
[limits]
conections = 5
uploads = 0
""")
        for extra in [[], ["--check"]]:
            done = run("relay", "--config", path, *extra, expect_code=2)
            assert done.stdout == "" and done.stderr.splitlines() == [
                f'lockstep relay: {path}:1: there is no setting "lisen"; did you mean listen?',
                f'{path}:2: loops: "many" is no whole number',
                f'{path}:4: "retention" is not of the form key = value',
                f'{path}:5: open is set twice, in line 3 too; keep one of them',
                *done.stderr.splitlines()[4:7],
                "nothing was done; `lockstep relay --help` shows its usage",
            ], done.stderr
            assert f'{path}:6: there is no section "limit"; did you mean limits?' in done.stderr
            assert f'{path}:8: limits: there is no limit "conections"; did you mean connections?' in \
                done.stderr
            assert f"{path}:9: limits: uploads: 0 is not between 1 and 10000" in done.stderr
        for content, says in [(b"open = caf\xe9\n", ":1: it is not UTF-8 text"),
                              (b"\nopen = \0\n", ":2: it holds a zero byte"),
                              (b"#" * (256 * 1024 + 1), ": it has over 256 KiB")]:
            refused("relay", "--config", write_config(directory, content), code=2, says=path + says)
        refused("relay", "--config", "/nowhere/relay.conf", code=2,
                says="/nowhere/relay.conf cannot be read: No such file or directory")


def story_a_check_looks_at_the_store():
    """--check detects a store that is not writable before a relay fails on it."""
    with folder() as directory:
        path = write_config(directory, "x", "file")
        done = run("relay", "--check", "--json", "--store", path + "/store", expect_code=2)
        assert path in done.stderr and "Not a directory" in done.stderr, done.stderr
        assert json.loads(done.stdout)["faults"], done.stdout


def story_an_agent_takes_its_settings_from_a_file():
    """agent run reads the same kind of file, including the home."""
    with folder() as directory, Relay() as relay:
        home = Home.new(relay, directory)
        path = write_config(directory, f"home = {home.path}\nlog-format = logfmt\n")
        with subprocess.Popen([LOCKSTEP, "agent", "run", "--config", path],
                              stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline()
            process.terminate()
            assert f"msg=\"keeping a home in sync\" home={home.path}" in line, line


# The log.


def logfmt(line):
    """Fields of a line, by a strict parser."""
    fields = {}
    position = 0
    while position < len(line):
        match = re.compile(r'([a-zA-Z]+)=("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*"|[^ ="]*)( |$)'
                           ).match(line, position)
        assert match, f"{line[position:]!r} in {line!r}"
        name, value = match.group(1), match.group(2)
        assert name not in fields, line
        fields[name] = json.loads(value) if value.startswith('"') else value
        position = match.end()
    return fields


def story_no_secret_is_in_any_log():
    """A relay with the most verbose log level receives tokens, codes, contents and secrets in a
    query; its log, in each format, contains none of them, and every line is complete."""
    for form in ["plain", "logfmt", "json"]:
        with folder() as directory:
            with Relay("--log-level", "trace", "--log-format", form) as relay:
                secrets = send_secrets(relay, directory)
                assert relay.stop() == 0
                text = relay.text()
        for secret in secrets:
            assert secret not in text, f"{secret} in the log ({form})"
        assert "/v1/time" in text and "nowhere" in text, text[:2000]
        lines = text.splitlines()
        if form == "plain":
            assert all(line.startswith("lockstep relay: ") for line in lines), text
            continue
        parsed = [logfmt(line) if form == "logfmt" else json.loads(line) for line in lines]
        for fields in parsed:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", fields["time"]), fields
            assert fields["level"] in ["error", "warning", "info", "debug", "trace"], fields
            assert fields["source"] == "lockstep relay" and fields["msg"], fields
        made = [f for f in parsed if f["msg"] == "an account was created"]
        assert made and all(re.fullmatch("[0-9a-f]{16}", f["account"]) for f in made), made
        asked = [f for f in parsed if f["msg"] == "request" and f["path"] == "/v1/time"]
        assert asked and asked[0]["level"] == "debug" and str(asked[0]["status"]) == "200", asked
        assert asked[0]["method"] == "GET" and asked[0]["peer"].startswith("127.0.0.1:"), asked


def story_the_owners_name_for_an_account_is_in_the_log():
    """Where a line names an account, it has its label, escaped; an account without a label has
    none."""
    label = "Mum \u202e\u2028=\"x\""
    with Relay("--log-format", "json") as relay:
        Person.new(relay)
        made = json.loads(run(
            "account", "create", label, "--store", relay.store, "--json").stdout)
        join = {"code": made["code"], "deviceName": "x", "platform": "test", "appVersion": "1"}
        person = Person(relay, expect(curl(relay, "POST", "/v1/devices", join), 201).json)
        run("account", "plan", made["accountID"], "--zones", "timer", "--store", relay.store)
        expect(person.call("DELETE", f"/v1/devices/{person.device}"), 204)
        run("account", "remove", made["accountID"], "--yes", "--store", relay.store)
        assert relay.stop() == 0
        lines = [json.loads(line) for line in relay.text().splitlines()]
    told = [(line["msg"], line.get("label")) for line in lines if "account" in line]
    assert told == [
        ("an account was created", None), ("an account was created", label),
        ("a device joined", label), ("an account has a new plan", label),
        ("a device was revoked", label), ("an account was removed", None)], told
    with Relay(is_open=False) as relay:
        run("account", "create", label, "--store", relay.store)
        relay.stop()
        line = next(it for it in relay.text().split("\n") if "an account was created" in it)
        assert "\u202e" not in line and "\u2028" not in line and "Mum" in line, line


def send_secrets(relay, directory):
    """Sends data that must not be logged; returns the secrets."""
    person = Person.new(relay, name="a \"name\" level=error")
    code = expect(person.call("POST", "/v1/pairings"), 201).json["code"]
    other = person.pair()
    expect(person.save(record("first", "nobody-may-read-this")), 200)
    expect(curl(relay, "GET", "/v1/time?token=in-the-query"), 200)
    expect(curl(relay, "GET", "/v1/nowhere%0Alevel=error", token="no-such-token"), 404)
    expect(curl(relay, "GET", "/v1/changes", token="no-such-token"), 401)
    home = Home.new(relay, directory)
    home.pair(relay, directory)
    assert "in sync" in home.run("sync")
    return [person.token, other.token, code, code.replace("-", ""), "nobody-may-read-this",
            "in-the-query", "no-such-token"]


# Metrics.


def metrics(text):
    """Prometheus' text format, parsed as strictly as promtool does: samples, by name and labels."""
    assert text.endswith("\n"), text[-50:]
    helped, kinds, samples = set(), {}, {}
    current = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            assert name not in helped and words, line
            helped.add(name)
        elif line.startswith("# TYPE "):
            current, kind = line[7:].split(" ")
            assert current in helped and current not in kinds, line
            assert kind in ["counter", "gauge", "histogram"], line
            assert (kind == "counter") == current.endswith("_total"), line
            kinds[current] = kind
        else:
            match = re.fullmatch(
                r'([a-z_]+)(?:\{([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"\})? (-?[0-9.]+)', line)
            assert match, line
            name, label, value, number = match.groups()
            family = re.sub("_(bucket|sum|count)$", "", name) if kinds[current] == "histogram" else name
            assert family == current, f"{line} stands under {current}"
            assert (name, value) not in samples, f"{line} stands twice"
            samples[name, value] = float(number)
    for name in [name for name, kind in kinds.items() if kind == "histogram"]:
        buckets = [(value, n) for (sample, value), n in samples.items() if sample == name + "_bucket"]
        counts = [n for _, n in buckets]
        assert [float(value) for value, _ in buckets] == sorted(float(v) for v, _ in buckets), buckets
        assert counts == sorted(counts) and buckets[-1][0] == "+Inf", buckets
        assert buckets[-1][1] == samples[name + "_count", None], buckets
        assert (name + "_sum", None) in samples
    return samples


def story_metrics_count_what_happened():
    """Prometheus reads the relay's metrics; they count the requests just made."""
    with Relay("--admin-listen", "127.0.0.1:0", "--loops", "2") as relay:
        port = int(re.search(r"metrics and health on http://127.0.0.1:(\d+)", relay.text()).group(1))
        admin = type("Admin", (), {"address": f"http://127.0.0.1:{port}"})

        def numbers():
            return metrics(expect(curl(admin, "GET", "/metrics"), 200).body.decode())

        before = numbers()
        assert before["lockstep_accounts", None] == 0
        version = subprocess.run([LOCKSTEP, "--version"], capture_output=True, text=True, check=True)
        version = version.stdout.split()[1]
        assert before["lockstep_build_info", version] == 1
        began = before["process_start_time_seconds", None]
        assert abs(began - os.stat(f"/proc/{relay.id}").st_ctime) < 60, began
        person = Person.new(relay)
        for number in range(5):
            expect(person.save(record(f"r{number}")), 200)
        parked = Connection(relay, person)
        cursor = person.changes().json["token"]
        parked.connection.request("GET", f"/v1/changes?wait=50&since={cursor}",
                                  headers={"Authorization": f"Bearer {person.token}"})
        now = wait_until(
            lambda: (n := numbers())["lockstep_connections", "long-poll"] == 1 and n,
            "the parked poll in the numbers")
        assert now["lockstep_accounts", None] == 1
        assert now["lockstep_commit_duration_seconds_count", None] >= 6, now
        assert now["lockstep_fsync_duration_seconds_count", None] >= 6, now
        # A commit syncs, and so does a read that has the newest saves written to the database.
        synced = now["lockstep_fsync_duration_seconds_sum", None]
        measured = sum(
            now[f"lockstep_{what}_duration_seconds_sum", None] for what in ("commit", "fetch"))
        assert synced <= measured, (synced, measured)
        assert now["lockstep_commit_requests_sum", None] >= 6, now
        wait_until(lambda: numbers()["lockstep_connected_accounts", None] == 1, "the account")
        assert now["lockstep_outbound_queue_bytes", None] == 0


# The service manager.


class ServiceManager:
    """The socket that systemd gives to a service, and the messages on it."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.socket.settimeout(PATIENCE)
        self.messages = []

    def receive(self, wanted):
        """Reads until a message has that line; returns the message."""
        while True:
            message = self.socket.recv(4096).decode().split("\n")
            self.messages.append(message)
            if wanted in message:
                return message

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def story_a_service_manager_hears_how_the_relay_is():
    """systemd starts a relay with a watchdog: it gets messages when the relay is ready, alive, has
    handled SIGHUP, and stops; with a path and with an abstract name."""
    with folder() as directory:
        for name in [os.path.join(directory, "notify"), f"@lockstep-story-{os.getpid()}"]:
            variables = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "300000"}
            with ServiceManager(name) as manager, Relay(environment=variables) as relay:
                assert f"STATUS=listening on {relay.address}" in manager.receive("READY=1")
                Person.new(relay)
                for _ in range(3):
                    manager.receive("WATCHDOG=1")
                os.kill(relay.id, signal.SIGHUP)
                assert manager.receive("RELOADING=1")[1].startswith("MONOTONIC_USEC=")
                manager.receive("READY=1")
                assert relay.stop() == 0
                manager.receive("STOPPING=1")


def story_a_service_manager_hears_how_an_agent_is():
    """The same for `agent run`."""
    with folder() as directory, Relay() as relay:
        home = Home.new(relay, directory)
        name = os.path.join(directory, "notify")
        variables = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "300000"}
        with ServiceManager(name) as manager, Background(
                "agent", "run", "--home", home.path, environment=variables) as agent:
            manager.receive("READY=1")
            manager.receive("WATCHDOG=1")
            assert agent.stop() == 0
            manager.receive("STOPPING=1")


def story_systemd_accepts_the_units():
    """systemd accepts the units without warnings, and reports little exposure."""
    units = os.path.join(ROOT, "scripts", "packaging", "systemd")
    if not shutil.which("systemd-analyze"):
        print("SKIPPED: systemd-analyze is not installed, so the units are not verified", flush=True)
        return
    with folder() as directory:
        for name in os.listdir(units):
            with open(os.path.join(units, name)) as file:
                text = file.read()
            # The program's path on this machine, so that its absence is not reported.
            text = re.sub(r"^ExecStart=\S+", f"ExecStart={os.path.abspath(LOCKSTEP)}", text, flags=re.M)
            with open(os.path.join(directory, name), "w") as file:
                file.write(text)
        for name, mode in [("lockstep-relay.service", "--system"),
                           ("lockstep-backup.service", "--system"),
                           ("lockstep-backup.timer", "--system"),
                           ("lockstep-agent@laptop.service", "--user")]:
            path = os.path.join(directory, name.replace("laptop", ""))
            instance = os.path.join(directory, name)
            if path != instance:
                os.rename(path, instance)
            done = subprocess.run(
                ["systemd-analyze", mode, "--man=no", "verify", instance], capture_output=True,
                text=True, timeout=PATIENCE, env={**os.environ, "XDG_RUNTIME_DIR": directory})
            said = [line for line in (done.stdout + done.stderr).splitlines()
                    if "lockstep" in line]
            assert not said, said
        for name in ("lockstep-relay.service", "lockstep-backup.service"):
            done = subprocess.run(
                ["systemd-analyze", "security", "--offline=true", "--no-pager",
                 os.path.join(directory, name)], capture_output=True, text=True, timeout=PATIENCE)
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
            assert found and float(found.group(1)) <= 2.0, done.stdout + done.stderr


def story_the_units_bound_what_they_take():
    """No core dump, a limit for memory and tasks; and the backup does not run as root."""
    units = os.path.join(ROOT, "scripts", "packaging", "systemd")
    for name in ("lockstep-relay", "lockstep-backup", "lockstep-agent@"):
        with open(os.path.join(units, name + ".service")) as file:
            lines = file.read().splitlines()
        keys = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
        assert keys["LimitCORE"] == "0", name
        assert re.fullmatch(r"\d+[MG]", keys["MemoryMax"]), name
        assert int(keys["TasksMax"]) > 0, name
        if name != "lockstep-agent@":
            assert keys["DynamicUser"] == "yes" and keys["User"] == "lockstep-relay", name
            assert keys["ProtectSystem"] == "strict" and "SystemCallFilter" in keys, name
            assert "RestrictAddressFamilies" in keys, name


if __name__ == "__main__":
    main(globals(), at_once=2)
