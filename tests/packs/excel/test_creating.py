"""New workbooks, looked at with the libraries that did not write them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from ot.errors import ToolError
from ot_packs.excel.creating import create_workbook
from ot_tools import excel


def create(tmp_path: Path, *sheets: dict[str, Any], formulas: bool = False) -> Path:
    path = tmp_path / "made.xlsx"
    create_workbook(path, sheets, formulas=formulas)
    return path


SALES = {
    "name": "Sales",
    "rows": [{"month": "Jan", "sales": 120, "cost": 80}, {"month": "Feb", "sales": 150, "cost": 99.5}],
}


def test_dicts_become_rows_below_a_header(tmp_path: Path) -> None:
    path = create(tmp_path, SALES, {"name": "Other", "header": ["x"], "rows": [[1], [None], [3]]})

    assert excel.read(path=str(path), header=True)["rows"] == SALES["rows"]
    assert excel.read(path=str(path), sheet="Other")["rows"] == [["x"], [1], [None], [3]]
    sheet = openpyxl.load_workbook(path)["Sales"]
    assert sheet["A1"].font.bold
    assert sheet.freeze_panes == "A2"


def test_dicts_that_differ_fill_the_columns_they_have(tmp_path: Path) -> None:
    path = create(tmp_path, {"rows": [{"a": 1}, {"b": 2}]})

    assert excel.read(path=str(path))["rows"] == [["a", "b"], [1, None], [None, 2]]
    assert excel.sheets(path=str(path))["sheets"][0]["name"] == "Sheet1"


def test_values_are_written_as_what_they_are(tmp_path: Path) -> None:
    row = [
        *("text", 1, 1.5, True, None),
        *(
            datetime.date(2024, 5, 1),
            datetime.datetime.fromisoformat("2024-05-01T12:00"),
            datetime.time(12, 30),
            datetime.timedelta(hours=30),
        ),
    ]
    path = create(tmp_path, {"rows": [row, [12345678901234567890, float("nan"), datetime.date(1815, 6, 18)]]})

    first, second = excel.read(path=str(path))["rows"]
    assert first == row
    assert second[:3] == ["12345678901234567890", "#NUM!", "1815-06-18"]


@pytest.mark.parametrize(
    "value", ["=1+1", "+1", "-1", "@SUM(A1)", "{=1}", "https://example.com", "007", "=HYPERLINK(A1)"]
)
def test_text_is_written_as_text(tmp_path: Path, value: str) -> None:
    path = create(tmp_path, {"rows": [[value]]})

    cell = openpyxl.load_workbook(path)["Sheet1"]["A1"]
    assert (cell.data_type, cell.hyperlink) == ("s", None)
    assert excel.read(path=str(path))["rows"] == [[value]]


def test_formulas_are_written_when_they_are_asked_for(tmp_path: Path) -> None:
    rows = [[1, 2, "=A1+B1", {"formula": "=A1*B1", "value": 2}]]
    path = create(
        tmp_path, {"name": "All", "rows": rows}, {"name": "None", "rows": rows, "formulas": False}, formulas=True
    )

    book = openpyxl.load_workbook(path)
    assert [(cell.data_type, cell.value) for cell in book["All"][1]][2:] == [("f", "=A1+B1"), ("f", "=A1*B1")]
    assert [(cell.data_type, cell.value) for cell in book["None"][1]][2:] == [("s", "=A1+B1"), ("f", "=A1*B1")]
    assert excel.read(path=str(path))["rows"] == [[1, 2, None, 2]]
    with pytest.raises(ToolError, match=r"Sheet1!A1: .*would reach outside"):
        create(tmp_path, {"rows": [['=WEBSERVICE("http://x")']]}, formulas=True)


def test_tables_formats_and_widths_are_as_described(tmp_path: Path) -> None:
    path = create(
        tmp_path, {**SALES, "table": True, "formats": {"sales": "#,##0.00", "C": "0%"}, "widths": {"month": 33}}
    )

    sheet = openpyxl.load_workbook(path)["Sales"]
    [table] = sheet.tables.values()
    assert (table.ref, table.column_names) == ("A1:C3", ["month", "sales", "cost"])
    assert (sheet["B2"].number_format, sheet["C3"].number_format) == ("#,##0.00", "0%")
    assert round(sheet.column_dimensions["A"].width) == 34


def test_charts_are_native_and_refer_to_the_cells(tmp_path: Path) -> None:
    charts = [
        {"type": "column", "x": "month", "y": ["sales", "cost"], "title": "Sales", "stacked": True},
        {"type": "pie", "x": "month", "y": "sales", "at": "H20"},
        {"type": "scatter", "x": "sales", "y": "C", "x_title": "Sales", "y_title": "Cost"},
    ]
    path = create(tmp_path, {**SALES, "name": "It's", "charts": charts})

    drawn = openpyxl.load_workbook(path)["It's"]._charts
    assert [chart.tagname for chart in drawn] == ["barChart", "pieChart", "scatterChart"]
    first, second = drawn[0].series
    assert first.val.numRef.f == "'It''s'!$B$2:$B$3"
    assert first.cat.strRef.f == "'It''s'!$A$2:$A$3"
    assert second.tx.strRef.f == "'It''s'!$C$1"
    assert drawn[0].grouping == "stacked"
    place = drawn[1].anchor._from
    assert (place.col, place.row) == (7, 19)


@pytest.mark.parametrize(
    ("sheet", "sentence"),
    [
        ({"name": "a/b", "rows": [[1]]}, "'a/b' is not a sheet name"),
        ({"name": "x" * 32}, "is not a sheet name"),
        ({"rows": "text"}, "rows is a list"),
        ({"rows": [[1], "text"]}, "row 2 is a str"),
        ({"rows": [[1], {"a": 1}]}, "row 2 is a dict"),
        ({"rows": [[object]]}, "Sheet1!A1: a cell cannot hold a type"),
        ({"rows": [[1]], "colour": "red"}, "'colour' is unknown; the keys are charts"),
        ({"rows": [{"a": 1}], "formats": {"b": "0"}}, "no column 'b'; the columns are a"),
        ({"rows": [{"a": 1}], "widths": {"a": "wide"}}, "a width is a number"),
        ({"rows": [{"a": 1}], "charts": [{"type": "donut", "y": "a"}]}, "no chart type 'donut'"),
        ({"rows": [{"a": 1}], "charts": [{"type": "pie"}]}, "a chart needs y"),
        ({"rows": [{"a": 1}], "charts": [{"y": "a", "colour": 1}]}, "'colour' of a chart is unknown"),
        ({"rows": [], "charts": [{"y": "A"}]}, "no column 'A'"),
        ({"header": ["a", "A"], "rows": [[1, 2]], "table": True}, "names that differ"),
        ({"rows": [[0] * 16_385]}, "more than a sheet can have"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_is_answered_with_a_sentence(tmp_path: Path, sheet: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        create(tmp_path, sheet)


def test_sheets_have_names_that_differ(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="two sheets are named 'data'"):
        create(tmp_path, {"name": "Data", "rows": [[1]]}, {"name": "data", "rows": [[1]]})
    with pytest.raises(ToolError, match="sheets is empty"):
        create(tmp_path)
