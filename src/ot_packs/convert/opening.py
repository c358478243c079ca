"""Documents of every kind behind one face; which library reads one is decided by its content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ot.errors import ToolError
from ot_packs.convert.parts import Part, Picture, Table
from ot_packs.documents.kinds import Kind, recognise


class Document(Protocol):
    """A document that is open: parts of one kind, each read when it is asked for."""

    @property
    def unit(self) -> str: ...
    @property
    def total(self) -> int: ...
    @property
    def title(self) -> str: ...

    def parts(self, numbers: list[int]) -> Iterator[Part]: ...
    def tables(self, numbers: list[int]) -> Iterator[Table]: ...
    def pictures(self, numbers: list[int]) -> Iterator[Picture]: ...


def open_document(path: Path) -> tuple[Kind, Document]:
    """Open a document of any kind; raises ToolError, with the way out, for what cannot be converted."""
    kind = recognise(path)
    return kind, _opened(path, kind)


def _opened(path: Path, kind: Kind) -> Document:
    """Each library is loaded where its kind of document is, and only there."""
    match kind:
        case Kind.PDF:
            from ot_packs.convert.pdf import Pdf

            return Pdf(path)
        case Kind.DOCX:
            from ot_packs.convert.word import Word

            return Word(path)
        case Kind.PPTX:
            from ot_packs.convert.slides import Slides

            return Slides(path)
        case Kind.XLSX | Kind.XLSM | Kind.XLSB | Kind.XLS | Kind.ODS:
            from ot_packs.convert.sheets import Sheets

            return Sheets(path)
        case Kind.EPUB:
            from ot_packs.convert.books import Book

            return Book(path)
        case Kind.IMAGE:
            from ot_packs.convert.photos import Photo

            return Photo(path)
        case _:
            return _text(path, kind)


def _text(path: Path, kind: Kind) -> Document:
    from ot_packs.convert.text_files import Delimited, PlainText, WebPage

    match kind:
        case Kind.HTML:
            return WebPage(path)
        case Kind.CSV:
            return Delimited(path)
        case Kind.TEXT:
            return PlainText(path)
        case Kind.ZIP:
            raise ToolError(f"{path.name} is a zip file: unpack it, and convert what is in it")
        case Kind.OLE:
            raise ToolError(f"{path.name} is in an older Office format: save it as .docx or .pptx first")
        case _:
            raise ToolError(f"{path.name} is of a kind that cannot be converted")
