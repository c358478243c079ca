"""The arguments of an audited call: their names and sizes and a digest of them all, never their values."""

from __future__ import annotations

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii

from ot.text.redaction import Redactor
from ot.values import Arguments, ToolValue
from ot_kernel.values import UnsupportedValueError, encode

MOST_NAMES = 30
LONGEST_NAME = 100  # characters

_PLAIN = 10**18

_as_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def summarize(arguments: Arguments, redactor: Redactor) -> str:
    """Describe arguments by two fields of a line: sizes in bytes of JSON by name, and the SHA-256 of all of them as one
    JSON object, keys in order. Known secrets are masked first, so that not even the digest depends on them.
    """
    mask = redactor.text if redactor.active else str
    whole: list[str] = []
    sizes: list[str] = []
    unnamed = 0
    for name in sorted(arguments, key=str):
        shown, text = mask(str(name)), mask(_write(arguments[name]))
        whole.append(f"{encode_basestring_ascii(shown)}:{text}")
        if len(sizes) < MOST_NAMES:
            sizes.append(f"{encode_basestring_ascii(shown[:LONGEST_NAME])}:{len(text)}")
        else:
            unnamed += len(text)
    if unnamed:
        sizes.append(f"{encode_basestring_ascii('…')}:{unnamed}")
    digest = sha256(f"{{{','.join(whole)}}}".encode()).hexdigest()
    return f'"arguments":{{{",".join(sizes)}}},"digest":"{digest}"'


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
