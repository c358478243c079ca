"""Documents of any kind: their parts (pages, slides, sheets or chapters), tables and pictures, and Markdown."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ot.errors import ToolError
from ot_packs.documents import read_member, reading

OCR_SIDE = 5000  # pixels of the longer side of a picture for OCR
MAX_PICTURE = 16 * 1024 * 1024  # bytes
_TYPES = {
    **{f".{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "bmp", "tiff", "webp")},
    ".jpg": "image/jpeg",
    ".tif": "image/tiff",
    ".svg": "image/svg+xml",
}


class Part(NamedTuple):
    """One part of a document as Markdown; numbers count from 1."""

    number: int
    text: str
    cut: bool = False  # it has more than anybody would read; the text says how to read that
    picture: bool = False  # there may be words in it that only OCR can read


class Table(NamedTuple):
    part: int
    name: str
    rows: Iterable[list[str]]  # read once


class Picture(NamedTuple):
    part: int  # 0 where that is not known
    name: str
    mime_type: str
    data: bytes


class Document:
    """A document that is open: parts of one kind, each read when it is asked for."""

    unit = "document"
    total = 1
    title = ""
    between = "\n\n"  # two parts

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        raise NotImplementedError

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        return iter(())

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return iter(())

    def drawn(self, number: int) -> bytes:
        """Return a part that is a picture as a PNG for OCR."""
        raise NotImplementedError


def choose(pages: str | int | None, total: int, limit: int | None, offset: int = 0) -> tuple[list[int], bool]:
    """Read `"1-3,7"`, `"5-"` or a number, by default all; returns those up to the limit, and whether there are more."""
    limit = max(total, 1) if limit is None else limit
    if limit < 1 or offset < 0:
        raise ToolError("limit must be at least 1, and offset must not be negative")
    if pages is None or pages == "":
        return list(range(offset + 1, min(total, offset + limit) + 1)), total > offset + limit
    numbers: dict[int, None] = {}
    for piece in str(pages).split(","):
        first, last = _bounds(piece.strip(), total)
        # One beyond the limit is enough to know that there is more.
        numbers.update(dict.fromkeys(range(first, min(last, first + offset + limit) + 1)))
    wanted = [number for number in numbers if number <= total]
    if not wanted:
        raise ToolError(f"there is no page {pages!r}; the document has {total}")
    return wanted[offset : offset + limit], len(wanted) > offset + limit


def split_text(text: str, most: int) -> list[str]:
    """Split a text into parts of at most so many characters, between lines where there are any; one if it is empty."""
    pieces = []
    start = 0
    while len(text) - start > most:
        end = text.rfind("\n", start, start + most) + 1 or start + most
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]] if start < len(text) or not pieces else pieces


def _bounds(piece: str, total: int) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,9})?(\s*-\s*)?(\d{1,9})?", piece)
    if not piece or found is None or not (found[1] or found[3]):
        raise ToolError(f'{piece[:40]!r} is not a page; pages are written like "3", "2-5" or "1,4,7-"')
    first = int(found[1] or 1)
    last = int(found[3] or total) if found[2] else first
    if not 1 <= first <= last:
        raise ToolError(f"{piece[:40]!r} is not a range of pages: page numbers count from 1 upwards")
    return first, last


def pictures_in(path: Path, folder: str = "") -> Iterator[Picture]:
    """Yield the pictures below a folder of a zip file, as they are; what is larger than 16 MB is left out."""
    with reading(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            mime_type = _TYPES.get(posixpath.splitext(member.filename)[1].lower())
            if mime_type and member.filename.startswith(folder) and member.file_size <= MAX_PICTURE:
                data = read_member(archive, member.filename, limit=MAX_PICTURE)
                yield Picture(0, posixpath.basename(member.filename), mime_type, data)


def markdown_table(rows: Sequence[Sequence[object]]) -> str:
    """Write rows as a table whose header is the first one; ragged rows are filled up."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    texts = [["" if cell is None else cell_text(str(cell)) for cell in row] for row in rows]
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in texts]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def cell_text(text: str) -> str:
    """Return a text on one line, with nothing in it that would end a cell."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
