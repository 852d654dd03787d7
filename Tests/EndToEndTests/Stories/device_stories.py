"""Rules of docs/protocol.md, "What a device does", tested with the real `lockstep agent`: a proxy
between the device and its relay (proxy.py) records all messages.

The story of each sentence:

| sentence | story |
| --- | --- |
| An action changes store and screen at once; sync follows | command_line: every_button_works_without_a_relay… |
| In one transaction with its entry in the outbox | failure: killed_agents_lose_no_edit… |
| Records of unknown zones and types are kept unchanged | what_a_device_does_not_know_it_keeps |
| It moves its cursor only when `since` equals it, else it fetches | a_gap_is_fetched |
| A hint is fetched | a_hint_is_fetched |
| Nothing received for 2 × keepAlive: it reconnects | silence_makes_it_reconnect |
| WebSocket; if that fails, long-poll, `wait` 50 s; back later | fallback_to_long_poll_and_back_to_websocket |
| If that fails, a poll every 30 s | fallback_to_a_poll_every_30_seconds |
| A manual sync syncs at once | retry_after_is_obeyed_and_a_manual_sync… |
| Every wait has a deadline | a_relay_that_hangs_is_given_up |
| Exponential backoff with full jitter, a ceiling | backoff_grows_at_random |
| `Retry-After` obeyed | retry_after_is_obeyed_and_a_manual_sync… |
| Close codes: reconnect after 1xxx, 40xx–44xx; 45xx wait for a person | close_codes_say_whether_to_come_back |
| Several waiting changes of one record become one | waiting_changes_of_a_record_become_one |
| A sent batch is frozen; later edits are based on it | what_is_in_flight_is_frozen |
| The frozen batch is repeated, with its id, before fetched changes apply | a_lost_answer_is_asked_for_first |
| A record with its own device and `modifiedAt`: an acknowledgement | its_own_record_is_its_acknowledgement |
| A resolved conflict is a new batch, based on the server's version | a_resolved_conflict_is_a_new_batch |
| A resolved record and its copies are one atomic batch | a_resolved_record_and_its_copies_are_one_atomic_batch |
| A refused record is parked and reported, others sync | a_refused_record_is_parked_and_the_rest_goes_on |
| Stamps with a wrong offset are replaced before sending | stamps_follow_the_relays_clock |
| A record from the future gets a new stamp, and a new id | a_record_from_the_future_is_stamped_anew |
| A home never uploads to another account | a_home_never_uploads_to_another_account |
| Nothing unsent is lost: crash, full disk | failure: killed_agents…, a_full_disk_under_a_home… |
| … a revoked token | command_line: a_revoked_device_joins_anew… |
| … an expired cursor; deleted records without edits are dropped | an_expired_cursor_costs_nothing_unsent |
| … a plan that ended | a_plan_that_ran_out_keeps_what_waits |
"""

import contextlib
import json
import os
import signal
import threading
import time

from proxy import CUT, HANG, Proxy, Reply, problem
from story import Home, Relay, expect, folder, main, now, record, refused, run, wait_until


@contextlib.contextmanager
def devices_behind_proxy(*options):
    """A relay; a phone that connects through a proxy; a laptop that connects directly."""
    with folder() as directory, Relay(*options) as relay, Proxy(relay) as proxy:
        laptop = Home.new(relay, directory, "laptop", "--plain")
        phone = Home(os.path.join(directory, "phone"))
        run("agent", "join", "--relay", proxy.address, "--code", "-", "--name", "phone",
            home=phone.path, input=laptop.code() + "\n")
        yield relay, proxy, phone, laptop


def wait_in_sync(home, waiting=0):
    def check():
        status = home.status()
        return status["state"] == "inSync" and status["waiting"] == waiting and status
    return wait_until(check, lambda: f"the device to be in sync: {home.status()}")


def is_push(event):
    return event.op in ("changes", "changed") and not event.up and "id" not in event.message


def saves(proxy, since=0):
    return proxy.messages("save", since=since)


