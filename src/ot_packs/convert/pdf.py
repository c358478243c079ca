"""PDF files by PDFium: text page by page with its tables, the pictures in it, and pages as pictures."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pypdfium2.raw

from ot.errors import ToolError
from ot_packs.convert.parts import OCR_SIDE, Document, Part, Picture, Table, markdown_table
from ot_packs.convert.pdf_marks import find_headings, find_links, mark_headings, mark_links, read_fields
from ot_packs.convert.pdf_rules import find_ruled_grids, find_rules
from ot_packs.convert.pdf_tables import Box, Grid, find_grids
from ot_packs.documents import locked, reading

_LONGER_SIDE = 1600  # pixels of a page as a picture
_CELL = 512  # characters, which most cells have fewer than
_HYPHEN = re.compile("[\ufffe\x02]\r?\n?")  # the library's mark for a word that goes on in the next line
FilledGrid = tuple[Grid, list[list[str]]]


class Pdf(Document):
    unit = "page"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            try:
                self._document = pypdfium2.PdfDocument(path)
                self._document.init_forms()
            except pypdfium2.PdfiumError as error:
                if getattr(error, "err_code", None) == 4:  # FPDF_ERR_PASSWORD
                    raise locked(path) from error
                raise
        self.total = len(self._document)
        self.title = str(self._document.get_metadata_value("Title") or "")

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        for number in numbers:
            with reading(self.path):
                text, picture = self._text(number)
            yield Part(number, text, picture=picture)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        for number in numbers:
            with reading(self.path):
                page = self._page(number)
                text = page.get_textpage()
                grids = [rows for _, rows in _grids(page, text)]
                text.close()
                page.close()
            yield from (Table(number, "", rows) for rows in grids)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        for number in numbers:
            with reading(self.path):
                page = self._page(number)
                found = list(_pictures(page, number))
                page.close()
            yield from found

    def rendered(self, numbers: list[int]) -> Iterator[Picture]:
        """Yield pages as pictures, however large a page says it is."""
        for number in numbers:
            yield Picture(number, f"page {number}", "image/png", self._draw(number, 2.0, _LONGER_SIDE))

    def drawn(self, number: int) -> bytes:
        return self._draw(number, 300 / 72, OCR_SIDE, grayscale=True)  # to the resolution that OCR is made for

    def _draw(self, number: int, scale: float, longer_side: int, **options: bool) -> bytes:
        with reading(self.path):
            page = self._page(number)
            scale = min(scale, longer_side / max(*page.get_size(), 1.0))
            file = io.BytesIO()
            page.render(scale=scale, **options).to_pil().save(file, "PNG", dpi=(72 * scale, 72 * scale))
            page.close()
        return file.getvalue()

    def _page(self, number: int) -> pypdfium2.PdfPage:
        return self._document[number - 1]

    def _text(self, number: int) -> tuple[str, bool]:
        """Return the text of a page, and whether the page is a picture without text."""
        page = self._page(number)
        text = page.get_textpage()
        grids = _grids(page, text)
        result = _between_tables(page, text, grids) if grids else _plain(text.get_text_range())
        result = mark_headings(result, find_headings(text))
        links = [(" ".join(_text_in(text, Box(*place)).split()), address) for place, address in find_links(page)]
        result = mark_links(result, links)
        fields = "\n".join(f"- {name}: {value}" for name, value in read_fields(page))
        picture = not fields and not result and next(_images(page), None) is not None
        if fields:
            result += f"\n\nForm fields:\n\n{fields}"
        elif picture:
            shown = f"convert.images(..., pages={number}, render=True) shows it"
            result = f"(This page is a picture without text: {shown}.)"
        text.close()
        page.close()
        return result.strip(), picture


def _grids(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage) -> list[FilledGrid]:
    """Return the tables of a page with their texts: those that are drawn, and those whose texts stand like one."""
    count = text.count_rects()
    if count < 3:
        return []
    rules = find_rules(page)
    drawn = [(grid, _cells(text, grid)) for grid in find_ruled_grids(rules)]
    found: list[FilledGrid] = []
    for grid, rows in drawn:
        if _is_table(rows):
            kept = [column for column in range(len(rows[0])) if any(row[column] for row in rows)]
            found.append((grid, [[row[column] for column in kept] for row in rows if any(row)]))
    boxes = [Box(*text.get_rect(number)) for number in range(min(count, 5000))]
    others = [box for box in boxes if not any(grid.bottom < (box.top + box.bottom) / 2 < grid.top for grid, _ in found)]
    found += [(grid, _cells(text, grid)) for grid in find_grids(others, page.get_width(), rules.level)]
    return sorted(found, key=lambda each: -each[0].top)


def _is_table(rows: list[list[str]]) -> bool:
    """True if there is text in the cells: a chart has lines too."""
    filled = sum(bool(cell) for row in rows for cell in row)
    return filled >= 3 and filled >= 0.2 * sum(map(len, rows))


def _cells(text: pypdfium2.PdfTextPage, grid: Grid) -> list[list[str]]:
    texts = [["" if box is None else _plain(_text_in(text, box)) for box in row] for row in grid.rows]
    return [[" ".join(cell.split()) for cell in row] for row in texts]


def _text_in(text: pypdfium2.PdfTextPage, box: Box) -> str:
    """Return the text in a box; the library goes through the whole page each time, and its helper does so twice."""
    place = box.left - 0.5, box.top + 0.5, box.right + 0.5, box.bottom - 0.5
    buffer = (ctypes.c_ushort * _CELL)()
    count = pypdfium2.raw.FPDFText_GetBoundedText(text, *place, buffer, _CELL)
    if count >= _CELL:
        left, top, right, bottom = place
        return str(text.get_text_bounded(left, bottom, right, top))
    return bytes(buffer)[: 2 * max(count, 0)].decode("utf-16-le", "ignore").rstrip("\x00")


def _between_tables(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, grids: list[FilledGrid]) -> str:
    """Return the text of a page from top to bottom, with its tables as tables; beside a table, from left to right."""
    left, low, right, high = page.get_bbox()
    pieces = list[str]()

    def take(place: Box) -> None:
        if place.right > place.left and place.top > place.bottom:
            pieces.append(_plain(text.get_text_bounded(*place)))

    for band in _bands(grids):
        top, bottom = max(grid.top for grid, _ in band), min(grid.bottom for grid, _ in band)
        take(Box(left, top + 1, right, high))
        begun = left
        for grid, rows in sorted(band, key=lambda each: each[0].left):
            take(Box(begun, bottom, grid.left - 1, top))
            take(Box(grid.left, grid.top + 1, grid.right, top))
            pieces.append(markdown_table(rows))
            take(Box(grid.left, bottom, grid.right, grid.bottom - 1))
            begun = grid.right + 1
        take(Box(begun, bottom, right, top))
        high = bottom - 1
    take(Box(left, low, right, high))
    return "\n\n".join(piece for piece in pieces if piece)


def _bands(grids: list[FilledGrid]) -> list[list[FilledGrid]]:
    bands: list[list[FilledGrid]] = []
    for each in grids:
        if bands and each[0].top > min(grid.bottom for grid, _ in bands[-1]):
            bands[-1].append(each)
        else:
            bands.append([each])
    return bands


def _plain(text: str) -> str:
    text = _HYPHEN.sub("", text).replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _images(page: pypdfium2.PdfPage) -> Iterator[pypdfium2.PdfObject]:
    yield from page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=5)


def _pictures(page: pypdfium2.PdfPage, number: int) -> Iterator[Picture]:
    for index, image in enumerate(_images(page), start=1):
        about = image.get_metadata()
        if not 0 < about.width * about.height <= 40_000_000:  # of a picture in a page
            raise ToolError(
                f"a picture on page {number} is {about.width} by {about.height} pixels large, which is refused; "
                "render=True shows the page"
            )
        file = io.BytesIO()
        image.extract(file, fb_format="png")
        data = file.getvalue()
        kind = "jpeg" if data.startswith(b"\xff\xd8") else "jp2" if data[4:8] == b"jP  " else "png"
        yield Picture(number, f"page {number}, picture {index}", f"image/{kind}", data)
