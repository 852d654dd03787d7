"""Time from the relay's start until it listens, with an empty store and with a full one."""

import concurrent.futures
import http.client
import json
import os
import re
import statistics
import subprocess
import time
import uuid

from population import AT_ONCE, create_account, request
from programs import RunError
from servers import Relay
from table import cell, table

RECORDS_OF_AN_ACCOUNT, BATCH = 10_000, 400
REPETITIONS = 10


def measure(given, setting, progress):
    counts = [0, 1_000 if given.quick else given.records]
    repetitions = 1 if given.quick else REPETITIONS
    rows = []
    for count in counts:
        folder = os.path.join(setting.new_folder(on_disk=True), "store")
        fill(setting, folder, count, progress)
        runs = []
        for repetition in range(repetitions):
            progress(f"{count:,} records: {repetition + 1} of {repetitions}")
            runs.append(start(setting, folder))
        rows.append({"records": count, "storeBytes": size(folder),
                     "milliseconds": [1000 * seconds for seconds, _ in runs],
                     "residentBytes": [memory for _, memory in runs]})
    progress.end()
    if given.json:
        print(json.dumps({"starts": rows}))
        return 0
    head = ["records", "store, MB", "start time, ms", "resident then, MB"]
    print(table(head, [[f"{row['records']:,}", f"{row['storeBytes'] / 1e6:.1f}",
                        cell(row["milliseconds"]),
                        f"{statistics.median(row['residentBytes']) / 1e6:.1f}"] for row in rows]))
    return 0


def fill(setting, folder, records, progress):
    """Fills a store with this many records of 200 bytes."""
    relay = Relay(setting, folder + "-filling", store=folder)
    accounts = -(-records // RECORDS_OF_AN_ACCOUNT)
    with relay, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        left = [min(RECORDS_OF_AN_ACCOUNT, records - number * RECORDS_OF_AN_ACCOUNT)
                for number in range(accounts)]
        done = 0
        for count in pool.map(lambda count: save(relay.port, count), left):
            done += count
            progress(f"{done:,} of {records:,} records are saved")


def save(port, records):
    token = create_account(port, 1).split()[1]
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        for first in range(0, records, BATCH):
            batch = [{"name": f"memo {number}", "type": "Memo", "modifiedAt": 1, "baseTag": 0,
                      "fields": {"content": f"{number:0185}"}}
                     for number in range(first, min(first + BATCH, records))]
            request(line, "POST", "/v1/zones/Memos/records",
                    {"id": str(uuid.uuid4()), "records": batch}, token)
    finally:
        line.close()
    return records


def start(setting, folder):
    """Returns the seconds until the relay listens, and its resident bytes then."""
    command = Relay(setting, folder, store=folder).command()
    begun = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        output = ""
        for line in process.stdout:
            output += line
            if re.search(Relay.says_port, line):
                return time.monotonic() - begun, resident(process.pid)
        raise RunError(f"the relay does not start: {output[-1000:]}")
    finally:
        process.terminate()
        process.communicate()


def resident(process):
    with open(f"/proc/{process}/status") as file:
        return int(re.search(r"^VmRSS:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024


def size(folder):
    return sum(os.path.getsize(os.path.join(root, name))
               for root, _, names in os.walk(folder) for name in names)
