"""Proxy between a device and its relay: it records everything that both send, by HTTP and on the
socket, and can change it, answer in place of the relay, drop it or cut the connection.

`websockets` implements the WebSocket on both sides.
"""

import http.client
import json
import socket
import threading
import time

from websockets.client import ClientConnection
from websockets.exceptions import InvalidState
from websockets.frames import Close, Opcode
from websockets.server import ServerConnection
from websockets.uri import parse_uri

from story import PATIENCE, wait_until

CUT = "cut"
HANG = "hang"


class Back:
    """A message that is returned to its sender."""

    def __init__(self, *messages):
        self.messages = messages


class Heard:
    """One recorded event: a request, an answer, or a message; `up` if it came from the device."""

    def __init__(self, line, up, method=None, path=None, status=None, message=None, headers=None):
        self.at = time.monotonic()
        self.line, self.up, self.method, self.path, self.status = line, up, method, path, status
        self.message, self.headers = message, headers or {}

    @property
    def op(self):
        return self.message.get("op") if isinstance(self.message, dict) else None

    def __repr__(self):
        arrow = ">" if self.up else "<"
        what = [each for each in (self.method, self.path, self.status) if each]
        return f"{self.line}{arrow} {' '.join(map(str, what))} {json.dumps(self.message)[:300]}"


def problem(status, code, **members):
    """A problem answer in place of the relay's."""
    headers = {"Content-Type": "application/problem+json"}
    if "retryAfter" in members:
        headers["Retry-After"] = str(members["retryAfter"])
    return status, headers, {
        "type": "urn:lockstep:problem:" + code, "title": code, "status": status, "code": code,
        "detail": f"a story says {code}", **members}


