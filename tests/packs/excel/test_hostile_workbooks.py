"""Workbooks made to harm whoever opens them: every call ends with a sentence, and the server goes on."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ot.errors import CallError, PathError, ToolError
from tests.opened_executor import Opened, open_executor
from tests.packs.answers import value_from
from tests.packs.excel.workbooks import SHEET, changed, make, unfolding, with_sheet

pytestmark = pytest.mark.anyio

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>'.encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
async def opened(project: Path) -> AsyncIterator[Opened]:
    async with open_executor(project=project) as opened:
        yield opened


@pytest.fixture(scope="module")
def book(project: Path) -> Path:
    return make(project / "good.xlsx")


def zip_bomb(good: Path, bad: Path) -> None:
    bad.write_bytes(unfolding("xl/workbook.xml", "xl/_rels/workbook.xml.rels"))


def zip_bomb_that_lies(good: Path, bad: Path) -> None:
    """The same, saying of itself to be ten bytes."""
    bad.write_bytes(
        unfolding("xl/workbook.xml", "xl/_rels/workbook.xml.rels").replace(
            struct.pack("<I", 600 << 20), struct.pack("<I", 10)
        )
    )


def zips_in_zips(good: Path, bad: Path) -> None:
    """A workbook in which there is nothing but a zip file with the next one in it."""
    inner = unfolding("xl/workbook.xml", "xl/_rels/workbook.xml.rels")
    for _ in range(5):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
            archive.writestr("xl/worksheets/sheet1.zip", inner)
        inner = file.getvalue()
    bad.write_bytes(inner)


def many_members(good: Path, bad: Path) -> None:
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/_rels/workbook.xml.rels", "<Relationships/>")
        for number in range(20_001):
            archive.writestr(f"{number}.xml", b"")


def entities(good: Path, bad: Path) -> None:
    with_sheet(good, bad, lambda data: data.replace(b"<worksheet", BOMB + b"<worksheet", 1))


def entities_in_utf16(good: Path, bad: Path) -> None:
    def change(data: bytes) -> bytes:
        return data.replace(b"<worksheet", BOMB + b"<worksheet", 1).decode().replace("UTF-8", "UTF-16").encode("utf-16")

    with_sheet(good, bad, change)


def entities_in_utf7(good: Path, bad: Path) -> None:
    def change(data: bytes) -> bytes:
        text = BOMB.decode().replace("<", "+ADw-")
        return data.replace(b"UTF-8", b"UTF-7", 1).replace(b"<worksheet", text.encode() + b"<worksheet", 1)

    with_sheet(good, bad, change)


def external_entity(good: Path, bad: Path) -> None:
    secret = bad.with_name("secret.txt")
    secret.write_text("the secret")
    declared = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'.encode()
    cell = b'<row r="9"><c r="A9" t="inlineStr"><is><t>&e;</t></is></c></row></sheetData>'

    def change(data: bytes) -> bytes:
        return data.replace(b"<worksheet", declared + b"<worksheet", 1).replace(b"</sheetData>", cell)

    with_sheet(good, bad, change)


def entity_in_the_book(good: Path, bad: Path) -> None:
    changed(
        good,
        bad,
        lambda name, data: data.replace(b"<workbook", BOMB + b"<workbook", 1) if name == "xl/workbook.xml" else data,
    )


def locked(good: Path, bad: Path) -> None:
    bad.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000) + "EncryptedPackage".encode("utf-16-le") + bytes(500)
    )


def cut_off(good: Path, bad: Path) -> None:
    bad.write_bytes(good.read_bytes()[:2000])


def broken_xml(good: Path, bad: Path) -> None:
    with_sheet(good, bad, lambda data: data[: len(data) // 2])


def no_sheets(good: Path, bad: Path) -> None:
    changed(good, bad, lambda name, data: None if name == "xl/_rels/workbook.xml.rels" else data)


def old_format_of_noise(good: Path, bad: Path) -> None:
    bad.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le") * 400)


def empty(good: Path, bad: Path) -> None:
    bad.write_bytes(b"")


HOSTILE: dict[Callable[[Path, Path], None], str] = {
    zip_bomb: "would unpack to more than 512 MB",
    zip_bomb_that_lies: "would unpack to more than 512 MB",
    zips_in_zips: "damaged",
    many_members: "contains 20003 files",
    entities: "declares a document type or an entity",
    entities_in_utf16: "declares a document type or an entity",
    entities_in_utf7: "encoded in UTF-7",
    external_entity: "declares a document type or an entity",
    entity_in_the_book: "declares a document type or an entity",
    locked: "protected by a password: save a copy without one",
    cut_off: "is damaged",
    broken_xml: "is damaged",
    no_sheets: "is damaged",
    old_format_of_noise: "is damaged",
    empty: "is empty",
}


@pytest.mark.parametrize("harm", HOSTILE, ids=lambda harm: harm.__name__)
async def test_a_hostile_file_is_refused_with_a_sentence(
    opened: Opened, book: Path, project: Path, harm: Callable[[Path, Path], None]
) -> None:
    harm(book, project / "bad.xlsx")

    with pytest.raises(ToolError, match=HOSTILE[harm]):
        await value_from(opened.executor, "excel.read", {"path": "bad.xlsx"})


@pytest.mark.parametrize(
    "harm", [entities, external_entity, locked, cut_off, zips_in_zips], ids=lambda harm: harm.__name__
)
async def test_a_hostile_file_is_not_edited_either(
    opened: Opened, book: Path, project: Path, harm: Callable[[Path, Path], None]
) -> None:
    bad = project / "bad.xlsx"
    harm(book, bad)
    before = bad.read_bytes()

    with pytest.raises(ToolError, match=HOSTILE[harm]):
        await value_from(opened.executor, "excel.write", {"path": "bad.xlsx", "cells": {"A1": 1}})

    assert bad.read_bytes() == before
    assert (await value_from(opened.executor, "excel.read", {"path": "good.xlsx"}))["total"] == 5


async def test_a_sheet_that_says_it_is_huge_is_read_as_what_it_is(opened: Opened, book: Path, project: Path) -> None:
    with_sheet(
        book,
        project / "huge.xlsx",
        lambda data: data.replace(b'<dimension ref="A1:B5"/>', b'<dimension ref="A1:XFD1048576"/>'),
    )

    assert (await value_from(opened.executor, "excel.read", {"path": "huge.xlsx"}))["range"] == "A1:B5"


FAR = b'<row r="1048576"><c r="XFD1048576"><f>3+4</f><v>7</v></c></row></sheetData>'


async def test_a_cell_in_the_last_corner_costs_no_memory(opened: Opened, book: Path, project: Path) -> None:
    with_sheet(book, project / "far.xlsx", lambda data: data.replace(b"</sheetData>", FAR))

    sheet = (await value_from(opened.executor, "excel.sheets", {"path": "far.xlsx"}))["sheets"][0]
    window = await value_from(opened.executor, "excel.read", {"path": "far.xlsx", "range": "A2:C3"})
    whole = await value_from(opened.executor, "excel.read", {"path": "far.xlsx"})
    found = await value_from(opened.executor, "excel.search", {"path": "far.xlsx", "query": "7"})
    listed = await value_from(opened.executor, "excel.formulas", {"path": "far.xlsx"})

    assert sheet["range"] == "A1:XFD1048576"
    assert window["rows"] == [[1, 2, None], [2, 4, None]]
    assert (len(whole["rows"]), len(whole["rows"][0]), whole["more"]) == (25, 16_384, True)
    assert found["matches"] == [{"sheet": "Data", "cell": "XFD1048576", "value": 7}]
    assert listed["formulas"] == [{"sheet": "Data", "cell": "XFD1048576", "formula": "=3+4", "value": 7}]


async def test_a_sheet_that_no_memory_holds_ends_the_helper_and_nothing_else(
    opened: Opened, book: Path, project: Path
) -> None:
    """The reader of .ods files repeats cells as often as it is told."""
    repeated = (
        '<?xml version="1.0" encoding="UTF-8"?><office:document-content '
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="S"><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="90"/>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(project / "bad.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", repeated)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")

    with pytest.raises(CallError, match="memory"):
        await value_from(opened.executor, "excel.read", {"path": "bad.ods"})

    assert (await value_from(opened.executor, "excel.read", {"path": "good.xlsx"}))["total"] == 5


async def test_a_link_to_another_file_is_not_followed(opened: Opened, book: Path, project: Path) -> None:
    """A sheet that is said to lie outside of the file."""
    (project / "outside.xml").write_text("<worksheet/>")

    def change(name: str, data: bytes) -> bytes:
        return data.replace(b'Target="worksheets/sheet1.xml"', b'Target="../../outside.xml" TargetMode="External"')

    changed(book, project / "linked.xlsx", change)

    with pytest.raises(ToolError, match="damaged"):
        await value_from(opened.executor, "excel.read", {"path": "linked.xlsx"})


async def test_files_outside_of_the_project_are_out_of_reach(
    opened: Opened, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = make(tmp_path_factory.mktemp("elsewhere") / "other.xlsx")

    calls: dict[str, dict[str, object]] = {
        "read": {},
        "sheets": {},
        "search": {"query": "a"},
        "formulas": {},
        "write": {"cells": {"A1": 1}},
        "create": {"sheets": [{"rows": [[1]]}]},
    }
    for tool, arguments in calls.items():
        with pytest.raises(PathError):
            await value_from(opened.executor, f"excel.{tool}", {"path": str(elsewhere), **arguments})


@pytest.mark.parametrize(
    "member", [SHEET, "xl/workbook.xml", "xl/styles.xml", "xl/sharedStrings.xml", "[Content_Types].xml"]
)
async def test_noise_anywhere_is_a_damaged_file(opened: Opened, book: Path, project: Path, member: str) -> None:
    noise = bytes(range(256)) * 8
    changed(book, project / "bad.xlsx", lambda name, data: noise if name == member else data)

    edit: dict[str, object] = {"cells": {"A1": 1}}
    for tool, arguments in {"read": {}, "write": edit}.items():
        with suppress(ToolError):  # a part that a library does not need may be anything
            await value_from(opened.executor, f"excel.{tool}", {"path": "bad.xlsx", **arguments})
