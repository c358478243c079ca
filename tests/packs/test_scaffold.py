"""The scaffold pack: a new extension from a run, usable in the next one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from ot.caller import NOBODY, Caller, Choice
from tests.demo_pack import give_demo
from tests.engine import open_engine
from tests.trusting import trust_project

pytestmark = pytest.mark.anyio


async def agree(question: str, choices: Sequence[Choice]) -> Choice:
    assert "Write a new extension 'weather'" in question
    return choices[0]


async def disagree(question: str, choices: Sequence[Choice]) -> None:
    return None


@pytest.mark.parametrize("own", [True, False], ids=["own-folder", "project"])
async def test_a_new_extension_works_in_the_next_run_of_a_person_who_agreed(tmp_path: Path, own: bool) -> None:  # noqa: FBT001
    project, home = tmp_path / "project", tmp_path / "home"
    async with open_engine(project, home=None if own else give_demo(home)) as app:
        asked = await app.runner.run("scaffold.extension(name='weather')", caller=Caller(ask=agree))
        written = yaml.safe_load(asked.text)
        answer = await app.runner.run("weather.hello(name='Ada', times=2)")
        refused = await app.runner.run("weather.hello(name='Ada', times=0)")

    assert answer.text == "Hello, Ada! Hello, Ada!"
    assert "weather.hello: times must be at least 1, not 0" in refused.text
    assert Path(written["file"]) == project / ".onetool" / "tools" / "weather" / "weather_tools.py"
    assert Path(written["test"]).exists()


async def test_where_nobody_can_be_asked_it_is_a_draft_that_waits_for_the_person(tmp_path: Path) -> None:
    project, home = tmp_path / "project", give_demo(tmp_path / "home")
    async with open_engine(project, home=home) as app:
        written = yaml.safe_load((await app.runner.run("scaffold.extension(name='weather')")).text)
        waiting = await app.runner.run("weather.hello(name='Ada')")
        trust_project(project, home)
        await app.runner.run("ot.reload()")
        answer = await app.runner.run("weather.hello(name='Ada')")

    assert f"onetool trust {project}" in written["waits_for"]
    assert waiting.is_error
    assert f"onetool trust {project}" in waiting.text
    assert answer.text == "Hello, Ada!"


@pytest.mark.parametrize("caller", [NOBODY, Caller(ask=disagree)], ids=["nobody", "no"])
async def test_nothing_is_written_into_the_persons_own_folder_unless_they_agree(tmp_path: Path, caller: Caller) -> None:
    async with open_engine(tmp_path) as app:
        answer = await app.runner.run("scaffold.extension(name='weather')", caller=caller)

    assert answer.is_error
    assert not (tmp_path / ".onetool" / "tools").exists()


@pytest.mark.parametrize("name", ["demo", "ot", "json", "not a name", "../../x"])
async def test_a_name_that_could_not_be_used_is_refused_in_words(tmp_path: Path, name: str) -> None:
    async with open_engine(tmp_path) as app:
        answer = await app.runner.run(f"scaffold.extension(name={name!r})")

    assert answer.is_error
    assert "No extension" in answer.text
    assert not (tmp_path / ".onetool" / "tools").exists()
