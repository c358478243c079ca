"""The examples of the page about the pack, in their order, through real runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine import answer_of, open_engine

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "notes.md"


async def test_the_examples_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    async with open_engine(tmp_path) as app:
        answers = [await answer_of(app, example) for example in examples]

    assert answers[1] == "make release, then push the tag"
    assert answers[2] == "100"
    assert "limits" in answers[3]
