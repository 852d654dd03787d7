"""Sessions of a PostgreSQL server, with the part of its protocol that a run needs: simple queries
over a Unix socket, without a password."""

import socket
import struct

PROTOCOL = 196_608


class ServerError(OSError):
    """Error response of the server. `state`: its SQLSTATE, five characters."""

    def __init__(self, fields):
        super().__init__(f"{fields.get('M', '')} ({fields.get('C', '')})")
        self.state = fields.get("C", "")


class Session:
    """One session; its opener closes it (`with`)."""

    def __init__(self, path, user, database, seconds=10):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        try:
            self.socket.connect(path)
            words = ["user", user, "database", database, "application_name", "torture", ""]
            body = b"".join(word.encode() + b"\0" for word in words)
            self.socket.sendall(struct.pack("!ii", len(body) + 8, PROTOCOL) + body)
            self.read_until_ready()
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def query(self, question):
        """Rows of the answer, as strings; None for NULL."""
        body = question.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self.read_until_ready()

    def number(self, question):
        rows = self.query(question)
        return int(rows[0][0] or 0)

    def read_until_ready(self):
        rows, error = [], None
        while True:
            kind, body = self.read_message()
            if kind == b"R" and struct.unpack("!i", body[:4])[0]:
                raise OSError("the server asks for a password")
            if kind == b"D":
                rows.append(values(body))
            elif kind == b"E":
                error = ServerError({part[:1].decode(): part[1:].decode(errors="replace")
                                     for part in body.split(b"\0") if part})
                # Nothing follows an error that ends the session.
                if b"FATAL" in body or b"PANIC" in body:
                    raise error
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    def read_message(self):
        head = self.read_exactly(5)
        return head[:1], self.read_exactly(struct.unpack("!i", head[1:])[0] - 4)

    def read_exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the server ended the session")
            data += more
        return data


def values(body):
    """A row: the number of values, and the length and bytes of each."""
    count, = struct.unpack("!h", body[:2])
    found, at = [], 2
    for _ in range(count):
        length, = struct.unpack("!i", body[at:at + 4])
        at += 4
        found.append(None if length < 0 else body[at:at + length].decode())
        at += max(0, length)
    return found
