"""The home's socket as a local store for programs in other languages (docs/sidecar.md), by a client
of its own: lines of JSON on a Unix socket."""

import json
import os
import signal
import socket
import stat

from story import PATIENCE, Home, Relay, folder, main, refused, wait_until

TABLE = {"zone": "Todos", "types": {
    "Todo": {"fields": {"minutes": "counter", "done": "or", "tags": "set"}},
    "Plan": {"conflict": "ask"}}}


class Sidecar:
    """A program on a home's socket."""

    def __init__(self, home):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(os.path.join(home.path, "agent.sock"))
        self.lines = self.socket.makefile("rb")
        self.id = 0

    def send(self, do, **members):
        self.id += 1
        line = json.dumps({"id": self.id, "do": do, **members})
        self.socket.sendall(line.encode() + b"\n")
        return self.id

    def receive(self):
        line = self.lines.readline()
        assert line, "the connection has ended"
        return json.loads(line)

    def ask(self, do, **members):
        id = self.send(do, **members)
        answer = self.receive()
        assert answer["id"] == id, answer
        return answer

    def save(self, name, kind="Todo", **fields):
        answer = self.ask("save", zone="Todos", name=name, type=kind, fields=fields)
        return answer["record"]

    def record(self, name):
        return self.ask("record", zone="Todos", name=name)["record"]

    def is_in_sync(self):
        return self.ask("status")["status"]["state"] == "inSync"

    def close(self):
        self.lines.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_with_rules(home, directory, table=TABLE):
    """Starts `agent run --rules`; returns once it holds the home."""
    path = os.path.join(directory, "todos.json")
    with open(path, "w") as file:
        json.dump(table, file)
    agent = home.background("run", "--rules", path)
    wait_until(lambda: listens(home) or agent.process.poll() is not None, "the home to be held")
    assert agent.process.poll() is None, agent.errors
    return agent


def listens(home):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(os.path.join(home.path, "agent.sock")) == 0


def in_sync(*programs):
    for program in programs:
        wait_until(program.is_in_sync, "a home to be in sync")


