"""`lockstep doctor`: the reason why a person's devices do not sync, and the next step."""

import http.server
import json
import os
import socket
import threading

from postgres_servers import Server
from secure_relay import CA, SecureRelay, make
from story import Home, Person, Relay, expect, folder, has_postgres, main, run, wait_until

LADDER = ["websocket", "events", "long-poll", "poll"]


def doctor(*words, code=0, **options):
    """Checks by area and name, from its JSON output."""
    found = json.loads(run("doctor", *words, "--json", expect_code=code, **options).stdout)
    assert found["isGood"] == (code == 0) == (found["problems"] == 0), found
    for each in found["checks"]:
        assert each["verdict"] in ("ok", "skipped", "warning", "problem"), each
        assert each["seen"] and (each["nextStep"] or each["verdict"] == "ok"), each
    return {(each["area"], each["name"]): each for each in found["checks"]}


def verdict(checks, area, name):
    return checks[area, name]["verdict"]


class BufferingProxy:
    """A proxy that buffers an event stream until its end, and passes everything else on at once."""

    def __init__(self, relay):
        self.relay = relay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(line,), daemon=True).start()

    def serve(self, line):
        with line, socket.create_connection(("127.0.0.1", self.relay.port)) as upstream:
            try:
                first = line.recv(65536)
                upstream.sendall(first)
                is_held = first.startswith(b"GET /v1/events")
                threading.Thread(target=self.pass_on, args=(line, upstream), daemon=True).start()
                kept = b""
                while part := upstream.recv(65536):
                    if is_held:
                        kept += part
                    else:
                        line.sendall(part)
                line.sendall(kept)
            except OSError:
                pass

    def pass_on(self, line, upstream):
        try:
            while part := line.recv(65536):
                upstream.sendall(part)
            upstream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class NotFoundServer(http.server.BaseHTTPRequestHandler):
    """A server that is not a relay."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


def story_a_healthy_open_relay_passes_every_transport_check():
    """A person who has just set up a relay sees that each transport works, and the test leaves no
    device behind."""
    with Relay() as relay:
        checks = doctor("--relay", relay.address)
        assert all(each["verdict"] in ("ok", "warning") for each in checks.values()), checks
        for name in LADDER:
            assert ("ladder", name) in checks, checks
        for name in LADDER[:3]:
            assert "pushMilliseconds" in checks["ladder", name]["figures"], checks
        assert checks["relay", "relay"]["figures"]["recordBytes"] == 1 << 20
        assert abs(checks["relay", "clock"]["figures"]["offsetMilliseconds"]) < 30_000
        told = run("doctor", "--relay", relay.address).stdout
        assert relay.address in told and "websocket" in told and "\x1b" not in told, told
        listed = run("account", "list", "--store", relay.store, "--json").stdout.splitlines()
        assert [json.loads(line)["devices"] for line in listed] == [0, 0], listed


def story_a_relay_that_is_not_open_is_tried_with_a_home():
    """Without a home there is no sign-in; everything else is checked anyway."""
    with Relay(is_open=False) as relay:
        checks = doctor("--relay", relay.address)
        assert verdict(checks, "relay", "relay") == "ok", checks
        assert verdict(checks, "ladder", "account") == "skipped", checks
        assert "--home" in checks["ladder", "account"]["nextStep"], checks


def story_a_relay_that_does_not_run_is_a_problem():
    """Nothing listens there, and that is the only message."""
    with Relay() as relay:
        pass
    checks = doctor("--relay", relay.address, code=1)
    assert verdict(checks, "relay", "connection") == "problem", checks
    assert ("relay", "relay") not in checks, checks
    told = run("doctor", "--relay", relay.address, expect_code=1)
    assert "PROBLEM" in told.stdout and "→" in told.stdout and told.stderr == "", told


def story_something_else_than_a_relay_is_named():
    """The port of another program, which speaks HTTP or something else."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NotFoundServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        checks = doctor("--relay", f"http://127.0.0.1:{server.server_port}", code=1)
        assert "no Lockstep relay" in checks["relay", "relay"]["seen"], checks
        assert "404" in checks["relay", "relay"]["seen"], checks
        assert "BaseHTTP" in checks["relay", "relay"]["seen"], checks
        assert not any(area == "ladder" for area, _ in checks), checks
    finally:
        server.shutdown()
        server.server_close()


def story_a_proxy_that_holds_events_back_is_found_out():
    """The other transports work, so sync does; events are reported as not working."""
    with Relay() as relay, BufferingProxy(relay) as proxy:
        checks = doctor("--relay", proxy.address)
        events = checks["ladder", "events"]
        assert events["verdict"] == "warning" and "held back" in events["seen"], events
        assert "proxy_buffering off" in events["nextStep"], events
        for name in ("websocket", "long-poll", "poll"):
            assert verdict(checks, "ladder", name) == "ok", checks