def check_no_reconnect(proxy):
    """Checks that no connection comes within three times the first backoff of a device that
    reconnects by itself."""
    lines, begun = proxy.connection_count, time.monotonic()
    while time.monotonic() - begun < 1.5:
        assert proxy.connection_count == lines, "it came back by itself"
        time.sleep(0.05)


def press(home, *words):
    """Presses a button, without waiting for the result."""
    thread = threading.Thread(target=lambda: home.run("timer", *words), daemon=True)
    thread.start()
    return thread


# MARK: the outbox

def story_waiting_changes_of_a_record_become_one():
    """Five presses without a relay are sent as one batch that contains the record once."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        phone.timer("start")
        wait_in_sync(phone)
        before = len(proxy.events)
        proxy.shut_down()
        for words in ("pause", "resume", "pause", "resume", "pause"):
            phone.run("timer", words)
        assert phone.status()["waiting"] == 1, phone.status()
        assert not saves(proxy, before)
        proxy.listen()
        phone.run("sync")
        [save] = saves(proxy, before)
        assert len(save.message["records"]) == 1, save
        assert laptop.timer("status")["isPaused"] is True


def story_what_is_in_flight_is_frozen():
    """A press while a batch is under way: the batch does not change, and the press follows in a new
    batch, based on the tag from the answer."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        held = []

        def hold(message, up):
            if not up and message["op"] == "saved" and not held:
                held.append(message)
                return None
            return message

        with phone.start_agent() as agent:
            wait_in_sync(phone)
            before = len(proxy.events)
            proxy.on_message = hold
            press(phone, "start")
            first = proxy.wait_for(lambda each: each.op == "save", "a save", before)
            wait_until(lambda: held, "its answer")
            phone.run("timer", "pause")
            assert [each.message["id"] for each in saves(proxy, before)] == [first.message["id"]]
            # The answer at last: it is sent with the next message down.
            proxy.on_message = lambda message, up: message if up else [held[0], message]
            laptop.person(relay).save(record("wake"))
            second = proxy.wait_for(
                lambda each: each.op == "save" and each.message["id"] != first.message["id"],
                "the later edit", before)
            proxy.on_message = None
            tag = held[0]["results"][0]["tag"]
            assert second.message["records"][0]["baseTag"] == tag, (held, second)
            assert first.message["records"][0]["baseTag"] == 0, first
            wait_in_sync(phone)
            agent.stop()
        assert laptop.timer("status")["isPaused"] is True


def story_a_lost_answer_is_asked_for_first():
    """The connection breaks before a save's answer, another device saves meanwhile, and a button is
    pressed: the same batch is sent again, with the same id, before anything is fetched."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            before = len(proxy.events)

            def swallow(message, up):
                if not up and message["op"] == "saved":
                    proxy.shut_down()
                    return None
                return message

            proxy.on_message = swallow
            press(phone, "start")
            first = proxy.wait_for(lambda each: each.op == "save", "a save", before)
            wait_until(lambda: phone.status()["state"] == "offline", "the line to break")
            laptop.run("timer", "pause")
            phone.run("timer", "stop")
            proxy.on_message = None
            again_from = len(proxy.events)
            proxy.listen()
            phone.run("sync")
            hello = proxy.wait_for(lambda each: each.op == "hello", "a hello", again_from)
            assert "since" not in hello.message, hello
            asked = [each for each in proxy.events[again_from:]
                     if each.up and each.op in ("save", "fetch")]
            assert asked[0].op == "save", asked
            assert asked[0].message["id"] == first.message["id"], asked
            assert asked[0].message["records"] == first.message["records"], asked
            wait_in_sync(phone)
            agent.stop()
        laptop.run("sync")
        assert laptop.timer("status")["stateType"] == phone.timer("status")["stateType"]
        # Each id always has the same content.
        batches = {}
        for each in saves(proxy):
            assert batches.setdefault(each.message["id"], each.message) == each.message, each


def story_its_own_record_is_its_acknowledgement():
    """A save comes back as a conflict with itself, as if the relay had forgotten the batch's id:
    the device recognises its own stamp, and sends nothing again."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        sent = {}

        def answer(message, up):
            if up and message["op"] == "save":
                sent.update(message["records"][0])
            elif not up and message["op"] == "saved":
                [result] = message["results"]
                own = {**sent, "zone": "Timer", "deleted": False, "tag": result["tag"],
                       "device": phone_device}
                own.pop("baseTag")
                return {**message, "results": [{"name": result["name"], "conflict": own}]}
            return message

        phone_device = phone.status()["device"]
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            before = len(proxy.events)
            proxy.on_message = answer
            phone.run("timer", "start")
            wait_in_sync(phone)
            phone.run("sync")
            assert len(saves(proxy, before)) == 1, saves(proxy, before)
            agent.stop()
        assert laptop.timer("status")["stateType"] == "focus"


