"""Messages of a kernel as they came: how much they will take, and reading those that take long.

C code that reads JSON keeps the interpreter, and so every other client, until it is done; where it calls Python, others
may go on. A message may hold 16 MB: 3,800 integers of 4,300 digits took 1.1 s, 500,000 names 0.5 s, as many long floats
0.3 s.
"""

from __future__ import annotations

import gc
import json
import json.decoder
import json.scanner

from ot_kernel.rows import Rows
from ot_kernel.values import Value, decode_field
from ot_kernel.wire import MAX_ITEMS, Message, WireError, count_items, unpack

MAX_ROW_VALUES = 1_000_000  # of rows by column, which a tool may want as a list: that takes a tenth of the time
MAX_DIGITS = 64  # of an integer; the vocabulary of values writes large ones in another way
MANY_NAMES = 250_000
_ITEM = 64  # bytes that the smallest of values takes, once it is read


def weigh(message: Message, payload: bytes) -> int:
    """Return about how many bytes a large message takes, as it came and as it was read."""
    given = (*message.get("args", ()), *message.get("kwargs", {}).values())
    rows = sum(value.count * len(value.columns) for value in given if type(value) is Rows)
    return len(payload) + _ITEM * max(count_items(payload), rows)


def decode_argument(item: object) -> Value:
    """Decode an argument of a call, and leave rows by column as they are; raises ValueError for what is no value."""
    value = decode_field(item)
    if type(value) is Rows and value.count * len(value.columns) > MAX_ROW_VALUES:
        raise ValueError(f"rows of more than {MAX_ROW_VALUES:,} values")
    return value


def read_large(payload: bytes) -> Message:
    """Read a large message; raises WireError, also for one that would take too long."""
    if count_items(payload) > MAX_ITEMS:
        raise WireError(f"a message of more than {MAX_ITEMS:,} values")
    reader = _patient_reader if _count_names(payload) > MANY_NAMES else _reader
    gc.disable()  # it would look through the values again and again while they are made
    try:
        return unpack(payload, reader.decode)
    finally:
        gc.enable()


def _count_names(payload: bytes) -> int:
    """Return how many names of objects there are at most, without those of tags, which are always the same two."""
    tags = sum(payload.count(b'"%b":' % name) - payload.count(b'\\"%b":' % name) for name in (b"$", b"v"))
    return payload.count(b":") - tags


def _read_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"an integer of more than {MAX_DIGITS} digits")
    return int(digits)


def _read_float(digits: str) -> float:
    """Do what the reader would do, in Python: see above."""
    return float(digits)


class _PatientReader(json.JSONDecoder):
    """Reads objects in Python: five times slower, and nobody has to wait for it."""

    def __init__(self) -> None:
        super().__init__(parse_int=_read_integer, parse_float=_read_float)
        # Both are what the library falls back on where it has no C code; its types do not name them.
        self.parse_object = vars(json.decoder)["JSONObject"]
        self.scan_once = vars(json.scanner)["py_make_scanner"](self)


_reader = json.JSONDecoder(parse_int=_read_integer, parse_float=_read_float)
_patient_reader = _PatientReader()
