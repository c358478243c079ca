"""Letters: the form in which texts are compared, without case, marks, signs and what only looks different."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

BEFORE = ("https", "http", "ftp", "mailto", "tel", "www")  # tokens that an address may begin with
_NOTHING = "\u115f\u1160\u3164\uffa0"  # letters that show nothing
_UNSEEN = ("Mn", "Me", "Cf")  # categories of marks on letters, and of what shows nothing

# After case folding and NFKD: letters of other scripts and sorts that look like those of ASCII.
_ALIKE = {
    "абвгеіјкԛмнопрѕтуѵхԝӏһԁьԍ": "abbreijkqmhonpstyvxwlhdbg",
    "αβγειζηκμνορτυχω": "abyeiznkuvoptuxw",
    "օսհոցզ": "ouhngq",
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏒᏔᏚᏙᏞᏟᏢᏦᏴᎩ": "drtiajewmhgzrwsvlcpkby",
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ": "abcdefghijklmnoprstuvwyz",
    "ıɑɡɩłøđħŧƅɵ": "iagilodhtbo",
}
_ALIKE_BY_LETTER = {
    letter: other for letters, others in _ALIKE.items() for letter, other in zip(letters, others, strict=True)
}
_LETTER_SETS = (0x1F1E6, 0x1F150, 0x1F170)  # flags, and letters in dark circles and squares: each from A to Z
_TAGS = range(0xE0020, 0xE007F)  # an ASCII that shows nothing


class Form(NamedTuple):
    """A way to write characters in another way: for ASCII as a table of bytes, which is quick, and for all."""

    quick: bytes
    table: Mapping[int, str]

    def apply(self, text: str) -> str:
        if text.isascii():
            return text.encode("ascii").translate(self.quick).decode("ascii")
        return text.translate(self.table)


class _Letters(dict[int, str]):
    """Each character in one case; what is neither letter nor digit as a blank, and marks on letters as nothing."""

    def __init__(self, lines: str) -> None:
        self._lines = lines  # characters that become line breaks

    def __missing__(self, code: int) -> str:
        self[code] = flat = "\n" if chr(code) in self._lines else _flatten_one(chr(code))
        return flat


def _flatten_one(character: str) -> str:
    if (look := _seen_as(character)) != character:
        return _flatten_one(look) if look else ""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if character.isalnum():
        folded = character.casefold()
        return "".join(_ALIKE_BY_LETTER.get(each, each) for each in folded)
    return "" if unicodedata.category(character) in _UNSEEN else " "


def _seen_as(character: str) -> str:
    code = ord(character)
    if code in _TAGS:
        return chr(code - 0xE0000)
    start = next((start for start in _LETTER_SETS if start <= code < start + 26), None)
    if start is not None:
        return chr(code - start + ord("a"))
    return "" if character in _NOTHING else character


def _form(table: Mapping[int, str]) -> Form:
    return Form(bytes(ord(table[code]) if code < 128 else 0 for code in range(256)), table)


def replacing(others: Mapping[str, str]) -> Form:
    """Return a form in which these characters of ASCII are written as others of it."""
    quick = bytes(ord(others.get(chr(code), chr(code))) for code in range(256))
    return Form(quick, str.maketrans(dict(others)))


def kinds_of(kinds: Mapping[str, str]) -> bytes:
    """Return a table that writes ASCII as kinds of characters, and everything else as blanks."""
    kind_of = {ord(character): ord(kind) for kind, characters in kinds.items() for character in characters}
    return bytes(kind_of.get(code, ord(" ")) for code in range(256))


_LINES = _form(_Letters("\n\r"))
_ITEMS = _form(_Letters("\n\r\t,;|"))


def plain(text: str) -> str:
    """Return a text in one Unicode form, in which letters are apart from their marks."""
    return text if text.isascii() else unicodedata.normalize("NFKD", text)


def flatten(text: str, *, items: bool = False) -> str:
    """Return a text with letters and digits in one form, and blanks for everything else but line breaks.

    With `items`, signs between the items of a list are line breaks too.
    """
    form = _ITEMS if items else _LINES
    if text.isascii():
        return text.encode("ascii").translate(form.quick).decode("ascii")
    return plain(text).translate(form.table)


def skeleton(text: str) -> str:
    """Return nothing but the letters and digits, without what addresses begin with."""
    return join(flatten(text).split())


def join(tokens: list[str]) -> str:
    """Return tokens as one, without those that addresses begin with."""
    while len(tokens) > 1 and tokens[0] in BEFORE:
        tokens = tokens[1:]
    return "".join(tokens)
