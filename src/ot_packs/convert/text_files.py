"""Documents that are text, or HTML inside: plain text, delimited values, web pages, Word documents and e-books."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from ot.errors import ToolError
from ot_packs.convert.html import HtmlReader
from ot_packs.convert.parts import Document, Part, Picture, Table, markdown_table, pictures_in, split_text
from ot_packs.documents import Kind, check_archive, check_members, check_xml, read_member, reading

MAX_FILE = 64 * 1024 * 1024  # bytes
PART_ROWS = 10_000  # of delimited values
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_STYLES = "p[style-name='Title'] => h1:fresh"  # beside those that mammoth knows


class PlainText(Document):
    """A document that is one text, by default that of its file; a long one is read in parts."""

    between = ""

    def __init__(self, path: Path, text: str | None = None) -> None:
        super().__init__(path)
        self._texts = split_text(_read_text(path) if text is None else text, 1_000_000)
        self.total = len(self._texts)
        self.unit = "part" if self.total > 1 else "document"

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        yield from (Part(number, self._texts[number - 1]) for number in numbers)


class Delimited(Document):
    """Values with commas, semicolons, tabs or bars between them; many rows are read in parts, each with the header."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._text = _read_text(path)
        sample = self._text[: 64 * 1024]  # characters by which the delimiter is found
        csv.field_size_limit(1024 * 1024)
        try:
            self._dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(sample, delimiters=",;\t|")
        except csv.Error:
            self._dialect = csv.excel_tab if "\t" in sample else csv.excel
        self.total = max(1, -(-sum(1 for _ in self._rows()) // PART_ROWS))
        self.unit = "part" if self.total > 1 else "document"

    def _rows(self) -> Iterator[list[str]]:
        rows = csv.reader(io.StringIO(self._text, newline=""), self._dialect)
        try:
            yield from rows
        except csv.Error as error:
            raise ToolError(f"{self.path.name}, line {rows.line_num}: {error}") from error

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        rows, header = self._rows(), list[list[str]]()
        for number in range(1, max(numbers, default=0) + 1):
            found = list(itertools.islice(rows, PART_ROWS))
            if number in numbers:
                yield Part(number, markdown_table([*header, *found]))
            header = header or found[:1]

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        wanted = frozenset(numbers)
        rows = (row for place, row in enumerate(self._rows()) if place // PART_ROWS + 1 in wanted)
        yield Table(1, "", self._rows() if len(wanted) == self.total else rows)


class WebPage(PlainText):
    """A page of HTML, by default that of its file; nothing that it refers to is fetched."""

    def __init__(self, path: Path, html: str | None = None) -> None:
        reader = HtmlReader()
        super().__init__(path, reader.read(_read_text(path) if html is None else html))
        self._tables = reader.tables
        self.title = reader.title.strip()

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        yield from (Table(1, "", rows) for rows in self._tables)


class Word(WebPage):
    """A Word document, as mammoth reads it: headings, lists, tables, links, footnotes. Only printing gives it pages."""

    def __init__(self, path: Path) -> None:
        import mammoth

        check_archive(path)
        with reading(path), path.open("rb") as file:
            # Opening a picture would put it into the text, and could lead out of the file.
            pictures = mammoth.images.img_element(lambda image: {"src": ""})
            html = mammoth.convert_to_html(file, convert_image=pictures, style_map=_STYLES).value
        super().__init__(path, html)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return pictures_in(self.path, "word/media/")


class Book(Document):
    """An e-book (EPUB) with chapters as they are read: HTML, whose entities and document types mean nothing here."""

    unit = "chapter"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        check_members(path)
        with reading(path), zipfile.ZipFile(path) as archive:
            package = self._find_package(archive)
            root = self._parsed(archive, package)
            self.title = next((element.text or "" for element in root.iter() if element.tag.endswith("}title")), "")
            self._chapters = list(_chapters(root, posixpath.dirname(package)))
        self.total = len(self._chapters)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        for number in numbers:
            yield Part(number, self._read(number)[1])

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        for number in numbers:
            yield from (Table(number, "", rows) for rows in self._read(number)[0].tables)

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        return pictures_in(self.path)

    def _read(self, number: int) -> tuple[HtmlReader, str]:
        reader = HtmlReader()
        with reading(self.path), zipfile.ZipFile(self.path) as archive:
            text = _decode(read_member(archive, self._chapters[number - 1]))
        return reader, reader.read(text)

    def _find_package(self, archive: zipfile.ZipFile) -> str:
        for element in self._parsed(archive, "META-INF/container.xml").iter():
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
        if element.tag.endswith("}item") and element.get("media-type") in ("application/xhtml+xml", "text/html")
    }
    for element in package.iter():
        target = items.get(element.get("idref")) if element.tag.endswith("}itemref") else None
        if target:
            yield posixpath.normpath(posixpath.join(folder, unquote(target)))


def _read_text(path: Path) -> str:
    if path.stat().st_size > MAX_FILE:
        raise ToolError(f"{path.name} is larger than {MAX_FILE >> 20} MB: read it by lines, with the pack file")
    return _decode(path.read_bytes())


def _decode(data: bytes) -> str:
    """Decode text: by its mark, as UTF-8, and else as what Western Windows writes."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


READERS: dict[Kind, type[Document]] = {
    Kind.DOCX: Word,
    Kind.EPUB: Book,
    Kind.HTML: WebPage,
    Kind.CSV: Delimited,
    Kind.TEXT: PlainText,
}