def story_a_resolved_conflict_is_a_new_batch():
    """Both devices press in conflict: the resolution is sent with a new id, based on the tag of the
    server's version."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        with phone.start_agent() as agent:
            phone.run("timer", "start")
            wait_in_sync(phone)
            # The phone does not receive the laptop's changes.
            proxy.on_message = lambda message, up: None if not up and message["op"] in (
                "changes", "changed") and "id" not in message else message
            laptop.run("timer", "pause")
            before = len(proxy.events)
            phone.run("timer", "skip")
            answer = proxy.wait_for(lambda each: each.op == "saved", "an answer", before)
            conflict = answer.message["results"][0]["conflict"]
            first = saves(proxy, before)[0]
            second = proxy.wait_for(
                lambda each: each.op == "save" and each.message["id"] != first.message["id"],
                "the outcome", before)
            assert first.message["records"][0]["baseTag"] < conflict["tag"], (first, conflict)
            assert second.message["records"][0]["baseTag"] == conflict["tag"], (second, conflict)
            proxy.on_message = None
            wait_in_sync(phone)
            agent.stop()
        laptop.run("sync")
        assert laptop.timer("status")["stateType"] == phone.timer("status")["stateType"]


def story_a_resolved_record_and_its_copies_are_one_atomic_batch():
    """Both devices rewrote a memo: the resolved memo and its kept copy are sent together."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        laptop.run("memo", "add", "Shared")
        phone.run("sync")
        proxy.shut_down()
        # The phone's version is the newer: it stays, and the laptop's is kept as a copy.
        run("agent", "memo", "edit", "1", home=laptop.path, input="From the laptop")
        run("agent", "memo", "edit", "1", home=phone.path, input="From the phone")
        proxy.listen()
        before = len(proxy.events)
        phone.run("sync")
        both = [each.message for each in saves(proxy, before) if len(each.message["records"]) == 2]
        assert both and all(each["atomic"] for each in both), saves(proxy, before)
        names = [each["name"] for each in both[-1]["records"]]
        assert names[1].startswith(names[0] + "~") or names[0].startswith(names[1] + "~"), names


