"""Use of the command line by people who do not know it yet."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading

from story import (
    LOCKSTEP, PATIENCE, ROOT, Background, Home, Relay, expect, folder, main, refused, run,
    wait_until)

SCREEN = {"at", "stateType", "isPaused", "remaining", "completedPomodoros", "device"}


def comparable_screen(screen):
    """The part of a screen that a person compares on two devices; the time of reading differs."""
    runs = screen["stateType"] != "idle" and not screen["isPaused"]
    left = screen["remaining"] + (screen["at"] if runs else 0)
    return {**{key: screen[key] for key in SCREEN - {"at", "remaining"}}, "left": left}


def story_every_command_explains_itself():
    """--help, -h and `help` for every command: on standard output, no wider than a terminal."""
    def explain(path):
        told = run(*path, "--help")
        assert told.stderr == "" and told.stdout.startswith("Usage: lockstep"), told
        assert told.stdout.endswith("\n"), told.stdout[-20:]
        assert all(len(line) <= 80 for line in told.stdout.splitlines()), told.stdout
        assert run(*path, "-h").stdout == told.stdout
        assert run("help", *path).stdout == told.stdout
        for name in re.findall(r"^  --([a-z-]+)", told.stdout, re.M):
            variable = "LOCKSTEP_" + name.upper().replace("-", "_")
            assert name in ("help", "help-all", "version") or variable in told.stdout, (path, name)
        listed = re.search(r"^Commands:\n((?:  .*\n)+)", told.stdout, re.M)
        names = re.findall(r"^  (\S+)", listed.group(1), re.M) if listed else []
        return 1 + sum(explain([*path, name]) for name in names)

    assert explain([]) >= 20
    assert re.fullmatch(
        r"lockstep \d+\.\d+\.\d+\nOpenSSL 3\.\S+, SQLite 3\.\S+, zlib 1\.\S+, nghttp2 1\.\S+\n",
        run("--version").stdout)
    assert run("version").stdout == run("-V").stdout == run("--version").stdout
    usual, full = (run("agent", "status", flag).stdout for flag in ("--help", "--help-all"))
    assert "  --clock-offset SECONDS" not in usual and "  --clock-offset SECONDS" in full, full
    assert full.startswith(usual) and "\nFor tests:\n" in full, full


def story_a_typing_error_gets_a_suggestion():
    """Unknown words, flags and bad values: exit code 2 and a helpful sentence."""
    for words, says in [
        ("", "relay"), ("realy", "did you mean relay?"), ("agent", "join"),
        ("agent timer strat", "did you mean start?"), ("timer strat", "did you mean start?"),
        ("join", "did you mean agent join?"), ("memo rm", "did you mean remove?"),
        ("memo ls", "did you mean list?"), ("timer stat", "did you mean stats?"),
        ("agent timer settings --home x", "a subcommand is missing before --home: get or set"), ("relay --opne", "did you mean --open?"),
        ("relay --listen here", "127.0.0.1:5625"), ("relay --listen 127.0.0.1:70000", "--listen"),
        ("relay --loops 0", "between 1 and"), ("relay --loops many", "no whole number"),
        ("relay --log-level loud", "warning"), ("relay surplus", "surplus"),
        ("relay --store", "--store DIR"), ("agent join --home x --new", "LOCKSTEP_RELAY"),
        ("agent join --home x --relay ftp://x --new", "http://"),
        ("agent join --home x --relay http://127.0.0.1:1", "--new"),
        ("agent join --home x --relay http://127.0.0.1:1 --new --code X", "--new"),
        ("agent status --home", "--home DIR"), ("agent timer start --home x --minutes soon", "--minutes"),
        ("agent timer start --home x --minutes 0", "--minutes"),
        ("agent timer start --home x --minutes nan", "--minutes"),
        ("bench latency --devices 1", "--devices"), ("bench latency --transport pigeon", "long-poll"),
        ("agent simulate --seed -1", "--seed"), ("account create", "NAME"),
        ("account create two words", "words"),
    ]:
        told = refused(*words.split(), code=2, says=[says, "--help"] if "join --home x --relay http"
                       not in words else says)
        assert len(told.splitlines()) == 1, told


def story_options_come_from_the_environment_too():
    """LOCKSTEP_… is read, a flag overrides it, and a bad value is named."""
    with folder() as directory, Relay() as relay:
        home = os.path.join(directory, "home")
        given = {"LOCKSTEP_HOME": home, "LOCKSTEP_RELAY": relay.address, "LOCKSTEP_NEW": "yes",
                 "LOCKSTEP_NAME": "from the environment", "LOCKSTEP_JSON": "1"}
        joined = json.loads(run("agent", "join", environment=given).stdout)
        assert joined["deviceName"] == "from the environment", joined
        status = json.loads(run("agent", "status", environment=given).stdout)
        assert status["relay"] == relay.address
        plain = run("agent", "status", "--json=false", environment=given).stdout
        assert plain.startswith("device"), plain
        refused("agent", "status", environment={**given, "LOCKSTEP_JSON": "perhaps"}, code=2,
                says="LOCKSTEP_JSON")
        elsewhere = {"LOCKSTEP_STORE": os.path.join(directory, "nobody")}
        made = run("account", "create", "x", environment=elsewhere).stdout
        assert f"lockstep relay --store {elsewhere['LOCKSTEP_STORE']}" in made, made
    with folder() as directory:
        given = {"LOCKSTEP_STORE": os.path.join(directory, "store"), "LOCKSTEP_OPEN": "true",
                 "LOCKSTEP_LISTEN": "127.0.0.1:0"}
        with Background("relay", environment=given) as relay:
            wait_until(lambda: "listening" in "".join(relay.errors), "the relay to listen")
            assert relay.stop() == 0
            assert os.listdir(given["LOCKSTEP_STORE"])


class User:
    """A user who is not root, with a home directory of their own. Root becomes `nobody` for it."""

    def __init__(self, directory):
        self.directory = os.path.join(directory, "user")
        os.mkdir(self.directory)
        self.wrapper, self.program = [], LOCKSTEP
        if os.geteuid() == 0:
            # `nobody` may not be able to reach the folder of the program.
            self.program = shutil.copy(LOCKSTEP, os.path.join(directory, "lockstep"))
            os.chmod(directory, 0o755)
            os.chown(self.directory, 65534, 65534)
            self.wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def run(self, *words, code=0, **environment):
        given = {**os.environ, "HOME": self.directory, **environment}
        for name in ("LOCKSTEP_HOME", "XDG_DATA_HOME"):
            if name not in environment:
                given.pop(name, None)
        done = subprocess.run(
            [*self.wrapper, self.program, *words], env=given, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == code, done
        return done.stdout if code == 0 else done.stderr


def story_a_person_names_no_home():
    """Join and use the timer without --home: the home is in the user's data folder, and join says
    so. Root, a service without a home directory, and one that cannot write there are told what to
    do."""
    with folder() as directory, Relay() as relay:
        ada = User(directory)
        told = ada.run("timer", "start", code=1)
        assert "no home at" in told and "lockstep agent join" in told, told
        joined = ada.run("agent", "join", "--relay", relay.address, "--new", "--name", "laptop")
        path = os.path.join(ada.directory, ".local", "share", "lockstep")
        assert f"Its home is {path}\n" in joined, joined
        assert os.stat(path).st_mode & 0o777 == 0o700
        assert "focus" in ada.run("timer", "start")
        assert json.loads(ada.run("agent", "timer", "status", "--json"))["stateType"] == "focus"
        assert "in sync" in ada.run("agent", "sync")
        assert "home" in ada.run("doctor")
        elsewhere = os.path.join(ada.directory, "data")
        second = json.loads(
            ada.run("agent", "join", "--relay", relay.address, "--new", "--json",
                    XDG_DATA_HOME=elsewhere))
        assert second["home"] == os.path.join(elsewhere, "lockstep"), second
        # Homes of their own names, as the units have them.
        ada.run("agent", "leave", "--force")
        named = os.path.join(path, "laptop")
        ada.run("agent", "join", "--relay", relay.address, "--new", "--home", named)
        assert f"--home {named}" in ada.run("agent", "status", code=1)
        for variables, code, says in [
                ({"HOME": ""}, 2, ["--home DIR", "HOME is not set", "LOCKSTEP_HOME"]),
                ({"HOME": "/proc/none"}, 1, ["cannot be made", "--home DIR"])]:
            told = ada.run("agent", "join", "--relay", relay.address, "--new", code=code, **variables)
            assert all(part in told for part in says), told
        if os.geteuid() == 0:
            refused("timer", "start", code=2, says=["root has no default", "--home DIR"],
                    environment={"LOCKSTEP_HOME": ""})


def story_joining_and_what_can_go_wrong_with_it():
    """Joining as a new account, by code, and by code from standard input; each mistake has its own
    sentence."""
    with folder() as directory, Relay() as relay:
        def at(name):
            return os.path.join(directory, name)

        def join(*words):
            return ["agent", "join", "--relay", relay.address, *words]

        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        code = phone.code()
        run(*join("--code", code.lower().replace("-", " ")), home=at("tablet"))
        assert phone.status()["account"] == laptop.status()["account"]
        assert Home(at("tablet")).status()["deviceName"] == socket.gethostname()
        refused(*join("--code", code), home=at("late"), says="code")
        refused(*join("--code", "AAAA-BBBB-CCCC"), home=at("late"), says="code")
        refused(*join("--code", "-"), home=at("late"), input="", says="standard input")
        refused(*join("--code", "-"), home=at("late"), input="\n", says="standard input")
        refused(*join("--new"), home=phone.path, says=["belongs to account", "agent leave"])
        refused("agent", "status", home=at("late"), says=["agent join"])
        refused("agent", "timer", "start", home=at("nowhere"), says=["no home", "agent join"])
        assert not os.path.exists(at("nowhere"))
        relay.stop()
        refused(*join("--new"), home=at("late"), says=["refused", "running"])
    with folder() as directory, Relay(is_open=False) as relay:
        home = os.path.join(directory, "home")
        refused("agent", "join", "--relay", relay.address, "--new", home=home, says="pairing code")
        told = run("account", "create", "ada", "--store", relay.store).stdout
        code = re.match(r"([0-9A-Z]{4}-){2}[0-9A-Z]{4}\n", told).group(0)
        assert "agent join" in told, told
        run("agent", "join", "--relay", relay.address, "--code", "-", home=home, input=code)
        assert Home(home).status()["state"] == "inSync"


def story_what_answers_may_be_no_relay():
    """An address with another server, or with nothing that ever answers."""
    def serve(listener, answer):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.recv(4096)
            if answer is not None:
                connection.sendall(answer)
                connection.close()

    page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>"
    for answer, says in [(page, "not a Lockstep relay"), (b"SSH-2.0-x\r\n", "no answer"),
                         (b"", "no answer")]:
        with folder() as directory, socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            refused("agent", "join", "--relay", address, "--new",
                    home=os.path.join(directory, "home"), says=says)
    with folder() as directory:
        refused("agent", "join", "--relay", "http://no-such-name.invalid", "--new",
                home=os.path.join(directory, "home"), says="no-such-name.invalid")


def story_every_button_works_without_a_relay_and_syncs_when_it_returns():
    """A person without a network uses the timer; later another device shows the result."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        assert laptop.status()["state"] == "inSync"
        relay.stop()
        assert set(phone.timer("status")) == SCREEN
        for refusal in ["pause", "resume", "stop", "skip", "snooze"]:
            phone.refuses("timer", refusal, says="nothing is running")
        started = phone.timer("start", "--minutes", "50")
        assert started["stateType"] == "focus" and not started["isPaused"]
        assert 2_999_000 <= started["remaining"] <= 3_000_000, started
        phone.refuses("timer", "start", says="already going on")
        phone.refuses("timer", "snooze", says="no break")
        phone.refuses("timer", "resume", says="not paused")
        paused = phone.timer("pause")
        assert paused["isPaused"] and paused["remaining"] <= started["remaining"]
        phone.refuses("timer", "pause", says="already paused")
        assert phone.timer("status")["remaining"] == paused["remaining"]
        assert not phone.timer("resume")["isPaused"]
        assert phone.timer("skip")["stateType"] == "breakTime"
        snoozed = phone.timer("snooze", "--minutes", "3")
        assert snoozed["stateType"] == "snooze" and 179_000 <= snoozed["remaining"] <= 180_000
        assert phone.timer("stop")["stateType"] == "idle"
        last = phone.timer("start", "--minutes", "0.5")
        told = phone.run("timer", "status")
        assert re.match(r"focus 00:\d\d · offline.*1 change waits", told), told
        assert phone.status()["waiting"] == 1
        refusal = run("agent", "sync", home=phone.path, expect_code=1)
        assert "offline" in refusal.stdout, refusal
        relay.start()
        assert "in sync" in phone.run("sync")
        assert phone.status()["waiting"] == 0
        shown = laptop.timer("status")
        assert comparable_screen(shown) == comparable_screen(phone.timer("status")), shown
        # It was stamped without a query for the relay's time.
        left = [comparable_screen(screen)["left"] for screen in (shown, last)]
        assert abs(left[0] - left[1]) < 1_000, (shown, last)


