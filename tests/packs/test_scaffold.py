"""The scaffold pack: a new extension from a run, usable in the next one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from ot.clients.caller import NOBODY, Caller, Choice
from tests.demo_pack import give_demo
from tests.engine import open_engine
from tests.trusting import trust_project

pytestmark = pytest.mark.anyio


async def agree(question: str, choices: Sequence[Choice]) -> Choice:
    assert '\n  extension = "weather"\n' in question
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


SKILL = "scaffold.skill(name='shout', code='demo.upper(text=text) + mark', description='Shout a text.', parameters='text: str, mark: str = \"!\"')"


@pytest.mark.parametrize("own", [True, False], ids=["own-folder", "project"])
async def test_a_new_skill_works_in_the_next_run_of_a_person_who_saw_it(tmp_path: Path, own: bool) -> None:  # noqa: FBT001
    project, home = tmp_path / "project", tmp_path / "home"
    questions: list[str] = []

    async def look(question: str, choices: Sequence[Choice]) -> Choice:
        questions.append(question)
        return choices[0]

    async with open_engine(project, home=None if own else give_demo(home)) as app:
        written = yaml.safe_load((await app.runner.run(SKILL, caller=Caller(ask=look))).text)
        answer = await app.runner.run("skills.shout(text='hey')")
        again = await app.runner.run(SKILL, caller=Caller(ask=look))

    file = project / ".onetool" / "skills" / "shout.py"
    assert written == {"file": str(file), "try": "skills.shout(text=...)"}
    assert answer.text == "HEY!"
    assert again.is_error
    assert f"No skill 'shout' was written: {file}: it already exists." in again.text
    assert len(questions) == 1
    assert questions[0].endswith("\n".join(f"    | {line}" for line in file.read_text().split("\n")))


async def test_a_long_skill_can_be_read_whole_while_the_person_is_asked(tmp_path: Path) -> None:
    seen: list[str] = []

    async def look(question: str, choices: Sequence[Choice]) -> None:
        place = question.rpartition("all of it: ")[2].removesuffix(")")
        seen.append(Path(place).read_text())

    code = "x = 1  # one more line\n" * 1000
    async with open_engine(tmp_path) as app:
        command = f"scaffold.skill(name='long', code={code!r}, description='Long.')"
        refused = await app.runner.run(command, caller=Caller(ask=look))

    assert "the person said no" in refused.text
    assert seen[0].count("# one more line") == 1000
    assert not (tmp_path / ".onetool" / "skills").exists()


async def test_where_nobody_can_be_asked_a_skill_waits_for_the_person(tmp_path: Path) -> None:
    project, home = tmp_path / "project", give_demo(tmp_path / "home")
    async with open_engine(project, home=home) as app:
        written = yaml.safe_load((await app.runner.run(SKILL)).text)
        waiting = await app.runner.run("skills.shout(text='x')")
        trust_project(project, home)
        await app.runner.run("ot.reload()")
        answer = await app.runner.run("skills.shout(text='x')")

    assert f"onetool trust {project}" in written["waits_for"]
    assert f"The skill shout belongs to the project in {project}" in waiting.text
    assert answer.text == "X!"


async def test_a_skill_that_would_be_none_is_refused_in_words(tmp_path: Path) -> None:
    mistakes = [
        ({"name": "../x"}, "its name comes after the dot in code"),
        ({"code": "x = 1\n  y"}, "the code is not valid Python: line 2"),
        ({"parameters": "text: str): pass\nopen('x')\ndef g("}, "only imports are allowed beside the function"),
    ]
    async with open_engine(tmp_path) as app:
        for given, reason in mistakes:
            parts = {"name": "shout", "code": "1", "description": "Shout.", **given}
            told = await app.runner.run(f"scaffold.skill(**{parts!r})", caller=Caller(ask=disagree))

            assert told.is_error
            assert reason in told.text

    assert not (tmp_path / ".onetool" / "skills").exists()


async def test_a_skill_is_not_written_behind_a_link(tmp_path: Path) -> None:
    project = tmp_path / "project"
    async with open_engine(project, home=give_demo(tmp_path / "home")) as app:
        (tmp_path / "elsewhere").mkdir()
        (project / ".onetool" / "skills").symlink_to(tmp_path / "elsewhere")

        told = await app.runner.run(SKILL)

    assert "a symbolic link points outside the project" in told.text
    assert list((tmp_path / "elsewhere").iterdir()) == []
