"""The examples of the page about the pack, and its tools through real runs."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

from tests.engine import answer_of, open_engine

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "excel.md"


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with open_engine(tmp_path) as app:
        answers = [await answer_of(app, example) for example in examples]

    assert "south" in answers[1]
    assert "=SUM(C2:C5)" in answers[2]
    sheet = openpyxl.load_workbook(tmp_path / "managers.xlsx")["Managers"]
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["manager", "eur"],
        ["Ada", 270],
        ["Grace", 175],
    ]
    assert [chart.tagname for chart in sheet._charts] == ["barChart"]


async def test_an_edit_that_is_refused_leaves_the_workbook_as_it_is(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        await answer_of(app, 'excel.create(path="a.xlsx", sheets=[{"rows": [[1]]}])')
        before = (tmp_path / "a.xlsx").read_bytes()
        answer = await app.runner.run('excel.write(path="a.xlsx", cells={"A1": 2, "nowhere": 3})')

    assert answer.is_error
    assert "'nowhere' is not a cell" in answer.text
    assert (tmp_path / "a.xlsx").read_bytes() == before
