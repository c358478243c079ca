"""The arguments of an audited call: their names and sizes and a digest of them all, never their values."""

from __future__ import annotations

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

from ot.redaction import Redactor
from ot.values import Arguments, ToolValue
from ot_kernel.values import UnsupportedValueError, encode

MOST_NAMES = 30
LONGEST_NAME = 100  # characters

_PLAIN = 10**18

_as_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class Given(NamedTuple):
    """Sizes in bytes of JSON by name, and the SHA-256 of all arguments as one JSON object, keys in order."""

    sizes: dict[str, int]
    digest: str


def summarize(arguments: Arguments, redactor: Redactor) -> Given:
    """Describe arguments; known secrets are masked first, so that not even the digest depends on them."""
    arguments = redactor.value(arguments) if redactor.active else arguments
    texts = {str(name): _write(arguments[name]) for name in sorted(arguments, key=str)}
    whole = ",".join(f"{encode_basestring_ascii(name)}:{text}" for name, text in texts.items())
    sizes = {name[:LONGEST_NAME]: len(text) for name, text in list(texts.items())[:MOST_NAMES]}
    if len(texts) > MOST_NAMES:
        sizes["…"] = sum(map(len, texts.values())) - sum(sizes.values())
    return Given(sizes, sha256(f"{{{whole}}}".encode()).hexdigest())


def _write(value: ToolValue) -> str:
    if type(value) is str:  # most are, and to build an encoder takes longer than this
        return encode_basestring_ascii(value)
    if type(value) is int and -_PLAIN < value < _PLAIN:
        return repr(value)
    try:
        return _as_json(value)
    except (TypeError, ValueError, RecursionError):
        pass  # bytes, dates and the like, or a number that JSON does not take
    try:
        return _as_json(encode(value))
    except (UnsupportedValueError, TypeError, ValueError, RecursionError):
        return _as_json(type(value).__name__)
