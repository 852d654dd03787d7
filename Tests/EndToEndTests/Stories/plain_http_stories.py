"""Records by plain HTTP, as a script writes it: list, PUT and DELETE with `If-Match`, by Python's
standard library alone."""

import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid

from story import PATIENCE, Answer, Person, Relay, expect, main, now, record, refused


class Script:
    """What somebody writes in a minute: one function for a request, and no knowledge of tags."""

    def __init__(self, person, zone="To do"):
        self.person = person
        self.address = person.relay.address
        self.records = f"/v1/zones/{urllib.parse.quote(zone, safe='')}/records"

    def path(self, name):
        return f"{self.records}/{urllib.parse.quote(name, safe='')}"

    def request(self, method, path, body=None, **headers):
        return urllib.request.Request(
            self.address + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.person.token}",
                     "Content-Type": "application/json",
                     **{name.replace("_", "-"): value for name, value in headers.items()}})

    def call(self, method, path, body=None, **headers):
        try:
            answer = urllib.request.urlopen(
                self.request(method, path, body, **headers), timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            fields = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, fields, answer.read())

    def events(self):
        """The changed records, as they are saved; the first event shows that the stream is open."""
        with urllib.request.urlopen(self.request("GET", "/v1/events"), timeout=PATIENCE) as stream:
            for line in stream:
                if line.startswith(b"data:") and b'"changes"' in line:
                    yield json.loads(line[5:])["changes"]

    def create(self, name, **fields):
        body = {"type": "Item", "fields": fields}
        return self.call("PUT", self.path(name), body, If_None_Match="*")

    def all(self, **query):
        found, after = [], ""
        while True:
            query["after"] = after
            page = expect(self.call("GET", f"{self.records}?{urllib.parse.urlencode(query)}"), 200).json
            found += page["records"]
            after = page["token"]
            if not page["more"]:
                return found


def story_a_script_keeps_a_list_by_plain_http():
    """Creates, lists, changes and deletes records; another device is sent each change at once."""
    with Relay() as relay:
        person = Person.new(relay)
        script = Script(person)
        watcher = Script(person.pair()).events()
        assert next(watcher) == []
        made = expect(script.create("milk / 1 l", text="milk"), 201)
        assert made.headers["etag"] == f'"{made.json["tag"]}"', made
        assert made.json["device"] == person.device and abs(made.json["modifiedAt"] - now()) < 60_000
        expect(script.create("tea", text="tea"), 201)
        twice = expect(script.create("tea", text="coffee"), 412, "preconditionFailed")
        assert twice.json["record"]["fields"] == {"text": "tea"}, twice
        assert [each["name"] for each in script.all()] == ["milk / 1 l", "tea"]
        path = script.path("milk / 1 l")
        done = expect(script.call("PUT", path, {"type": "Item", "fields": {"text": "milk", "done": True}},
                                  If_Match=made.headers["etag"]), 200)
        assert done.json["modifiedAt"] > made.json["modifiedAt"], (made, done)
        assert expect(script.call("GET", path), 200).json == done.json
        expect(script.call("DELETE", path, If_Match=made.headers["etag"]), 412, "preconditionFailed")
        gone = expect(script.call("DELETE", path, If_Match=done.headers["etag"]), 204)
        assert gone.body == b""
        # The answer was lost, and the script asks again.
        expect(script.call("DELETE", path, If_Match=done.headers["etag"]), 204)
        expect(script.call("GET", path), 404, "notFound")
        assert [each["name"] for each in script.all()] == ["tea"]
        seen = []
        while len(seen) < 4:
            seen += [(each["name"], each["deleted"]) for each in next(watcher)]
        assert seen == [("milk / 1 l", False), ("tea", False), ("milk / 1 l", False),
                        ("milk / 1 l", True)], seen
        relay.kill()
        relay.start()
        assert [each["name"] for each in Script(person).all()] == ["tea"]


