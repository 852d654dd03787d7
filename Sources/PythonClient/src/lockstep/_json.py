from __future__ import annotations

import json
from typing import Any, Union

# Python refuses to convert longer texts to integers (sys.set_int_max_str_digits).
_INTEGER_DIGITS_MAX = 4_000


def encode(value: Any) -> bytes:
    """Returns JSON in UTF-8, as short as the limits of records count it. Raises ValueError for what
    JSON does not have: infinity, NaN, half of a surrogate pair."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def decode(data: "bytes | str") -> Any:
    """Reads JSON. An integer with over 4,000 digits becomes a float, like one with a fraction: as
    exact as Python's, or infinite."""
    return json.loads(data, parse_int=_number)


def _number(text: str) -> Union[int, float]:
    return int(text) if len(text) <= _INTEGER_DIGITS_MAX else float(text)
