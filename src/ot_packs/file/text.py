"""The text of a file: its encoding, its byte order mark, its line ends; and files that hold none."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from ot.errors import ToolError

SAMPLE = 64 * 1024  # bytes of a file that tell its encoding

_MARKS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Of what Python knows, those that files are written in. Others are no text, or take long for a hostile one.
_KNOWN = (
    "ascii",
    "utf-8",
    "utf-16",
    "utf-32",
    "cp",
    "iso8859",
    "koi8",
    "mac-",
    "shift_jis",
    "euc_",
    "gb",
    "big5",
    "hz",
)


def find_encoding(sample: bytes, *, whole: bool, named: str = "") -> tuple[str, bytes]:
    """Return the encoding of a file by its beginning, and its mark; what the caller names comes first.

    Without a mark, what is no UTF-8 is taken for the Western encoding of Windows, or else for Latin 1.
    """
    mark, marked = next(((mark, name) for mark, name in _MARKS if sample.startswith(mark)), (b"", ""))
    if named:
        name = known_encoding(named)
        return name, mark if name == marked else b""
    if marked:
        return marked, mark
    if _decodes(sample, "utf-8", whole=whole):
        return "utf-8", b""
    return ("cp1252" if _decodes(sample, "cp1252", whole=whole) else "iso8859-1"), b""


def known_encoding(name: str) -> str:
    """Return Python's own name of an encoding; raises ToolError."""
    try:
        found = codecs.lookup(name).name if len(name) <= 40 else ""
    except LookupError:
        found = ""
    if not found.startswith(_KNOWN):
        raise ToolError(f"there is no encoding {name[:40]!r}; try utf-8, utf-16, cp1252 or shift_jis")
    return found


def is_binary(sample: bytes) -> bool:
    """True for what is no text: it holds null bytes, and no mark says that it may."""
    marked = any(sample.startswith(mark) for mark, _ in _MARKS)
    return not marked and b"\0" in sample


def find_newline(text: str) -> str:
    """Return the line end that most lines have."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def with_newlines(text: str, newline: str) -> str:
    """Return a text with these line ends."""
    return text.replace("\r\n", "\n").replace("\n", newline)


def split_lines(text: str) -> list[str]:
    """Return lines without their ends; a line ends at a line feed only, as editors and git count."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _decodes(sample: bytes, encoding: str, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample, final=whole)
    except UnicodeDecodeError:
        return False
    return True
