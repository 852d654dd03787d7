"""Client of a NATS server that makes streams."""

import json
import re
import socket

from programs import RunError

ANSWER_SECONDS, PREFIX = 60, "_INBOX.peers"


class Client:
    """Connection to a NATS server that asks one question at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
        self.received, self.asked = b"", 0

    def __enter__(self):
        self.send(b'CONNECT {"verbose":false,"pedantic":false,"lang":"python","version":"1"}\r\n'
                  b"SUB " + PREFIX.encode() + b".* 1\r\n")
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text)

    def create_stream(self, name, subject):
        about = {"name": name, "subjects": [subject], "storage": "file", "retention": "limits",
                 "discard": "old", "num_replicas": 1}
        answer = self.ask(f"$JS.API.STREAM.CREATE.{name}", json.dumps(about).encode())
        if "error" in answer:
            raise RunError(f"NATS makes no stream {name}: {answer['error']}")

    def ask(self, subject, question):
        """Answer to a question, as JSON."""
        self.asked += 1
        self.send(f"PUB {subject} {PREFIX}.{self.asked} {len(question)}\r\n".encode() + question
                  + b"\r\n")
        while True:
            line = self.line()
            if line == "PING":
                self.send(b"PONG\r\n")
            elif line.startswith("-ERR"):
                raise RunError(f"NATS refuses {subject}: {line}")
            elif found := re.match(r"MSG \S+ \S+ (?:\S+ )?(\d+)$", line):
                return json.loads(self.bytes(int(found.group(1)) + 2))

    def line(self):
        while b"\r\n" not in self.received:
            self.receive()
        line, _, self.received = self.received.partition(b"\r\n")
        return line.decode()

    def bytes(self, count):
        while len(self.received) < count:
            self.receive()
        found, self.received = self.received[:count], self.received[count:]
        return found

    def receive(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise RunError("NATS ended a connection")
        self.received += part
