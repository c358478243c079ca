"""The pages about packs that call services: each example runs, in the order of its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.services.configured import configure
from tests.services.everything import play_all
from tests.services.played import open_caller

PAGES = Path(__file__).parent.parent.parent / "docs" / "packs"


@pytest.mark.parametrize("pack", ["brave", "context7", "firecrawl", "ground", "llm", "package"])
async def test_the_examples_of_a_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", (PAGES / f"{pack}.md").read_text(), re.MULTILINE | re.DOTALL)
    async with (
        play_all() as played,
        open_caller(tmp_path, packs=played.packs, secrets=played.secrets, ai=played.ai) as caller,
    ):
        configure(monkeypatch, pypi=played.pypi, npm=played.npm)
        (tmp_path / "project" / "requirements.txt").write_text("pydantic==2.10.4\n")
        for example in examples:
            await caller.run(example)

    assert len(examples) >= 2
