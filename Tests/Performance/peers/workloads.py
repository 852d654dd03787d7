"""Definition of the measurements: number of accounts and devices, their work, and the place of the
relay's store."""

import dataclasses

ALL = ("floor", "floor-batch", "uws", "lockstep", "nchan", "mosquitto", "nats", "floor-broken")
POLLED = ("floor", "uws", "lockstep", "nchan")
SAVING = ("lockstep", "jetstream", "jetstreams")
STORM_ACCOUNTS, STORM_DEVICES, CROWD_DEVICES = 2500, 6, 100


@dataclasses.dataclass(frozen=True)
class Shape:
    """One load on one server. `devices`: receivers of each account, without the publisher."""

    mode: str
    accounts: int
    devices: int
    options: tuple = ()
    # True if the relay's store is on the disk; False if it is in memory.
    on_disk: bool = False
    peers: tuple = ALL
    # True if all connections belong to one account; its devices have several each.
    is_crowd: bool = False
    # The figure for ratios to the floor. "commit": latency is compared with a commit to disk that
    # is timed during the load.
    compares: str = "cpu"

    @property
    def name(self):
        size = f"{self.accounts} × {self.devices}" if self.devices else f"{self.accounts} devices"
        rate = dict(zip(self.options[::2], self.options[1::2])).get("--rate")
        place = ", on the disk" if self.on_disk and rate else ""
        return f"{size} at {rate}/s{place}" if rate else size

    @property
    def needed_devices(self):
        """Devices of each account, including the publisher."""
        return self.devices + (self.mode != "storm")


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    about: str
    shapes: tuple
    quick_shapes: tuple


def rate(messages, **more):
    return dict(mode="rate", options=("--rate", str(messages)), **more)


WORKLOADS = [
    Workload("fanout", "messages at a steady rate to the devices of many accounts",
             (Shape(accounts=1000, devices=5, **rate(4000)),
              Shape(accounts=1000, devices=1, **rate(4000))),
             (Shape(accounts=20, devices=5, **rate(200)),
              Shape(accounts=20, devices=1, **rate(200)))),
    Workload("pressure", "eight messages under way to one account with very many connections",
             (Shape("window", 1, 5000, ("--window", "8"), is_crowd=True),),
             (Shape("window", 1, 50, ("--window", "8"), is_crowd=True),)),
    Workload("storm", "devices connect and say hello; then, what they take when they are idle",
             (Shape("storm", STORM_ACCOUNTS, STORM_DEVICES, ("--settle", "2")),),
             (Shape("storm", 20, STORM_DEVICES),)),
    Workload("longpoll", "messages at a steady rate to the long-polls of many accounts",
             (Shape("longpoll", 400, 5, ("--rate", "1000"), peers=POLLED),),
             (Shape("longpoll", 10, 5, ("--rate", "50"), peers=POLLED),)),
    Workload("saves", "devices, each with one save until it is durable; nobody receives",
             (Shape("saves", 1000, 0, on_disk=True, peers=SAVING),),
             (Shape("saves", 20, 0, on_disk=True, peers=SAVING),)),
    Workload("latency", "few messages: from a change to the account's two other devices",
             (Shape(accounts=100, devices=2, compares="latency", **rate(200)),
              Shape(accounts=100, devices=2, compares="commit", on_disk=True,
                    peers=("floor", "lockstep"), **rate(200))),
             (Shape(accounts=10, devices=2, compares="latency", **rate(50)),
              Shape(accounts=10, devices=2, compares="commit", on_disk=True,
                    peers=("floor", "lockstep"), **rate(50)))),
]


def shapes(workload, is_quick):
    return workload.quick_shapes if is_quick else workload.shapes


def population_for(chosen):
    """Number of accounts, devices of each, and devices of the crowd that these shapes need on a
    relay."""
    people = [shape for shape in chosen if not shape.is_crowd]
    crowd = CROWD_DEVICES if any(shape.is_crowd for shape in chosen) else 0
    return (max((shape.accounts for shape in people), default=0),
            max((shape.needed_devices for shape in people), default=0), crowd)
