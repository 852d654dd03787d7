"""Rules of docs/protocol.md, "Events", by curl -N and plain sockets."""

import json
import os
import queue
import socket
import subprocess
import threading
import uuid

from story import (
    PATIENCE, Background, Home, Person, Relay, curl, expect, folder, main, record, run,
    wait_until)


class Stream:
    """A stream of events by the real curl, parsed by the WHATWG rules."""

    def __init__(self, person, since=None, last_event_id=None, options=(), token=None):
        path = "/v1/events" + (f"?since={since}" if since else "")
        command = ["curl", "--silent", "--no-buffer", "--include", "--max-time", str(PATIENCE)]
        command += ["--header", f"Authorization: Bearer {token or person.token}"]
        if last_event_id is not None:
            command += ["--header", f"Last-Event-ID: {last_event_id}"]
        self.process = subprocess.Popen(
            [*command, *options, person.relay.address + path], stdout=subprocess.PIPE)
        self.events, self.heads = queue.Queue(), queue.Queue()
        self.status, self.headers, self.body = None, {}, ""
        self.id, self.retry, self.comments = None, None, 0
        self.lines_of_data = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        lines = (line.decode().rstrip("\n") for line in self.process.stdout)
        for line in lines:
            line = line.rstrip("\r")
            if not line:
                break
            if line.startswith("HTTP/"):
                self.status = int(line.split()[1])
            else:
                name, _, value = line.partition(":")
                self.headers[name.lower()] = value.strip()
        self.heads.put(True)
        if self.headers.get("content-type") == "text/event-stream":
            self.read_events(lines)
        else:
            self.body = "".join(lines)
        self.events.put(None)

    def read_events(self, lines):
        name, data, id = "message", [], self.id
        for line in lines:
            if not line:
                self.id = id
                if data:
                    self.lines_of_data = max(self.lines_of_data, len(data))
                    self.events.put((name, self.id, json.loads("\n".join(data))))
                name, data = "message", []
            elif line.startswith(":"):
                self.comments += 1
            else:
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
                elif field == "id":
                    id = value
                elif field == "retry":
                    self.retry = int(value)
                else:
                    raise AssertionError(line)

    def head(self, seconds=PATIENCE):
        self.heads.get(timeout=seconds)
        return self.status

    def receive(self, name=None, seconds=PATIENCE):
        """Data of the next event; its id becomes the stream's."""
        try:
            event = self.events.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no event came within {seconds} s") from None
        assert event is not None, f"the stream ended: {self.body}"
        found, self.seen, data = event
        assert name is None or found == name, event
        if found == "changes":
            assert self.seen == data["token"], event
        return data

    def names(self, seconds=PATIENCE):
        return [each["name"] for each in self.receive("changes", seconds)["changes"]]

    def is_quiet(self):
        return self.events.empty()

    def ended(self):
        """Checks that the stream has ended cleanly: curl reports one that is cut off."""
        assert self.events.get(timeout=PATIENCE) is None
        assert self.process.wait(timeout=PATIENCE) == 0, self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def story_what_was_missed_comes_first_and_then_each_save():
    """A page opens a stream: it gets the changes that it missed, and then every save as it is
    made."""
    with Relay() as relay:
        phone = Person.new(relay)
        laptop = phone.pair()
        begin = laptop.changes().json["token"]
        phone.save(record("a"))
        with Stream(laptop, since=begin) as stream:
            assert stream.head() == 200, stream.body
            assert stream.headers["content-type"] == "text/event-stream", stream.headers
            assert stream.headers["x-accel-buffering"] == "no", stream.headers
            assert "no-cache" in stream.headers["cache-control"], stream.headers
            assert stream.headers["vary"] == "Origin", stream.headers
            page = stream.receive("changes")
            assert page["since"] == begin and page["more"] is False, page
            assert [each["name"] for each in page["changes"]] == ["a"], page
            cursor = page["token"]
            for number in range(20):
                saved = phone.save(record(f"b{number}")).json
                page = stream.receive("changes")
                assert page["since"] == cursor and page["token"] == saved["token"], page
                assert page["changes"][0]["device"] == phone.device, page
                cursor = page["token"]
            # Its own saves are sent too, because the stream does not identify the saving
            # connection.
            laptop.save(record("mine"))
            assert stream.names() == ["mine"]
            assert stream.is_quiet()


