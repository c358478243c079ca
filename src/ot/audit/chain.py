"""The form of the audit log: lines of JSON, each sealed by a digest that covers the digest of the line before it.

A line ends in `,"hash":"…"}`: the SHA-256 of everything in front of that, closed by a brace. It is compared byte
by byte, so that no other spelling of the same JSON passes for it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import NamedTuple

from mcp_core.json_types import JsonObject

FORM_OF_LINES = 1  # named by the head of each file
START = "start"  # the first line of a chain
CONTINUED = "continued"  # the first line of a further file of it
BEGIN = "begin"
END = "end"
ASKED = "asked"
REFUSED = "refused"
CLOSE = "close"  # the last line of a process that ended by itself

OK = "ok"  # the outcome of a call that did not fail

FULL = "full"  # reasons for a further file
REMOVED = "removed"

_FILE_NAME = re.compile(r"(?P<chain>\d{8}T\d{6}-\d+-[0-9a-f]{8})\.(?P<part>\d{4,9})\.jsonl")
_SEAL = re.compile(rb',"hash":"(?P<digest>[0-9a-f]{64})"\}\n')
_SEAL_SIZE = len(',"hash":""}\n') + 64

_encode = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would build one for each line


class Line(NamedTuple):
    """A line as it was read: its entry, None where it is damaged, and the digest that it claims."""

    entry: JsonObject | None
    digest: str | None


def word(fields: JsonObject) -> str:
    """Return fields as they stand in a line, without braces."""
    return _encode(fields)[1:-1]


def seal(fields: str) -> tuple[bytes, str]:
    """Return the line with these fields, of which the last is the digest of the one before, and its own digest."""
    digest = sha256(f"{{{fields}}}".encode()).hexdigest()
    return f'{{{fields},"hash":"{digest}"}}\n'.encode(), digest


def unseal(raw: bytes) -> Line:
    """Read a line that may have been changed."""
    found = _SEAL.fullmatch(raw[-_SEAL_SIZE:])
    if found is None:
        return Line(None, None)
    digest = found["digest"].decode()
    body = raw[:-_SEAL_SIZE] + b"}"
    if sha256(body).hexdigest() != digest:
        return Line(None, digest)
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return Line(None, digest)
    return Line(entry if isinstance(entry, dict) else None, digest)


def name_file(chain: str, part: int) -> str:
    """Return the name of one of the files of a chain."""
    return f"{chain}.{part:04}.jsonl"


def read_name(name: str) -> tuple[str, int] | None:
    """Return chain and part of a file of the log, None for any other file."""
    found = _FILE_NAME.fullmatch(name)
    return None if found is None else (found["chain"], int(found["part"]))