def story_a_refused_record_is_parked_and_the_rest_goes_on():
    """A permanently refused record is reported to the person; other changes still sync."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        def refuse(message, up):
            if not (up and message["op"] == "save"):
                return message
            error = problem(413, "recordTooLarge")[2]
            return Reply({"op": "saved", "id": message["id"], "since": "0.0", "token": "0.0", "results": [
                {"name": each["name"], "error": error} for each in message["records"]]})

        with phone.start_agent() as agent:
            wait_in_sync(phone)
            proxy.on_message = refuse
            phone.run("timer", "start")
            status = wait_until(lambda: (lambda seen: seen if seen["parked"] else None)(phone.status()),
                                "the record to be parked")
            assert status["state"] == "needsPerson", status
            [parked] = status["parkedRecords"]
            assert parked["zone"] == "Timer" and parked["code"] == "recordTooLarge", parked
            told = phone.run("status")
            assert "1 record waits for you" in told and parked["name"] in told, told
            count = len(saves(proxy))
            other = laptop.person(relay)
            before = len(proxy.events)
            expect(other.save(record("of-another-zone")), 200)
            proxy.wait_for(is_push, "the push", before)
            proxy.on_message = None
            proxy.cut_connections()
            hello = proxy.wait_for(lambda each: each.op == "hello", "a hello", before)
            token = other.changes().json["token"]
            assert hello.message["since"] == token, (hello, token)
            assert len(saves(proxy)) == count, "a parked record was sent again"
            # The next press is tried again.
            phone.run("timer", "pause")
            wait_in_sync(phone)
            agent.stop()
        assert laptop.timer("status")["isPaused"] is True


# MARK: contents and cursor

def story_what_was_shown_is_not_asked_for_again():
    """The device is killed when a change appears on its screen: after the restart its cursor is
    behind that change, and the change is still shown."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        for words, shown in [("start", "focus"), ("skip", "breakTime"), ("stop", "idle")] * 2:
            begun = len(proxy.events)
            with phone.background("timer", "watch", "--json") as watch:
                watch.line()
                proxy.wait_for(lambda each: each.op == "welcome", "a welcome", begun)
                laptop.run("timer", words)
                while json.loads(watch.line())["stateType"] != shown:
                    pass
                watch.process.send_signal(signal.SIGKILL)
                watch.process.wait()
            # Pushed, or fetched if it had come meanwhile.
            told = [each for each in proxy.messages("changes", up=False, since=begun)
                    if each.message["changes"]][-1]
            before = len(proxy.events)
            with phone.start_agent() as agent:
                hello = proxy.wait_for(lambda each: each.op == "hello", "a hello", before)
                assert hello.message["since"] == told.message["token"], (hello, told)
                assert phone.timer("status")["stateType"] == shown
                agent.stop()


def story_what_a_device_does_not_know_it_keeps():
    """Records of zones and types without an app: if the relay has lost them, the device sends them
    back unchanged."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        other = laptop.person(relay)
        fields = {"b": 1.50, "a": [None, {"é": "日本"}], "": 10 ** 40, "n": "\u2028"}
        strange = {"name": "x/y", "type": "Of Tomorrow", "fields": fields, "modifiedAt": now()}
        expect(other.save(strange, zone="Nobody's"), 200)
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            before = len(proxy.events)

            def forget(message, up):
                if up and message["op"] == "fetch" and "since" in message:
                    return Reply({"op": "error", "id": message["id"], "code": "storeRestored",
                                  "detail": "a story restored it", "restoredThrough": 0})
                if not up and message["op"] == "changes":
                    return {**message, "changes": []}
                if up and message["op"] == "save":
                    return Reply({
                        "op": "saved", "id": message["id"], "since": "0.0", "token": "0.0", "results": [
                            {"name": each["name"], "tag": 1} for each in message["records"]]})
                return message

            proxy.on_message = forget
            phone.run("sync")
            save = proxy.wait_for(lambda each: each.op == "save" and each.message["zone"] == "Nobody's",
                                  "what the relay lost", before)
            [given] = save.message["records"]
            assert given["name"] == "x/y" and given["type"] == "Of Tomorrow", given
            assert given["fields"] == fields and list(given["fields"]) == list(fields), given
            assert given["baseTag"] == 0, given
            proxy.on_message = None
            agent.stop(signal.SIGKILL)


def story_a_gap_is_fetched():
    """A push that does not follow the device's cursor is not applied: the device fetches from its
    cursor."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        other = laptop.person(relay)
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            other.save(record("a"))
            cursor = proxy.wait_for(lambda each: is_push(each), "a push").message["token"]
            lost = []
            proxy.on_message = lambda message, up: (
                lost.append(message) if not up and "id" not in message and not lost else message)
            before = len(proxy.events)
            laptop.run("timer", "start")
            wait_until(lambda: lost, "a push to be lost")
            other.save(record("b"))
            fetch = proxy.wait_for(lambda each: each.op == "fetch", "a fetch", before)
            assert fetch.message["since"] == cursor, (fetch, cursor)
            wait_in_sync(phone)
            assert phone.timer("status")["stateType"] == "focus"
            agent.stop()


