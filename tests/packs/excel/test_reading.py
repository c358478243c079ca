"""Reading workbooks: values as they are, in windows."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from ot.errors import ToolError
from ot_tools import excel
from tests.packs.excel.workbooks import changed, make, make_of_everything, with_sheet


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_of_everything(tmp_path_factory.mktemp("books") / "everything.xlsx"))


def test_values_come_out_as_what_they_are(book: str) -> None:
    window = excel.read(path=book)

    assert window["range"] == "B2:L6"
    assert window["rows"][0] == [
        "text",
        1,
        1.5,
        True,
        datetime.date(2024, 5, 1),
        datetime.datetime.fromisoformat("2024-05-01T13:30"),
        datetime.time(13, 30),
        datetime.timedelta(hours=30),
        "#DIV/0!",
        2,
        "#N/A",
    ]
    assert [type(value) for value in window["rows"][0][1:4]] == [int, float, bool]
    assert window["rows"][1] == [None] * 11
    assert window["rows"][2][:2] == ["merged", None]
    assert window["merged"] == ["B4:C5"]
    assert window["rows"][4][0] == "=cmd"
    assert (window["total"], window["more"]) == (5, False)


def test_sheets_are_listed_with_hidden_ones_and_charts(book: str) -> None:
    listed = excel.sheets(path=book)

    assert listed["format"] == "xlsx"
    assert [(sheet["name"], sheet["kind"], sheet["visible"]) for sheet in listed["sheets"]] == [
        ("Data", "sheet", "visible"),
        ("Hidden", "sheet", "hidden"),
        ("Secret", "sheet", "very hidden"),
        ("Chart", "chart", "visible"),
    ]
    assert (listed["sheets"][0]["range"], listed["sheets"][0]["rows"], listed["sheets"][0]["columns"]) == (
        "B2:L6",
        6,
        12,
    )
    assert listed["sheets"][1]["range"] == ""


@pytest.mark.parametrize("sheet", ["Hidden", "Chart", 3])
def test_an_empty_sheet_has_no_rows(book: str, sheet: str | int) -> None:
    window = excel.read(path=book, sheet=sheet)

    assert (window["rows"], window["total"], window["more"]) == ([], 0, False)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("numbers") / "numbers.xlsx"
    return str(make(path, lambda book, sheet: [sheet.write_row(row, 0, [row, f"row {row}"]) for row in range(5, 101)]))


@pytest.mark.parametrize(
    ("window", "rows", "covered", "total", "more"),
    [
        ({"range": "A2:B3"}, [[1, 2], [2, 4]], "A2:B3", 2, False),
        ({"range": "b2"}, [[2]], "B2", 1, False),
        ({"range": "$B$2:$A$3"}, [[1, 2], [2, 4]], "A2:B3", 2, False),
        ({"range": "B:B", "limit": 2}, [["b"], [2]], "B1:B2", 101, True),
        ({"range": "2:3"}, [[1, 2], [2, 4]], "A2:B3", 2, False),
        ({"range": "A100:F200"}, [[99, "row 99"], [100, "row 100"]], "A100:B101", 2, False),
        ({"range": "F1:G5"}, [], "", 0, False),
        ({"offset": 99, "limit": 5}, [[99, "row 99"], [100, "row 100"]], "A100:B101", 101, False),
        ({"offset": 101}, [], "", 101, False),
        ({"limit": 0}, [], "", 101, True),
        ({"header": True, "limit": 1, "offset": 1}, [{"a": 2, "b": 4}], "A3:B3", 100, True),
    ],
    ids=str,
)
def test_a_window_has_the_rows_that_were_asked_for(
    numbers: str, window: dict[str, Any], rows: list[Any], covered: str, total: int, *, more: bool
) -> None:
    found = excel.read(path=numbers, **window)

    assert found["rows"] == rows
    assert (found["range"], found["total"], found["more"]) == (covered, total, more)


def test_columns_without_a_title_of_their_own_get_a_name(tmp_path: Path) -> None:
    path = make(tmp_path / "x.xlsx", lambda book, sheet: sheet.write_row(0, 0, ["a", "a", "", "a"]))

    assert excel.read(path=str(path), header=True)["columns"] == ["a", "a 2", "C", "a 3"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"sheet": "Dta"}, "has no sheet 'Dta'; it has Data"),
        ({"sheet": 2}, "has no sheet 2; it has Data"),
        ({"range": "A1:ZZZ9"}, "outside of what a sheet can have"),
        ({"range": "first"}, "'first' is not a cell"),
        ({"limit": -1}, "must not be negative"),
    ],
    ids=str,
)
def test_a_mistake_is_answered_with_a_sentence(numbers: str, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        excel.read(path=numbers, **arguments)


def test_cells_are_found_on_all_sheets(tmp_path: Path) -> None:
    path = make(
        tmp_path / "x.xlsx",
        lambda book, sheet: [sheet.write("C3", "Nord-West"), book.add_worksheet("Other").write("B2", "northwest")],
    )

    found = excel.search(path=str(path), query="WEST")

    assert [(match["sheet"], match["cell"], match["value"]) for match in found["matches"]] == [
        ("Data", "C3", "Nord-West"),
        ("Other", "B2", "northwest"),
    ]
    assert excel.search(path=str(path), query="west", sheet="Other")["total"] == 1
    limited = excel.search(path=str(path), query="west", limit=1)
    assert (len(limited["matches"]), limited["total"], limited["more"]) == (1, 2, True)
    assert excel.search(path=str(path), query="8")["matches"] == [{"sheet": "Data", "cell": "B5", "value": 8}]


def test_formulas_are_listed_with_their_values(tmp_path: Path) -> None:
    shared = (
        b'<row r="10"><c r="A10"><f t="shared" ref="A10:A11" si="0">B2*2</f><v>4</v></c></row>'
        b'<row r="11"><c r="A11"><f t="shared" si="0"/><v>8</v></c></row></sheetData>'
    )
    source = make(
        tmp_path / "x.xlsx",
        lambda book, sheet: sheet.write_formula("C1", "=SUM(A2:A5)", None, 10),
        lambda book, sheet: sheet.write_array_formula("C2:C2", "{=SUM(A2:A5*B2:B5)}", None, 60),
    )
    path = str(with_sheet(source, tmp_path / "shared.xlsx", lambda data: data.replace(b"</sheetData>", shared)))

    found = excel.formulas(path=path)

    assert [(each["cell"], each["formula"], each["value"]) for each in found["formulas"]] == [
        ("C1", "=SUM(A2:A5)", 10),
        ("C2", "{=SUM(A2:A5*B2:B5)}", 60),
        ("A10", "=B2*2", 4),
        ("A11", "=B3*2", 8),
    ]
    part = excel.formulas(path=path, sheet="Data", range="A1:A20", limit=1)
    assert ([each["cell"] for each in part["formulas"]], part["total"], part["more"]) == (["A10"], 2, True)


def test_a_file_is_told_by_its_content(book: str, tmp_path: Path) -> None:
    wrong = tmp_path / "book.pdf"
    wrong.write_bytes(Path(book).read_bytes())
    text = tmp_path / "text.xlsx"
    text.write_text("a,b\n1,2\n")

    assert excel.sheets(path=str(wrong))["format"] == "xlsx"
    with pytest.raises(ToolError, match="is text; plain Python reads it"):
        excel.read(path=str(text))


def test_sheets_of_other_writers_are_read(tmp_path: Path) -> None:
    """With prefixed elements, as the SDK of .NET writes them, or without the places of cells, as others do."""
    source = make(tmp_path / "x.xlsx")
    prefixed = tmp_path / "prefixed.xlsx"
    unplaced = tmp_path / "unplaced.xlsx"

    def prefix(data: bytes) -> bytes:
        for tag in (b"worksheet", b"sheetData", b"row", b"c", b"v"):
            for end in (b" ", b">"):
                data = data.replace(b"<" + tag + end, b"<x:" + tag + end).replace(
                    b"</" + tag + end, b"</x:" + tag + end
                )
        return data.replace(b"xmlns=", b"xmlns:x=", 1)

    def unplace(data: bytes) -> bytes:
        for row in range(1, 6):
            for column in (b"A", b"B"):
                data = data.replace(b' r="%b%d"' % (column, row), b"")
        return data

    with_sheet(source, prefixed, prefix)
    with_sheet(source, unplaced, unplace)

    expected = excel.read(path=str(source))["rows"]
    assert excel.read(path=str(unplaced), range="A1:B5")["rows"] == expected
    assert excel.read(path=str(prefixed))["rows"] == expected


def test_the_reader_agrees_with_another_library(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    book = openpyxl.Workbook()
    rows = [[f"text {row}", row, row + 0.25, row % 2 == 0, datetime.date(2024, 1, row)] for row in range(1, 29)]
    for row in rows:
        book.active.append(row)
    book.save(path)

    assert excel.read(path=str(path))["rows"] == rows


def test_every_strange_sheet_leaves_the_others_readable(tmp_path: Path) -> None:
    source = make(tmp_path / "x.xlsx", lambda book, sheet: book.add_worksheet("Gone").write("A1", 1))
    path = changed(source, tmp_path / "y.xlsx", lambda name, data: None if name.endswith("sheet2.xml") else data)

    assert excel.read(path=str(path), sheet="Data")["total"] == 5
    with pytest.raises(ToolError, match="damaged"):
        excel.read(path=str(path), sheet="Gone")


def test_a_sheet_of_another_format_is_read(tmp_path: Path) -> None:
    cells = "".join(
        f'<table:table-cell office:value-type="{kind}" office:{attribute}="{value}"><text:p>{value}</text:p></table:table-cell>'
        for kind, attribute, value in [
            ("float", "value", "2.5"),
            ("date", "date-value", "2024-05-01"),
            ("boolean", "boolean-value", "true"),
        ]
    )
    content = (
        '<?xml version="1.0" encoding="UTF-8"?><office:document-content '
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
        f'<table:table table:name="S"><table:table-row>{cells}</table:table-row></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    path = tmp_path / "x.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")

    found = excel.read(path=str(path))

    assert (found["sheet"], found["range"]) == ("S", "A1:C1")
    assert found["rows"][0][0] == 2.5
    assert str(found["rows"][0][1]).startswith("2024-05-01")
    assert found["rows"][0][2] is True
    assert excel.sheets(path=str(path))["format"] == "ods"
    with pytest.raises(ToolError, match="save it as"):
        excel.formulas(path=str(path))


def test_an_answer_carries_no_more_than_it_should(tmp_path: Path) -> None:
    path = make(
        tmp_path / "x.xlsx", lambda book, sheet: [sheet.write_row(row, 0, ["x" * 30_000] * 20) for row in range(60)]
    )

    window = excel.read(path=str(path))
    found = excel.search(path=str(path), query="x", limit=10_000)

    assert len(window["rows"]) == 28
    assert (window["total"], window["more"]) == (60, True)
    assert len(found["matches"]) == 560
    assert (found["total"], found["more"]) == (1200, True)


def test_days_are_all_of_one_kind_in_a_column_whichever_window_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    book = openpyxl.Workbook()
    day = datetime.datetime.fromisoformat("2024-01-01")
    book.active.append(["mixed", "days", "n"])
    for row in range(6):
        book.active.append([day if row != 4 else day.replace(hour=13), day.date(), row])
    book.save(path)

    for window in ({}, {"limit": 2}, {"limit": 2, "offset": 2}, {"limit": 2, "offset": 4}, {"range": "A2:B4"}):
        rows = excel.read(path=str(path), header="range" not in window, **window)["rows"]

        kinds = {tuple(map(type, list(row.values() if isinstance(row, dict) else row)[:2])) for row in rows}
        assert kinds == {(datetime.datetime, datetime.date)}, window
