"""Word documents, as mammoth reads them: headings, lists, tables, links, footnotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import mammoth

from ot_packs.convert.html import HtmlReader
from ot_packs.convert.media import pictures_in
from ot_packs.convert.parts import Part, Picture, Table
from ot_packs.documents.archives import check_archive
from ot_packs.documents.failures import reading


class Word:
    """A document that is open; it has no pages before somebody prints it."""

    unit = "document"
    total = 1

    def __init__(self, path: Path) -> None:
        self.path = path
        check_archive(path)
        with reading(path), path.open("rb") as file:
            html = mammoth.convert_to_html(file, convert_image=mammoth.images.img_element(_no_source)).value
        self._reader = HtmlReader()
        self._text = self._reader.read(html)
        self.title = ""

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        """Yield the document as Markdown."""
        yield Part(1, self._text)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        """Yield the tables of the document."""
        yield from (Table(1, "", rows) for rows in self._reader.tables)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        """Yield the pictures of the document."""
        return pictures_in(self.path, "word/media/")


def _no_source(image: object) -> Mapping[str, str]:
    """Leave a picture where it is: opening it would put it into the text, and could lead out of the file."""
    return {"src": ""}
