from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from ._relay import RelayRecord


class LockstepError(Exception):
    """Base of all errors of this package. Its text is a sentence with the next step."""


class HomeError(LockstepError):
    """The process that holds the home refused a request, and changed nothing.

    code: word of docs/sidecar.md. edit: position in the transaction of the edit that is the cause.
    """

    def __init__(self, code: str, message: str, edit: Optional[int] = None) -> None:
        super().__init__(message)
        self.code = code
        self.edit = edit


class NotFound(HomeError):
    """There is no such record."""


class Refused(HomeError):
    """The edit makes no sense."""


class BadRequest(HomeError):
    """The request is malformed, or unknown to the version of the program that holds the home."""


class TooLarge(HomeError):
    """The record or the request is over a limit, which the text names. Nothing was changed: shorten
    the fields, or share them among several records or transactions."""


class HomeUnavailable(LockstepError):
    """No process holds the home. Nothing was sent."""


class HomeClosed(LockstepError):
    """The process that holds the home ended, or did not answer in time. The request may have been
    performed: read the records before an edit that counts is repeated."""


class RelayError(LockstepError):
    """The relay refused a request. status: of HTTP. code: word of docs/protocol.md."""

    def __init__(self, status: int, code: str, detail: str, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{detail} ({status} {code})")
        self.status = status
        self.code = code
        self.problem = problem


class Conflict(RelayError):
    """The record is another version than the one to be replaced; nothing was changed.

    record: the version that the relay has; `deleted` if there is no record.
    """

    def __init__(
        self, status: int, code: str, detail: str, problem: Mapping[str, Any],
        record: RelayRecord,
    ) -> None:
        super().__init__(status, code, detail, problem)
        self.record = record


class RelayUnreachable(LockstepError):
    """The relay did not answer, or something else did. A change may have been made."""


_HOME_ERRORS = {
    "notFound": NotFound, "refused": Refused, "badRequest": BadRequest, "tooLarge": TooLarge}


def home_error(error: Mapping[str, Any]) -> HomeError:
    code = str(error.get("code", ""))
    edit = error.get("edit")
    return _HOME_ERRORS.get(code, HomeError)(
        code, str(error.get("message", "")), edit if isinstance(edit, int) else None)
