"""Pictures of charts and diagrams: formats, files, and letters without a font, found before boxes are drawn."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import TypedDict
from xml.parsers import expat

from ot.context import current
from ot.errors import ToolError
from ot.isolate import font_folders

_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.IGNORECASE | re.DOTALL)
_LOADS = re.compile(r"""@import|\b(?:url|src|image|image-set)\(\s*(?!["']?\s*\#)""", re.IGNORECASE)
_WORDS = ("aria-", "xlink:title", "id", "class")  # attributes that only describe
_FAMILIAR = 0x250  # below it are the Latin letters, which every font has
_IGNORED = frozenset(range(0x2000, 0x2070)) | frozenset(range(0xFE00, 0xFE10))  # spaces, joiners, variants
_PACKAGES = (
    (0x1100, 0x11FF, "fonts-noto-cjk"),
    (0x2E80, 0x9FFF, "fonts-noto-cjk"),
    (0xAC00, 0xD7FF, "fonts-noto-cjk"),
    (0xF900, 0xFAFF, "fonts-noto-cjk"),
    (0xFF00, 0xFFEF, "fonts-noto-cjk"),
    (0x1F000, 0x1FAFF, "fonts-noto-color-emoji"),
    (0x20000, 0x3FFFF, "fonts-noto-cjk"),
)
"""First and last letter of a script, and the Debian package with a font for it; fonts-noto-core has the others."""


class Written(TypedDict):
    """A picture that was written to a file."""

    path: str
    format: str
    size: int


def format_of(output: str | None, formats: Sequence[str]) -> str:
    """Return the format that the ending of a path asks for, the first one without a path; raises ToolError."""
    if output is None:
        return formats[0]
    ending = PurePath(output).suffix.removeprefix(".").lower()
    form = {"jpg": "jpeg", "gv": "dot"}.get(ending, ending)
    if form not in formats:
        endings = ", ".join(f".{known}" for known in formats)
        raise ToolError(f"output {output!r} must end in one of {endings}")
    return form


def write_picture(picture: bytes, output: str, form: str) -> Written:
    """Write a picture where the server takes it from."""
    current().output("output").write_bytes(picture)
    return {"path": output, "format": form, "size": len(picture)}


def require_self_contained(svg: str) -> None:
    """Refuse a drawing that would load something from elsewhere when somebody looks at it; raises ToolError."""
    texts = list[str]()
    inside = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        inside = name.rpartition(":")[2].lower()
        texts.extend(value for name, value in attributes.items() if not name.startswith(_WORDS))

    def read(text: str) -> None:
        if inside == "style":
            texts.append(text)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.CharacterDataHandler = read
    parser.ProcessingInstructionHandler = lambda target, data: texts.append(f"@import {target} {data}")
    try:
        parser.Parse(svg, True)
    except expat.ExpatError:
        texts = [svg]  # not well-formed: what stands anywhere could be read as anything
    for text in texts:
        if found := _LOADS.search(_ESCAPE.sub(_unescape, text)):
            raise ToolError(f"a picture loads nothing: {text[max(found.start() - 20, 0) :][:100]!r}; leave it out")


def _unescape(found: re.Match[str]) -> str:
    code = int(found[1], 16) if found[1] else ord(found[2])
    return chr(code) if code <= 0x10FFFF else ""


def require_fonts(texts: Iterable[str]) -> None:
    """Raise ToolError if a text has letters that no installed font can draw, naming fonts that could."""
    letters = {ord(letter) for text in texts if not text.isascii() for letter in text}
    missing = {letter for letter in letters if letter >= _FAMILIAR and letter not in _IGNORED}
    for font in _font_files() if missing else ():
        missing = missing - _letters_of(font)
        if not missing:
            break
    if missing:
        packages = {
            next((name for first, last, name in _PACKAGES if first <= letter <= last), "fonts-noto-core")
            for letter in missing
        }
        shown = " ".join(map(chr, sorted(missing)[:10]))
        named = f"{shown} and {len(missing) - 10} more letters" if len(missing) > 10 else f"the letters {shown}"
        raise ToolError(
            f"no installed font has {named}: boxes would be drawn instead. Install a font, on Debian "
            f"with `apt install {' '.join(sorted(packages))}`, or pass allow_boxes=True"
        )


@functools.cache
def _font_files() -> tuple[Path, ...]:
    return tuple(
        file
        for folder in font_folders()
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in {".ttf", ".otf", ".ttc", ".otc"}
    )


@functools.cache
def _letters_of(font: Path) -> frozenset[int]:
    """The letters of one font file; none if it cannot be understood."""
    letters = set[int]()
    try:
        with font.open("rb") as file:
            start = 0
            if file.read(4) == b"ttcf":  # a collection: its first font stands for all of them
                file.seek(12)
                start = int.from_bytes(file.read(4))
            file.seek(start + 4)
            count = int.from_bytes(file.read(2))
            file.seek(start + 12)
            for tag, _, offset, length in struct.iter_unpack(">4sIII", file.read(16 * count)):
                if tag == b"cmap":
                    file.seek(offset)
                    letters.update(_read_map(file.read(length)))
    except (OSError, struct.error, ValueError):
        return frozenset()
    return frozenset(letters)


def _read_map(table: bytes) -> Iterator[int]:
    """Yield the letters of a `cmap` table, whose parts for Unicode have the formats 4 and 12."""
    (count,) = struct.unpack_from(">H", table, 2)
    for index in range(count):
        (offset,) = struct.unpack_from(">I", table, 4 + 8 * index + 4)
        (form,) = struct.unpack_from(">H", table, offset)
        if form == 4:
            (double,) = struct.unpack_from(">H", table, offset + 6)
            size = double // 2
            ends = struct.unpack_from(f">{size}H", table, offset + 14)
            starts = struct.unpack_from(f">{size}H", table, offset + 16 + double)
            for first, last in zip(starts, ends, strict=True):
                yield from range(first, min(last, 0xFFFE) + 1)
        elif form == 12:
            (groups,) = struct.unpack_from(">I", table, offset + 12)
            for group in range(min(groups, 100_000)):
                first, last, _ = struct.unpack_from(">III", table, offset + 16 + 12 * group)
                yield from range(first, min(last, 0x10FFFF) + 1)
