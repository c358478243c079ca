"""PDF files for tests, written by hand: each page is a list of texts and where they stand."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class Text(NamedTuple):
    """A text on a page, its left end on the line; points from the lower left corner."""

    x: float
    y: float
    text: str
    size: float = 10


def make_pdf(pages: Iterable[Sequence[Text]], *, extra: bytes = b"", **options: Any) -> bytes:
    """A PDF file of pages of A4 with text in Helvetica; `extra` are further operators of every page."""
    return write_pdf([_content(texts) + extra for texts in pages], **options)


def write_pdf(
    contents: Sequence[bytes],
    *,
    resources: bytes = b"",
    objects: Sequence[bytes] = (),
    compress: bool = True,
    trailer: bytes = b"",
    entries: bytes = b"",
    catalog: bytes = b"",
) -> bytes:
    """A PDF file of pages with the given operators, and `entries`; `objects` are numbered from 10,000."""
    numbered: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R %b >>" % catalog,
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    kids = []
    for number, content in enumerate(contents):
        page, stream = 20_000 + 2 * number, 20_001 + 2 * number
        kids.append(b"%d 0 R" % page)
        numbered[page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> %b >> %b >>" % (stream, resources, entries)
        )
        numbered[stream] = stream_of(content) if compress else stream_of(content, filters=b"", packed=content)
    numbered[2] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids))
    numbered.update({10_000 + number: data for number, data in enumerate(objects)})
    return _assembled(numbered, trailer)


def stream_of(
    content: bytes, *, filters: bytes = b"/Filter /FlateDecode", packed: bytes | None = None, extra: bytes = b""
) -> bytes:
    """A stream object; already packed content is taken as it is."""
    data = zlib.compress(content) if packed is None else packed
    return b"<< /Length %d %b %b >>\nstream\n%b\nendstream" % (len(data), filters, extra, data)


def _content(texts: Sequence[Text]) -> bytes:
    parts = []
    for each in texts:
        escaped = each.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")
        parts.append(b"BT /F1 %g Tf %g %g Td (%b) Tj ET\n" % (each.size, each.x, each.y, escaped))
    return b"".join(parts)


def _assembled(objects: dict[int, bytes], trailer: bytes) -> bytes:
    data = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, content in sorted(objects.items()):
        places[number] = len(data)
        data += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        data += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(places) + 1
    return bytes(data + b"trailer\n<< /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start))


def prose(lines: int = 50, *, words: str = "the quick brown fox jumps over the lazy dog and runs away") -> list[Text]:
    """A page of lines from the top."""
    return [Text(72, 780 - 14 * line, f"Line {line} {words}") for line in range(lines)]


def table(rows: Sequence[Sequence[str]], *, top: float = 700, left: float = 72, width: float = 120) -> list[Text]:
    """Rows of cells that stand below each other."""
    return [
        Text(left + width * column, top - 16 * row, cell)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
        if cell
    ]


def lines(*ends: tuple[float, float, float, float]) -> bytes:
    """Operators that draw lines."""
    return b"0.5 w\n" + b"".join(b"%g %g m %g %g l S\n" % each for each in ends)


def filled_lines(*ends: tuple[float, float, float, float]) -> bytes:
    """Operators that draw lines as thin boxes, moved and scaled, as many programs do."""
    boxes = (
        b"%g %g %g %g re f\n" % (x / 2, y / 2, max((w - x) / 2, 0.3), max((h - y) / 2, 0.3)) for x, y, w, h in ends
    )
    return b"q 2 0 0 2 0 0 cm\n" + b"".join(boxes) + b"Q\n"
