"""Raw bytes at the relay's port: the requirements of RFC 9112 and related RFCs, case by case, whole
and byte by byte, in plain text and over TLS. The cases are in raw_http_cases.py.
"""

import socket
import ssl

from raw_http_cases import CASES, EVIL
from secure_relay import CA, SecureRelay
from story import PATIENCE, Relay, main

PROBE = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


class RawConnection:
    """A connection that is written and read byte for byte."""

    def __init__(self, relay):
        self.socket = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if relay.address.startswith("https"):
            trust = ssl.create_default_context(cafile=CA)
            self.socket = trust.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.buffer = b""

    def send(self, raw, parts=False):
        """If the peer has already closed, the next read reports it."""
        try:
            for part in [raw[n:n + 1] for n in range(len(raw))] if parts else [raw]:
                self.socket.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self):
        try:
            part = self.socket.recv(1 << 16)
        except ConnectionResetError:
            part = b""
        self.buffer += part
        return bool(part)

    def read_until(self, mark):
        while mark not in self.buffer:
            if not self.receive():
                return None
        part, _, self.buffer = self.buffer.partition(mark)
        return part

    def read(self, count):
        while len(self.buffer) < count:
            assert self.receive(), "the connection ended within an answer"
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def answer(self, to_head=False):
        """Status and bytes of the next answer; None if the stream ends before it."""
        head = self.read_until(b"\r\n\r\n")
        if head is None:
            return None
        line, *fields = head.lower().split(b"\r\n")
        version, status, *_ = line.split(b" ")
        assert version == b"http/1.1", line
        status = int(status)
        lengths = [int(field.split(b":")[1]) for field in fields if field.startswith(b"content-length:")]
        assert len(lengths) <= 1 and b"transfer-encoding" not in head.lower(), head
        if status in (100, 101, 204) or to_head:
            return status, head.lower()
        assert lengths, head
        return status, head.lower() + b"\r\n\r\n" + self.read(lengths[0]).lower()

    def close(self):
        self.socket.close()


def check_case(relay, case, parts):
    connection = RawConnection(relay)
    try:
        connection.send(case.bytes, parts)
        if case.ends:
            connection.socket.shutdown(socket.SHUT_WR)
        told = []
        for _ in case.statuses:
            told.append(connection.answer(to_head=case.bytes.startswith(b"HEAD ")))
            if told[-1] is None:
                break
        statuses = tuple(each and each[0] for each in told)
        if statuses != case.statuses:
            return f"{statuses} and not {case.statuses}; {told[-1]}"
        for part in case.holds:
            if part not in told[-1][1]:
                return f"{part} is not in {told[-1]}"
        if case.stays_open:
            connection.send(PROBE)
            after = connection.answer()
            return None if after and after[0] == 200 else f"{after} to what was asked after it"
        if case.statuses == (101,):
            return None
        after = connection.answer()
        return f"{after} after the last answer" if after else None
    except TimeoutError:
        return "nothing came, and the connection stayed"
    finally:
        connection.close()


def check_cases(relay, parts=False):
    wrong = []
    for case in CASES:
        # Sent byte by byte, the long cases add nothing to the short ones.
        if parts and len(case.bytes) > 1_000:
            continue
        fault = check_case(relay, case, parts)
        if fault:
            wrong.append(f"RFC {case.section}, {case.name}: {fault}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(CASES)} cases:"] + wrong)


def story_every_case_is_decided_as_its_section_says():
    """All cases, each on a new connection; the relay continues."""
    assert len(CASES) >= 100 and len({(case.section, case.name) for case in CASES}) == len(CASES)
    assert sum(EVIL in case.bytes for case in CASES) > 40
    with Relay() as relay:
        check_cases(relay)


def story_the_same_holds_a_byte_at_a_time():
    """The result does not depend on the division of the bytes into packets."""
    with Relay() as relay:
        check_cases(relay, parts=True)


def story_tls_changes_none_of_it():
    """The same bytes over TLS get the same answers."""
    with SecureRelay() as relay:
        check_cases(relay)


if __name__ == "__main__":
    main(globals())