def story_two_homes_converge():
    """Many buttons on two devices, offline and online: both show the same."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        for turn in range(4):
            if turn % 2:
                relay.stop()
            first, second = (phone, laptop) if turn % 3 else (laptop, phone)
            for home, words in [(first, ["start"]), (second, ["start"]), (first, ["pause"]),
                                (second, ["stop"])]:
                subprocess.run([LOCKSTEP, "agent", "timer", *words, "--home", home.path],
                               capture_output=True, timeout=PATIENCE)
            if turn % 2:
                relay.start()
            for home in (phone, laptop, phone):
                home.run("sync")
            screens = [comparable_screen(home.timer("status")) for home in (phone, laptop)]
            assert screens[0] == screens[1], turn


def story_one_process_holds_a_home_and_the_others_hand_in_their_orders():
    """`run` in one terminal, `watch` in another, buttons in a third; each may end."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        with phone.start_agent() as agent, phone.background("timer", "watch", "--json") as watch, \
                laptop.background("timer", "watch") as other:
            refused("agent", "run", home=phone.path, says="holds the home")
            refused("agent", "leave", home=phone.path, says="holds the home")
            refused("agent", "join", "--relay", relay.address, "--new", home=phone.path,
                    says="holds the home")

            def both(check):
                for each in (watch, other):
                    while True:
                        line = json.loads(each.line())
                        assert set(line) == SCREEN, line
                        if check(line):
                            break

            both(lambda line: line["stateType"] == "idle")
            phone.run("timer", "start")
            both(lambda line: line["stateType"] == "focus" and not line["isPaused"])
            laptop.run("timer", "pause")
            both(lambda line: line["isPaused"])
            assert phone.status()["state"] == "inSync"
            assert agent.stop() == 0
            # The watcher now holds the home itself.
            phone.run("timer", "resume")
            both(lambda line: line["stateType"] == "focus" and not line["isPaused"])
            phone.run("timer", "stop")
            both(lambda line: line["stateType"] == "idle")
        assert phone.timer("status")["stateType"] == "idle"


