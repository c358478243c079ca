"""Documents as Markdown: PDF, Word, PowerPoint, Excel, HTML, EPUB, CSV, and the metadata of pictures."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TypedDict

from ot.effects import idempotent, reads
from ot.errors import ToolError
from ot.isolate import isolated
from ot.values import Image
from ot_packs import convert as documents
from ot_packs.limits import as_number

pack = "convert"
needs = {
    "pypdfium2": "pypdfium2>=5.14",
    "mammoth": "mammoth>=1.13",
    "pptx": "python-pptx>=1.0.2",
    "python_calamine": "python-calamine>=0.9",
    "openpyxl": "openpyxl>=3.1.5",
    "PIL": "pillow>=12",
}
timeout = 100  # seconds: OCR may take five for a page

_MAX_CELLS = 200_000  # of the tables of one answer
_MOST_CELLS = 2_000_000  # of one that is to have everything
_MAX_BYTES = 32 * 1024 * 1024  # of the pictures of one answer


class Converted(TypedDict):
    """A document as Markdown; the text is empty if it went to a file."""

    format: str
    title: str
    unit: str  # page, slide, sheet, chapter, document or picture; part of a long text
    total: int  # units there are
    read: int  # units that were read
    more: bool
    text: str
    characters: int
    output: str


class DocumentTable(TypedDict):
    """A table, or a part of one, and the page it is on."""

    page: int
    name: str
    rows: list[list[str]]


class Tables(TypedDict):
    format: str
    tables: list[DocumentTable]
    rows: int  # that they have together
    more: bool


class DocumentImage(TypedDict):
    """A picture, and the page it is on; 0 where that is not known."""

    page: int
    name: str
    image: Image


class Images(TypedDict):
    format: str
    images: list[DocumentImage]
    more: bool


@idempotent
async def auto(
    *, path: str, pages: str | int | None = None, output: str | None = None, limit: int | None = 200, offset: int = 0
) -> Converted:
    """Convert a document to Markdown; its format is detected from its content.

    Args:
        path: The document: PDF, Word, PowerPoint, Excel, HTML, EPUB, CSV, text or a picture. The words of scanned pages
            are read by OCR if `tesseract` is installed.
        pages: The pages, slides, sheets or chapters to read, such as "1-3,7" or "5-"; all by default.
        output: A file to write the Markdown to instead of returning it.
        limit: Maximum number of pages, slides, sheets or chapters to read; None for all of them.
        offset: Number of pages, slides, sheets or chapters to skip.

    Returns:
        The Markdown, or the file it was written to; the number of units, and whether there are more.

    Example:
        convert.auto(path="report.pdf", pages="1-3")["text"]
    """
    request = {"path": path, "pages": pages, "output": output, "limit": limit, "offset": offset}
    return await documents.convert_document(request)


@isolated(reads=["{path}"])
@reads
def tables(*, path: str, pages: str | int | None = None, limit: int | None = 100, offset: int = 0) -> Tables:
    """Extract the tables of a document as rows of text.

    Args:
        path: The document: PDF, Word, PowerPoint, Excel, HTML, EPUB or CSV.
        pages: The pages, slides, sheets or chapters to look at, such as "1-3,7"; all by default.
        limit: Maximum number of tables to return; None for all of them.
        offset: Number of rows to skip, of all tables together.

    Returns:
        The tables with their pages, the number of their rows, and whether there are more. A table that is too long for
        one answer is continued in the next one.

    Example:
        convert.tables(path="report.pdf")["tables"][0]["rows"]
    """
    as_number(limit, offset=offset)
    kind, document = documents.open_document(Path(path))
    found: list[DocumentTable] = []
    rows, cells, more = -offset, 0, False
    most_cells = _MAX_CELLS if limit is not None else _MOST_CELLS
    for table in document.tables(documents.choose(pages, document.total, None)[0]):
        piece: DocumentTable = {"page": table.part, "name": table.name, "rows": []}
        for row in table.rows:
            rows += 1
            if rows <= 0:
                continue
            more = cells >= most_cells or (not piece["rows"] and limit is not None and len(found) >= limit)
            if more:
                break
            if not piece["rows"]:
                found.append(piece)
            piece["rows"].append(row)
            cells += len(row)
        if more:
            break
    return {"format": kind.value, "tables": found, "rows": sum(len(table["rows"]) for table in found), "more": more}


@isolated(reads=["{path}"])
@reads
def images(
    *, path: str, pages: str | int | None = None, render: bool = False, limit: int | None = 20, offset: int = 0
) -> Images:
    """Extract the pictures of a document, or render the pages of a PDF as pictures.

    Args:
        path: The document: PDF, Word, PowerPoint, Excel, EPUB, or a picture.
        pages: The pages of a PDF to look at, such as "1-3,7"; all by default.
        render: Render the pages of a PDF instead, for example of scanned ones without text.
        limit: Maximum number of pictures to return; None for all of them.
        offset: Number of pictures to skip.

    Returns:
        The pictures with their names and pages, and whether there are more.

    Example:
        convert.images(path="report.pdf", pages=1, render=True)["images"][0]["image"]
    """
    as_number(limit, offset=offset)
    kind, document = documents.open_document(Path(path))
    draw = getattr(document, "rendered", None) if render else document.pictures
    if draw is None:
        raise ToolError(f"only the pages of a PDF can be rendered, and {Path(path).name} is {kind}")
    found: list[DocumentImage] = []
    size = 0
    numbers = documents.choose(pages, document.total, None)[0]
    if render:  # each page is one, and none is drawn in vain
        numbers, offset = numbers[offset:], 0
    for picture in itertools.islice(draw(numbers), offset, None):
        size += len(picture.data)
        if (limit is not None and len(found) >= limit) or (found and size > _MAX_BYTES):
            return {"format": kind.value, "images": found, "more": True}
        found.append({"page": picture.part, "name": picture.name, "image": Image(picture.data, picture.mime_type)})
    return {"format": kind.value, "images": found, "more": False}
