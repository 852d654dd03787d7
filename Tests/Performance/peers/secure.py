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
from servers import Relay, Server
from table import cell, table

CONNECTIONS, QUICK_CONNECTIONS, REPETITIONS = 1000, 50, 3
SETTLE_SECONDS, ANSWER_SECONDS = 1, 30


class SecureFloor(Server):
    says_port = r"listening on 127\.0\.0\.1:(\d+)"

    def command(self):
        return [self.setting.secure_floor, *self.setting.certificate]


class SecureRelay(Relay):
    says_port = r"listening on https://127\.0\.0\.1:(\d+)"

    def command(self):
        certificate, key = self.setting.certificate
        return [*super().command(), "--tls-cert", certificate, "--tls-key", key]


def measure(given, setting, progress):
    folder = os.path.join(setting.disk, "certificate")
    subprocess.run([os.path.join(setting.root, "scripts", "test-certificate"), folder], check=True,
                   capture_output=True)
    setting.certificate = [os.path.join(folder, name) for name in ("server.pem", "server.key")]
    setting.prepare(10, 10, 0)
    tokens = read_tokens(setting.population.people)
    count = QUICK_CONNECTIONS if given.quick else CONNECTIONS
    found = {"floor": [], "lockstep": []}
    for repetition in range(1 if given.quick else REPETITIONS):
        for peer, kind in (("floor", SecureFloor), ("lockstep", SecureRelay)):
            progress(f"{repetition + 1}: {count} connections over TLS, {peer}")
            folder = setting.new_folder(on_disk=False)
            with kind(setting, folder, processor=setting.pins[0]) as server:
                found[peer].append(idle_bytes(server, count, tokens))
    progress.end()
    if given.json:
        print(json.dumps({"connections": count, "idleBytes": found}))
        return 0
    more = [ours - least for least, ours in zip(found["floor"], found["lockstep"])]
    print(table(["idle over TLS", "bytes of the server for each"],
                [["OpenSSL alone", cell(found["floor"])], ["lockstep", cell(found["lockstep"])],
                 ["difference", cell(more)]]))
    return 0


def read_tokens(path):
    with open(path) as file:
        return [token for line in file for token in line.split()[1:]]


def idle_bytes(server, count, tokens):
    """Idle memory of each connection, after all have completed the handshake and are quiet."""
    lines = []
    try:
        # The first connection is not counted, because the server allocates shared state with it.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        lines.append(connected(server, tokens[0], context))
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
    line = context.wrap_socket(plain)
    key = base64.b64encode(os.urandom(16)).decode()
    line.sendall((f"GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                  f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: lockstep.v1\r\n"
                  f"Authorization: Bearer {token}\r\n\r\n").encode())
    if isinstance(server, SecureFloor):
        line.recv(1 << 16)
        return line
    response = b""
    while b"\r\n\r\n" not in response:
        response += received(line)
    text = b'{"op":"hello"}'
    line.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    while b'"op":"welcome"' not in response:
        response += received(line)
    return line


def received(line):
    part = line.recv(1 << 16)
    if not part:
        raise RunError("the relay ended a connection over TLS")
    return part


def own_memory(server):
    with open(f"/proc/{server.process.pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024