def story_a_press_is_made_once_though_its_holder_dies():
    """The process that holds the home dies while a press waits for a relay that hangs: the press is
    made once, and reported as made."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        with phone.start_agent() as agent:
            phone.run("sync")
            os.kill(relay.id, signal.SIGSTOP)
            with phone.background("timer", "start", "--json") as press:
                wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the press")
                agent.stop(signal.SIGKILL)
                assert json.loads(press.line())["stateType"] == "focus", press.errors
                assert press.process.wait(timeout=PATIENCE) == 0
            os.kill(relay.id, signal.SIGCONT)
        phone.run("sync")
        assert phone.timer("status")["stateType"] == "focus"


def story_a_revoked_device_joins_anew_with_what_it_had_not_sent():
    """A device is revoked while it is offline with an unsent change: after joining with a new code
    it sends the change."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        other = Home.new(relay, directory, "other")
        assert laptop.status()["state"] == "inSync"
        lost = laptop.status()["device"]
        person = phone.person(relay)
        relay.stop()
        laptop.run("timer", "start")
        relay.start()
        expect(person.call("DELETE", f"/v1/devices/{lost}"), 204)
        assert "join the account again" in laptop.run("sync", code=1)
        # One next step, and no promise of a sync that will not come.
        told = run("agent", "memo", "list", home=laptop.path).stderr
        assert told.count("again") == 1 and "lockstep agent join" in told, told
        assert "will be synced" not in told and "pair it" not in told, told
        join = ["agent", "join", "--relay", relay.address, "--name", "again"]
        refused(*join, "--new", home=laptop.path, says=["belongs to account", "code"])
        stranger = other.code()
        refused(*join, "--code", stranger, home=laptop.path, says="belongs to account")
        devices = other.person(relay).call("GET", "/v1/devices").json["devices"]
        assert [each["deviceName"] for each in devices] == ["other"], devices
        assert laptop.status()["waiting"] == 1
        # The rejected code is not used up.
        third = os.path.join(directory, "third")
        run(*join[:4], "--name", "third", "--code", stranger, home=third)
        run(*join, "--code", phone.code(), home=laptop.path)
        assert "in sync" in laptop.run("sync")
        status = laptop.status()
        assert status["device"] != lost and status["account"] == phone.status()["account"]
        assert phone.timer("status")["stateType"] == "focus"


