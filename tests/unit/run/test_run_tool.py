"""`onetool.run`: running code as a tool of the assistant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ot.app import open_app
from ot.clients.caller import Caller, Choice
from ot.config.loader import load_config
from ot.run.answer import DESCRIPTION
from tests.demo_pack import give_demo, with_demo
from tests.engine import open_engine


async def test_an_assistant_runs_code_through_the_executor(tmp_path: Path) -> None:
    loaded = load_config(environ={}, cwd=tmp_path, home=give_demo(tmp_path))
    async with open_app(loaded, offer_run=True) as app:
        good = await app.executor.answer("onetool.run", {"command": "[demo.upper(text=w) for w in 'ab']"})
        bad = await app.executor.answer("onetool.run", {"command": "1 / 0"})
        wrong = await app.executor.answer("onetool.run", {"code": "1"})
        picture = await app.executor.answer("onetool.run", {"command": "demo.picture()"})

    assert (good.text, good.ok) == ("[A, B]", True)
    assert not bad.ok
    assert "ZeroDivisionError" in bad.text
    assert "command is missing" in wrong.text
    assert [item.mime_type for item in picture.attachments] == ["image/png"]


async def test_a_run_inside_a_run_is_refused(tmp_path: Path) -> None:
    async with open_app(load_config(environ={}, cwd=tmp_path, home=tmp_path), offer_run=True) as app:
        answer = await app.runner.run("onetool.run(command='1')")

    assert answer.is_error
    assert "a run inside a run is refused: this is Python already, call the tools directly" in answer.text


async def test_a_person_is_asked_for_calls_inside_the_run(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool/onetool.yaml").write_text(with_demo("policy: {ask: [demo.upper]}"))
    questions: list[str] = []

    async def agree(question: str, choices: Sequence[Choice]) -> Choice:
        questions.append(question)
        return Choice.ONCE

    async with open_app(load_config(environ={}, cwd=tmp_path, home=tmp_path), offer_run=True) as app:
        command = {"command": "demo.upper(text='x')"}
        asked = await app.executor.answer("onetool.run", command, caller=Caller(ask=agree))
        nobody = await app.executor.answer("onetool.run", command)

    assert (asked.text, len(questions)) == ("X", 1)
    assert 'demo.upper\n  text = "x"' in questions[0]
    assert "nobody can be asked here" in nobody.text


async def test_a_server_does_not_offer_it(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "engine") as app:
        assert not app.registry.has("onetool.run")


def test_the_model_reads_the_same_words_as_a_client_of_the_server() -> None:
    from onetool.front.tool_run import run

    words = getattr(run, "__doc__", None)
    if words is None:
        pytest.fail("the tool of the server has no docstring")
    assert DESCRIPTION.split() == words.split()
