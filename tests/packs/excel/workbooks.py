"""Workbooks for tests, written by the library that the pack creates with, and changed by hand where it would not."""

from __future__ import annotations

import datetime
import functools
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

SHEET = "xl/worksheets/sheet1.xml"


def make(path: Path, *fill: Callable[[xlsxwriter.Workbook, Worksheet], object]) -> Path:
    """A workbook of a sheet `Data` with two columns of numbers, and whatever else is put in."""
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Data")
    sheet.write_row(0, 0, ["a", "b"])
    for row in range(1, 5):
        sheet.write_row(row, 0, [row, row * 2])
    for each in fill:
        each(book, sheet)
    book.close()
    return path


def make_of_everything(path: Path) -> Path:
    """A workbook with a cell of every kind, and sheets of every kind."""
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Data")

    def shown(text: str) -> xlsxwriter.format.Format:
        return book.add_format({"num_format": text})

    sheet.write("B2", "text")
    sheet.write("C2", 1)
    sheet.write("D2", 1.5)
    sheet.write("E2", True)
    sheet.write_datetime("F2", datetime.date(2024, 5, 1), shown("yyyy-mm-dd"))
    sheet.write_datetime("G2", datetime.datetime.fromisoformat("2024-05-01T13:30"), shown("yyyy-mm-dd hh:mm"))
    sheet.write_datetime("H2", datetime.time(13, 30), shown("hh:mm"))
    sheet.write_datetime("I2", datetime.timedelta(hours=30), shown("[h]:mm:ss"))
    sheet.write_formula("J2", "=1/0", None, "#DIV/0!")
    sheet.write_formula("K2", "=1+1", None, 2)
    sheet.write_formula("L2", "=NA()", None, "#N/A")
    sheet.merge_range("B4:C5", "merged")
    sheet.write_string("B6", "=cmd")
    book.add_worksheet("Hidden").hide()
    book.add_worksheet("Secret").very_hidden()
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=Data!$C$2:$D$2"})
    book.add_chartsheet("Chart").set_chart(chart)
    book.close()
    return path


def changed(source: Path, path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """A copy of a zip file whose members are what `change` makes of them; None leaves one out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return path


def with_sheet(source: Path, path: Path, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a workbook whose first sheet is what `change` makes of it."""
    return changed(source, path, lambda name, data: change(data) if name == SHEET else data)


def png(width: int = 1, height: int = 1) -> bytes:
    """A red picture."""
    lines = (b"\x00" + b"\xff\x00\x00" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def picture() -> dict[str, io.BytesIO]:
    """The options of XlsxWriter for a picture from memory."""
    return {"image_data": io.BytesIO(png())}


@functools.cache
def unfolding(*members: str) -> bytes:
    """A zip file that unfolds to six hundred megabytes: more take longer to make, and are refused no sooner."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in members:
            archive.writestr(name, "<a/>")
        with archive.open("large.xml", "w") as member:
            for _ in range(600):
                member.write(b"<a/>" * (1 << 18))
    return file.getvalue()