def story_a_watcher_ends_when_nobody_reads_it():
    """`watch | head -1` ends by itself, and the end of a countdown is a line too."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        phone.run("timer", "start", "--minutes", "0.01")
        with phone.background("timer", "watch") as watch:
            lines = [json.loads(watch.line())]
            while lines[-1]["stateType"] != "breakTime":
                lines.append(json.loads(watch.line()))
            assert lines[-1]["completedPomodoros"] == 1, lines
        shell = f"{shlex.quote(LOCKSTEP)} agent timer watch --home {shlex.quote(phone.path)} | head -1"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=PATIENCE)
        assert len(done.stdout.splitlines()) == 1 and done.stderr == "", done


def story_leaving_an_account():
    """A device with unsynced changes leaves only if told so, and can join again."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        relay.stop()
        laptop.run("timer", "start")
        refused("agent", "leave", home=laptop.path, says=["1 change", "agent sync", "--force"])
        relay.start()
        laptop.run("sync")
        laptop.run("leave")
        assert "agent join" in refused("agent", "status", home=laptop.path, says="no home")
        assert phone.timer("status")["stateType"] == "focus"
        again = Home.new(relay, directory, "laptop")
        assert again.timer("status")["stateType"] == "idle"
        relay.stop()
        refused("agent", "leave", home=again.path, says="--force")
        again.run("leave", "--force")


