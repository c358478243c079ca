"""The examples of the page about the pack, in their order, through real runs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.engine import answer_of, open_engine

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "file.md"


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    text = PAGE.read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    async with open_engine(tmp_path) as app:
        answers = [await answer_of(app, example) for example in examples]

    assert [answer.strip() for answer in answers[:2]] == [answer.strip() for answer in shown]
    assert "+host = example.com" in answers[2]