def story_a_hint_is_fetched():
    """`changed` contains only a token: the device fetches from its own cursor, and shows the
    changes."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            proxy.on_message = lambda message, up: (
                {"op": "changed", "token": message["token"]}
                if not up and message["op"] == "changes" and "id" not in message else message)
            before = len(proxy.events)
            laptop.run("timer", "start")
            push = proxy.wait_for(is_push, "a push", before)
            fetch = proxy.wait_for(lambda each: each.op == "fetch", "a fetch", before)
            assert fetch.message["since"] == push.message["since"], (fetch, push)
            wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the change to show")
            wait_in_sync(phone)
            agent.stop()


def story_an_expired_cursor_costs_nothing_unsent():
    """410 for the cursor: the device reads a snapshot, drops deleted records that it did not edit,
    and sends its own waiting edit."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        laptop.run("timer", "start")
        assert phone.timer("status")["stateType"] == "focus"
        wait_in_sync(phone)
        for code in ("tokenExpired", "badChangeToken", "filterChanged"):
            proxy.shut_down()
            phone.run("timer", "pause")
            assert phone.status()["waiting"] == 1
            proxy.listen()
            refused_once = []

            def expire(message, up):
                if up and message["op"] == "hello" and message.pop("since", None):
                    refused_once.append(code)
                    return [message]
                if not up and message["op"] == "welcome" and len(refused_once) == 1:
                    refused_once.append(code)
                    return [message, {"op": "error", "code": code, "detail": "a story ended it"}]
                return message

            proxy.on_message = expire
            before = len(proxy.events)
            with phone.start_agent() as agent:
                fetch = proxy.wait_for(lambda each: each.op == "fetch", "a fetch", before)
                assert "since" not in fetch.message, fetch
                wait_in_sync(phone)
                proxy.on_message = None
                agent.stop()
            laptop.run("sync")
            assert laptop.timer("status")["isPaused"] is True
            laptop.run("timer", "resume")
            wait_in_sync(phone)

        # A snapshot without the record: it was deleted longer ago than tombstones are kept.
        def empty(message, up):
            if up and message["op"] == "hello":
                return {name: value for name, value in message.items() if name != "since"}
            if not up and message["op"] == "welcome":
                return [message, {"op": "error", "code": "tokenExpired", "detail": "ended"}]
            return {**message, "changes": []} if message["op"] == "changes" else message

        assert phone.timer("status")["stateType"] == "focus"
        proxy.on_message = empty
        phone.run("sync")
        assert phone.timer("status")["stateType"] == "idle", phone.timer("status")


