"""ot.help about what plain Python does: no pack is needed, and the code that it shows runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.app import App
from tests.engine import answer_of, open_engine


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("engine")) as app:
        yield app


@pytest.mark.parametrize(
    ("query", "modules", "answer"),
    [
        ("clock", "datetime, zoneinfo", r"2\d{3}-\d\d-\d\dT\S+\+09:00"),
        ("clock.now", "datetime, zoneinfo", r"2\d{3}-\d\d-\d\dT\S+\+09:00"),
        ("data", "csv, json, tomllib, sqlite3, difflib", r"12\.25"),
    ],
)
async def test_help_says_that_a_run_does_it_by_itself(app: App, query: str, modules: str, answer: str) -> None:
    text = await answer_of(app, f"ot.help(query={query!r})")

    assert text.startswith(f"# {query}\n\n")
    assert "needs no tool: plain Python in a run does it" in text
    assert modules in text
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert re.fullmatch(answer, await answer_of(app, code))


async def test_a_pack_of_that_name_is_described_instead(tmp_path: Path) -> None:
    source = '"""Clocks of the house."""\n\ndef now() -> str:\n    """Tell the time."""\n    return "noon"\n'
    async with open_engine(tmp_path, extensions={"clock": source}) as app:
        text = await answer_of(app, "ot.help(query='clock')")

    assert "Clocks of the house" in text
    assert "needs no tool" not in text
