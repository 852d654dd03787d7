"""Devices that are connected and do nothing, and what they cost."""

import os
import subprocess
import time

from programs import RunError

START_SECONDS = 300


class Crowd:
    """Idle devices of a bench, connected to all its relays."""

    def __init__(self, bench, accounts, devices):
        self.bench, self.count = bench, accounts * devices
        bench.catch_up(bench.idle)
        self.process = subprocess.Popen(
            [bench.setting.load, "lockstep", "storm", "--port", ",".join(map(str, bench.ports)),
             "--accounts-file", bench.idle, "--accounts", str(accounts),
             "--devices", str(devices), "--settle", "3500", "--limit", "3600"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def is_connected(self):
        if self.process.poll() is not None:
            raise RunError(f"{self.bench.name}: {self.process.stderr.read().strip()}")
        return established(self.bench.ports) >= self.count

    def await_connected(self, progress):
        end = time.monotonic() + START_SECONDS
        while not self.is_connected():
            progress(f"{self.bench.name}: {self.count:,} devices connect")
            if time.monotonic() > end:
                raise RunError(f"{self.bench.name}: the devices do not connect")
            time.sleep(1)

    def spent(self):
        """Processor seconds so far, of the relays and of the database."""
        return (sum(map(thread_seconds, self.bench.of_relays)), self.bench.database_seconds())

    def end(self):
        self.process.kill()
        self.process.communicate()


def established(ports):
    """Number of connections to these ports, at the end that listens."""
    local = {f"0100007F:{port:04X}" for port in ports}
    with open("/proc/net/tcp") as file:
        lines = [line.split() for line in file]
    return sum(1 for words in lines if words[1] in local and words[3] == "01")


def thread_seconds(process):
    """Processor seconds of the threads of a process, by the scheduler."""
    total = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def idle_costs(benches, accounts, devices, settled, seconds, windows, progress):
    """Costs of idle devices, which `bench.idle` names, at the same time for all benches: for each
    bench's name a row for each window of `seconds`. The first window begins `settled` seconds
    after the last device has connected; what that has left to do to a database is done then."""
    crowds, rows = [], {bench.name: [] for bench in benches}
    try:
        for bench in benches:
            crowds.append(Crowd(bench, accounts, devices))
            crowds[-1].await_connected(progress)
        progress(f"{settled} s until what happens once has happened")
        time.sleep(settled)
        for bench in benches:
            if bench.database:
                bench.database.checkpoint()
        for number in range(windows):
            progress(f"{number + 1} of {windows}: {accounts * devices:,} devices of each do "
                     f"nothing for {seconds} s")
            for name, row in window(crowds, seconds).items():
                rows[name].append(row)
    finally:
        for crowd in crowds:
            crowd.end()
    return rows


def window(crowds, seconds):
    """Microseconds of processor a second, of the relays and of the database, for each device."""
    before = [(time.monotonic(), *crowd.spent()) for crowd in crowds]
    time.sleep(seconds)
    row = {}
    for crowd, start in zip(crowds, before):
        now = (time.monotonic(), *crowd.spent())
        parts = crowd.count * (now[0] - start[0]) / 1e6
        row[crowd.bench.name] = {"relay": (now[1] - start[1]) / parts,
                                 "database": (now[2] - start[2]) / parts}
        if not crowd.is_connected():
            raise RunError(f"{crowd.bench.name}: a device was disconnected")
    return row
