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


class Reply:
    """Messages that are returned to the sender, in place of the one it sent."""

    def __init__(self, *messages):
        self.messages = messages


class Event:
    """One recorded event: a request, an answer, or a message; `up` if it came from the device."""

    def __init__(self, connection, up, method=None, path=None, status=None, message=None,
                 headers=None):
        self.at = time.monotonic()
        self.connection, self.up = connection, up
        self.method, self.path, self.status = method, path, status
        self.message, self.headers = message, headers or {}

    @property
    def op(self):
        return self.message.get("op") if isinstance(self.message, dict) else None

    def __repr__(self):
        arrow = ">" if self.up else "<"
        parts = [str(each) for each in (self.method, self.path, self.status) if each]
        what = " ".join(parts)
        return f"{self.connection}{arrow} {what} {json.dumps(self.message)[:300]}"


def problem(status, code, **members):
    """A problem answer in place of the relay's."""
    headers = {"Content-Type": "application/problem+json"}
    if "retryAfter" in members:
        headers["Retry-After"] = str(members["retryAfter"])
    return status, headers, {
        "type": "urn:lockstep:problem:" + code, "title": code, "status": status, "code": code,
        "detail": f"a story says {code}", **members}


class Proxy:
    """Listens in place of the relay. `on_request(request)` may return an answer (status, headers,
    body), CUT or HANG; None passes the request on. `on_message(message, up)` returns the
    replacement: a message, a list of them, a close code, CUT, None to drop it, or Reply; without a
    callback everything passes."""

    def __init__(self, relay):
        self.relay, self.events, self.connection_count = relay, [], 0
        self.on_request = self.on_message = None
        self.lock, self.open = threading.Lock(), set()
        self.port = 0
        self.listen()
        self.address = f"http://127.0.0.1:{self.port}"

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def shut_down(self):
        """Stops listening and cuts all connections, until `listen`."""
        # Closing alone would not wake a thread that waits in accept.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut_connections()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.listener.fileno() >= 0:
            self.shut_down()

    def cut_connections(self):
        """Cuts every open connection."""
        with self.lock:
            open, self.open = self.open, set()
        for each in open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def find(self, passes, since=0):
        return next((each for each in self.events[since:] if passes(each)), None)

    def wait_for(self, passes, what, since=0, seconds=PATIENCE):
        """Waits for the first recorded event that matches."""
        return wait_until(lambda: self.find(passes, since),
                          lambda: f"{what}; recorded {self.events[since:][-12:]}", seconds)

    def messages(self, op, up=True, since=0):
        return [each for each in self.events[since:] if each.op == op and each.up == up]

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.open.add(connection)
                self.connection_count += 1
                number = self.connection_count
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, connection, number):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            file = connection.makefile("rb")
            while self.request(connection, file, number):
                pass
        except OSError:
            pass
        finally:
            connection.close()
            with self.lock:
                self.open.discard(connection)

    # MARK: HTTP

    def request(self, connection, file, number):
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
        asked = Event(number, True, method, path, message=json.loads(raw) if raw else None,
                      headers=headers)
        self.events.append(asked)
        answer = self.on_request(asked) if self.on_request else None
        if answer == CUT:
            return False
        if answer == HANG:
            # Waits until the device gives up.
            while connection.recv(4096):
                pass
            return False
        if answer is None and headers.get("upgrade", "").lower() == "websocket":
            self.forward_socket(connection, head, headers, number)
            return False
        status, fields, body = answer or self.forward(method, path, raw, headers)
        self.events.append(Event(number, False, method, path, status, body, fields))
        raw = b"" if body is None else json.dumps(body).encode()
        text = f"HTTP/1.1 {status} {http.client.responses.get(status, 'x')}\r\n"
        text += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.sendall(text.encode() + f"Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        return True

    def forward(self, method, path, raw, headers):
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

    def forward_socket(self, connection, head, headers, number):
        device = ServerConnection(subprotocols=["lockstep.v1"], max_size=16 << 20)
        device.receive_data(head)
        [asked] = device.events_received()
        relay = ClientConnection(parse_uri(f"ws://127.0.0.1:{self.relay.port}/v1/socket"),
                                 subprotocols=["lockstep.v1"], max_size=16 << 20)
        opening = relay.connect()
        if "authorization" in headers:
            opening.headers["Authorization"] = headers["authorization"]
        relay.send_request(opening)
        with socket.create_connection(("127.0.0.1", self.relay.port), timeout=PATIENCE) as upstream:
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open.add(upstream)
            upstream.sendall(b"".join(relay.data_to_send()))
            while not (told := relay.events_received()):
                data = upstream.recv(65536)
                if not data:
                    return
                relay.receive_data(data)
            if told[0].status_code != 101:
                body = told[0].body or b""
                text = f"HTTP/1.1 {told[0].status_code} x\r\nContent-Length: {len(body)}\r\n"
                text += "Content-Type: application/problem+json\r\n\r\n"
                self.events.append(Event(number, False, "GET", "/v1/socket", told[0].status_code))
                connection.sendall(text.encode() + body)
                return
            device.send_response(device.accept(asked))
            connection.sendall(b"".join(device.data_to_send()))
            # Only one thread at a time may use a connection's state.
            lock = threading.Lock()
            up = threading.Thread(
                target=self.forward_frames,
                args=(connection, device, upstream, relay, number, True, lock), daemon=True)
            up.start()
            self.forward_events(told[1:], device, relay, connection, upstream, number, False, lock)
            self.forward_frames(upstream, relay, connection, device, number, False, lock)
            up.join(5)
            with self.lock:
                self.open.discard(upstream)

    def forward_frames(self, source, receiver, target, sender, number, up, lock):
        try:
            while True:
                data = source.recv(65536)
                with lock:
                    receiver.receive_data(data) if data else receiver.receive_eof()
                    events = receiver.events_received()
                    answer = receiver.data_to_send()
                if any(answer):
                    source.sendall(b"".join(answer))
                if not self.forward_events(events, sender, receiver, target, source, number, up, lock) or not data:
                    break
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def forward_events(self, events, sender, receiver, target, source, number, up, lock):
        """Returns False if the connection is to be cut."""
        for event in events:
            if event.opcode == Opcode.CLOSE:
                code = Close.parse(event.data).code
                self.events.append(Event(number, up, status=code, message={"op": "close"}))
                self.send(sender, target, lock, code)
                continue
            if event.opcode != Opcode.TEXT:
                continue
            message = json.loads(event.data)
            self.events.append(Event(number, up, message=message))
            passed = self.on_message(message, up) if self.on_message else message
            if passed == CUT:
                return False
            for each in passed if isinstance(passed, list) else [passed]:
                if each is message:
                    # Unchanged, byte for byte.
                    self.send(sender, target, lock, event.data)
                elif isinstance(each, Reply):
                    for message in each.messages:
                        self.events.append(Event(number, not up, message=message))
                        self.send(receiver, source, lock, message)
                elif each is not None:
                    self.send(sender, target, lock, each)
        return True

    def send(self, sender, target, lock, what):
        with lock:
            try:
                if isinstance(what, int):
                    sender.send_close(None if what == 1005 else what, "")
                else:
                    is_raw = isinstance(what, (bytes, bytearray))
                    sender.send_text(what if is_raw else json.dumps(what).encode())
            except InvalidState:
                # It was closed meanwhile.
                return
            data = sender.data_to_send()
        target.sendall(b"".join(data))
