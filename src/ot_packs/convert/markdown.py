"""Documents as Markdown, in a helper process: their units one after the other, up to what one answer may have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from ot.context import current
from ot.errors import ToolError
from ot_packs.convert.parts import Document, choose
from ot_packs.documents import Kind, recognise

_REFUSED = {
    Kind.ZIP: "is a zip file: unpack it, and convert what is in it",
    Kind.OLE: "is in an older Office format: save it as .docx or .pptx first",
}
_MOST_TEXT = 32_000_000  # of one that is to have everything
_MAX_FILE = 256 * 1024 * 1024  # characters of a file


def open_document(path: Path) -> tuple[Kind, Document]:
    """Open a document of any kind; raises ToolError, with the way out, for what cannot be converted."""
    kind = recognise(path)
    return kind, _reader_of(path, kind)(path)


def _reader_of(path: Path, kind: Kind) -> type[Document]:
    """Each library is loaded where its kind of document is, and only there."""
    match kind:
        case Kind.PDF:
            from ot_packs.convert.pdf import Pdf

            return Pdf
        case Kind.PPTX:
            from ot_packs.convert.slides import Slides

            return Slides
        case Kind.XLSX | Kind.XLSM | Kind.XLSB | Kind.XLS | Kind.ODS:
            from ot_packs.convert.sheets import Sheets

            return Sheets
        case Kind.IMAGE:
            from ot_packs.convert.photos import Photo

            return Photo
    from ot_packs.convert.text_files import READERS

    if kind not in READERS:
        raise ToolError(f"{path.name} {_REFUSED.get(kind, 'is of a kind that cannot be converted')}")
    return READERS[kind]


class Markdown(TypedDict):
    """The answer of `convert.auto`, and the numbers of the units in it that are pictures without text."""

    format: str
    title: str
    unit: str
    total: int
    read: int
    more: bool
    text: str
    characters: int
    output: str
    pictures: NotRequired[list[int]]


def to_markdown(
    *,
    path: str,
    pages: str | int | None = None,
    output: str | None = None,
    limit: int | None = 200,
    offset: int = 0,
    words: Sequence[str] | None = None,
    note: str = "",
) -> Markdown:
    """Convert a document, as `convert.auto` does.

    `words` are for the first pictures without text; the answer ends before the next one. Where there are none for any,
    each of them gets the `note`; so does one that begins the answer.
    """
    kind, document = open_document(Path(path))
    numbers, more = choose(pages, document.total, limit, offset)
    most = _MAX_FILE if output is not None else _MOST_TEXT if limit is None else 4_000_000  # characters of one answer
    texts: list[str] = []
    pictures: list[int] = []
    left = iter(words or ())
    characters = 0
    for part in document.parts(numbers) if numbers else ():
        text = f"<!-- {document.unit} {part.number} -->\n\n{part.text}" if document.unit == "page" else part.text
        if part.picture:
            pictures.append(part.number)
            below = next(left, None)
            if texts and below is None and words is not None:
                break  # the next call begins with it
            text = f"{text}\n\n{note if below is None else below}".rstrip()
        if texts and characters + len(text) > most:
            break  # the next call begins with it
        texts.append(text)
        characters += len(text) + len(document.between)
        more = more or part.cut
    text = document.between.join(texts)
    more = more or len(texts) < len(numbers) or len(text) > most
    if output is not None:
        current().output("output").write_text(text[:most] + "\n", encoding="utf-8")
    return {
        "format": kind.value,
        "title": document.title[:500],
        "unit": document.unit,
        "total": document.total,
        "read": len(texts),
        "more": more,
        "text": text[:most] if output is None else "",
        "characters": min(len(text), most),
        "output": output or "",
        "pictures": pictures,
    }


def draw(*, path: str, number: int) -> bytes:
    """Return a unit that is a picture as a PNG in shades of grey, as large as OCR likes it."""
    return open_document(Path(path))[1].drawn(number)
