"""The Python package (Sources/PythonClient), from its source folder: `Home` on a home's socket, and
`Relay` by HTTP."""

import contextlib
import http.client
import http.server
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading

SOURCE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Sources", "PythonClient")
sys.path.insert(0, os.path.join(SOURCE, "src"))

from lockstep import (  # noqa: E402
    BadRequest, Conflict, Cursor, Home as Client, HomeClosed, HomeError, HomeUnavailable,
    LockstepError, NotFound, Refused, Relay as RelayClient, RelayError, RelayUnreachable, TooLarge)

from story import PATIENCE, Home, Relay, folder, main, wait_until  # noqa: E402

TABLE = {"zone": "Todos", "types": {
    "Todo": {"fields": {"minutes": "counter"}}, "Plan": {"conflict": "ask"}}}


def raises(kind, call, says=""):
    """Calls something that must fail; returns the error."""
    try:
        result = call()
    except kind as error:
        assert says in str(error), f"{error!r} does not say {says!r}"
        return error
    raise AssertionError(f"no {kind.__name__}, but {result!r}")


def start(home, directory):
    path = os.path.join(directory, "todos.json")
    with open(path, "w") as file:
        json.dump(TABLE, file)
    agent = home.background("run", "--rules", path)

    def is_held():
        try:
            Client(home.path, timeout=PATIENCE).status()
            return True
        except HomeUnavailable:
            return agent.process.poll() is not None
    wait_until(is_held, "the home to be held")
    assert agent.process.poll() is None, agent.errors
    return agent


def story_a_home_is_a_store_for_python():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with start(phone, directory), Client(phone.path) as home:
            milk = home.save("Todos", "Todo", {"title": "milk"})
            assert milk.sync == "waiting" and milk.fields == {"title": "milk"}, milk
            changed = home.update(
                "Todos", milk.name, {"done": True}, remove=["title"], add={"minutes": 5})
            assert changed.counters == {"minutes": 5}, changed
            assert "title" not in changed.fields and changed.fields["done"] is True, changed
            assert home.sync(10)["state"] == "inSync"
            found = home.record("Todos", milk.name)
            assert found is not None and found.sync == "synced", found
            assert home.records("Todos", "Todo") == [found]
            home.delete("Todos", milk.name)
            assert home.record("Todos", milk.name) is None and home.records("Todos") == []
            assert home.status()["deviceName"] == "phone"


def story_errors_of_a_home_have_types_and_sentences():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with start(phone, directory), Client(phone.path) as home:
            raises(NotFound, lambda: home.update("Todos", "none", {"a": 1}), "save one first")
            home.save("Todos", "Todo", {"a": 1}, "1")
            raises(Refused, lambda: home.update("Todos", "1", add={"a": 1}), "--rules")
            raises(BadRequest, lambda: home.save("", "Todo", {}), "zone")
            raises(BadRequest, lambda: home.save("Todos", "Todo", {"~": 1}), "reserved")
            large = raises(TooLarge, lambda: home.save("Todos", "Todo", {"a": "x" * (1 << 20)}))
            assert isinstance(large, HomeError) and large.code == "tooLarge", large.code
            raises(ValueError, lambda: home.save("Todos", "Todo", {"a": float("nan")}))
            assert home.record("Todos", "1").fields == {"a": 1}, "the connection goes on"


def story_a_request_over_the_limit_of_a_line_is_refused_before_it_is_sent():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with start(phone, directory), Client(phone.path) as home:
            huge = {"a": "x" * (4 << 20)}

            def save_many():
                with home.transaction() as edits:
                    for _ in range(5):
                        edits.save("Todos", "Todo", {"a": "x" * 900_000})
            for call in (lambda: home.save("Todos", "Todo", huge, "1"), save_many,
                         lambda: home.update("Todos", "1", huge)):
                assert raises(TooLarge, call, "4 MiB").code == "tooLarge"
            assert home.records("Todos") == []
            assert home.save("Todos", "Todo", {"a": 1}, "1").fields == {"a": 1}


def story_a_transaction_is_made_whole_or_not_at_all():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with start(phone, directory), Client(phone.path) as home:
            def failing():
                with home.transaction() as edits:
                    edits.save("Todos", "Todo", {"a": 1}, "1")
                    edits.update("Todos", "none", {"a": 1})
            assert raises(NotFound, failing).edit == 1

            def interrupted():
                with home.transaction() as edits:
                    edits.save("Todos", "Todo", {"a": 1}, "1")
                    raise KeyError("1")
            raises(KeyError, interrupted)
            assert home.records("Todos") == []
            with home.transaction() as edits:
                name = edits.save("Todos", "Todo", {"a": 1})
                edits.update("Todos", name, add={"minutes": 2})
                edits.delete("Todos", "none")
            assert edits.records[0] == edits.records[1], edits.records
            assert edits.records[0].counters == {"minutes": 2} and edits.records[2].deleted


