from __future__ import annotations

import os
import socket
import threading
import uuid
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Type

from ._errors import HomeClosed, HomeError, HomeUnavailable, TooLarge, home_error
from ._json import decode, encode

_PROTOCOL = 1
_SOCKET_PATH_BYTES_MAX = 100
# The home ends a connection with a longer line (docs/sidecar.md).
_LINE_BYTES_MAX = 4 << 20


@dataclass(frozen=True)
class RelayVersion:
    """The relay's version of a record that needs a decision."""

    deleted: bool
    type: Optional[str] = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    modified_at: int = 0
    device: str = ""


@dataclass(frozen=True)
class Record:
    """A record as this device has it.

    sync: `synced`, `waiting`, `refused` (then `refusal` says why) or `needsDecision` (then `relay`
    is the other version; see `Home.decide`). counters: the sums of the fields of the rule `counter`.
    modified_at: relay time, milliseconds since 1970.
    """

    zone: str
    name: str
    deleted: bool = False
    type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    modified_at: int = 0
    device: str = ""
    sync: str = "synced"
    refusal: Optional[str] = None
    relay: Optional[RelayVersion] = None


def _record(value: Mapping[str, Any]) -> Record:
    relay = value.get("relay")
    refusal = value.get("refusal")
    return Record(
        zone=value["zone"], name=value["name"], deleted=value.get("deleted", False),
        type=value.get("type", ""), fields=value.get("fields", {}),
        counters=value.get("counters", {}), modified_at=value.get("modifiedAt", 0),
        device=value.get("device", ""), sync=value.get("sync", "waiting"),
        refusal=refusal.get("message") if refusal else None,
        relay=RelayVersion(
            deleted=relay.get("deleted", False), type=relay.get("type"),
            fields=relay.get("fields", {}), modified_at=relay.get("modifiedAt", 0),
            device=relay.get("device", "")) if relay else None)