def story_without_a_cursor_a_stream_begins_now():
    """A client without a cursor gets the current token, and no earlier changes."""
    with Relay() as relay:
        person = Person.new(relay)
        token = person.save(record("before")).json["token"]
        with Stream(person) as stream:
            page = stream.receive("changes")
            assert page == {"since": token, "token": token, "more": False, "changes": []}, page
            person.save(record("after"))
            assert stream.names() == ["after"]


def story_a_browser_that_comes_back_goes_on_where_it_was():
    """`Last-Event-ID` takes precedence over the `since` in the URL."""
    with Relay() as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        with Stream(person, since=begin) as stream:
            stream.receive("changes")
            person.save(record("a"))
            assert stream.names() == ["a"]
            seen = stream.seen
        person.save(record("b"), record("c"))
        with Stream(person, since=begin, last_event_id=seen) as stream:
            assert stream.names() == ["b", "c"]
            person.save(record("d"))
            assert stream.names() == ["d"]
        with Stream(person, last_event_id=seen) as stream:
            assert stream.names() == ["b", "c", "d"]


def story_a_large_change_is_a_hint_and_comes_with_the_next():
    """Above 64 KiB only the token is sent; a client that ignores it still gets the change with the
    next one."""
    with Relay() as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        with Stream(person, since=begin) as stream:
            stream.receive("changes")
            token = person.save(record("large", "x" * 70_000)).json["token"]
            assert stream.receive("changed") == {"token": token}
            assert stream.seen == begin, "who comes back begins before what was hinted"
            person.save(record("small"))
            page = stream.receive("changes")
            assert page["since"] == begin, page
            assert [each["name"] for each in page["changes"]] == ["large", "small"], page
            person.save(record("next"))
            assert stream.receive("changes")["since"] == page["token"]


def story_a_long_backlog_comes_page_by_page():
    """More than one page was missed: pages follow by themselves, and then live changes."""
    with Relay() as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        for batch in range(6):
            person.save(*[record(f"{batch}-{n}", "x" * 10_000) for n in range(100)])
        with Stream(person, since=begin) as stream:
            names, cursor, pages = [], begin, 0
            while True:
                page = stream.receive("changes")
                assert page["since"] == cursor, page["since"]
                cursor, pages = page["token"], pages + 1
                names += [each["name"] for each in page["changes"]]
                if not page["more"]:
                    break
            assert pages > 1 and names == [f"{b}-{n}" for b in range(6) for n in range(100)]
            person.save(record("live"))
            assert stream.names() == ["live"]


def story_whoever_may_not_listen_gets_a_problem_and_no_stream():
    """No token, a wrong one, a malformed cursor, a foreign one or a zone's: a status and a
    problem."""
    with Relay() as relay:
        person, stranger = Person.new(relay), Person.new(relay)
        person.save(record("a"))
        foreign = stranger.changes().json["token"]
        of_zone = person.changes(zone="Notes").json["token"]
        expect(curl(relay, "GET", "/v1/events"), 401, "badToken")
        expect(curl(relay, "GET", "/v1/events", token="wrong"), 401, "badToken")
        expect(person.call("GET", "/v1/events?since=nonsense"), 400, "badChangeToken")
        expect(person.call("GET", f"/v1/events?since={foreign}"), 400, "badChangeToken")
        expect(person.call("GET", f"/v1/events?since={of_zone}"), 410, "filterChanged")
        headers = ["Last-Event-ID: nonsense"]
        expect(person.call("GET", "/v1/events", headers=headers), 400, "badChangeToken")
        expect(person.call("POST", "/v1/events", {}), 405, "methodNotAllowed")
        preflight = curl(relay, "OPTIONS", "/v1/events", headers=[f"Origin: {relay.address}"])
        assert "Last-Event-ID" in preflight.headers["access-control-allow-headers"], preflight


