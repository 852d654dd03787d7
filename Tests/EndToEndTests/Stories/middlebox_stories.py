"""Middleboxes that answer in place of the relay, or block traffic."""

from device_stories import devices_behind_proxy, wait_in_sync
from proxy import HANG
from story import main, wait_until

PAGE = {"Content-Type": "text/html"}
STATUSES = (413, 403, 200, 400, 401, 404, 405, 407, 411, 451, 500, 502, 511)


def is_socket(asked):
    return asked.path.startswith("/v1/socket")


def story_an_answer_in_the_relays_place_is_waited_out():
    """A network without WebSocket, with a portal that answers saves itself: the device gives
    nothing up, and sends everything once the portal allows it."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        portal = None

        def answer(asked):
            if is_socket(asked):
                return 403, PAGE, "no WebSocket here"
            return (portal, PAGE, "log in") if portal and asked.method == "POST" else None

        proxy.on_request = answer
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            for status in STATUSES:
                before, portal = len(proxy.events), status
                phone.run("memo", "add", f"through {status}.")
                # The save was tried more than once, and not given up.
                wait_until(lambda: len([each for each in proxy.events[before:]
                                        if each.up and each.method == "POST"]) > 1,
                           "the second try")
                seen = {}

                # Between two tries; during one the device reports `syncing`.
                def is_offline():
                    seen.update(phone.status())
                    assert (seen["parked"], seen["waiting"]) == (0, 1), (status, seen)
                    return seen["state"] == "offline"

                wait_until(is_offline, "the state offline")
                assert "between this device and the relay" in seen["reason"], (status, seen)
                portal = None
                wait_in_sync(phone)
            agent.stop()
        laptop.run("sync")
        memos = laptop.run("memo", "list")
        assert all(f"through {status}." in memos for status in STATUSES), memos


def story_what_is_too_large_for_the_way_waits_and_the_rest_goes():
    """A proxy refuses requests above 20 kB: the large memo waits and is reported, small ones are
    sent, and a sync sends it once the proxy accepts it."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        is_narrow = True

        def answer(asked):
            if is_socket(asked):
                return 403, PAGE, "no WebSocket here"
            length = int(asked.headers.get("content-length", 0))
            return (413, PAGE, "too large") if is_narrow and length > 20_000 else None

        proxy.on_request = answer
        with phone.start_agent() as agent:
            wait_in_sync(phone)
            phone.run("memo", "add", "large " + "x" * 60_000)
            wait_until(lambda: phone.status().get("setAside") == 1, "the memo to be set aside")
            phone.run("memo", "add", "small one")
            wait_until(lambda: phone.status()["waiting"] == 1, "the small one to go")
            told = phone.run("status")
            assert "refuses large requests" in told and "413" in told, told
            assert phone.status()["parked"] == 0, phone.status()
            is_narrow = False
            phone.run("sync")
            assert phone.status()["waiting"] == 0, phone.status()
            agent.stop()
        laptop.run("sync")
        memos = laptop.run("memo", "list")
        assert "small one" in memos and "large " in memos, memos


def story_lists_of_a_held_home_wait_for_no_network():
    """The network becomes silent: the home shows its local data, without a request to the relay."""
    with devices_behind_proxy() as (relay, proxy, phone, laptop):
        laptop.run("memo", "add", "from the laptop")

        def names():
            return [each for each in proxy.events if each.up and each.path == "/v1/devices"]

        with phone.start_agent() as agent:
            wait_in_sync(phone)
            before = len(names())
            proxy.on_request = lambda _: HANG
            proxy.on_message = lambda message, up: None
            for _ in range(3):
                assert "from the laptop" in phone.run("memo", "list")
                phone.run("clipboard", "list")
                phone.run("habits", "list")
            # The home itself asks at most once a minute, and no command waits for that.
            assert len(names()) - before < 3, names()
            agent.stop()


if __name__ == "__main__":
    main(globals())
