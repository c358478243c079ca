"""Encodings: what a text stands for that is escaped, percent-encoded, in base64 and the like."""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote

_SHORTEST_WORD = 8  # characters of an encoded word in a longer text
_LONG_WORD = 16  # characters of one in lower case
_SHORTEST = 4

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_QUOTED_PRINTABLE = re.compile(r"=(?:\r?\n|([0-9A-F]{2}))")
_MIME = re.compile(r"=\?[\w-]+\?([bBqQ])\?([^?\s]*)\?=")
_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]+|\w{2,24};)")
_ESCAPE = re.compile(
    r"\\+(?:u\{?([0-9a-fA-F]{4,6})\}?|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{3})|N\{([^}]+)\}"
    r"|([nrtbf])|(.))"
)
_STYLE_ESCAPE = re.compile(r"\\([0-9a-fA-F]{2,6}) ?")
_PUNYCODE = re.compile(r"xn--([a-z0-9-]+)", re.IGNORECASE)
# Numbers with blanks between, as they stand in a text that was made flat, and one number of these.
_CODES = (
    (re.compile(r"(?<!\w)[2-7][0-9a-f](?: {1,2}[2-7][0-9a-f]){3,}(?!\w)"), re.compile("[0-9a-f]{2}"), 16),
    (re.compile(r"(?<!\w)0x[2-7][0-9a-f](?: {1,2}0x[2-7][0-9a-f]){3,}(?!\w)"), re.compile("(?<=x)[0-9a-f]{2}"), 16),
    (re.compile(r"(?<!\w)00[2-7][0-9a-f](?: {1,2}u 00[2-7][0-9a-f]){2,}(?!\w)"), re.compile("00[0-9a-f]{2}"), 16),
    (re.compile(r"(?<!\w)\d{2,3}(?: {1,2}\d{2,3}){3,}(?!\w)"), re.compile(r"\d+"), 10),
    (re.compile(r"(?<!\w)0[01]{7}(?: ?0[01]{7}){2,}(?!\w)"), re.compile("[01]{8}"), 2),
)
_HEX = re.compile(r"(?:0x)?((?:[2-7][0-9a-f]){4,})")
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_WORD},}}={{0,2}}")
_BASE64_WHOLE = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])(?:[A-Z2-7]{8,}|[a-z2-7]{16,})(?![A-Za-z0-9])")
_BASE32_WHOLE = re.compile(r"(?:[A-Z2-7]{7,}|[a-z2-7]{7,})={0,6}")


def decode_signed(text: str) -> Iterator[str]:
    """Yield what a text with signs of an encoding stands for, in each of them that it may be in."""
    if "%" in text and _PERCENT.search(text):
        yield unquote(text)
    if "&" in text and _ENTITY.search(text):
        yield html.unescape(text)
    if "\\" in text:
        yield unescape(text)
        if _STYLE_ESCAPE.search(text):
            yield _STYLE_ESCAPE.sub(lambda found: _characters([int(found[1], 16)]) or found[0], text)
    if "=" in text:
        if _MIME.search(text):
            yield _MIME.sub(_read_mime, text)
        if "=\n" in text or len(_QUOTED_PRINTABLE.findall(text)) > 2:
            yield _QUOTED_PRINTABLE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    if "--" in text and _PUNYCODE.search(text):
        yield _PUNYCODE.sub(_read_punycode, text)


def decode_words(words: Iterable[str]) -> list[str]:
    """Return what long words of a text, or parts of them, stand for in base64 and base32."""
    said = list[str]()
    long = [word for word in words if len(word) >= _SHORTEST_WORD]
    if text := " ".join([word for word in long if not word.islower()]):
        for candidate in {*_BASE64.findall(text)}:
            said += _read_base64(candidate)
    if text := " ".join([word for word in long if len(word) >= _LONG_WORD or word.isupper()]):
        for candidate in {*_BASE32.findall(text)}:
            said += _read_base32(candidate)
    return said


def decode_word(word: str) -> list[str]:
    """Return what a word stands for that is all there is, however short it is."""
    said = _read_base64(word, alone=True) if _BASE64_WHOLE.fullmatch(word) else []
    if _BASE32_WHOLE.fullmatch(word):
        said += _read_base32(word)
    elif len(word) >= _SHORTEST_WORD and not word.isalnum():
        said += decode_words((word,))
    return said


def decode_hex(words: Iterable[str]) -> list[str]:
    """Return what long words of one case stand for in hexadecimal digits."""
    said = list[str]()
    for word in words:
        if len(word) >= _SHORTEST_WORD and (digits := _HEX.fullmatch(word)) is not None:
            said += _readable(bytes.fromhex(digits[1]))
    return said


def decode_codes(numbers: str) -> Iterator[str]:
    """Yield what numbers with blanks between stand for as codes of characters."""
    for pattern, code, base in _CODES:
        for found in pattern.finditer(numbers):
            if said := _characters(int(number, base) for number in code.findall(found[0])):
                yield said


def unescape(text: str) -> str:
    """Return a text without the backslashes of literals."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    *codes, octal, name, blank, other = found.groups()
    if code := next(filter(None, codes), ""):
        return _characters([int(code, 16)])
    if octal:
        return chr(int(octal, 8))
    if name:
        with suppress(KeyError):
            return unicodedata.lookup(name)
    return " " if blank or name else str(other)


def _characters(codes: Iterable[int]) -> str:
    """Return the characters with these codes, if they can be seen; else nothing."""
    codes = [*codes]
    if max(codes) > 0x10FFFF:
        return ""
    said = "".join(map(chr, codes))
    return said if said.isprintable() else ""


def _read_base64(text: str, *, alone: bool = False) -> list[str]:
    bare = text.rstrip("=")
    if len(bare) % 4 == 1 or bare.isdecimal() or (bare.islower() and not alone):
        return []
    if "-" in bare or "_" in bare:
        bare = bare.translate(_OF_ADDRESSES)
    try:
        return _readable(binascii.a2b_base64(bare + "=" * (-len(bare) % 4)))
    except binascii.Error:
        return []


def _read_base32(text: str) -> list[str]:
    bare = text.rstrip("=").upper()
    try:
        return _readable(base64.b32decode(bare + "=" * (-len(bare) % 8)))
    except binascii.Error:
        return []


def _readable(data: bytes) -> list[str]:
    """Return bytes as text, if that is what they are."""
    if data.isascii() and data.count(0) * 3 <= len(data):
        said = data.decode("ascii")
        return [said] if said.translate(_LAYOUT).isprintable() else []
    found = []
    for encoding in ("utf-16-le", "utf-16-be", "utf-8") if data.count(0) * 3 > len(data) else ("utf-8",):
        try:
            said = data.decode(encoding).lstrip("\ufeff")
        except UnicodeDecodeError:
            continue
        if said.translate(_LAYOUT).isprintable():
            found.append(said)
    return found


def _read_mime(found: re.Match[str]) -> str:
    if found[1] in "bB":
        return "".join(_read_base64(found[2], alone=True)) or found[0]
    return _QUOTED_PRINTABLE.sub(lambda code: chr(int(code[1], 16)) if code[1] else "", found[2]).replace("_", " ")


def _read_punycode(found: re.Match[str]) -> str:
    try:
        return found[1].lower().encode("ascii").decode("punycode")
    except UnicodeError:
        return found[0]


_OF_ADDRESSES = str.maketrans("-_", "+/")
_LAYOUT = dict.fromkeys(map(ord, "\n\r\t"), " ")