def story_head_is_answered_with_the_header_fields_alone():
    """`curl -I` returns the header fields of a stream, and ends."""
    with Relay() as relay:
        person = Person.new(relay)
        answer = person.call("HEAD", "/v1/events")
        assert answer.status == 200 and answer.body == b"", answer
        assert answer.headers["content-type"] == "text/event-stream", answer
        assert curl(relay, "HEAD", "/v1/events").status == 401


def story_an_old_client_reads_until_the_connection_closes():
    """HTTP/1.0 has no chunked encoding: the client gets the same events as plain bytes."""
    with Relay() as relay:
        person = Person.new(relay)
        with Stream(person, options=["--http1.0"]) as stream:
            stream.receive("changes")
            assert "transfer-encoding" not in stream.headers, stream.headers
            for number in range(5):
                person.save(record(f"r{number}"))
                assert stream.names() == [f"r{number}"]
            assert relay.stop() == 0
            assert stream.receive("error")["code"] == "stopping"
            stream.ended()


def story_nothing_in_a_record_breaks_out_of_its_line():
    """Line breaks in the JSON that a device saved do not end the event's line."""
    with Relay() as relay:
        person = Person.new(relay)
        text = "one\r\n\r\nevent: changed\ndata: {}\n\n"
        body = json.dumps(
            {"id": str(uuid.uuid4()), "records": [record("odd", text)]}, indent=2
        ).replace("\n", "\r\n").encode()
        with Stream(person) as stream:
            stream.receive("changes")
            answer = person.call("POST", "/v1/zones/Notes/records", raw=body)
            expect(answer, 200)
            page = stream.receive("changes")
            assert page["changes"][0]["fields"] == {"text": text}, page
            assert stream.lines_of_data == 1 and stream.is_quiet()


def story_a_revoked_device_hears_why_its_stream_ends():
    """Revocation ends a stream cleanly, with the reason; a reconnect is refused."""
    with Relay() as relay:
        phone = Person.new(relay)
        lost = phone.pair()
        with Stream(lost) as stream, Stream(phone) as other:
            stream.receive("changes")
            other.receive("changes")
            expect(phone.call("DELETE", f"/v1/devices/{lost.device}"), 204)
            problem = stream.receive("error")
            assert problem["code"] == "badToken" and problem["status"] == 401, problem
            stream.ended()
            phone.save(record("after"))
            assert other.names() == ["after"]
        expect(lost.call("GET", "/v1/events"), 401, "badToken")


def story_a_relay_that_stops_says_so_on_every_stream():
    """SIGTERM: each stream gets a last event with the time to reconnect, and ends cleanly."""
    with Relay() as relay:
        person = Person.new(relay)
        token = person.save(record("a")).json["token"]
        with Stream(person) as one, Stream(person) as two:
            one.receive("changes")
            two.receive("changes")
            assert relay.stop() == 0
            for stream in one, two:
                problem = stream.receive("error")
                assert problem["code"] == "stopping" and problem["retryAfter"] >= 1, problem
                stream.ended()
                assert 500 <= stream.retry <= 10_000, stream.retry
        relay.start()
        with Stream(person, last_event_id=token) as stream:
            assert stream.receive("changes")["changes"] == []
            person.save(record("b"))
            assert stream.names() == ["b"]


def story_fifty_streams_hear_everything_at_once():
    """Fifty clients listen; each receives each of twenty saves, once and in order."""
    with Relay("--admin-listen", "127.0.0.1:0", "--loops", "1") as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        streams = [Stream(person, since=begin) for _ in range(50)]
        try:
            for stream in streams:
                stream.receive("changes")
            assert metric(relay, 'connections{transport="events"}') == 50
            for number in range(20):
                expect(person.save(record(f"r{number}")), 200)
            for stream in streams:
                cursor = begin
                for number in range(20):
                    page = stream.receive("changes")
                    assert page["since"] == cursor, page
                    cursor = page["token"]
                    assert [each["name"] for each in page["changes"]] == [f"r{number}"], page
        finally:
            for stream in streams:
                stream.__exit__()
        wait_until(lambda: metric(relay, 'connections{transport="events"}') == 0,
                   "the relay to notice that all have gone")
        assert metric(relay, "pushes_total") == 1_000