def story_a_list_comes_page_by_page_and_by_type():
    """450 records of two types in pages of 100, while somebody saves."""
    with Relay() as relay:
        person = Person.new(relay)
        script = Script(person, "Notes")
        for start in range(0, 450, 150):
            expect(person.save(*[record(f"n{number}", type="Odd" if number % 2 else "Even")
                                 for number in range(start, start + 150)]), 200)
        found = script.all(limit=100)
        assert [each["name"] for each in found] == [f"n{number}" for number in range(450)]
        page = expect(script.call("GET", f"{script.records}?limit=100"), 200).json
        expect(person.save(record("n449", "newer", type="Odd")), 200)
        rest = expect(script.call("GET", f"{script.records}?after={page['token']}"), 200).json
        assert len(rest["records"]) == 349 and not rest["more"], rest["token"]
        # The token of the last page is a cursor of the zone.
        change = expect(person.changes(zone="Notes", since=rest["token"]), 200).json["changes"]
        assert [each["fields"] for each in change] == [{"text": "newer"}], change
        expect(script.call("GET", f"{script.records}?after={rest['token']}"), 400, "badChangeToken")
        odd = script.all(type="Odd", limit=7)
        assert len(odd) == 225 and {each["type"] for each in odd} == {"Odd"}
        whole = expect(script.call("GET", script.records), 200)
        tag = whole.headers["etag"]
        assert script.call("GET", script.records, If_None_Match=tag).status == 304
        expect(person.call("DELETE", script.path("n1") + "?baseTag=any"), 204)
        expect(script.call("GET", script.records, If_None_Match=tag), 200)