def story_resolve_answers_line_by_line():
    """Cases in, answers out; a bad line is reported without effect on the others; empty input gives
    empty output."""
    cases = os.path.join(ROOT, "Tests", "AppsTests", "Vectors", "TimerState.jsonl")
    with open(cases) as file:
        vectors = [json.loads(line) for line in file][:50]
    answered = run("resolve", input="\n".join(json.dumps(each["case"]) for each in vectors))
    for vector, line in zip(vectors, answered.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        wanted = next(value for key, value in vector.items() if key not in ("case", "note"))
        assert {key: answer[key] for key in wanted} == wanted, (answer, wanted)
    case = json.dumps(vectors[0]["case"])
    mixed = run("resolve", input=f"{case}\n{{oops\n\n[]\n{case}\n", expect_code=1)
    assert len(mixed.stdout.splitlines()) == 2, mixed
    assert "line 2" in mixed.stderr and "line 4" in mixed.stderr, mixed
    empty = run("resolve", input="")
    assert empty.stdout == empty.stderr == "", empty


def story_simulated_people_and_the_bench_tell_a_program_what_they_saw():
    """--json prints one object, with stable names."""
    with Relay() as relay:
        told = run("agent", "simulate", "--relay", relay.address, "--accounts", "2", "--devices", "2",
                   "--seconds", "2", "--seed", "7", "--json")
        result = json.loads(told.stdout)
        assert result["good"] is True and result["accounts"] == result["equal"] == 2, result
        for app in ["timer", "vault", "clipboard", "memo", "habits"]:
            told = run("agent", "simulate", "--app", app, "--relay", relay.address, "--accounts", "2",
                       "--devices", "2", "--seconds", "2", "--json")
            result = json.loads(told.stdout)
            assert result["good"] is True and result["edits"] > 0, (app, result)
        refused("agent", "simulate", "--app", "radio", says="none of all, timer", code=2)
        bench = ["bench", "latency", "--accounts", "3", "--devices", "3", "--rate", "20",
                 "--seconds", "2"]
        keys = {"p50Ms", "p90Ms", "p99Ms", "p999Ms", "maxMs", "commitP50Ms", "sent", "delivered",
                "missing", "duplicated", "relayCpuUsPerDelivery"}
        for words in [[], ["--transport", "long-poll"], ["--relay", relay.address]]:
            result = json.loads(run(*bench, *words, "--json").stdout)
            assert keys <= set(result), result
            assert result["sent"] == 40 and result["delivered"] == 80, result
            assert result["missing"] == result["duplicated"] == 0, result
            assert 0 < result["p50Ms"] <= result["p99Ms"] <= result["maxMs"], result
            assert words[:1] == ["--relay"] or result["relayCpuUsPerDelivery"] > 0, result
        text = run(*bench).stdout
        for word in ["p50", "p90", "p99", "p99.9", "max", "target", "missing", "█"]:
            assert word in text, text
        relay.stop()
        refused("bench", "latency", "--relay", relay.address, says="refused")
        refused("agent", "simulate", "--relay", relay.address, says="refused")


def story_a_working_day_stays_within_its_budget():
    """Network use of a device in a simulated day, compared with its budget."""
    result = json.loads(run("bench", "budget", "--app", "timer", "--json").stdout)
    assert result["met"] is True and result["devices"] == 3, result
    rows = {row["transport"]: row for row in result["rows"]}
    assert set(rows) == {"websocket", "events", "long-poll", "poll", "wake"}, rows
    for name, row in rows.items():
        assert row["edits"] > 30 and row["faults"] == [], row
        if name != "poll":
            assert 0 < row["requestsAnHour"] < 100 and 0 < row["bytesADay"] < 1_000_000, row
            assert 0 <= row["idleWakesAnHour"] <= row["idleWakesAnHourMost"], row
    assert 0 < rows["wake"]["wakeupsADay"] < rows["websocket"]["wakeupsADay"] / 10, rows
    again = json.loads(run("bench", "budget", "--app", "timer", "--json").stdout)
    assert again == result, "the same seed is the same day"
    text = run("bench", "budget", "--app", "habits", "--transport", "websocket").stdout
    assert "requests/h" in text and "met" in text and "MISSED" not in text, text
    refused("bench", "budget", "--app", "radio", says="none of all, timer", code=2)


def story_the_pace_bench_measures_what_a_load_does_to_others():
    """A first sync, a burst and a backlog: figures of both sides, with nothing missing."""
    bench = ["bench", "first-sync", "--records", "1200", "--runs", "1", "--seconds", "1"]
    loads = [([], "firstSync", 1200), (["--raw"], "rawFirstSync", 1200),
             (["--burst"], "burst", 1200),
             (["--backlog", "--devices", "3", "--behind", "700"], "backlog", 2100)]
    for words, load, records in loads:
        result = json.loads(run(*bench, *words, "--json").stdout)
        assert result["load"] == load and result["records"] == records, result
        assert result["quietP50Ms"] > 0 and result["recordsPerSecond"] > 0, result
        assert result["relayPeakBytes"] >= 1 << 20, result
        assert (result["devicePeakBytes"] is None) == (load != "firstSync"), result
    text = run(*bench).stdout
    for word in ["quiet", "under load", "ratio", "relay's peak", "device's peak"]:
        assert word in text, text
    refused("bench", "first-sync", "--raw", "--burst", code=2, says="name one")


class Terminal:
    """A real terminal of 80 by 24, by tmux, with a shell in it."""

    def __init__(self, directory):
        self.socket = os.path.join(directory, "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                  "env", "PS1=$ ", "sh")
        self.server = int(self.tmux("display-message", "-p", "#{pid}"))

    def tmux(self, *words):
        return subprocess.run(
            ["tmux", "-S", self.socket, *words], capture_output=True, text=True, timeout=PATIENCE,
            check=True).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def text(self):
        return self.tmux("capture-pane", "-p")

    def digits(self):
        """The rows of large digits."""
        return [line for line in self.text().split("\n") if "█" in line]

    def shows(self, pattern):
        return wait_until(
            lambda: re.search(pattern, self.text(), re.M),
            lambda: f"{pattern!r} in\n{self.text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # tmux sometimes does not end when asked, and its shell stays.
        os.kill(self.server, signal.SIGKILL)


def story_the_live_view_on_a_terminal():
    """A countdown with its keys; a press is shown at once; q restores the terminal."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        with Terminal(directory) as terminal:
            terminal.type(f"cd {shlex.quote(directory)}; stty -a > before; clear", "Enter")
            watch = f"{shlex.quote(LOCKSTEP)} agent timer watch --home {shlex.quote(phone.path)}"
            terminal.type(watch + "; echo 'it is' over", "Enter")
            terminal.shows(r"^ nothing runs")
            terminal.shows(r"s start .*q quit")
            terminal.shows(r"laptop .*seen")
            terminal.type("p")
            terminal.shows(r"nothing is running")
            terminal.type("s")
            terminal.shows(r"phone started a focus of 25 min")
            first = terminal.digits()
            wait_until(lambda: terminal.digits() != first, "the countdown to go on")
            assert "nothing is running" not in terminal.text(), terminal.text()
            laptop.run("timer", "pause")
            terminal.shows(r"^ focus  paused")
            terminal.shows(r"laptop paused, 24:\d\d left")
            terminal.shows(r"^ Timer  ● in sync by websocket, \d\d:\d\d +phone$")
            with laptop.start_agent():
                terminal.tmux("resize-window", "-x", "40", "-y", "10")
                wait_until(lambda: len(terminal.text().rstrip("\n").split("\n")) == 10,
                           "the terminal to be small")
                terminal.shows(r"^ focus  paused")
                terminal.shows(r"q quit")
                terminal.tmux("resize-window", "-x", "120", "-y", "40")
                terminal.shows(r"Other devices .*Just now")
                # The view asks again with its next update.
                terminal.tmux("resize-window", "-x", "80", "-y", "24")
            relay.stop()
            terminal.shows(r"^ Timer  ○ offline")
            terminal.type("r")
            terminal.shows(r"1 change waits")
            terminal.type("?")
            terminal.shows(r"put the break off")
            terminal.type("?")
            wait_until(lambda: "put the break off" not in terminal.text(), "the help to go")
            terminal.type("q")
            terminal.shows(r"^(\$ )?it is over")
            assert "Other devices" not in terminal.text(), terminal.text()
            terminal.type("echo back", "Enter")
            terminal.shows(r"\$ echo back\n^back")
            terminal.type("stty -a > after", "Enter")
            wait_until(lambda: os.path.exists(f"{directory}/after"), "the shell to answer")
            # tmux uses one row itself if the number of rows was not given.
            size = re.compile(r"rows \d+; columns \d+")
            before, after = [
                size.sub("", wait_until(lambda: open(f"{directory}/{name}").read(), name))
                for name in ("before", "after")]
            assert before == after
            # SIGTERM restores the terminal too.
            for number, how in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)):
                terminal.type(f"clear; sh -c 'echo $$ > pid{number}; exec {watch}'; echo 'it is' over", "Enter")
                terminal.shows(r"s start .*q quit")
                with open(f"{directory}/pid{number}") as file:
                    os.kill(int(file.read()), how)
                terminal.shows(r"^(\$ )?it is over")
                terminal.type(f"stty -a > ended{number}; echo $? > done{number}", "Enter")
                wait_until(lambda: os.path.exists(f"{directory}/done{number}"),
                           "the shell to answer")
                with open(f"{directory}/ended{number}") as file:
                    assert size.sub("", file.read()) == before
            # Closing the terminal, or Ctrl-C, also ends the command.
            terminal.type("clear; " + watch + "; echo 'it is' over", "Enter")
            terminal.shows(r"s start .*q quit")
            terminal.type("C-c")
            terminal.shows(r"^(\$ )?it is over")
            terminal.type("echo again", "Enter")
            terminal.shows(r"^again")


def story_lists_are_shown_live_on_a_terminal():
    """Memos, clipboard, habits and vault: a heading with the sync status, keys by ?, and scrolling
    where a list is longer than the terminal."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        for number in range(30):
            phone.run("memo", "add", f"memo {number}")
        phone.run("clipboard", "add", "an item")
        phone.run("habits", "add", "Read")
        with phone.start_agent(), Terminal(directory) as terminal:
            for app, title, row in [("clipboard", "Clipboard", "an item"), ("habits", "Habits", "Read"),
                                    ("vault", "Vault", "lockstep vault add"), ("memo", "Memos", "memo 29")]:
                terminal.type(
                    f"clear; {shlex.quote(LOCKSTEP)} {app} watch --home {shlex.quote(phone.path)}", "Enter")
                terminal.shows(rf"^ {title}  ● in sync by websocket, \d\d:\d\d +phone$")
                terminal.shows(row)
                terminal.type("?")
                terminal.shows(r"^ Keys\n\n  j, k")
                terminal.type("?")
                terminal.shows(row)
                if app != "memo":
                    terminal.shows(r"^ \? help  q quit")
                    terminal.type("q")
                    terminal.shows(r"^\$ ?$")
            terminal.shows(r"^… and \d+ more\n\n j k scroll  \? help  q quit")
            terminal.type("Space")
            terminal.shows(r"^… \d+ before\n(?s:.*) memo 0$")
            phone.run("memo", "add", "a new one")
            terminal.type("Up", "g")
            terminal.shows(r"  1 .* a new one$")
            relay.stop()
            terminal.shows(r"^ Memos  ○ offline")


def story_plain_http_beyond_the_network_is_warned_of():
    """One line of warning each: for a device that joins, and for a relay that listens beyond this
    machine."""
    with folder() as directory, Relay() as relay:
        home = os.path.join(directory, "home")
        # An unknown host name: the warning comes before the attempt.
        done = run("agent", "join", "--relay", "http://relay.invalid", "--new", home=home,
                   expect_code=1)
        assert done.stderr.count("plain HTTP") == 1, done.stderr
        done = run("agent", "join", "--relay", relay.address, "--new", home=home)
        assert "plain HTTP" not in done.stderr, done.stderr
        assert "warning" not in relay.text() and "plain HTTP" not in relay.text(), relay.text()
    with Relay("--listen", "0.0.0.0:0", "--admin-listen", "0.0.0.0:0") as relay:
        wait_until(lambda: "listening on" in relay.text(), "the relay")
        assert relay.text().count("plain HTTP") == 1, relay.text()
        assert relay.text().count("without a password") == 1, relay.text()


if __name__ == "__main__":
    main(globals())