def metric(relay, name):
    """A number from the admin listener's metrics."""
    if not hasattr(relay, "admin"):
        for line in relay.text().splitlines():
            if "metrics and health on " in line:
                relay.admin = line.split("metrics and health on ")[1].strip()
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--max-time", "10", relay.admin + "/metrics"],
        capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith(f"lockstep_{name} "):
            return int(line.split()[1])
    raise AssertionError(f"no metric {name} in {done.stdout}")


def story_a_silent_stream_shows_that_it_stands():
    """No changes for a while: comments arrive at least every 25 s, and are not events."""
    with Relay() as relay:
        person = Person.new(relay)
        with Stream(person) as stream:
            stream.receive("changes")
            assert stream.headers["lockstep-keep-alive"] == "25000", stream.headers
            wait_until(lambda: stream.comments > 0, "a comment", seconds=27)
            assert stream.is_quiet()
            person.save(record("a"))
            assert stream.names() == ["a"]


def raw(person, since, *more, receive=None):
    """A raw connection that has requested a stream."""
    connection = socket.socket()
    if receive:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", person.relay.port))
    head = (
        f"GET /v1/events?since={since} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {person.token}\r\n\r\n")
    connection.sendall(head.encode() + b"".join(more))
    return connection


class Pages:
    """Pages of a stream, read from the raw connection, chunk by chunk."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")
        while self.file.readline().strip():
            pass
        self.text = b""

    def next(self):
        while True:
            while b"\n\n" not in self.text:
                size = int(self.file.readline(), 16)
                assert size > 0, "the stream ended"
                self.text += self.file.read(size)
                assert self.file.readline() == b"\r\n"
            event, _, self.text = self.text.partition(b"\n\n")
            fields = dict(
                line.split(b": ", 1) for line in event.split(b"\n") if not line.startswith(b":"))
            if fields:
                return fields[b"event"].decode(), json.loads(fields[b"data"])


def story_a_stream_that_is_not_read_costs_little_and_misses_nothing():
    """A client stops reading while 40 MB are saved: the relay does not buffer them, and when the
    client continues to read it gets everything, without a gap."""
    with Relay("--loops", "1") as relay:
        person = Person.new(relay)

        def memory():
            with open(f"/proc/{relay.id}/status") as status:
                lines = dict(line.split(":", 1) for line in status)
            return int(lines["VmRSS"].split()[0]) // 1024

        def save(name):
            for batch in range(20):
                records = [record(f"{name}-{batch}-{n}", "x" * 15_000) for n in range(120)]
                expect(person.save(*records), 200)

        # Memory that saving alone takes, including the store's caches.
        save("before")
        begin = person.changes(limit=1, since=person.save(record("b")).json["token"]).json["token"]
        before = memory()
        connection = raw(person, begin, receive=64 << 10)
        save("after")
        grown = memory() - before
        assert grown < 24, f"the relay grew by {grown} MiB for a stream that nobody reads"
        newest = person.changes(since=person.save(record("last")).json["token"]).json["token"]
        pages, names, cursor = Pages(connection), set(), begin
        while cursor != newest:
            name, data = pages.next()
            if name == "changed":
                # A client that ignores this hint gets everything with the next commit.
                newest = person.save(record("last")).json["token"]
                continue
            assert data["since"] == cursor, (data["since"], cursor)
            cursor = data["token"]
            names |= {each["name"] for each in data["changes"]}
        assert len(names) == 20 * 120 + 1, len(names)
        connection.close()


def story_what_a_client_says_on_its_stream_is_thrown_away():
    """Requests and garbage after the request for a stream get no answer, and take no memory; the
    stream continues."""
    with Relay() as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        connection = raw(person, begin, b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        pages = Pages(connection)
        assert pages.next()[1]["changes"] == []
        connection.setblocking(False)
        sent = 0
        try:
            while sent < 64 << 20:
                sent += connection.send(b"\x00garbage\r\n\r\n" * 1_000)
        except BlockingIOError:
            pass
        assert sent < 64 << 20, "the relay reads whatever is sent to it"
        connection.settimeout(PATIENCE)
        person.save(record("a"))
        name, page = pages.next()
        assert name == "changes" and [each["name"] for each in page["changes"]] == ["a"], page
        connection.close()
        expect(curl(relay, "GET", "/livez"), 200)


def story_clients_that_go_away_in_the_middle_leave_nothing_behind():
    """Half a request, a disconnect after the head, a disconnect in a push: the relay frees each of
    them."""
    with Relay("--admin-listen", "127.0.0.1:0", "--loops", "1") as relay:
        person = Person.new(relay)
        begin = person.changes().json["token"]
        for count in range(1, 120, 7):
            connection = socket.create_connection(("127.0.0.1", relay.port))
            connection.sendall(f"GET /v1/events?since={begin} HTTP/1.1\r\nHost: localhost\r\n".encode()[:count])
            connection.close()
        for _ in range(20):
            raw(person, begin).close()
        for number in range(10):
            connection = raw(person, begin)
            connection.recv(1)
            threading.Thread(target=person.save, args=[record(f"r{number}", "x" * 30_000)]).start()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        wait_until(lambda: metric(relay, 'connections{transport="events"}') == 0, "all of them to be forgotten")
        wait_until(lambda: len(person.changes(since=begin).json["changes"]) == 10, "ten saves")
        with Stream(person, since=begin) as stream:
            assert len(stream.names()) == 10


def story_subscriptions_say_what_wakes_a_stream():
    """With a subscription only a matching change is sent, and then all changes since the cursor."""
    with Relay() as relay:
        phone = Person.new(relay)
        laptop = phone.pair()
        expect(laptop.call("PUT", "/v1/subscriptions/s", {"kind": "zone", "zone": "Loud"}), 201)
        with Stream(laptop) as stream, Stream(phone) as all:
            begin = stream.receive("changes")["token"]
            all.receive("changes")
            phone.save(record("quiet"), zone="Quiet")
            assert all.names() == ["quiet"]
            phone.save(record("loud"), zone="Loud")
            page = stream.receive("changes")
            assert page["since"] == begin, page
            assert [each["name"] for each in page["changes"]] == ["quiet", "loud"], page


def story_devices_keep_step_by_events_alone():
    """Two agents with `--transport events`, one of them disconnected from its relay for a while."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        keeping = [
            Background("agent", "run", "--home", home.path, "--transport", "events")
            for home in (phone, laptop)]
        try:
            for home in phone, laptop:
                wait_until(
                    lambda: os.path.exists(os.path.join(home.path, "agent.sock")), "the home to be held")
                wait_until(lambda: home.status()["state"] == "inSync", "the device to be in sync")
                assert home.status()["transport"] == "events", home.status()
            phone.timer("start", "--minutes", "10")
            wait_until(
                lambda: laptop.timer("status")["stateType"] == "focus", "the laptop's screen")
            relay.kill()
            laptop.timer("pause")
            relay.start()
            wait_until(lambda: phone.timer("status")["isPaused"], "the phone's screen")
            wait_until(lambda: laptop.status()["state"] == "inSync", "the laptop")
        finally:
            for each in keeping:
                assert each.stop() == 0
        done = run("agent", "simulate", "--relay", relay.address, "--accounts", "2", "--seconds",
                   "4", "--transport", "events", "--json")
        assert json.loads(done.stdout)["good"] is True, done.stdout


if __name__ == "__main__":
    main(globals())
