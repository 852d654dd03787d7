"""Accounts and their devices, created once on a relay through its API. Each run begins with a copy
of the relay's store in that state.
"""

import concurrent.futures
import http.client
import json
import os
import shutil

from programs import RunError

# Files in a relay's folder that belong to its process only.
OF_THE_PROCESS = ("admin.sock", "lock")
AT_ONCE = 8


class Population:
    """`people`: accounts with some devices each; `crowd`: one account with as many devices as
    allowed.

    The files have one line for each account: its change token, and the tokens of its devices.
    """

    def __init__(self, folder):
        self.store = os.path.join(folder, "store")
        self.people, self.crowd = [os.path.join(folder, name) for name in ("people", "crowd")]

    def make(self, relay, accounts, devices, crowd, progress):
        """Creates the population; `relay` runs on `store` and accepts accounts."""
        done = 0
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, open(self.people, "w") as file:
            for line in pool.map(lambda _: create_account(relay.port, devices), range(accounts)):
                file.write(line)
                done += 1
                progress(f"{done} of {accounts} accounts are made")
        if crowd:
            with open(self.crowd, "w") as file:
                file.write(create_account(relay.port, crowd))

    def copy(self, folder):
        """Copies the store to a folder that does not exist yet."""
        ignored = shutil.ignore_patterns(*OF_THE_PROCESS)
        shutil.copytree(self.store, folder, ignore=ignored)
        return folder


def create_account(port, devices):
    """Creates an account and returns its line."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        about = {"deviceName": "load", "platform": "load", "appVersion": "1"}
        tokens = [request(line, "POST", "/v1/accounts", about)["token"]]
        while len(tokens) < devices:
            code = request(line, "POST", "/v1/pairings", token=tokens[0])["code"]
            tokens.append(request(line, "POST", "/v1/devices", {"code": code, **about})["token"])
        cursor = request(line, "GET", "/v1/changes", token=tokens[0])["token"]
        return " ".join([cursor, *tokens]) + "\n"
    finally:
        line.close()


def advance_cursor(port, words):
    """Returns the account's line with its current change token."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        cursor, *tokens = words.split()
        more = True
        while more:
            page = request(line, "GET", f"/v1/changes?since={cursor}", token=tokens[0])
            cursor, more = page["token"], page["more"]
        return " ".join([cursor, *tokens]) + "\n"
    finally:
        line.close()


def request(line, method, path, body=None, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    line.request(method, path, None if body is None else json.dumps(body), headers)
    answer = line.getresponse()
    text = answer.read().decode()
    if answer.status >= 300:
        raise RunError(f"{method} {path} is answered with {answer.status}: {text}")
    return json.loads(text)