def story_a_watch_sees_what_another_device_does_and_ends_when_it_is_closed():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = phone.pair(relay, directory)
        with start(phone, directory), start(laptop, directory), \
                Client(phone.path) as here, Client(laptop.path) as there:
            here.save("Todos", "Todo", {"n": 0}, "1")
            wait_until(lambda: there.record("Todos", "1"), "the record to arrive")
            watch = there.watch("Todos", "Todo")
            first = next(watch)
            assert list(first.records) == ["1"] and len(first.changed) == 1, first
            here.save("Todos", "Todo", {"n": 1}, "1")
            while next(watch).records["1"].fields != {"n": 1}:
                pass
            here.delete("Todos", "1")
            change = next(watch)
            while not change.deleted:
                change = next(watch)
            assert change.deleted == ("1",) and change.records == {}, change
            ended = threading.Thread(target=lambda: list(watch), daemon=True)
            ended.start()
            watch.close()
            ended.join(PATIENCE)
            assert not ended.is_alive(), "a closed watch ends"


def story_a_conflict_without_a_rule_is_decided_in_python():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        laptop = phone.pair(relay, directory)
        with start(phone, directory), start(laptop, directory), \
                Client(phone.path) as here, Client(laptop.path) as there:
            here.save("Todos", "Plan", {"where": "sea"}, "trip")
            wait_until(lambda: there.record("Todos", "trip"), "the plan to arrive")
            relay.stop()
            here.save("Todos", "Plan", {"where": "lake"}, "trip")
            there.save("Todos", "Plan", {"where": "hills"}, "trip")
            relay.start()
            wait_until(lambda: here.conflicts("Todos") or there.conflicts("Todos"), "a question")
            asker = here if here.conflicts("Todos") else there
            question = asker.conflicts("Todos")[0]
            assert question.sync == "needsDecision" and question.relay is not None, question
            chosen = asker.decide("Todos", "trip", keep="relay")
            assert chosen.fields == question.relay.fields, chosen
            for home in (here, there):
                wait_until(lambda: home.record("Todos", "trip").fields == question.relay.fields,
                           "both to have the chosen plan")


def story_the_end_of_the_holder_is_an_error_and_the_next_call_connects_again():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        home = Client(phone.path)
        raises(HomeUnavailable, home.status, "lockstep agent run")
        with start(phone, directory) as agent:
            home.save("Todos", "Todo", {"a": 1}, "1")
            watch = home.watch("Todos")
            next(watch)
            agent.stop(signal.SIGKILL)
            raises(HomeClosed, lambda: next(watch), "has ended")
            raises(HomeClosed, home.status, "read the records")
        with start(phone, directory):
            assert home.record("Todos", "1").fields == {"a": 1}
        home.close()


def joined(relay, name="script"):
    client = RelayClient(relay.address)
    client.create_account(name)
    return client


def story_records_by_http_are_never_overwritten_unseen():
    with Relay() as relay:
        client = joined(relay)
        made = client.put("Tödos/1", "ü/x", "Todo", {"n": 0})
        assert client.get("Tödos/1", "ü/x") == made and made.tag > 0, made
        assert client.list("Tödos/1") == [made]
        again = raises(Conflict, lambda: client.put("Tödos/1", "ü/x", "Todo", {"n": 9}))
        assert again.record == made, again.record
        newer = client.put("Tödos/1", "ü/x", "Todo", {"n": 1}, over=made)
        stale = raises(Conflict, lambda: client.put("Tödos/1", "ü/x", "Todo", {}, over=made))
        assert stale.record.fields == {"n": 1} and stale.record.tag == newer.tag, stale.record
        raises(Conflict, lambda: client.delete("Tödos/1", "ü/x", over=made))
        raises(ValueError, lambda: client.delete("Tödos/1", "ü/x"), "overwrite")
        client.put("Tödos/1", "ü/x", "Todo", {"n": 5}, overwrite=True)
        client.delete("Tödos/1", "ü/x", over=client.get("Tödos/1", "ü/x"))
        assert client.get("Tödos/1", "ü/x") is None and client.list("Tödos/1") == []
        back = client.put("Tödos/1", "ü/x", "Todo", {"n": 6})
        client.delete("Tödos/1", "ü/x", overwrite=True)
        assert back.tag > newer.tag


