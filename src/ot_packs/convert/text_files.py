"""Text in files: web pages, delimited values, and anything else that is plain text."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from pathlib import Path

from ot.errors import ToolError
from ot_packs.convert import markdown
from ot_packs.convert.html import HtmlReader
from ot_packs.convert.parts import Part, Picture, Table

MAX_FILE = 64 * 1024 * 1024  # bytes
MAX_ROWS = 10_000  # of delimited values
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SAMPLE = 64 * 1024  # characters by which the delimiter is found


class PlainText:
    """A file of text, as it is."""

    unit = "document"
    total = 1
    title = ""

    def __init__(self, path: Path) -> None:
        self._text = _decoded(path)

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        """Yield the text."""
        yield Part(1, self._text)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        """Yield nothing: text has no tables."""
        return iter(())

    def pictures(self, numbers: list[int]) -> Iterator[Picture]:
        """Yield nothing: text has no pictures."""
        return iter(())


class Delimited(PlainText):
    """Values with commas, semicolons, tabs or bars between them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        csv.field_size_limit(1024 * 1024)
        try:
            dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(self._text[:_SAMPLE], delimiters=",;\t|")
        except csv.Error:
            dialect = csv.excel_tab if "\t" in self._text[:_SAMPLE] else csv.excel
        rows = csv.reader(io.StringIO(self._text, newline=""), dialect)
        self._rows: list[list[str]] = []
        self._left_out = 0
        try:
            for row in rows:
                if len(self._rows) < MAX_ROWS:
                    self._rows.append(row)
                else:
                    self._left_out += 1
        except csv.Error as error:
            raise ToolError(f"{path.name}, line {rows.line_num}: {error}") from error

    def parts(self, numbers: list[int]) -> Iterator[Part]:
        """Yield the rows as one table."""
        note = f"\n\n{self._left_out} more rows: the csv module of a run reads them" if self._left_out else ""
        yield Part(1, markdown.table(self._rows) + note)

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        """Yield the rows."""
        yield Table(1, "", self._rows)


class WebPage(PlainText):
    """A page of HTML; nothing that it refers to is fetched."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        reader = HtmlReader()
        self._text = reader.read(self._text)
        self._tables = reader.tables
        self.title = reader.title.strip()

    def tables(self, numbers: list[int]) -> Iterator[Table]:
        """Yield the tables of the page."""
        yield from (Table(1, "", rows) for rows in self._tables)


def _decoded(path: Path) -> str:
    if path.stat().st_size > MAX_FILE:
        raise ToolError(f"{path.name} is larger than {MAX_FILE >> 20} MB: read it by lines, with the pack file")
    data = path.read_bytes()
    return decode(data)


def decode(data: bytes) -> str:
    """Decode text: by its mark, as UTF-8, and else as what Western Windows writes."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
