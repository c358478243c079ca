"""E-books (EPUB): chapters in the order in which they are read."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from ot.errors import ToolError
from ot_packs.convert.html import HtmlReader
from ot_packs.convert.media import pictures_in
from ot_packs.convert.parts import Part, Picture, Table
from ot_packs.convert.text_files import decode
from ot_packs.documents.archives import check_members, check_xml, read_member
from ot_packs.documents.failures import reading

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html")


class Book:
    """An e-book that is open. Its pages are HTML, of which entities and document types mean nothing to the reader."""

    unit = "chapter"

    def __init__(self, path: Path) -> None:
        self.path = path
        check_members(path)
        with reading(path), zipfile.ZipFile(path) as archive:
            package = self._find_package(archive)
            root = self._parsed(archive, package)
            self.title = next((element.text or "" for element in root.iter() if element.tag.endswith("}title")), "")
            self._chapters = list(_chapters(root, posixpath.dirname(package)))
        self.total = len(self._chapters)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        """Yield chapters as Markdown."""
        for number in numbers:
            yield Part(number, self._read(number)[1])

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        """Yield the tables in chapters."""
        for number in numbers:
            yield from (Table(number, "", rows) for rows in self._read(number)[0].tables)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        """Yield the pictures of the book."""
        return pictures_in(self.path)

    def _read(self, number: int) -> tuple[HtmlReader, str]:
        reader = HtmlReader()
        with reading(self.path), zipfile.ZipFile(self.path) as archive:
            text = decode(read_member(archive, self._chapters[number - 1]))
        return reader, reader.read(text)

    def _find_package(self, archive: zipfile.ZipFile) -> str:
        for element in self._parsed(archive, _CONTAINER).iter():
            if element.tag.endswith("}rootfile") and element.get("full-path"):
                return str(element.get("full-path"))
        raise ToolError(f"{self.path.name} does not say where its chapters are")

    def _parsed(self, archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
        return ElementTree.fromstring(check_xml(self.path, name, read_member(archive, name)))


def _chapters(package: ElementTree.Element, folder: str) -> Iterator[str]:
    """Yield the names of the members that are read, in their order."""
    items = {
        element.get("id"): element.get("href", "")
        for element in package.iter()
        if element.tag.endswith("}item") and element.get("media-type") in _PAGES
    }
    for element in package.iter():
        target = items.get(element.get("idref")) if element.tag.endswith("}itemref") else None
        if target:
            yield posixpath.normpath(posixpath.join(folder, unquote(target)))