class _Connection:
    """Requests and answers on a home's socket, one after the other."""

    def __init__(self, path: str, timeout: Optional[float]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._buffer = bytearray()
        self._last_id = 0
        name = os.path.join(path, "agent.sock")
        folder = -1
        try:
            if len(os.fsencode(name)) > _SOCKET_PATH_BYTES_MAX:
                # The kernel's limit is about 108 bytes.
                folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                name = f"/proc/self/fd/{folder}/agent.sock"
            self._socket.settimeout(timeout)
            self._socket.connect(name)
        except OSError as error:
            self._socket.close()
            raise HomeUnavailable(
                f"no process holds the home {path} ({error.strerror or error}); start one with: "
                f"lockstep agent run --home {path}") from None
        finally:
            if folder >= 0:
                os.close(folder)
        try:
            version = self.ask({"do": "hello"}).get("protocol")
            if version != _PROTOCOL:
                raise HomeUnavailable(
                    f"the process that holds the home speaks version {version} of the protocol, "
                    f"this package {_PROTOCOL}; install packages of one version")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def shut_down(self) -> None:
        """Ends a read of another thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def set_timeout(self, timeout: Optional[float]) -> None:
        self._socket.settimeout(timeout)

    def send(self, request: Mapping[str, Any]) -> int:
        self._last_id += 1
        line = encode({**request, "id": self._last_id}) + b"\n"
        if len(line) > _LINE_BYTES_MAX:
            raise TooLarge("tooLarge", _too_large(len(line)))
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise self._ended(error) from None
        return self._last_id

    def receive(self) -> Dict[str, Any]:
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[:end + 1]
                answer = decode(line)
                if not isinstance(answer, dict):
                    raise HomeClosed("the process that holds the home answered with no object")
                return answer
            searched = len(self._buffer)
            try:
                received = self._socket.recv(1 << 16)
            except OSError as error:
                raise self._ended(error) from None
            if not received:
                raise self._ended(None)
            self._buffer += received

    def ask(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the answer. The lines of a list are put together."""
        id = self.send(request)
        records: List[Any] = []
        while True:
            answer = self.receive()
            if answer.get("id") != id:
                # An answer to a line that was not understood has no id.
                if answer.get("id") is None and "error" in answer:
                    raise home_error(answer["error"])
                continue
            if "error" in answer:
                raise home_error(answer["error"])
            if "records" in answer:
                records += answer["records"]
                answer["records"] = records
            if not answer.get("more", False):
                return answer

    @staticmethod
    def _ended(error: Optional[OSError]) -> HomeClosed:
        reason = "did not answer in time" if isinstance(error, socket.timeout) else "has ended"
        return HomeClosed(
            f"the process that holds the home {reason}; the last request may have been performed: "
            "read the records before you repeat it")


class Transaction:
    """Edits that are made all or none when the `with` block ends. If it ends with an exception,
    none is made. `records` has the records afterwards, one for each edit."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._edits: List[Dict[str, Any]] = []
        self.records: List[Record] = []

    def save(
        self, zone: str, type: str, fields: Mapping[str, Any], name: Optional[str] = None
    ) -> str:
        """Writes all fields of a record, new or not. Returns its name."""
        name = uuid.uuid4().hex if name is None else name
        self._edits.append(_save(zone, type, fields, name))
        return name

    def update(
        self, zone: str, name: str, fields: Optional[Mapping[str, Any]] = None, *,
        remove: Iterable[str] = (), add: Optional[Mapping[str, int]] = None,
    ) -> None:
        """See `Home.update`."""
        self._edits.append(_update(zone, name, fields, remove, add))

    def delete(self, zone: str, name: str) -> None:
        """Deletes a record, if there is one."""
        self._edits.append({"do": "delete", "zone": zone, "name": name})

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if kind is None and self._edits:
            answer = self._home._ask({"do": "transaction", "edits": self._edits})
            self.records = [_record(value) for value in answer["records"]]


@dataclass(frozen=True)
class Change:
    """A step of a watch. `records` has all watched records now, by name; the same dictionary in
    every step. The first step has all of them in `changed`."""

    records: Mapping[str, Record]
    changed: Tuple[Record, ...] = ()
    deleted: Tuple[str, ...] = ()


class Watch:
    """Iterator over the changes of a zone's records; the first step comes at once. Raises
    `HomeClosed` if the process that holds the home ends. `close` ends it, also from another
    thread."""

    def __init__(self, path: str, timeout: Optional[float], zone: str, type: Optional[str]) -> None:
        self._connection = _Connection(path, timeout)
        self._records: Dict[str, Record] = {}
        self._is_closed = False
        self._id = self._connection.send({"do": "watch", "zone": zone, "type": type})
        self._is_listed = False
        self._timeout = timeout

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        if self._is_closed:
            self._connection.close()
            raise StopIteration
        try:
            return self._list() if not self._is_listed else self._next()
        except HomeClosed:
            closed_here = self._is_closed
            self._is_closed = True
            self._connection.close()
            if closed_here:
                raise StopIteration from None
            raise
        except HomeError:
            self._is_closed = True
            self._connection.close()
            raise

    def _receive(self) -> Dict[str, Any]:
        answer = self._connection.receive()
        if "error" in answer:
            raise home_error(answer["error"])
        return answer

    def _list(self) -> Change:
        while True:
            answer = self._receive()
            for value in answer.get("records", ()):
                self._records[value["name"]] = _record(value)
            if not answer.get("more", False):
                break
        self._is_listed = True
        # A change may be hours away.
        self._connection.set_timeout(None)
        return Change(self._records, tuple(self._records.values()))

    def _next(self) -> Change:
        answer = self._receive()
        changed = tuple(_record(value) for value in answer.get("changed", ()))
        deleted = tuple(answer.get("deleted", ()))
        for record in changed:
            self._records[record.name] = record
        for name in deleted:
            self._records.pop(name, None)
        return Change(self._records, changed, deleted)

    def close(self) -> None:
        self._is_closed = True
        self._connection.shut_down()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._connection.close()


class Home:
    """A device's home, as a local-first store. Needs a process that holds the home, such as
    `lockstep agent run --home PATH --rules FILE`. Safe from several threads; after `HomeClosed` the
    next call connects again.

    timeout: seconds until a call gives up; None waits for ever.
    """

    def __init__(self, path: "str | os.PathLike[str]", *, timeout: Optional[float] = 30.0) -> None:
        self.path = os.path.abspath(os.path.expanduser(os.fspath(path)))
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: Optional[_Connection] = None

    def __enter__(self) -> Home:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the next call opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _ask(self, request: Mapping[str, Any], extra_seconds: float = 0) -> Dict[str, Any]:
        with self._lock:
            if self._connection is None:
                self._connection = _Connection(self.path, self._timeout)
            connection = self._connection
            try:
                if extra_seconds and self._timeout is not None:
                    connection.set_timeout(self._timeout + extra_seconds)
                answer = connection.ask(request)
                connection.set_timeout(self._timeout)
                return answer
            except HomeError:
                connection.set_timeout(self._timeout)
                raise
            except BaseException:
                # A late answer would be taken for that of the next request.
                connection.close()
                self._connection = None
                raise

    # Edits: durable on this device when a call returns.

    def save(
        self, zone: str, type: str, fields: Mapping[str, Any], name: Optional[str] = None
    ) -> Record:
        """Writes all fields of a record: a new one with a fresh name, or the one of that name."""
        return _record(self._ask(_save(zone, type, fields, name))["record"])

    def update(
        self, zone: str, name: str, fields: Optional[Mapping[str, Any]] = None, *,
        remove: Iterable[str] = (), add: Optional[Mapping[str, int]] = None,
    ) -> Record:
        """Changes some fields of a record. remove: names of fields. add: numbers to count into
        fields of the rule `counter`. Raises `NotFound` if there is no such record."""
        return _record(self._ask(_update(zone, name, fields, remove, add))["record"])

    def delete(self, zone: str, name: str) -> None:
        """Deletes a record, if there is one."""
        self._ask({"do": "delete", "zone": zone, "name": name})

    def transaction(self) -> Transaction:
        """Edits that are made all or none, and reach other devices together, if they are of one
        zone."""
        return Transaction(self)

    def decide(self, zone: str, name: str, *, keep: str) -> Record:
        """Decides a conflict. keep: `local` or `relay`."""
        return _record(
            self._ask({"do": "decide", "zone": zone, "name": name, "keep": keep})["record"])

    # Reading

    def record(self, zone: str, name: str) -> Optional[Record]:
        """Returns a record; None if there is none. A deleted one is returned only if it needs a
        decision, or the relay refused its deletion."""
        value = self._ask({"do": "record", "zone": zone, "name": name})["record"]
        return None if value is None else _record(value)

    def records(self, zone: str, type: Optional[str] = None) -> List[Record]:
        """Returns the records of a type, or of all types, in the order of their names."""
        answer = self._ask({"do": "records", "zone": zone, "type": type})
        return [_record(value) for value in answer["records"]]

    def conflicts(self, zone: str) -> List[Record]:
        """Returns the records that need a decision."""
        return [
            _record(value) for value in self._ask({"do": "conflicts", "zone": zone})["records"]]

    def watch(self, zone: str, type: Optional[str] = None) -> Watch:
        """Iterates over the records, at once and after every change, on a connection of its own."""
        return Watch(self.path, self._timeout, zone, type)

    # Sync

    def status(self) -> Dict[str, Any]:
        """Returns the sync status: `state`, `waiting`, `lastSync` and so on."""
        status: Dict[str, Any] = self._ask({"do": "status"})["status"]
        return status

    def sync(self, seconds: float = 20.0) -> Dict[str, Any]:
        """Syncs now. Returns the status when all is synced, or the time is up."""
        milliseconds = min(60_000, max(0, round(seconds * 1_000)))
        status: Dict[str, Any] = self._ask(
            {"do": "sync", "milliseconds": milliseconds}, extra_seconds=seconds)["status"]
        return status


def _too_large(size: int) -> str:
    return (
        f"the request has {size} bytes, and a request to a home at most {_LINE_BYTES_MAX} (4 MiB), "
        "a record at most 1 MiB; nothing was sent: shorten the fields, or share them among several "
        "records or transactions")


def _save(
    zone: str, type: str, fields: Mapping[str, Any], name: Optional[str]
) -> Dict[str, Any]:
    return {"do": "save", "zone": zone, "name": name, "type": type, "fields": dict(fields)}


def _update(
    zone: str, name: str, fields: Optional[Mapping[str, Any]], remove: Iterable[str],
    add: Optional[Mapping[str, int]],
) -> Dict[str, Any]:
    return {
        "do": "update", "zone": zone, "name": name, "fields": dict(fields or {}),
        "remove": list(remove), "add": dict(add or {})}