def story_other_scripts_and_long_numbers_take_no_more_than_they_must():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        client = RelayClient(relay.address)
        client.join(phone.code(), "script")
        # 900,000 bytes of UTF-8, which would be 1.8 million if escaped.
        text = "\u6f22" * 300_000
        assert client.put("Notes", "long", "Note", {"text": text}).fields["text"] == text
        assert client.update("Notes", "long", lambda fields: {**fields, "read": True}).tag > 0
        digits = int("9" * 4_000)
        client.put("Notes", "exact", "Note", {"number": digits})
        assert client.get("Notes", "exact").fields["number"] == digits
        raw(relay, client, "/v1/zones/Notes/records/huge", '{"type":"Note","fields":{"number":%s}}'
            % ("9" * 5_000))
        numbers = [each.fields.get("number") for each in client.list("Notes")]
        assert float("inf") in numbers and digits in numbers
        raises(ValueError, lambda: client.update("Notes", "huge", lambda fields: fields))
        with start(phone, directory), Client(phone.path) as home:
            home.sync(PATIENCE)
            assert sorted(each.name for each in home.records("Notes")) == ["exact", "huge", "long"]
            with home.transaction() as edits:
                for _ in range(2):
                    edits.save("Notes", "Note", {"text": "\u0416" * 450_000})
            assert len(home.records("Notes")) == 5
        fault = raises(
            RelayError, lambda: client.put("Notes", "x", "Note", {"a": "a" * (2 << 20)}),
            "share the fields")
        assert fault.code == "bodyTooLarge", fault


def raw(relay, client, path, body):
    """Puts a record as a program in another language would."""
    address = relay.address.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    connection.request("PUT", path, body, {
        "Authorization": f"Bearer {client.token}", "Content-Type": "application/json",
        "If-None-Match": "*"})
    assert connection.getresponse().status == 201
    connection.close()


def story_what_no_relay_gave_is_refused_in_a_sentence():
    with folder() as directory, Relay() as relay:
        client = joined(relay)
        path = os.path.join(directory, "cursor")
        for content in ["", "[]", "{", '{"token":5}', '"a"']:
            with open(path, "w") as file:
                file.write(content)
            raises(LockstepError, lambda: Cursor(path), "remove it")
        raises(ValueError, lambda: RelayClient(relay.address, "a\nb").devices(), "the token")
        raises(ValueError, lambda: RelayClient(relay.address, "\u0416").devices(), "the token")
        # A wait of under a second is no call after the other.
        cursor = Cursor()
        list(client.changes(cursor))
        asked = []
        answer = client._json

        def ask(method, path, **options):
            asked.append(options["query"].get("wait"))
            return answer(method, path, **options)
        client._json = ask
        assert list(client.changes(cursor, wait=0.2)) == [] and asked == ["1"], asked


def story_increments_of_many_threads_all_count():
    with Relay() as relay:
        client = joined(relay)

        def count():
            for _ in range(5):
                client.update("Todos", "n", lambda fields: {"n": fields.get("n", 0) + 1},
                              type="Number")
        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert client.get("Todos", "n").fields == {"n": 20}, client.get("Todos", "n")
        raises(LookupError, lambda: client.update("Todos", "none", dict), "none")


def story_a_second_device_joins_and_a_revoked_one_is_told():
    with Relay() as relay:
        client = joined(relay)
        other = RelayClient(relay.address)
        credentials = other.join(client.pairing_code().code, "other")
        again = RelayClient(relay.address, credentials.token)
        assert credentials.device in [each.id for each in again.devices()]
        names = sorted(each.name for each in client.devices())
        assert names == ["other", "script"], names
        assert abs(client.time() - other.time()) < 60_000
        raises(RelayError, lambda: RelayClient(relay.address).join("AAAA-AAAA", "x"))
        client.revoke(credentials.device)
        assert raises(RelayError, lambda: other.list("Todos")).code == "badToken"


def story_a_cursor_gives_each_change_once_also_after_a_restart():
    with folder() as directory, Relay() as relay:
        client = joined(relay)
        path = os.path.join(directory, "cursor")
        for number in range(3):
            client.put("Todos", str(number), "Todo", {"n": number})
        pages = list(client.changes(Cursor(path)))
        assert pages[0].is_reset and [each.name for each in pages[0].records] == ["0", "1", "2"]
        assert list(client.changes(Cursor(path))) == []
        client.delete("Todos", "1", overwrite=True)
        client.put("Todos", "3", "Todo", {"n": 3})
        # Whoever stops in the middle of a page gets it again.
        for page in client.changes(Cursor(path)):
            seen = page
            break
        assert list(client.changes(Cursor(path))) == [seen], seen
        assert [(each.name, each.deleted) for each in seen.records] == [("1", True), ("3", False)]
        assert not seen.is_reset
        # A token that the relay never gave leads to a reset.
        lost = Cursor(path)
        lost.move("ffffffff.9", False)
        reset = list(client.changes(lost))
        assert reset[0].is_reset and sorted(each.name for each in reset[0].records) == \
            ["0", "2", "3"], reset


