from __future__ import annotations

import http.client
import json
import math
import os
import random
import socket
import ssl
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote, urlencode, urlsplit

from ._errors import Conflict, LockstepError, RelayError, RelayUnreachable
from ._json import decode, encode

_ATTEMPTS_MAX = 4
_CONFLICTS_MAX = 20
_DELAY_SECONDS_MAX = 30.0
# Addresses to which one request follows its account.
_FOLLOWS_MAX = 5
_ANSWER_BYTES_MAX = 8 << 20
_LINE_BYTES_MAX = 8 << 20
# Of a request (docs/protocol.md, "Limits").
_BODY_BYTES_MAX = 2 << 20
# Codes after which a device reads all records anew (docs/protocol.md, "Errors").
_LOST_CURSOR_CODES = frozenset(
    ["tokenExpired", "storeRestored", "badChangeToken", "filterChanged"])
_STAMPS = "~"


@dataclass(frozen=True)
class Credentials:
    """What a device needs to act for its account. The token is a secret."""

    account: str
    device: str
    token: str


@dataclass(frozen=True)
class PairingCode:
    """A code with which another device joins the account. expires_at: relay time, milliseconds."""

    code: str
    expires_at: int


@dataclass(frozen=True)
class Device:
    id: str
    name: str
    last_seen: int
    connected: bool


@dataclass(frozen=True)
class RelayRecord:
    """A version of a record. tag: number of this version, as in `ETag`. modified_at: relay time,
    milliseconds since 1970. chunks: hashes of the content of files, which the account keeps as long
    as a record names them."""

    zone: str
    name: str
    tag: int
    deleted: bool = False
    type: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    modified_at: int = 0
    device: str = ""
    chunks: Sequence[str] = ()


def _record(value: Mapping[str, Any], zone: Optional[str] = None) -> RelayRecord:
    # Stamps of the merge rules are for devices; a version without them is completed by these.
    fields = {name: each for name, each in (value.get("fields") or {}).items() if name != _STAMPS}
    return RelayRecord(
        zone=value.get("zone", zone or ""), name=value["name"], tag=value.get("tag", 0),
        deleted=value.get("deleted", False), type=value.get("type", ""), fields=fields,
        modified_at=value.get("modifiedAt", 0), device=value.get("device", ""),
        chunks=tuple(value.get("chunks") or ()))


class Cursor:
    """A position in the account's changes, kept in a file. Without a path it is kept in memory.

    One file is for one reader: of one account, and either of all zones or of one.
    """

    def __init__(self, path: "str | os.PathLike[str] | None" = None) -> None:
        self.path = None if path is None else os.fspath(path)
        self.token: Optional[str] = None
        self.is_snapshot = False
        if self.path is None:
            return
        try:
            with open(self.path, encoding="utf-8") as file:
                value = json.load(file)
        except FileNotFoundError:
            return
        except ValueError:
            value = None
        if not isinstance(value, dict) or not isinstance(value.get("token"), (str, type(None))):
            raise LockstepError(
                f"{self.path} is no cursor; remove it, and all records come anew")
        self.token = value.get("token")
        self.is_snapshot = value.get("snapshot") is True

    def move(self, token: Optional[str], is_snapshot: bool) -> None:
        """Stores a position, durably."""
        self.token, self.is_snapshot = token, is_snapshot
        if self.path is None:
            return
        fresh = self.path + ".new"
        with open(fresh, "w", encoding="utf-8") as file:
            json.dump({"token": token, "snapshot": is_snapshot}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)


@dataclass(frozen=True)
class Page:
    """Records that have changed, each in its newest version; deleted ones too.

    is_reset: all records follow, from this page on; what is not among them is gone.
    is_snapshot: the page is a part of these.
    """

    records: Tuple[RelayRecord, ...]
    is_reset: bool = False
    is_snapshot: bool = False