def story_a_home_whose_edits_wait_is_told_so_and_left_as_it_is():
    """A change was made while the relay was not available. The doctor counts it and sends nothing;
    after a sync nothing waits."""
    with Relay() as relay, folder() as directory:
        home = Home.new(relay, directory)
        home.run("sync")
        relay.kill()
        home.timer("start")
        checks = doctor("--home", home.path, code=1)
        assert verdict(checks, "relay", "connection") == "problem", checks
        assert verdict(checks, "home", "waiting") == "warning", checks
        relay.start()
        checks = doctor("--home", home.path)
        waiting = checks["home", "waiting"]
        count = waiting["figures"]["waiting"]
        assert waiting["verdict"] == "warning" and count > 0, waiting
        assert "agent sync" in waiting["nextStep"], waiting
        for name in LADDER:
            assert verdict(checks, "ladder", name) == "ok", checks
        again = doctor("--home", home.path)["home", "waiting"]
        assert again["figures"]["waiting"] == count, again
        home.run("sync")
        checks = doctor("--home", home.path)
        assert checks["home", "waiting"]["figures"]["waiting"] == 0, checks
        assert all(verdict(checks, "home", name) == "ok" for name in
                   ("store", "holder", "waiting", "sync", "secrets")), checks


def story_a_home_that_a_process_keeps_is_asked_how_it_is():
    """The doctor runs during `agent run`; a revoked device gets the advice to join again."""
    with Relay() as relay, folder() as directory:
        home = Home.new(relay, directory)
        person = home.person(relay)
        with home.start_agent() as agent, socket.socket(socket.AF_UNIX) as asking:
            wait_until(
                lambda: asking.connect_ex(os.path.join(home.path, "agent.sock")) == 0,
                "the home to be held")
            checks = doctor("--home", home.path)
            holder = checks["home", "holder"]
            assert holder["figures"]["process"] == agent.process.pid, holder
            agent.stop()
        expect(person.call("DELETE", f"/v1/devices/{person.device}"), 204)
        checks = doctor("--home", home.path, code=1)
        poll = checks["ladder", "poll"]
        assert poll["verdict"] == "problem" and "join" in poll["nextStep"], poll
        assert ("ladder", "websocket") not in checks, checks


def story_tls_is_looked_at_with_the_homes_own_trust():
    """The certificate's remaining days are reported; one of another authority is a problem."""
    with SecureRelay() as relay, folder() as directory:
        checks = doctor("--relay", relay.address, "--ca", CA)
        tls = checks["relay", "tls"]
        assert tls["verdict"] == "ok" and "TLSv1.3" in tls["seen"], tls
        assert 80 < tls["figures"]["certificateDays"] <= 90, tls
        assert verdict(checks, "ladder", "websocket") == "ok", checks
        home = os.path.join(directory, "phone")
        run("agent", "join", "--relay", relay.address, "--new", "--ca", CA, home=home)
        assert verdict(doctor("--home", home), "relay", "tls") == "ok"
        make(os.path.join(directory, "other"))
        other = os.path.join(directory, "other", "ca.pem")
        checks = doctor("--relay", relay.address, "--ca", other, code=1)
        assert "authority" in checks["relay", "tls"]["seen"], checks
        plain = relay.address.replace("https", "http")
        checks = doctor("--relay", plain, code=1)
        assert verdict(checks, "relay", "connection") == "ok", checks
        told = checks["relay", "relay"]
        assert told["verdict"] == "problem" and relay.address in told["nextStep"], told
        assert "--ca FILE" in told["nextStep"], told
        told = doctor("--relay", plain, "--ca", CA, code=1)["relay", "relay"]
        assert told["nextStep"] == f"Name it by https: {relay.address}.", told


def story_a_relays_store_is_looked_at_on_its_machine():
    """The store is checked while a relay runs on it; a folder that is not a store is a problem."""
    with Relay() as relay, folder() as directory:
        checks = doctor("--store", relay.store)
        assert verdict(checks, "machine", "store") == "ok", checks
        assert checks["machine", "open-files"]["figures"]["needed"] > 50_000, checks
        assert verdict(doctor("--store", directory, code=1), "machine", "store") == "problem"


def story_a_relays_database_is_looked_at():
    """Before its first relay, during one, after it was replaced by another copy, and while it is
    not available. The check changes nothing, and shows no password."""
    if not has_postgres():
        return
    with Server() as server:
        server.make()
        store = f"postgres://postgres@{server.host}/postgres"
        look = ("--store", store)
        checks = doctor(*look, environment=server.environment)
        assert verdict(checks, "database", "store") == "warning", checks
        with Relay("--loops", "1", store=store, environment=server.environment) as relay:
            Person.new(relay)
            checks = doctor(*look, environment=server.environment)
            told = checks["database", "store"]
            assert told["verdict"] == "ok" and told["figures"]["accounts"] == 1, told
            assert server.password not in json.dumps(list(checks.values())), checks
            # The server in these stories does not sync.
            assert "fsync" in checks["database", "durability"]["figures"]["off"], checks
            assert verdict(checks, "database", "connections") == "ok", checks
        server.query("UPDATE opening SET timeline = timeline + 1")
        for _ in range(2):
            checks = doctor(*look, environment=server.environment)
            assert "another copy" in checks["database", "store"]["seen"], checks
        server.stop()
        checks = doctor(*look, code=1, environment=server.environment)
        assert "psql" in checks["database", "store"]["nextStep"], checks
        assert len([area for area, _ in checks if area == "database"]) == 1, checks


def story_it_needs_something_to_check():
    """Without anything to check, the exit code is 2: it is not a sync problem."""
    done = run("doctor", expect_code=2)
    assert "--home DIR" in done.stderr and done.stdout == "", done
    checks = doctor("--home", "/nowhere/at/all", code=1)
    assert "agent join" in checks["home", "store"]["seen"], checks


if __name__ == "__main__":
    main(globals())
