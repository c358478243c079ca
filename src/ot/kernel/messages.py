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

from ot_kernel.wire import Message, WireError, unpack

MAX_ITEMS = 500_000  # reading more would keep the interpreter, and so every other client, for a second
MAX_DIGITS = 64  # of an integer; the vocabulary of values writes large ones in another way
MANY_NAMES = 250_000
_ITEM = 64  # bytes that the smallest of values takes, once it is read


def count_items(payload: bytes) -> int:
    """Return how many values a text of JSON may hold at most, without reading it."""
    marks = _count_marks(payload)
    if marks <= MAX_ITEMS:
        return marks
    unescaped = payload.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = unescaped.count(b'"') // 2
    return strings if strings > MAX_ITEMS else _count_marks(b"".join(unescaped.split(b'"')[::2]))


def _count_marks(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def weigh(payload: bytes) -> int:
    """Return about how many bytes a large message takes, as it came and as it was read."""
    return len(payload) + _ITEM * count_items(payload)


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