class Middle:
    """Listens in place of the relay. `on_request(request)` may return an answer (status, headers,
    body), CUT or HANG; None passes the request on. `on_message(message, up)` returns the
    replacement: a message, a list of them, a close code, CUT, None to drop it, or Back; without a
    callback everything passes."""

    def __init__(self, relay):
        self.relay, self.heard, self.lines = relay, [], 0
        self.on_request = self.on_message = None
        self.lock, self.open = threading.Lock(), set()
        self.port = 0
        self.rise()
        self.address = f"http://127.0.0.1:{self.port}"

    def rise(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def fall(self):
        """Stops listening and cuts all connections, until `rise`."""
        # Closing alone would not wake a thread that waits in accept.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.listener.fileno() >= 0:
            self.fall()

    def cut(self):
        """Cuts every open connection."""
        with self.lock:
            open, self.open = self.open, set()
        for each in open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def find(self, passes, since=0):
        return next((each for each in self.heard[since:] if passes(each)), None)

    def hear(self, passes, what, since=0, seconds=PATIENCE):
        """Waits for the first recorded event that matches."""
        return wait_until(lambda: self.find(passes, since),
                          lambda: f"{what}; heard {self.heard[since:][-12:]}", seconds)

    def messages(self, op, up=True, since=0):
        return [each for each in self.heard[since:] if each.op == op and each.up == up]

    def accept(self, listener):
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(line)
                self.lines += 1
                number = self.lines
            threading.Thread(target=self.serve, args=(line, number), daemon=True).start()

    def serve(self, line, number):
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            file = line.makefile("rb")
            while self.request(line, file, number):
                pass
        except OSError:
            pass
        finally:
            line.close()
            with self.lock:
                self.open.discard(line)

    # MARK: HTTP

    def request(self, line, file, number):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            part = file.readline()
            if not part:
                return False
            head += part
        first, *rest = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in
                   (each.partition(":") for each in rest if each)}
        raw = file.read(int(headers.get("content-length", 0)))
        asked = Heard(number, True, method, path, message=json.loads(raw) if raw else None,
                      headers=headers)
        self.heard.append(asked)
        answer = self.on_request(asked) if self.on_request else None
        if answer == CUT:
            return False
        if answer == HANG:
            # Waits until the device gives up.
            while line.recv(4096):
                pass
            return False
        if answer is None and headers.get("upgrade", "").lower() == "websocket":
            self.socket(line, head, headers, number)
            return False
        status, fields, body = answer or self.ask(method, path, raw, headers)
        self.heard.append(Heard(number, False, method, path, status, body, fields))
        raw = b"" if body is None else json.dumps(body).encode()
        text = f"HTTP/1.1 {status} {http.client.responses.get(status, 'x')}\r\n"
        text += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        line.sendall(text.encode() + f"Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        return True

    def ask(self, method, path, raw, headers):
        passed = {name: value for name, value in headers.items()
                  if name in ("authorization", "content-type")}
        connection = http.client.HTTPConnection("127.0.0.1", self.relay.port, timeout=PATIENCE)
        try:
            connection.request(method, path, raw or None, passed)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        fields = {name: value for name, value in answer.getheaders()
                  if name.lower() in ("content-type", "retry-after", "www-authenticate")}
        return answer.status, fields, json.loads(body) if body else None

    # MARK: the socket

    def socket(self, line, head, headers, number):
        device = ServerConnection(subprotocols=["lockstep.v1"], max_size=16 << 20)
        device.receive_data(head)
        [asked] = device.events_received()
        relay = ClientConnection(parse_uri(f"ws://127.0.0.1:{self.relay.port}/v1/socket"),
                                 subprotocols=["lockstep.v1"], max_size=16 << 20)
        opening = relay.connect()
        if "authorization" in headers:
            opening.headers["Authorization"] = headers["authorization"]
        relay.send_request(opening)
        with socket.create_connection(("127.0.0.1", self.relay.port), timeout=PATIENCE) as further:
            further.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open.add(further)
            further.sendall(b"".join(relay.data_to_send()))
            while not (told := relay.events_received()):
                data = further.recv(65536)
                if not data:
                    return
                relay.receive_data(data)
            if told[0].status_code != 101:
                body = told[0].body or b""
                text = f"HTTP/1.1 {told[0].status_code} x\r\nContent-Length: {len(body)}\r\n"
                text += "Content-Type: application/problem+json\r\n\r\n"
                self.heard.append(Heard(number, False, "GET", "/v1/socket", told[0].status_code))
                line.sendall(text.encode() + body)
                return
            device.send_response(device.accept(asked))
            line.sendall(b"".join(device.data_to_send()))
            # Only one thread at a time may use a connection's state.
            lock = threading.Lock()
            up = threading.Thread(
                target=self.pump, args=(line, device, further, relay, number, True, lock), daemon=True)
            up.start()
            self.pass_on(told[1:], device, relay, line, further, number, False, lock)
            self.pump(further, relay, line, device, number, False, lock)
            up.join(5)
            with self.lock:
                self.open.discard(further)

    def pump(self, source, hears, target, says, number, up, lock):
        try:
            while True:
                data = source.recv(65536)
                with lock:
                    hears.receive_data(data) if data else hears.receive_eof()
                    events = hears.events_received()
                    answer = hears.data_to_send()
                if any(answer):
                    source.sendall(b"".join(answer))
                if not self.pass_on(events, says, hears, target, source, number, up, lock) or not data:
                    break
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def pass_on(self, events, says, hears, target, source, number, up, lock):
        """Returns False if the connection is to be cut."""
        for event in events:
            if event.opcode == Opcode.CLOSE:
                code = Close.parse(event.data).code
                self.heard.append(Heard(number, up, status=code, message={"op": "close"}))
                self.say(says, target, lock, code)
                continue
            if event.opcode != Opcode.TEXT:
                continue
            message = json.loads(event.data)
            self.heard.append(Heard(number, up, message=message))
            passed = self.on_message(message, up) if self.on_message else message
            if passed == CUT:
                return False
            for each in passed if isinstance(passed, list) else [passed]:
                if each is message:
                    # Unchanged, byte for byte.
                    self.say(says, target, lock, event.data)
                elif isinstance(each, Back):
                    for message in each.messages:
                        self.heard.append(Heard(number, not up, message=message))
                        self.say(hears, source, lock, message)
                elif each is not None:
                    self.say(says, target, lock, each)
        return True

    def say(self, says, target, lock, what):
        with lock:
            try:
                if isinstance(what, int):
                    says.send_close(None if what == 1005 else what, "")
                else:
                    is_raw = isinstance(what, (bytes, bytearray))
                    says.send_text(what if is_raw else json.dumps(what).encode())
            except InvalidState:
                # It was closed meanwhile.
                return
            data = says.data_to_send()
        target.sendall(b"".join(data))
