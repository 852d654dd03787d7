"""Records in sync on all devices of an account.

`Home` is a local-first store, kept in sync by `lockstep agent run`. `Relay` talks to a relay by
HTTP and server-sent events. Both need nothing but the standard library.
"""

from ._errors import (
    BadRequest,
    Conflict,
    HomeClosed,
    HomeError,
    HomeUnavailable,
    LockstepError,
    NotFound,
    Refused,
    RelayError,
    RelayUnreachable,
    TooLarge,
)
from ._home import Change, Home, Record, RelayVersion, Transaction, Watch
from ._relay import Credentials, Cursor, Device, Page, PairingCode, Relay, RelayRecord

__all__ = [
    "BadRequest",
    "Change",
    "Conflict",
    "Credentials",
    "Cursor",
    "Device",
    "Home",
    "HomeClosed",
    "HomeError",
    "HomeUnavailable",
    "LockstepError",
    "NotFound",
    "Page",
    "PairingCode",
    "Record",
    "Refused",
    "Relay",
    "RelayError",
    "RelayRecord",
    "RelayUnreachable",
    "RelayVersion",
    "TooLarge",
    "Transaction",
    "Watch",
]

__version__ = "0.2.0"