def story_a_plan_that_ran_out_keeps_what_waits():
    """402 for a save: the edit is kept, and the person is informed; once the plan is restored and
    the person syncs, it is sent."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            proxy.on_message = lambda message, up: (
                Reply({"op": "error", "id": message["id"], "code": "planRequired", "detail": "no plan"})
                if up and message["op"] == "save" else message)
            phone.run("timer", "start")
            status = wait_until(
                lambda: (lambda seen: seen if seen["state"] == "needsPerson" else None)(phone.status()),
                lambda: f"the person to be told: {phone.status()}")
            assert status["waiting"] == 1 and status["blockedZones"] == ["Timer"], status
            assert "plan does not include Timer" in phone.run("status")
            proxy.on_message = None
            phone.run("sync")
            wait_in_sync(phone)
            # The whole account: its socket closes with 4502, and the device reconnects only when
            # the person acts.
            proxy.on_message = lambda message, up: 4502 if not up else message
            proxy.cut_connections()
            wait_until(lambda: phone.status()["state"] == "failed", "the plan to be felt")
            phone.run("timer", "pause")
            wait_until(lambda: phone.status()["state"] == "failed", "the plan to be felt")
            assert phone.status()["waiting"] == 1 and "plan" in phone.run("status")
            proxy.on_message = None
            check_no_reconnect(proxy)
            assert phone.status()["waiting"] == 1
            phone.run("sync")
            wait_in_sync(phone)
            agent.stop()
        assert laptop.timer("status")["isPaused"] is True


def story_a_home_never_uploads_to_another_account():
    """A server with another account at the relay's address receives no data of this account."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        proxy.shut_down()
        phone.run("timer", "start")
        proxy.listen()
        for change in ({"accountID": "0123456789abcdef"}, {"deviceID": "0123456789abcdef"}):
            proxy.on_message = lambda message, up: (
                {**message, **change} if message["op"] == "welcome" else message)
            before = len(proxy.events)
            with phone.start_agent() as agent:
                wait_until(lambda: phone.status()["state"] == "failed", "the device to say no")
                told = phone.run("status")
                assert "another" in told and "1 change waits" in told, told
                assert not saves(proxy, before) and not proxy.messages("fetch", since=before)
                agent.stop()
        proxy.on_message = None
        phone.run("sync")
        assert laptop.timer("status")["stateType"] == "focus"
        # A home does not join a second account either.
        stranger = Home.new(relay, os.path.dirname(phone.path), "stranger", "--plain")
        refused("agent", "join", "--relay", relay.address, "--code", stranger.code(),
                home=phone.path, says="belongs to account")


# MARK: clocks

def story_stamps_follow_the_relays_clock():
    """The relay's clock went back by an hour while the device was offline: waiting edits get new
    stamps."""
    hour = 3_600_000
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        wait_in_sync(phone)
        proxy.shut_down()
        phone.run("timer", "start")
        proxy.listen()

        def shift(message, up):
            return message if up else {
                name: value - hour if name in ("time", "t1", "t2") and not isinstance(value, dict)
                else value for name, value in message.items()}

        proxy.on_message = shift
        before = len(proxy.events)
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            [save] = saves(proxy, before)
            stamp = save.message["records"][0]["modifiedAt"]
            assert abs(stamp - (now() - hour)) < 60_000, (stamp, now())
            assert proxy.messages("time", since=before), "it did not ask what time it is"
            assert abs(phone.status()["clockOffset"] + hour) < 5_000, phone.status()
            agent.stop()


def story_a_record_from_the_future_is_stamped_anew():
    """`clockAhead`: the device asks for the time, gives the record a new stamp, and saves it with a
    new id."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        turned = []

        def refuse(message, up):
            if up and message["op"] == "save" and not turned:
                turned.append(message)
                error = problem(422, "clockAhead", time=now())[2]
                return Reply({
                    "op": "saved", "id": message["id"], "since": "0.0", "token": "0.0",
                    "results": [{"name": each["name"], "error": error}
                                for each in message["records"]]})
            return message

        with phone.start_agent() as agent:
            wait_in_sync(phone)
            proxy.on_message = refuse
            before = len(proxy.events)
            phone.run("timer", "start")
            second = proxy.wait_for(
                lambda each: each.op == "save" and turned and each.message["id"] != turned[0]["id"],
                "the record under a new id", before)
            asked = [each.op for each in proxy.events[before:proxy.events.index(second)] if each.up]
            assert "time" in asked[asked.index("save"):], asked
            assert abs(second.message["records"][0]["modifiedAt"] - now()) < 60_000
            wait_in_sync(phone)
            agent.stop()


# MARK: connections

def story_silence_makes_it_reconnect():
    """Nothing was received for two keepAlives: the device drops the connection and opens a new
    one."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        proxy.on_message = lambda message, up: (
            {**message, "keepAlive": 1_000} if message["op"] == "welcome" else message)
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            last = max(each.at for each in proxy.events if not each.up)
            before = len(proxy.events)
            again = proxy.wait_for(lambda each: each.path == "/v1/socket", "another line", before)
            # The last message may have been a ping, which is not recorded.
            assert again.at - last >= 1.9, (again.at - last)
            agent.stop()


