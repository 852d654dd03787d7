"""Devices whose account lives on another relay now: the former one names the address
(docs/protocol.md, "Cells"). The former relay is played by a program; the other is real, on the
former one's store."""

import contextlib
import http.server
import json
import os
import subprocess
import threading

from story import LOCKSTEP, PATIENCE, Home, Relay, folder, main, run, wait_until


class Former(http.server.BaseHTTPRequestHandler):
    """Answers every request with the address of the relay where the account lives."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(f"{self.command} {self.path}")
        problem = {"type": "urn:lockstep:problem:accountMoved", "title": "moved", "status": 421,
                   "code": "accountMoved", "detail": "elsewhere", "relay": self.server.moved}
        content = json.dumps(problem).encode()
        self.send_response(421)
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def former_relay(port, moved):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Former)
    server.moved, server.asked = moved, []
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def moved_account(directory):
    """A phone whose relay has moved: yields the phone, the former and the present relay."""
    with Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        phone.run("memo", "add", "before")
        phone.run("sync")
        relay.stop()
        with Relay(store=relay.store) as present:
            with former_relay(relay.port, present.address) as former:
                yield phone, former, present


def sync(home):
    """Syncs, whatever comes of it; returns what the command says."""
    done = subprocess.run(
        [LOCKSTEP, "agent", "sync", "--home", home.path], capture_output=True, text=True,
        timeout=PATIENCE)
    return done.stdout + done.stderr


def relay_of(home):
    return home.status()["relay"].rstrip("/")


def story_a_home_follows_and_remembers_the_address():
    with folder() as directory, moved_account(directory) as (phone, former, present):
        phone.run("memo", "add", "after")
        phone.run("sync")
        assert relay_of(phone) == present.address, phone.status()
        assert phone.status()["waiting"] == 0
        asked = len(former.asked)
        assert asked > 0
        phone.run("memo", "add", "later")
        phone.run("sync")
        assert len(former.asked) == asked, former.asked
        assert phone.memos() == ["after", "before", "later"]


def story_an_agent_that_runs_follows_and_its_commands_too():
    with folder() as directory, moved_account(directory) as (phone, former, present):
        with phone.start_agent():
            wait_until(lambda: relay_of(phone) == present.address, "the agent to follow")
            wait_until(lambda: phone.status()["state"] == "inSync", "the agent to be in sync")
            assert "phone" in phone.run("devices")
            laptop = phone.pair(present, directory)
        assert laptop.memos() == ["before"]


def story_a_code_that_is_typed_at_the_former_relay_leads_to_the_present_one():
    with folder() as directory, moved_account(directory) as (phone, former, present):
        phone.run("sync")
        laptop = Home(os.path.join(directory, "laptop"))
        run("agent", "join", "--relay", former.address, "--code", "-", "--name", "laptop",
            home=laptop.path, input=phone.code() + "\n")
        assert relay_of(laptop) == present.address, laptop.status()
        laptop.run("sync")
        assert laptop.memos() == ["before"]


def story_relays_that_point_at_each_other_are_named():
    with folder() as directory, moved_account(directory) as (phone, former, present):
        with former_relay(0, former.address) as other:
            former.moved = other.address
            phone.run("memo", "add", "waits")
            said = sync(phone)
            assert former.address in said and other.address in said, said
            assert len(former.asked) + len(other.asked) < 30, (former.asked, other.asked)
            assert phone.status()["waiting"] == 1
            # The former one knows the way again.
            former.moved = present.address

            def is_there():
                sync(phone)
                return relay_of(phone) == present.address
            wait_until(is_there, "the way to be found")
            assert phone.status()["waiting"] == 0
            assert phone.memos() == ["before", "waits"]


if __name__ == "__main__":
    main(dict(globals()), at_once=2)
