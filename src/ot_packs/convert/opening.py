"""Documents of every kind behind one face; which library reads one is decided by its content."""

from __future__ import annotations

from pathlib import Path

from ot.errors import ToolError
from ot_packs.convert.parts import Document
from ot_packs.documents.kinds import Kind, recognise

_REFUSED = {
    Kind.ZIP: "is a zip file: unpack it, and convert what is in it",
    Kind.OLE: "is in an older Office format: save it as .docx or .pptx first",
}


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