def story_a_lost_update_is_refused():
    """Two scripts add one to a number, as everybody writes it: each reads the record, changes it,
    and sends it back as it was read. None of the increments is lost."""
    def increment(script, path):
        while True:
            read = expect(script.call("GET", path), 200).json
            read["fields"]["n"] += 1
            # Sent by both before either knows of the other.
            if not barrier.broken:
                try:
                    barrier.wait(PATIENCE)
                except threading.BrokenBarrierError:
                    pass
            answer = script.call("PUT", path, read)
            if answer.status == 200:
                return
            problem = expect(answer, 412, "preconditionFailed").json
            assert problem["record"]["tag"] > read["tag"], problem
            refusals.append(problem)
            barrier.abort()

    with Relay() as relay:
        script = Script(Person.new(relay))
        path = script.path("counter")
        expect(script.create("counter", n=0), 201)
        barrier, refusals = threading.Barrier(2), []
        threads = [threading.Thread(target=increment, args=(script, path)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert expect(script.call("GET", path), 200).json["fields"] == {"n": 2}
        assert len(refusals) == 1, refusals
        # The same by a batch: a record that is sent back as it was read is no blind overwrite.
        read = script.call("GET", path).json
        first, late = [script.call("POST", script.records, {
            "id": str(uuid.uuid4()), "records": [{**read, "fields": {"n": number}}]}).json["results"][0]
            for number in (3, 4)]
        assert "tag" in first and late["conflict"]["fields"] == {"n": 3}, (first, late)


def story_a_blind_overwrite_is_possible_on_demand():
    """A request that names no version is refused and told how; the word "any" overwrites."""
    with Relay() as relay:
        script = Script(Person.new(relay))
        path, body = script.path("lamp"), {"type": "Lamp", "fields": {"on": True}}
        for method, content in [("PUT", body), ("DELETE", None)]:
            refusal = expect(script.call(method, path, content), 428, "preconditionRequired").json
            assert "If-Match" in refusal["detail"] and "any" in refusal["detail"], refusal
        expect(script.call("PUT", path, {**body, "baseTag": "any"}), 201)
        expect(script.call("PUT", path, {**body, "baseTag": "any"}), 200)
        expect(script.call("PUT", path, body, If_Match="*"), 200)
        expect(script.call("PUT", script.path("other"), body, If_Match="*"), 412, "preconditionFailed")

        def save(**members):
            batch = {"id": str(uuid.uuid4()), "records": [{"name": "lamp", **body, **members}]}
            return expect(script.call("POST", script.records, batch), 200).json["results"][0]

        for members in ({}, {"baseTag": None}, {"baseTag": 0}, {"tag": 1}):
            assert save(**members)["conflict"]["tag"] == 3, members
        assert save(baseTag="any")["tag"] == 4
        expect(script.call("DELETE", f"{path}?baseTag=any"), 204)
        # What was deleted counts as a new record.
        assert save()["tag"] == 6


def story_a_retry_of_a_put_adds_nothing():
    """The answer is lost, and the script sends the same request again. With a key the relay
    recognises it; without one, the record in the 412 is the script's own."""
    with Relay() as relay:
        person = Person.new(relay)
        script = Script(person)
        path, body = script.path("a"), {"type": "T", "fields": {"n": 1}}
        key = str(uuid.uuid4())
        first = expect(script.call("PUT", path, body, If_None_Match="*", Idempotency_Key=key), 201)
        relay.kill()
        relay.start()
        script = Script(person)
        again = expect(script.call("PUT", path, body, If_None_Match="*", Idempotency_Key=key), 200)
        assert again.json == first.json and again.headers["etag"] == first.headers["etag"]
        other = {**body, "fields": {"n": 2}}
        expect(script.call("PUT", path, other, If_None_Match="*", Idempotency_Key=key), 422,
               "batchMismatch")
        tag = first.headers["etag"]
        expect(script.call("PUT", path, other, If_Match=tag), 200)
        late = expect(script.call("PUT", path, other, If_Match=tag), 412).json["record"]
        assert late["fields"] == other["fields"] and late["device"] == person.device, late


def story_the_owners_pages_are_served_beside_the_relay():
    """--pages: a page with its script is fetched under the relay's own policy; a changed file is
    seen at once; nothing outside the folder, hidden, or too large is served."""
    with Relay() as outside:
        folder = os.path.join(outside.directory, "pages")
        os.makedirs(os.path.join(folder, "sub"))

        def write(name, text):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)

        write("index.html", '<!doctype html><script type="module" src="app.js"></script>')
        write("app.js", 'import { Lockstep } from "/lockstep.js";')
        write("sub/index.html", "below")
        write(".secret", "hidden")
        write("../secret.txt", "outside")
        os.symlink("../secret.txt", os.path.join(folder, "link.txt"))
        os.symlink("..", os.path.join(folder, "up"))
        os.mkfifo(os.path.join(folder, "pipe"))
        with open(os.path.join(folder, "large.txt"), "wb") as file:
            file.truncate((4 << 20) + 1)
        with open(os.path.join(folder, "largest.txt"), "wb") as file:
            file.truncate(4 << 20)
        with Relay("--pages", folder) as relay:
            script = Script(Person.new(relay))
            page = expect(script.call("GET", "/pages/"), 200)
            assert page.headers["content-type"] == "text/html; charset=utf-8", page
            own = expect(script.call("GET", "/"), 200)
            for field in ("content-security-policy", "x-content-type-options", "referrer-policy",
                          "cache-control"):
                assert page.headers[field] == own.headers[field], field
            assert "unsafe" not in page.headers["content-security-policy"]
            assert expect(script.call("GET", "/pages/sub/"), 200).body == b"below"
            for path in ("/pages", "/pages/sub"):
                moved = Person.call(script.person, "GET", path)
                assert moved.status == 308 and moved.headers["location"] == path + "/", moved
            code = expect(script.call("GET", "/pages/app.js"), 200)
            assert code.headers["content-type"] == "text/javascript; charset=utf-8", code
            expect(script.call("GET", "/lockstep.js"), 200)
            tag = code.headers["etag"]
            assert script.call("GET", "/pages/app.js", If_None_Match=tag).status == 304
            write("app.js", "// changed")
            changed = expect(script.call("GET", "/pages/app.js", If_None_Match=tag), 200)
            assert changed.body == b"// changed", changed
            assert len(expect(script.call("GET", "/pages/largest.txt"), 200).body) == 4 << 20
            for path in ["/pages/../secret.txt", "/pages/%2e%2e/secret.txt", "/pages/..%2fsecret.txt",
                         "/pages/sub/../../secret.txt", "/pages/.secret", "/pages/%2esecret",
                         "/pages/link.txt", "/pages/up/secret.txt", "/pages/up/", "/pages//app.js",
                         "/pages/./app.js", "/pages/pipe", "/pages/none", "/pages/app.js/",
                         "/pages/app.js%00", "/pages/large.txt", "/pages" + "/sub" * 20]:
                answer = script.person.call("GET", path, options=["--path-as-is"])
                expect(answer, 404, "notFound")
            expect(script.person.call("POST", "/pages/", {}), 405, "methodNotAllowed")
            # A page may arrive later, and the folder may be replaced.
            os.rename(folder, folder + "-old")
            expect(script.call("GET", "/pages/"), 404, "notFound")
            os.makedirs(folder)
            write("index.html", "new")
            assert expect(script.call("GET", "/pages/"), 200).body == b"new"
        refused("relay", "--pages", folder + "/none", "--store", outside.directory + "/other", code=2,
                says=["--pages", "No such file or directory"])
        # Without the option there are no such paths.
        expect(Person.new(outside).call("GET", "/pages/"), 404, "notFound")


if __name__ == "__main__":
    main(globals())