def story_close_codes_say_whether_to_come_back():
    """1xxx and 40xx–44xx: the device reconnects by itself; 45xx: only when a person acts."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            for code in (1001, 1009, 1011, 1012, 1013, 1005, 3000, 4400, 4408, 4429, 4499):
                before = len(proxy.events)
                proxy.on_message = lambda message, up: code if not up else message
                laptop.person(relay).save(record(f"c{code}"))
                proxy.wait_for(lambda each: not each.up and each.op,
                               "something to close on", before)
                proxy.on_message = None
                proxy.wait_for(lambda each: each.op == "welcome", f"it to come back from {code}", before)
                wait_in_sync(phone)
            for code in (4501, 4502, 4500, 4599, 4999):
                before = len(proxy.events)
                proxy.on_message = lambda message, up: code if not up else message
                laptop.person(relay).save(record(f"c{code}"))
                wait_until(lambda: phone.status()["state"] == "failed",
                           lambda: f"{code} to be taken for final: {phone.status()}")
                proxy.on_message = None
                check_no_reconnect(proxy)
                phone.run("sync")
                wait_in_sync(phone)
            agent.stop()


def story_a_restart_brings_devices_back_at_random():
    """1012: four devices reconnect, at different moments."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        homes = [phone]
        for number in range(3):
            home = Home(os.path.join(os.path.dirname(phone.path), f"d{number}"))
            run("agent", "join", "--relay", proxy.address, "--code", "-", home=home.path,
                input=laptop.code() + "\n")
            homes.append(home)
        with contextlib.ExitStack() as stack:
            agents = [stack.enter_context(home.start_agent()) for home in homes]
            for home in homes:
                wait_in_sync(home)
            before = len(proxy.events)
            assert relay.stop() == 0
            closed = [each for each in proxy.events[before:] if each.op == "close" and not each.up]
            assert [each.status for each in closed] == [1012] * 4, closed
            relay.start()
            wait_until(lambda: len(proxy.messages("welcome", up=False, since=before)) >= 4,
                       "all to come back")
            tries = [each.at for each in proxy.events[before:] if each.path == "/v1/socket" and each.up]
            assert max(tries[:4]) - min(tries[:4]) > 0.001, tries
            for each in agents:
                each.stop()


def story_retry_after_is_obeyed_and_a_manual_sync_goes_at_once():
    """503 with Retry-After: no retry before its time, except when a person syncs manually."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        proxy.on_request = lambda asked: problem(503, "overloaded", retryAfter=4)
        with phone.start_agent() as agent:
            first = proxy.wait_for(lambda each: each.path == "/v1/socket", "a try")
            # From now on an hour, far longer than this test waits.
            proxy.on_request = lambda asked: problem(503, "overloaded", retryAfter=3_600)
            second = proxy.wait_for(lambda each: each.up and each.at > first.at, "another try")
            assert second.at - first.at >= 3.9, second.at - first.at
            wait_until(lambda: phone.status()["state"] == "offline", "the answer to be heard")
            before = len(proxy.events)
            proxy.on_request = None
            phone.run("sync")
            proxy.wait_for(lambda each: each.path == "/v1/socket", "a try", before)
            wait_in_sync(phone)
            agent.stop()


def story_backoff_grows_at_random():
    """The relay is never available: the pauses between retries all differ."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        proxy.on_request = lambda asked: problem(503, "overloaded")
        with phone.start_agent() as agent:
            def tries():
                return [each.at for each in list(proxy.events) if each.up and each.method]

            wait_until(lambda: len(tries()) >= 6, "six tries")
            agent.stop()
        pauses = [after - before for before, after in zip(tries(), tries()[1:])][:5]
        assert len({round(pause, 4) for pause in pauses}) == len(pauses), pauses


