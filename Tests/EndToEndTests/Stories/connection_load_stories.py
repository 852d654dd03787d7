"""A crowd of idle connections, while other people's devices must work as usual. `lockstep bench
crowd` measures the latency; these stories check that nothing is lost, and the crowd's memory.
"""

import asyncio
import re
import resource
import socket
import urllib.request

from story import PATIENCE, Person, expect, main, record, wait_until
from websocket_stories import Socket, play

# Memory limit, in bytes, of a connection that has sent nothing, or not yet a complete request.
IDLE_BYTES = 2_048


def raise_descriptor_limit(wanted):
    """The number of descriptors that this system gives a process, minus some spare ones."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(wanted, hard - 500)


def resident_bytes(relay):
    with open(f"/proc/{relay.id}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


def connections(relay):
    admin = re.search(r"metrics and health on (http://\S+)", relay.text()).group(1)
    with urllib.request.urlopen(admin + "/metrics", timeout=PATIENCE) as answer:
        open_now = re.findall(r"^lockstep_connections\{.*\} (\d+)$", answer.read().decode(), re.M)
    return sum(map(int, open_now))


def open_connections(relay, count, says=b""):
    crowd = []
    for _ in range(count):
        crowd.append(socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE))
        if says:
            crowd[-1].sendall(says)
    return crowd


async def a_push_arrives(person, one, two, name):
    token = await one.save(record(name))
    assert (await one.receive("saved"))["id"] == token
    push = await two.receive("changes")
    assert [each["name"] for each in push["changes"]] == [name], push


def check_sync_beside(open_crowd):
    """Two devices are online, the crowd connects, and their syncing works as before."""
    async def scene(relay):
        person = Person.new(relay)
        start = person.changes().json["token"]
        one, two = [await Socket.open(each, since=start) for each in (person, person.pair())]
        await a_push_arrives(person, one, two, "before")
        before = resident_bytes(relay)
        crowd = await asyncio.to_thread(open_crowd, relay)
        try:
            wait_until(lambda: connections(relay) >= len(crowd), "the crowd to be let in")
            cost = resident_bytes(relay) - before
            assert cost < len(crowd) * IDLE_BYTES + (8 << 20), (cost, len(crowd))
            for number in range(5):
                await a_push_arrives(person, one, two, f"beside {number}")
            third = person.pair("third")
            expect(third.changes(), 200)
        finally:
            for each in crowd:
                each.close()
        wait_until(lambda: connections(relay) < 10, "the crowd to be gone")
        await a_push_arrives(person, one, two, "after")

    play(scene, "--admin-listen", "127.0.0.1:0", "--loops", "1")


def story_ten_thousand_connections_that_say_nothing():
    """They are accepted and cost little; two devices, and a third that pairs, are not affected."""
    check_sync_beside(lambda relay: open_connections(relay, raise_descriptor_limit(10_000)))


def story_thousands_of_requests_that_stop_half_way():
    """The first half of a request, on each of three thousand connections."""
    half = b"POST /v1/accounts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX: "
    check_sync_beside(lambda relay: open_connections(relay, raise_descriptor_limit(3_000), half))


if __name__ == "__main__":
    main(globals())
