"""Memory of the relay for an idle device over TLS, compared with the minimum for OpenSSL."""

import base64
import json
import os
import re
import socket
import ssl
import subprocess
import time

from programs import RunError
from servers import Given, Relay, Server
from table import cell, table

CONNECTIONS, QUICK_CONNECTIONS, REPETITIONS = 1000, 50, 3
# The relay's devices, each with several connections: what it keeps for a device belongs to the idle
# device without TLS.
ACCOUNTS, DEVICES = 10, 10
SETTLE_SECONDS, ANSWER_SECONDS = 1, 30


class SecureFloor(Server):
    says_port = r"listening on 127\.0\.0\.1:(\d+)"

    def command(self):
        return [self.setting.secure_floor, *self.setting.certificate]

    def greet(self, line, token):
        line.sendall(upgrade(self.port, "/"))
        line.recv(1 << 16)


class SecureGiven(Given):
    def command(self):
        return [*super().command(), *self.setting.certificate]

    def greet(self, line, token):
        line.sendall(upgrade(self.port, "/ws/000000/00000"))
        receive_until(line, b"\r\n\r\n")


class SecureRelay(Relay):
    says_port = r"listening on https://127\.0\.0\.1:(\d+)"

    def command(self):
        certificate, key = self.setting.certificate
        return [*super().command(), "--tls-cert", certificate, "--tls-key", key]

    def greet(self, line, token):
        line.sendall(upgrade(self.port, "/v1/socket", "Sec-WebSocket-Protocol: lockstep.v1\r\n"
                             f"Authorization: Bearer {token}\r\n"))
        receive_until(line, b"\r\n\r\n")
        text = b'{"op":"hello"}'
        line.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
        receive_until(line, b'"op":"welcome"')


KINDS = {"floor": SecureFloor, "uws": SecureGiven, "lockstep": SecureRelay}
TITLES = {"floor": "OpenSSL alone"}


def measure(given, setting, progress):
    make_certificate(setting)
    setting.prepare(ACCOUNTS, DEVICES, 0)
    count = QUICK_CONNECTIONS if given.quick else CONNECTIONS
    found = {peer: [] for peer, kind in KINDS.items() if not kind.missing(setting)}
    for repetition in range(1 if given.quick else REPETITIONS):
        for peer in found:
            progress(f"{repetition + 1}: {count} connections over TLS, {peer}")
            found[peer].append(run(setting, peer, count))
    progress.end()
    if given.json:
        print(json.dumps({"connections": count, "idleBytes": found}))
        return 0
    more = [ours - least for least, ours in zip(found["floor"], found["lockstep"])]
    print(table(["idle over TLS", "bytes of the server for each"],
                [*[[TITLES.get(peer, peer), cell(values)] for peer, values in found.items()],
                 ["lockstep − OpenSSL alone", cell(more)]]))
    return 0


def make_certificate(setting):
    folder = os.path.join(setting.disk, "certificate")
    subprocess.run([os.path.join(setting.root, "scripts", "test-certificate"), folder], check=True,
                   capture_output=True)
    setting.certificate = [os.path.join(folder, name) for name in ("server.pem", "server.key")]


def run(setting, peer, count):
    """Idle memory of each connection to a fresh server. The relay's accounts and the certificate
    have been made."""
    tokens = read_tokens(setting.population.people)[:ACCOUNTS * DEVICES]
    folder = setting.new_folder(on_disk=False)
    with KINDS[peer](setting, folder, processor=setting.pins[0]) as server:
        return idle_bytes(server, count, tokens)


def read_tokens(path):
    with open(path) as file:
        return [token for line in file for token in line.split()[1:]]


def idle_bytes(server, count, tokens):
    """Idle memory of each connection, after all have completed the handshake and are quiet."""
    lines = []
    try:
        # The first connection of each device is not counted: with it the server allocates what it
        # keeps for the device, and its store's cache reads the pages where that is stored.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for token in tokens:
            lines.append(connected(server, token, context))
        time.sleep(SETTLE_SECONDS)
        before = own_memory(server)
        for number in range(count):
            lines.append(connected(server, tokens[number % len(tokens)], context))
        time.sleep(SETTLE_SECONDS)
        return (own_memory(server) - before) / count
    finally:
        for line in lines:
            line.close()


def connected(server, token, context):
    plain = socket.create_connection(("127.0.0.1", server.port), ANSWER_SECONDS)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = context.wrap_socket(plain)
    server.greet(line, token)
    return line


def upgrade(port, path, fields=""):
    key = base64.b64encode(os.urandom(16)).decode()
    return (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n{fields}\r\n").encode()


def receive_until(line, end):
    response = b""
    while end not in response:
        part = line.recv(1 << 16)
        if not part:
            raise RunError("the server ended a connection over TLS")
        response += part


def own_memory(server):
    """Bytes of the heap and the stacks. Pages of files are left out: a process counts fewer of them
    while others have the same libraries loaded."""
    with open(f"/proc/{server.process.pid}/smaps_rollup") as file:
        return int(re.search(r"^Anonymous:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024
