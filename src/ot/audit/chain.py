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

from mcp_core.json_types import JsonObject
from ot.store.owned_files import CHAIN
from ot.store.parts import AUDIT_ENDING

FORM_OF_LINES = 1  # named by the head of each file
START, CONTINUED = "start", "continued"  # the first line of a chain, and of a further file of it
BEGIN, END, ASKED, REFUSED = "begin", "end", "asked", "refused"
CLOSE = "close"  # the last line of a process that ended by itself
OK = "ok"  # the outcome of a call that did not fail
FULL, REMOVED = "full", "removed"  # reasons for a further file

DAY = 24 * 3600.0  # seconds
MOST_FILES = 5000  # each short command leaves one
FILE_NAME = re.compile(CHAIN + re.escape(AUDIT_ENDING))
_SEAL = re.compile(rb',"hash":"(?P<digest>[0-9a-f]{64})"\}\n')
_SEAL_SIZE = len(',"hash":""}\n') + 64

_encode = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would build one for each line


def word(fields: JsonObject) -> str:
    """Return fields as a line has them, without braces."""
    return _encode(fields)[1:-1]


def seal(lines: Iterable[str], *, after: int, previous: str, lost: int = 0) -> tuple[bytes, int, str]:
    """Return lines with these fields, which follow line `after` and `lost` others; the last one's number and digest."""
    sealed, gap = b"", f'"lost":{lost},' if lost else ""
    for fields in lines:
        after += 1
        body = f'{{"n":{after},{fields},{gap}"prev":"{previous}"'
        previous = sha256(f"{body}}}".encode()).hexdigest()
        sealed += f'{body},"hash":"{previous}"}}\n'.encode()
        gap = ""
    return sealed, after, previous


def unseal(raw: bytes) -> tuple[JsonObject | None, str | None]:
    """Read a line that may have been changed: its entry, None where it is damaged, and the digest that it claims."""
    found = _SEAL.fullmatch(raw[-_SEAL_SIZE:])
    if found is None:
        return None, None
    entry, digest, body = None, found["digest"].decode(), raw[:-_SEAL_SIZE] + b"}"
    if sha256(body).hexdigest() == digest:
        with suppress(ValueError, RecursionError):
            entry = json.loads(body)
    return entry if isinstance(entry, dict) else None, digest
