"""The examples of the page about the pack, through real runs, with the configuration that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ot.clients.caller import Caller
from tests.engine import open_engine
from tests.packs.answers import agree

PAGE = Path(__file__).parents[3] / "docs" / "packs" / "shell.md"


async def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text()
    (config,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text("#!/bin/sh\necho no rule for $1 >&2\nexit 2\n")
    (tmp_path / "bin" / "make").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    async with open_engine(tmp_path / "project", config=config) as app:
        answers = [
            await app.runner.run(example, caller=Caller(ask=agree))
            for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        ]

    assert [answer.is_error for answer in answers] == [False, False], answers
    assert ".onetool" in answers[0].text
    assert "no rule for test" in answers[1].text