class Relay:
    """A relay, by HTTP. Safe from several threads: each call has a connection of its own.

    A relay that the account has left names the one where it lives: the call and all later ones go
    there, and `url` is that address. Keep it with the token.

    token: of a device; `join` and `create_account` set it. timeout: seconds without an answer.
    context: for an authority of one's own, `ssl.create_default_context(cafile=...)`.
    """

    def __init__(
        self, url: str, token: Optional[str] = None, *, timeout: float = 30.0,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url} is not an address of the form https://HOST:PORT")
        self._place = url
        self.token = token
        self._timeout = timeout
        self._context = context

    @property
    def url(self) -> str:
        """Address of the relay where the account lives, as far as is known."""
        return self._place

    # Devices

    def create_account(self, device_name: str) -> Credentials:
        """Makes this device the first of a new account. The relay must allow new accounts."""
        return self._sign_in("/v1/accounts", {}, device_name)

    def join(self, code: str, device_name: str) -> Credentials:
        """Makes this device one of the account that issued the code. Keep the token."""
        return self._sign_in("/v1/devices", {"code": code}, device_name)

    def _sign_in(self, path: str, body: Dict[str, Any], device_name: str) -> Credentials:
        described = {
            **body, "deviceName": device_name, "platform": "python", "appVersion": "0.2.0"}
        answer = self._json("POST", path, body=described, attempts=1)
        self.token = answer["token"]
        return Credentials(answer["accountID"], answer["deviceID"], answer["token"])

    def pairing_code(self) -> PairingCode:
        answer = self._json("POST", "/v1/pairings", attempts=1)
        return PairingCode(answer["code"], answer["expiresAt"])

    def devices(self) -> List[Device]:
        return [
            Device(each["deviceID"], each["deviceName"], each["lastSeen"], each["connected"])
            for each in self._json("GET", "/v1/devices")["devices"]]

    def revoke(self, device_id: str) -> None:
        """Ends a device's access to the account."""
        self._request("DELETE", f"/v1/devices/{_segment(device_id)}")

    def time(self) -> int:
        """Returns relay time, in milliseconds since 1970."""
        time_now: int = self._json("GET", "/v1/time")["time"]
        return time_now

    # Records

    def list(self, zone: str, type: Optional[str] = None) -> List[RelayRecord]:
        """Returns the records of a zone, as of one moment."""
        records: List[RelayRecord] = []
        query: Dict[str, str] = {} if type is None else {"type": type}
        while True:
            page = self._json("GET", f"/v1/zones/{_segment(zone)}/records", query=query)
            records += [_record(each, zone) for each in page["records"]]
            if not page["more"]:
                return records
            query["after"] = page["token"]

    def get(self, zone: str, name: str) -> Optional[RelayRecord]:
        """Returns a record; None if there is none."""
        try:
            return _record(self._json("GET", _path(zone, name)), zone)
        except RelayError as error:
            if error.status == 404:
                return None
            raise

    def put(
        self, zone: str, name: str, type: str, fields: Mapping[str, Any], *,
        over: Optional[RelayRecord] = None, overwrite: bool = False,
    ) -> RelayRecord:
        """Writes a record: a new one; or, with `over`, in the place of that version; or, with
        `overwrite`, in the place of any. Raises `Conflict` if the record is another version. The
        content of files that `over` names is kept."""
        body: Dict[str, Any] = {"type": type, "fields": dict(fields)}
        if over is not None and over.chunks:
            body["chunks"] = list(over.chunks)
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        if overwrite:
            body["baseTag"] = "any"
        elif over is None or over.deleted:
            headers["If-None-Match"] = "*"
        else:
            headers["If-Match"] = f'"{over.tag}"'
        answer = self._json("PUT", _path(zone, name), body=body, headers=headers)
        return _record(answer, zone)

    def delete(
        self, zone: str, name: str, *, over: Optional[RelayRecord] = None, overwrite: bool = False
    ) -> None:
        """Deletes a record: the version `over`; or, with `overwrite`, any. Raises `Conflict` if the
        record is another version. Does nothing if it is deleted already."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        query: Dict[str, str] = {}
        if overwrite:
            query["baseTag"] = "any"
        elif over is None:
            raise ValueError("give the version to delete as `over`, or `overwrite=True`")
        else:
            headers["If-Match"] = f'"{over.tag}"'
        self._request("DELETE", _path(zone, name), query=query, headers=headers)

    def update(
        self, zone: str, name: str,
        change: Callable[[Dict[str, Any]], Mapping[str, Any]], *, type: Optional[str] = None,
    ) -> RelayRecord:
        """Replaces a record's fields by `change(fields)`, on what stands then: repeats after a
        conflict. type: of the record that is made if there is none; without it, that is an error.
        """
        record = self.get(zone, name)
        for attempt in range(_CONFLICTS_MAX):
            exists = record is not None and not record.deleted
            if not exists and type is None:
                raise LookupError(f"there is no record {name} in the zone {zone}")
            fields = dict(record.fields) if record is not None and exists else {}
            kind = record.type if record is not None and exists else type or ""
            try:
                return self.put(
                    zone, name, kind, change(fields), over=record if exists else None)
            except Conflict as conflict:
                if attempt + 1 == _CONFLICTS_MAX:
                    raise
                record = conflict.record
        raise AssertionError("the loop returns or raises")

    # Changes

    def changes(
        self, cursor: Cursor, *, zone: Optional[str] = None, wait: float = 0
    ) -> Iterator[Page]:
        """Yields what has changed since the cursor, and ends when there is no more. Without a
        position, or if the relay cannot continue from it, all records come first (`is_reset`).

        The cursor moves past a page when the next one is asked for. wait: seconds to wait for a
        first change.
        """
        has_changes = False
        while True:
            query: Dict[str, str] = {}
            if zone is not None:
                query["zone"] = zone
            if cursor.token is not None:
                query["since"] = cursor.token
            if wait > 0 and not has_changes and cursor.token is not None:
                query["wait"] = str(math.ceil(wait))
            try:
                page = self._json(
                    "GET", "/v1/changes", query=query, extra_seconds=float(query.get("wait", 0)))
            except RelayError as error:
                if error.code not in _LOST_CURSOR_CODES or cursor.token is None:
                    raise
                cursor.move(None, False)
                continue
            is_reset = cursor.token is None
            is_snapshot = is_reset or cursor.is_snapshot
            records = tuple(_record(each) for each in page["changes"])
            if records or is_reset:
                yield Page(records, is_reset, is_snapshot)
            has_changes = True
            cursor.move(page["token"], is_snapshot and page["more"])
            if not page["more"]:
                return

    def follow(self, cursor: Cursor) -> Iterator[Page]:
        """Yields the changes of all zones, without end: what was missed, and then each as it comes.
        Connects again after an interruption, and resumes at the cursor."""
        delay = 1.0
        follows = 0
        while True:
            place = self.url
            try:
                yield from self.changes(cursor)
                follows = 0
                for page in self._events(cursor):
                    delay = 1.0
                    yield page
            except RelayUnreachable:
                pass
            except RelayError as error:
                if error.code in _LOST_CURSOR_CODES:
                    cursor.move(None, False)
                elif follows < _FOLLOWS_MAX and self._has_moved(place, error):
                    follows += 1
                    continue
                elif error.status not in (429, 500, 502, 503, 504):
                    raise
            time.sleep(delay * random.uniform(0.5, 1.0))
            delay = min(delay * 2, _DELAY_SECONDS_MAX)

    def _events(self, cursor: Cursor) -> Iterator[Page]:
        """Yields the pages of one event stream, which begins at the cursor."""
        place = self.url
        connection = self._connection(place, self._timeout)
        try:
            with _unreachable(place):
                connection.request(
                    "GET", _target(place, "/v1/events", {"since": cursor.token or ""}),
                    headers={**self._headers(), "Accept": "text/event-stream"})
                response = connection.getresponse()
            if response.status != 200:
                with _unreachable(self.url):
                    body = response.read(_ANSWER_BYTES_MAX)
                raise self._error(response, body)
            if not (response.getheader("Content-Type") or "").startswith("text/event-stream"):
                raise RelayUnreachable(f"{self.url} answered with something else than events")
            keep_alive = response.getheader("Lockstep-Keep-Alive")
            if keep_alive is not None and keep_alive.isdigit() and connection.sock is not None:
                connection.sock.settimeout(2 * int(keep_alive) / 1_000)
            for event, data in _parse_events(response, self.url):
                if event == "error":
                    raise RelayError(
                        int(data.get("status", 500)), str(data.get("code", "")),
                        str(data.get("detail", "")), data)
                if event == "changed":
                    yield from self.changes(cursor)
                elif event == "changes":
                    if data["since"] != cursor.token:
                        # A page that the cursor covers already, or a gap.
                        yield from self.changes(cursor)
                        continue
                    records = tuple(_record(each) for each in data["changes"])
                    if records:
                        yield Page(records)
                    cursor.move(data["token"], False)
        finally:
            connection.close()

    # HTTP

    def _connection(self, place: str, timeout: float) -> http.client.HTTPConnection:
        parts = urlsplit(place)
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(
                host, parts.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

    def _follow(self, former: str, error: Exception) -> bool:
        """Goes to the relay that a refusal of the one at `former` names. Returns false if it names
        none to which a device goes: never from https to http."""
        if not isinstance(error, RelayError) or error.code != "accountMoved":
            return False
        relay = error.problem.get("relay")
        if not isinstance(relay, str) or relay == former:
            return False
        try:
            parts = urlsplit(relay)
            is_valid = parts.hostname is not None and (parts.port is None or parts.port > 0)
        except ValueError:
            return False
        if not is_valid or parts.scheme not in ("http", "https") or "@" in parts.netloc:
            return False
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            return False
        if parts.scheme == "http" and former.startswith("https:"):
            return False
        self._place = relay
        return True

    def _has_moved(self, former: str, error: RelayError) -> bool:
        """Follows, unless another call has done so since the one at `former` was asked."""
        has_followed = error.code == "accountMoved" and self.url != former
        return has_followed or self._follow(former, error)

    def _headers(self) -> Dict[str, str]:
        if self.token is None:
            return {}
        if not self.token.isascii() or not self.token.isprintable():
            raise ValueError("the token has a character that no token has; give it as it was made")
        return {"Authorization": f"Bearer {self.token}"}

    def _json(
        self, method: str, path: str, *, query: Optional[Mapping[str, str]] = None,
        body: Optional[Mapping[str, Any]] = None, headers: Optional[Mapping[str, str]] = None,
        attempts: int = _ATTEMPTS_MAX, extra_seconds: float = 0,
    ) -> Dict[str, Any]:
        answer = self._request(
            method, path, query=query, body=body, headers=headers, attempts=attempts,
            extra_seconds=extra_seconds)
        try:
            value = decode(answer)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise RelayUnreachable(
                f"{self.url} answered with something else than JSON: it is no relay, or a proxy "
                "answers in its place")
        return value

    def _request(
        self, method: str, path: str, *, query: Optional[Mapping[str, str]] = None,
        body: Optional[Mapping[str, Any]] = None, headers: Optional[Mapping[str, str]] = None,
        attempts: int = _ATTEMPTS_MAX, extra_seconds: float = 0,
    ) -> bytes:
        """Sends a request that may be repeated; repeats it, if the relay did not answer or asks for
        patience."""
        content = None
        all_headers = {**self._headers(), **(headers or {})}
        if body is not None:
            content = encode(body)
            if len(content) > _BODY_BYTES_MAX:
                raise RelayError(
                    413, "bodyTooLarge",
                    f"the request has {len(content)} bytes, and the limit is {_BODY_BYTES_MAX}; "
                    "share the fields among several records", {})
            all_headers["Content-Type"] = "application/json"
        attempt = follows = 0
        while attempt < attempts:
            is_last = attempt + 1 == attempts
            seconds = min(0.5 * 2 ** attempt, _DELAY_SECONDS_MAX)
            place = self.url
            connection = self._connection(place, self._timeout + extra_seconds)
            try:
                with _unreachable(place):
                    connection.request(
                        method, _target(place, path, query or {}), content, all_headers)
                    response = connection.getresponse()
                    answer = response.read(_ANSWER_BYTES_MAX + 1)
                if len(answer) > _ANSWER_BYTES_MAX:
                    raise RelayUnreachable(f"{place} answered with too much; it is no relay")
                if 200 <= response.status < 300:
                    return answer
                error = self._error(response, answer)
                if follows < _FOLLOWS_MAX and self._follow(place, error):
                    follows += 1
                    continue
                if is_last or not isinstance(error, RelayError) or error.status not in (429, 503):
                    raise error
                after = response.getheader("Retry-After") or ""
                if after.isdigit():
                    seconds = min(float(after), _DELAY_SECONDS_MAX)
            except RelayUnreachable:
                if is_last:
                    raise
            finally:
                connection.close()
            time.sleep(seconds * random.uniform(0.5, 1.0))
            attempt += 1
        raise AssertionError("the last attempt returns or raises")

    def _error(self, response: http.client.HTTPResponse, body: bytes) -> Exception:
        try:
            problem = decode(body)
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or not isinstance(problem.get("code"), str):
            return RelayUnreachable(
                f"{self.url} answered {response.status} without a reason: it is no relay, or a "
                "proxy answers in its place")
        detail = str(problem.get("detail", problem.get("title", "")))
        record = problem.get("record")
        if response.status == 412 and isinstance(record, dict):
            return Conflict(response.status, problem["code"], detail, problem, _record(record))
        return RelayError(response.status, problem["code"], detail, problem)


class _unreachable:
    """Turns failures of the network into `RelayUnreachable`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if isinstance(error, (OSError, http.client.HTTPException)):
            reason = "no answer in time" if isinstance(error, socket.timeout) else str(error)
            raise RelayUnreachable(
                f"the relay {self._url} could not be reached ({reason}); check the address and the "
                "network, then try again") from error


def _parse_events(
    response: http.client.HTTPResponse, url: str
) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Reads server-sent events until the stream ends."""
    event, data = "", ""
    while True:
        with _unreachable(url):
            line = response.readline(_LINE_BYTES_MAX + 1)
        if not line or len(line) > _LINE_BYTES_MAX:
            return
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            if data:
                try:
                    value = decode(data)
                except ValueError:
                    value = None
                if isinstance(value, dict):
                    yield event, value
            event, data = "", ""
            continue
        name, _, content = text.partition(":")
        content = content[1:] if content.startswith(" ") else content
        if name == "event":
            event = content
        elif name == "data":
            data += content


def _target(place: str, path: str, query: Mapping[str, str]) -> str:
    return urlsplit(place).path.rstrip("/") + path + ("?" + urlencode(query) if query else "")


def _segment(text: str) -> str:
    """A name as one segment of a path. Its slashes are escaped, too."""
    return quote(text, safe="")


def _path(zone: str, name: str) -> str:
    return f"/v1/zones/{_segment(zone)}/records/{_segment(name)}"
