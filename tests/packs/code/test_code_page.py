"""The examples of the page about the pack, in their order, through real runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine import answer_of, open_engine

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "code.md"


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with open_engine(tmp_path) as app:
        for name, text in {
            "src/app.py": "class Reader:\n    def parse_header(self):\n        return open('a.txt', 'r')\n\nReader()\n",
            **{f"tests/test_{number}.py": "x = 1\nassertEqual(x, 1)\n" for number in range(200)},
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        answers = [await answer_of(app, example) for example in examples]

    assert "parse_header" in answers[0]
    assert "'a.txt'" in answers[1]
    assert "Reader: 2" in answers[2]
    assert "200 places in 200 files" in answers[3]
    assert "+assert x == 1" in answers[3]
    assert "200" in answers[4]
    assert (tmp_path / "tests" / "test_7.py").read_text() == "x = 1\nassert x == 1\n"
