"""The extent of the sheets of an .xlsx file, found in their XML while it is checked.

The reader of workbooks lays out every sheet as a full rectangle, so that one cell in the last row and column would take
half a terabyte; and it drops errors such as #DIV/0!. Both are found here, with no more than a glance at each cell.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from xml.etree import ElementTree

from ot_packs.documents import BAD_ZIP, check_archive, check_xml, damaged, parse_member, read_member
from ot_packs.excel.cells import Area, column_number, parse_cell

MAX_LAID_OUT = 6_000_000  # cells of a rectangle that fit into a helper's memory: 32 bytes each, and their text


class SheetPart:
    """One sheet as its XML shows it, in pieces."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.has_errors = False
        self.has_formulas = False
        self._columns: set[bytes] = set()
        self._rows: set[bytes] = set()
        self._cells = 0  # all of them
        self._placed = 0  # those that say where they are, in the way that all programs do
        self._prefix = b""
        self._tail = b""
        self._begun = False

    def see(self, block: bytes) -> None:
        """Take the next piece of the XML; a tag that may go on in the next one waits for it."""
        text = self._tail + block
        if not self._begun:
            self._begin(text)
        end = text.rfind(b"<")
        self._look_at(text[:end])
        self._tail = text[end:] if end >= 0 else b""

    def _begin(self, text: bytes) -> None:
        root = re.search(rb"<(\w+:)?worksheet[\s>]", text)
        if root is None:
            return
        self._begun = True
        self._prefix = root[1] or b""
        tag = b"<" + self._prefix
        place = tag + rb'c r="([A-Z]{1,3})([0-9]{1,7})"[^>/]*'
        self._cell = re.compile(place + rb">")
        self._blank = re.compile(place + rb"/>")  # a format and nothing in it
        self._start = tag + b"c "
        self._odd_start = re.compile(tag + rb"c[>/\n\t\r]")

    def _look_at(self, text: bytes) -> None:
        if not self._begun:
            return
        cells = self._cell.findall(text)
        count = text.count(self._start) + len(self._odd_start.findall(text))
        self._cells += count
        self._placed += len(cells) if len(cells) == count else len(cells) + len(self._blank.findall(text))
        if cells:
            self._columns.update(map(itemgetter(0), cells))
            self._rows.update(map(itemgetter(1), cells))
        self.has_errors = self.has_errors or b't="e"' in text or b"t='e'" in text
        self.has_formulas = self.has_formulas or b"<" + self._prefix + b"f" in text

    @property
    def area(self) -> Area | None:
        """The smallest rectangle that its cells fit into; None if there are none."""
        if not self._rows:
            return None
        rows = [number - 1 for number in map(int, self._rows)]
        columns = [column_number(letters.decode("ascii")) for letters in self._columns]
        return Area(max(min(rows), 0), min(columns), max(rows), max(columns))

    @property
    def placed(self) -> bool:
        """True if it says where all its cells are, so that its area is known."""
        return self._begun and self._placed == self._cells

    @property
    def fits(self) -> bool:
        """True if it can be laid out as a rectangle in memory: its area is known, and not too large."""
        area = self.area
        if area is None:
            return self.placed
        return self.placed and (area.bottom - area.top + 1) * (area.right - area.left + 1) <= MAX_LAID_OUT


def look_through(path: Path) -> dict[str, SheetPart]:
    """Check an .xlsx file as an archive, and return what its worksheets are like, by their names."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {name: SheetPart(member) for name, member in _worksheets(path, archive)}
    except (*BAD_ZIP, ElementTree.ParseError) as error:
        raise damaged(path, error) from error
    seen: dict[str, Callable[[bytes], None]] = {part.member: part.see for part in parts.values()}
    check_archive(path, watch=seen.get)
    return parts


def _worksheets(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the names of sheets and the members that they are in."""
    book = "xl/workbook.xml"
    related = "xl/_rels/workbook.xml.rels"
    targets = {
        element.get("Id", ""): element.get("Target", "")
        for element in ElementTree.fromstring(check_xml(path, related, read_member(archive, related)))
    }
    for element in ElementTree.fromstring(check_xml(path, book, read_member(archive, book))).iter():
        if element.tag.endswith("}sheet"):
            number = next((value for key, value in element.items() if key.endswith("}id")), "")
            member = posixpath.normpath(posixpath.join("/xl", targets.get(number, ""))).lstrip("/")
            if member in archive.NameToInfo:
                yield element.get("name", ""), member


def find_errors(path: Path, member: str, within: Area) -> dict[int, dict[int, str]]:
    """Return the errors in a window of a sheet, such as #DIV/0!, by row and column; the archive has been checked."""
    errors: dict[int, dict[int, str]] = {}
    place: tuple[int, int] | None = None
    text: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal place
        tag = name.rpartition(":")[2]
        if tag == "c":
            place = parse_cell(attributes["r"]) if attributes.get("t") == "e" and "r" in attributes else None
        elif tag == "v":
            text.clear()

    def end(name: str) -> None:
        if place is not None and name.rpartition(":")[2] == "v":
            row, column = place
            if within.top <= row <= within.bottom and within.left <= column <= within.right:
                errors.setdefault(row, {})[column] = "".join(text)

    def add(data: str) -> None:
        if place is not None:
            text.append(data)

    with zipfile.ZipFile(path) as archive:
        parse_member(archive, member, StartElementHandler=start, EndElementHandler=end, CharacterDataHandler=add)
    return errors
