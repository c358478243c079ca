"""The form of the audit log: lines of JSON, each sealed by a digest that covers the digest of the line before it.

A line ends in `,"hash":"…"}`: the SHA-256 of everything in front of that, closed by a brace. It is compared byte
by byte, so that no other spelling of the same JSON passes for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from mcp_core.json_types import JsonObject
from ot.store.owned_files import CHAIN

FORM_OF_LINES = 1  # named by the head of each file
START = "start"  # the first line of a chain
CONTINUED = "continued"  # the first line of a further file of it
BEGIN = "begin"
END = "end"
ASKED = "asked"
REFUSED = "refused"
CLOSE = "close"  # the last line of a process that ended by itself

DAY = 24 * 3600.0  # seconds
MOST_FILES = 5000  # each short command leaves one

OK = "ok"  # the outcome of a call that did not fail

FULL = "full"  # reasons for a further file
REMOVED = "removed"

ENDING = ".jsonl"
FILE_NAME = re.compile(rf"{CHAIN}\.jsonl")
_SEAL = re.compile(rb',"hash":"(?P<digest>[0-9a-f]{64})"\}\n')
_SEAL_SIZE = len(',"hash":""}\n') + 64

_encode = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would build one for each line


class SealedLine(NamedTuple):
    """A line as it was read: its entry, None where it is damaged, and the digest that it claims."""

    entry: JsonObject | None
    digest: str | None


def word(fields: JsonObject) -> str:
    """Return fields as a line has them, without braces."""
    return _encode(fields)[1:-1]


def seal(lines: Iterable[str], *, after: int, previous: str, lost: int = 0) -> tuple[bytes, int, str]:
    """Return the lines with these fields that follow line number `after`, the number of the last and its digest.

    `lost` lines are missing in front of them.
    """
    sealed, gap = b"", f'"lost":{lost},' if lost else ""
    for fields in lines:
        after += 1
        body = f'{{"n":{after},{fields},{gap}"prev":"{previous}"'
        previous = sha256(f"{body}}}".encode()).hexdigest()
        sealed += f'{body},"hash":"{previous}"}}\n'.encode()
        gap = ""
    return sealed, after, previous


def unseal(raw: bytes) -> SealedLine:
    """Read a line that may have been changed."""
    found = _SEAL.fullmatch(raw[-_SEAL_SIZE:])
    if found is None:
        return SealedLine(None, None)
    entry, digest, body = None, found["digest"].decode(), raw[:-_SEAL_SIZE] + b"}"
    if sha256(body).hexdigest() == digest:
        with suppress(ValueError, RecursionError):
            entry = json.loads(body)
    return SealedLine(entry if isinstance(entry, dict) else None, digest)