def story_two_homes_count_and_merge_what_they_did_offline():
    """Both add minutes and tags to one record while the relay is stopped. Nothing is lost, and no
    program sees the stamps."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        with run_with_rules(phone, directory), run_with_rules(laptop, directory), \
                Sidecar(phone) as here, Sidecar(laptop) as there:
            made = here.save("milk", title="milk", tags=["shop"])
            assert made["sync"] == "waiting" and made["type"] == "Todo", made
            wait_until(lambda: there.record("milk"), "the record to arrive")
            relay.stop()
            for program, minutes, tag in ((here, 5, "home"), (there, 7, "work")):
                changed = program.ask(
                    "update", zone="Todos", name="milk", add={"minutes": minutes},
                    fields={"tags": ["shop", tag]})["record"]
                assert changed["counters"] == {"minutes": minutes}, changed
            there.ask("update", zone="Todos", name="milk", fields={"done": True})
            assert here.record("milk")["sync"] == "waiting"
            relay.start()
            for program in (here, there):
                wait_until(lambda: program.record("milk").get("counters") == {"minutes": 12},
                           "the counts to be added")
            in_sync(here, there)
            records = [program.record("milk") for program in (here, there)]
            assert records[0] == records[1], records
            fields = records[0]["fields"]
            assert records[0]["sync"] == "synced" and fields["done"] is True, records
            assert fields["tags"] == ["home", "shop", "work"] and "~" not in fields, fields
            assert fields["title"] == "milk", fields


def story_a_person_decides_what_no_rule_decides():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        with run_with_rules(phone, directory), run_with_rules(laptop, directory), \
                Sidecar(phone) as here, Sidecar(laptop) as there:
            here.save("trip", kind="Plan", where="sea")
            wait_until(lambda: there.record("trip"), "the plan to arrive")
            relay.stop()
            here.save("trip", kind="Plan", where="lake")
            there.save("trip", kind="Plan", where="hills")
            relay.start()

            def asking():
                return [each for each in (here, there)
                        if each.ask("conflicts", zone="Todos")["records"]]
            wait_until(asking, "one of them to ask")
            asker = asking()[0]
            open_one = asker.ask("conflicts", zone="Todos")["records"][0]
            assert open_one["sync"] == "needsDecision", open_one
            places = {open_one["fields"]["where"], open_one["relay"]["fields"]["where"]}
            assert places == {"lake", "hills"}, open_one
            kept = asker.ask("decide", zone="Todos", name="trip", keep="local")["record"]
            assert kept["fields"] == open_one["fields"], kept
            for program in (here, there):
                wait_until(lambda: program.record("trip")["fields"] == open_one["fields"],
                           "both to have the chosen plan")
            assert asker.ask("decide", zone="Todos", name="trip",
                             keep="local")["error"]["code"] == "nothingToDecide"


def story_a_transaction_of_which_one_edit_fails_changes_nothing():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        with run_with_rules(phone, directory), run_with_rules(laptop, directory), \
                Sidecar(phone) as here, Sidecar(laptop) as there:
            there.send("watch", zone="Todos")
            assert there.receive()["records"] == []
            first = {"do": "save", "zone": "Todos", "type": "Todo", "name": "a", "fields": {"x": 1}}
            second = {**first, "name": "b"}
            bad = {"do": "update", "zone": "Todos", "name": "none", "fields": {"x": 1}}
            error = here.ask("transaction", edits=[first, bad])["error"]
            assert error["code"] == "notFound" and error["edit"] == 1, error
            assert here.ask("records", zone="Todos")["records"] == []
            done = here.ask("transaction", edits=[first, second])["records"]
            assert [each["name"] for each in done] == ["a", "b"], done
            changed = there.receive()["changed"]
            assert [each["name"] for each in changed] == ["a", "b"], changed


def story_programs_watch_each_other_and_one_that_does_not_read_disturbs_nobody():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        with run_with_rules(phone, directory), Sidecar(phone) as writer, \
                Sidecar(phone) as reader, Sidecar(phone) as sleeper:
            watch = reader.send("watch", zone="Todos", type="Todo")
            assert reader.receive() == {"id": watch, "records": []}
            sleeper.send("watch", zone="Todos")
            assert sleeper.receive()["records"] == []
            text = "x" * 100_000
            for number in range(100):
                writer.save("note", text=text, number=number)
            numbers = []
            while not numbers or numbers[-1] < 99:
                numbers.append(reader.receive()["changed"][0]["fields"]["number"])
            assert numbers == sorted(numbers), numbers
            # The sleeper wakes: it gets what stands now, and not all of 10 MB.
            seen = []
            while not seen or seen[-1] < 99:
                seen.append(sleeper.receive()["changed"][0]["fields"]["number"])
            assert len(seen) < 100, len(seen)
            writer.ask("delete", zone="Todos", name="note")
            assert reader.receive() == {"id": watch, "deleted": ["note"]}


def story_a_long_list_comes_in_lines():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory, "phone", "--plain")
        with run_with_rules(phone, directory), Sidecar(phone) as program:
            for number in range(12):
                program.save(f"{number:02}", text="x" * 900_000)
            id, names, lines = program.send("records", zone="Todos"), [], 0
            while True:
                answer = program.receive()
                assert answer["id"] == id, answer["id"]
                names += [each["name"] for each in answer["records"]]
                lines += 1
                if not answer.get("more"):
                    break
            assert names == [f"{number:02}" for number in range(12)] and lines > 1, (names, lines)


def story_a_bad_line_gets_a_code_and_the_next_line_an_answer():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        with run_with_rules(phone, directory), Sidecar(phone) as program:
            program.socket.sendall(b'{"id":1,"do":\n{"id":2}\n\xff\n{"id":3,"do":"save"}\n')
            answers = [program.receive() for _ in range(4)]
            assert [each["id"] for each in answers] == [None, 2, None, 3], answers
            assert [each["error"]["code"] for each in answers] == [
                "notJSON", "badRequest", "notJSON", "badRequest"], answers
            assert program.ask("hello")["protocol"] == 1
            mode = stat.S_IMODE(os.stat(phone.path).st_mode)
            assert mode == 0o700, oct(mode)


def story_what_was_answered_outlives_a_holder_that_is_killed():
    """The next holder has it, also with another table, and syncs it."""
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        laptop = phone.pair(relay, directory)
        relay.stop()
        with run_with_rules(phone, directory) as agent, Sidecar(phone) as program:
            program.save("milk", title="milk")
            program.ask("update", zone="Todos", name="milk", add={"minutes": 3})
            program.save("sea", kind="Plan", where="sea")
            agent.stop(signal.SIGKILL)
            assert program.lines.readline() == b"", "the connection ends with its holder"
        other = {"zone": "Todos", "types": {"Todo": {"fields": {"minutes": "counter"}}}}
        relay.start()
        with run_with_rules(phone, directory, other), run_with_rules(laptop, directory, other), \
                Sidecar(phone) as here, Sidecar(laptop) as there:
            in_sync(here)
            wait_until(lambda: there.record("milk") and there.record("sea"), "both to arrive")
            assert there.record("milk")["counters"] == {"minutes": 3}
            assert there.record("sea")["fields"] == {"where": "sea"}
            assert here.record("sea")["sync"] == "synced"


def story_a_home_keeps_its_rules_for_runs_and_commands_without_them():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        run_with_rules(phone, directory).stop()
        phone.run("sync")
        with phone.start_agent():
            wait_until(lambda: listens(phone), "the home to be held")
            with Sidecar(phone) as program:
                program.save("milk", title="milk")
                counted = program.ask("update", zone="Todos", name="milk", add={"minutes": 3})
                assert counted["record"]["counters"] == {"minutes": 3}, counted


def story_a_table_for_the_zone_of_an_app_is_refused():
    with folder() as directory, Relay() as relay:
        phone = Home.new(relay, directory)
        path = os.path.join(directory, "rules.json")
        for zone in ("Timer", "Vault", "Clipboard", "Memos", "Habits"):
            with open(path, "w") as file:
                json.dump({"zone": zone, "types": {"Todo": {}}}, file)
            refused("agent", "run", "--rules", path, home=phone.path,
                    says=[zone, "choose another zone"])
        with open(path, "w") as file:
            file.write('{"zone": "Todos", "types": {"Todo": {"fields": {"done": "maybe"}}}}')
        refused("agent", "run", "--rules", path, home=phone.path, says="maybe")
        with run_with_rules(phone, directory), Sidecar(phone) as program:
            error = program.ask("save", zone="Timer", type="Todo", fields={})["error"]
            assert error["code"] == "refused", error


if __name__ == "__main__":
    main(dict(globals()), at_once=3)
