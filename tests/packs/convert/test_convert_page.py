"""The examples of the page about the pack, run in their order."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

from tests.engine import answer_of, open_engine
from tests.packs.convert.pdfs import make_pdf, prose, table

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "convert.md"


def invoice(number: int) -> bytes:
    rows = [
        ["item", "pieces", "price"],
        *([f"item {number}.{line}", str(line), f"{number}.50"] for line in range(1, 4)),
    ]
    return make_pdf([[*prose(4), *table(rows, top=600)]])


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with open_engine(tmp_path) as app:
        (tmp_path / "report.pdf").write_bytes(invoice(7) + b"\n")
        (tmp_path / "invoices").mkdir()
        for number in range(1, 41):
            (tmp_path / "invoices" / f"{number:02}.pdf").write_bytes(invoice(number))
        answers = [await answer_of(app, example) for example in examples]

    assert "| item 7.1 | 1 | 7.50 |" in answers[0]
    assert "| item 7.1 | 1 | 7.50 |" in (tmp_path / "report.md").read_text()
    assert answers[-1] == "120"
    sheet = openpyxl.load_workbook(tmp_path / "invoices.xlsx")["All"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert rows[0] == ["file", "item", "pieces", "price"]
    assert rows[1] == ["invoices/01.pdf", "item 1.1", "1", "1.50"]
    assert rows[-1] == ["invoices/40.pdf", "item 40.3", "3", "40.50"]
    assert len(rows) == 121