def story_following_resumes_after_the_relay_was_stopped():
    with folder() as directory, Relay() as relay:
        client = joined(relay)
        client.put("Todos", "1", "Todo", {"n": 1})
        pages = client.follow(Cursor(os.path.join(directory, "cursor")))
        assert next(pages).is_reset
        arrived, names = threading.Event(), []

        def read():
            for page in pages:
                names.extend(each.name for each in page.records)
                arrived.set()
                if "4" in names:
                    return
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        client.put("Todos", "2", "Todo", {"n": 2})
        assert arrived.wait(PATIENCE), "the change to be pushed"
        relay.stop()
        quick = RelayClient(relay.address, client.token, timeout=5)
        raises(RelayUnreachable, lambda: quick.list("Todos"), "could not be reached")
        relay.start()
        client.put("Todos", "3", "Todo", {"n": 3})
        client.put("Todos", "4", "Todo", {"n": 4})
        thread.join(PATIENCE)
        assert names == ["2", "3", "4"], names


def story_a_device_that_merges_takes_what_python_wrote():
    """A home with rules and a script by HTTP change one record; the script never sees stamps."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with start(phone, directory), Client(phone.path) as home:
            script = RelayClient(relay.address)
            script.join(phone.code(), "script")
            home.save("Todos", "Todo", {"title": "milk"}, "1")
            home.update("Todos", "1", {"title": "tea"}, add={"minutes": 5})
            home.sync(10)
            read = script.get("Todos", "1")
            assert "~" not in read.fields, read
            script.update("Todos", "1", lambda fields: {**fields, "done": True})
            wait_until(lambda: home.record("Todos", "1").fields.get("done"), "the script's change")
            record = home.record("Todos", "1")
            assert record.fields["title"] == "tea" and record.counters == {"minutes": 5}, record


def story_the_package_installs():
    """Needs no network, but setuptools and wheel; without them this is left out, and the other
    stories import the package from its source folder as always."""
    if importlib.util.find_spec("setuptools") is None or importlib.util.find_spec("wheel") is None:
        print("      NOT RUN: setuptools or wheel is missing; the stories import from the sources")
        return
    with folder() as directory:
        copy, target = os.path.join(directory, "copy"), os.path.join(directory, "site")
        subprocess.run(["cp", "-r", SOURCE, copy], check=True)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
             "--no-index", "--target", target, copy], capture_output=True, text=True)
        if "No module named pip" in done.stderr:
            print("      NOT RUN: pip is missing; the stories import from the sources")
            return
        assert done.returncode == 0, done.stdout + done.stderr
        found = subprocess.run(
            [sys.executable, "-c", "import lockstep; print(lockstep.__file__)"],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": target}, check=True)
        assert found.stdout.startswith(target), found.stdout
        assert os.path.exists(os.path.join(target, "lockstep", "py.typed"))


class FormerRelay(http.server.BaseHTTPRequestHandler):
    """A relay that the account has left for another address; or the one where it lives."""

    def do_GET(self):
        moved = self.server.moved
        body = {"type": "", "title": "", "status": 421, "code": "accountMoved",
                "detail": "elsewhere", "relay": moved} if moved else {"time": 7}
        content = json.dumps(body).encode()
        self.server.asked += 1
        self.send_response(421 if moved else 200)
        kind = "problem+json" if moved else "json"
        self.send_header("Content-Type", f"application/{kind}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def former_relays(count):
    servers = []
    try:
        for _ in range(count):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FormerRelay)
            server.moved, server.asked = None, 0
            server.url = f"http://127.0.0.1:{server.server_address[1]}"
            servers.append(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield servers
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def story_a_client_follows_its_account_to_another_relay():
    with former_relays(3) as (first, second, third):
        first.moved, second.moved = second.url, third.url
        relay = RelayClient(first.url, "token")
        assert relay.time() == 7 and relay.url == third.url
        assert relay.time() == 7 and (first.asked, second.asked) == (1, 1)

        # Relays that point at each other end in an error.
        third.moved = second.url
        error = raises(RelayError, relay.time, "elsewhere")
        assert error.code == "accountMoved" and second.asked + third.asked < 15

        for address in ["", "ftp://example.com", f"{second.url}/path", "http://user@localhost",
                        "http://localhost:0x", first.url, 5, None]:
            first.moved, second.asked = address, 0
            if address:
                raises(RelayError, RelayClient(first.url, "token").time, "elsewhere")
            assert second.asked == 0


def story_a_client_does_not_leave_https():
    relay = RelayClient("https://relay.example", "token")
    problem = {"relay": "http://other.example"}
    moved = RelayError(421, "accountMoved", "elsewhere", problem)
    assert not relay._follow("https://relay.example", moved)
    problem["relay"] = "https://other.example"
    assert relay._follow("https://relay.example", moved)
    assert relay.url == "https://other.example"


if __name__ == "__main__":
    main(dict(globals()), at_once=3)