def story_a_relay_that_hangs_is_given_up():
    """A connection attempt, a request for the time, and an answer all have timeouts; meanwhile each
    press is shown at once."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        proxy.on_request = lambda asked: HANG
        with phone.start_agent() as agent:
            first = proxy.wait_for(lambda each: each.path == "/v1/socket", "a try")
            assert phone.timer("start")["stateType"] == "focus"
            second = proxy.wait_for(lambda each: each.up and each.at > first.at, "another try")
            assert second.at - first.at > 4, second.at - first.at
            proxy.wait_for(lambda each: each.path == "/v1/time", "the next rung")
            proxy.on_request = None
            proxy.cut_connections()
            wait_in_sync(phone)
            # A save without an answer: the connection is dropped, and the save is sent again.
            proxy.on_message = lambda message, up: (
                None if not up and message["op"] == "saved" else message)
            before = len(proxy.events)
            press(phone, "pause")
            save = proxy.wait_for(lambda each: each.op == "save" or "records" in (each.path or ""),
                                  "a save", before)
            if save.op:
                again = proxy.wait_for(
                    lambda each: each.op == "save" and each.connection != save.connection,
                    "the save again",
                    before)
                assert again.message["id"] == save.message["id"]
                assert 14 < again.at - save.at < 25, again.at - save.at
            proxy.on_message = None
            wait_in_sync(phone)
            agent.stop()


def is_poll(event):
    return event.up and event.method == "GET" and event.path.startswith("/v1/changes")


def story_fallback_to_long_poll_and_back_to_websocket():
    """No WebSocket: after two attempts the device uses long-poll, 50 s each, and receives changes
    at once; when WebSocket works again, the device returns to it."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        wait_in_sync(phone)
        proxy.on_request = lambda asked: (
            (400, {}, None) if asked.path == "/v1/socket" else None)
        with phone.start_agent() as agent:
            waits = proxy.wait_for(lambda each: is_poll(each) and "wait=" in each.path,
                                   "a long-poll")
            tries = [each for each in proxy.events if each.path == "/v1/socket" and each.up
                     and each.at < waits.at]
            assert len(tries) >= 2 and "wait=50" in waits.path, (tries, waits)
            assert phone.status()["transport"] == "long-poll"
            laptop.run("timer", "start")
            wait_until(lambda: phone.timer("status")["stateType"] == "focus", "the change to show", 25)
            phone.timer("pause")
            assert laptop.timer("status")["isPaused"] is True
            assert [each for each in proxy.events if each.path == "/v1/zones/Timer/records"]
            left = [each.at for each in proxy.events if each.path == "/v1/socket"][-1]
            proxy.on_request = None
            wait_until(lambda: phone.status()["transport"] == "websocket", "the climb")
            laptop.run("timer", "resume")
            wait_until(lambda: not phone.timer("status")["isPaused"], "a push", 25)
            again = proxy.messages("welcome", up=False)[-1]
            assert again.at - left > 30, "it did not wait before it tried the socket again"
            agent.stop()


def story_fallback_to_a_poll_every_30_seconds():
    """Neither WebSocket nor long-poll works: the device polls every 30 s, and immediately after a
    press."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        wait_in_sync(phone)

        def rule(asked):
            if asked.path == "/v1/socket":
                return 400, {}, None
            return CUT if "wait=" in asked.path else None

        proxy.on_request = rule
        with phone.start_agent() as agent:
            wait_until(lambda: phone.status()["transport"] == "poll", "the last rung")
            def polls():
                return [each.at for each in list(proxy.events) if is_poll(each)
                        and "wait=" not in each.path]

            laptop.run("timer", "start")
            phone.run("sync")
            assert phone.timer("status")["stateType"] == "focus"

            def pauses():
                return [after - before for before, after in zip(polls(), polls()[1:])]

            wait_until(lambda: max(pauses(), default=0) > 20, "the next poll")
            assert 28 < max(pauses()) < 40, pauses()
            agent.stop()


if __name__ == "__main__":
    main(globals(), at_once=8)
