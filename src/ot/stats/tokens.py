"""Tokens, estimated from bytes: a ratio for each kind of content, measured against o200k by `make bench`.

Counting tokens takes a vocabulary of two hundred thousand words and far longer than a call. Bytes are known anyway;
what kind of content they are is told by a sample of them, which is looked at once and thrown away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

_HEAD, _BODY = 64, 256
SAMPLE = _HEAD + _BODY  # bytes or characters

Content = TypeVar("Content", str, bytes)


class Kind(StrEnum):
    """The kind of some bytes, as far as their price in tokens is concerned."""

    PROSE = "prose"
    CODE = "code"
    DATA = "data"  # JSON, YAML, tables
    NUMBERS = "numbers"
    OPAQUE = "opaque"  # base64, hashes, identifiers
    ALPHABET = "alphabet"  # Cyrillic, Arabic, Devanagari, ...: many bytes a letter
    CJK = "cjk"  # Chinese, Japanese, Korean
    DEFINITION = "definition"  # of a tool: JSON Schema and prose
    MEDIA = "media"  # an image or a sound, whose price does not follow its bytes


# Bytes a token. As text in UTF-8, and in the form in which values cross to a kernel: JSON in ASCII, so that every
# line end is two bytes there and every letter outside ASCII six.
TEXT_RATIO = {
    Kind.PROSE: 4.4, Kind.CODE: 4.1, Kind.DATA: 3.0, Kind.NUMBERS: 1.95, Kind.OPAQUE: 1.6, Kind.ALPHABET: 7.0,
    Kind.CJK: 4.3, Kind.DEFINITION: 4.6,
}  # fmt: skip
WIRE_RATIO = {**TEXT_RATIO, Kind.PROSE: 4.6, Kind.CODE: 4.3, Kind.ALPHABET: 17.0, Kind.CJK: 8.4}
MEDIA_TOKENS = 1500  # about what models charge for one full picture

_ESCAPED = re.compile(rb"\\u([0-9a-fA-F]{4})")
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FOREIGN = bytes(range(0x80, 0x100))
_EASTERN = bytes(range(0xE3, 0xEE))  # what the first byte of a Chinese, Japanese or Korean letter is in UTF-8


def take_sample(content: Content) -> Content:
    """A little of the beginning and of the middle: enough to tell the kind. Cheap, since it is on the way of a call."""
    if len(content) <= SAMPLE:
        return content
    middle = len(content) >> 1
    return content[:_HEAD] + content[middle : middle + _BODY]


def classify_text(text: str) -> Kind:
    return _classify(text.encode("utf-8", "replace"))


def classify_wire(sample: bytes) -> Kind:
    if b'"$":"image"' in sample or b'"$":"audio"' in sample:
        return Kind.MEDIA
    for frame in (b'"kwargs":', b'"value":'):  # what stands in front belongs to the wire
        sample = sample.partition(frame)[2] or sample
    if b"\\" in sample:
        plain = sample.replace(b"\\n", b"\n").replace(b'\\"', b"'")
        sample = _ESCAPED.sub(lambda found: chr(int(found[1], 16)).encode("utf-8", "replace"), plain)
    return _classify(sample)


def _classify(sample: bytes) -> Kind:
    if not sample.isascii() and (foreign := _share(sample, _FOREIGN)) > 0.35:
        return Kind.CJK if _share(sample, _EASTERN) * 3 > foreign / 2 else Kind.ALPHABET
    digits, structure = _share(sample, b"0123456789"), _share(sample, b'{}[]":|')
    if structure > 0.1 and digits <= 0.4:
        return Kind.DATA
    letters = _share(sample, _LETTERS)
    if digits > 0.4 and letters < 0.2:
        return Kind.NUMBERS
    if digits > 0.08 and digits + letters > 0.8 and structure < 0.08 and sample.count(b" ") * 40 < len(sample):
        return Kind.OPAQUE
    if structure > 0.1:
        return Kind.DATA
    return Kind.CODE if _share(sample, b"()=;<>_{}#") > 0.05 else Kind.PROSE


def _share(sample: bytes, characters: bytes) -> float:
    """Return the share of these characters in a sample; ten times as fast as a pattern."""
    return 1 - len(sample.translate(None, characters)) / (len(sample) or 1)


def estimate(size: int, kind: Kind, ratios: Mapping[Kind, float] = TEXT_RATIO) -> float:
    """Return about how many tokens something of so many bytes has."""
    return MEDIA_TOKENS if kind is Kind.MEDIA else size / ratios[kind]
