"""The page about skills is true: its examples are run in their order, and answer what it shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from ot.clients.caller import Caller, Choice
from tests.engine import open_engine
from tests.trusting import trust_project

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[2] / "docs" / "skills.md").read_text()
BLOCKS = re.findall(r"^```([^\n]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


async def agree(question: str, choices: Sequence[Choice]) -> Choice:
    return choices[0]


async def test_every_example_answers_what_the_page_shows(tmp_path: Path) -> None:
    project, home, answer = tmp_path / "project", tmp_path / "home", ""
    home.mkdir()
    trust_project(project, home)
    async with open_engine(project, home=home) as app:
        for kind, text in BLOCKS:
            match kind:
                case "python":
                    outcome = await app.runner.run(text, caller=Caller(ask=agree))
                    answer = outcome.text.replace(str(tmp_path), "/home/me")
                case "text":
                    assert answer.strip() == text.strip()
                case "python file=word_counts.py":
                    assert (project / ".onetool" / "skills" / "word_counts.py").read_text() == text
                case _:
                    raise AssertionError(kind)

    assert PAGE.count("```") == 2 * len(BLOCKS)
