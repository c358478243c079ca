"""The examples of the page about the pack, and the schema that it draws."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

from tests.engine import open_engine
from tests.packs.db.conftest import write_shop
from tests.packs.db.person import Person

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "db.md"


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    write_shop(tmp_path)
    async with open_engine(tmp_path) as app:
        answers = [await app.runner.run(example, caller=Person().caller) for example in examples]

    assert [answer.text for answer in answers if answer.is_error] == []
    assert answers[1].text == "- {name: tea, sold: 3}\n- {name: cocoa, sold: 5}"
    assert answers[2].text == "8"
    assert "products ||--o{ orders : product" in answers[4].text
    assert answers[5].text == "- {name: tea, sold: 3}\n- {name: cocoa, sold: 5}"
    assert {"products", "orders", "product"} <= set(re.findall(r"\w+", (tmp_path / "schema.svg").read_text()))
    sheet = openpyxl.load_workbook(tmp_path / "sold.xlsx")["Sold"]
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [["name", "sold"], ["tea", 3], ["cocoa", 5]]
    assert [chart.tagname for chart in sheet._charts] == ["barChart"]
