"""What one of many people has in the store: secrets, skills and notes, at every replica, and for nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ot.app import App
from ot.caller import Caller, Choice
from ot.person import Person
from ot.store.sealing import new_key
from tests.store.conftest import BOTH, EMBEDDED
from tests.team.people import ALICE, BOB, opened

pytestmark = pytest.mark.anyio

SKILL = """scaffold.skill(name="shout", code="text.upper()", description="Shout a text.", parameters="text: str")"""


@pytest.fixture(params=BOTH)
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[Path], str]:
    """The folders of the machines of two replicas, and the configuration that they have in common."""
    if request.param == EMBEDDED:
        return [tmp_path, tmp_path], ""
    config = f"store: {request.getfixturevalue('database')}\nseal: {{keys: [{new_key()}]}}\n"
    made = [tmp_path / "one", tmp_path / "two"]
    for folder in made:
        folder.mkdir()
    return made, config


async def answer(app: App, person: Person, command: str, *, agrees: bool | None = None) -> str:
    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        assert "text.upper()" in question
        return Choice.ONCE if agrees else None

    caller = Caller(principal=person.principal, ask=None if agrees is None else ask)
    return (await app.runs.run(command, caller=caller)).text


async def test_secrets_skills_and_notes_are_a_persons_own_at_every_replica(folders: tuple[list[Path], str]) -> None:
    (first, second), config = folders
    async with opened(first, config) as apps, apps.use(ALICE) as app:
        assert app.own_secrets is not None
        app.own_secrets.put("BRAVE_API_KEY", "value of Alice")
        assert "said no" in await answer(app, ALICE, SKILL, agrees=False)
        assert "nobody" in (await answer(app, ALICE, SKILL)).lower()
        assert "skills.shout" in await answer(app, ALICE, SKILL, agrees=True)
        assert "already" in await answer(app, ALICE, SKILL, agrees=True)
        assert "hoever looks after" in await answer(app, ALICE, 'scaffold.extension(name="mine")')
        await answer(app, ALICE, 'notes.write(title="plan", content="deploy on Friday")')

    async with opened(second, config) as apps:
        async with apps.use(ALICE) as app:
            assert await answer(app, ALICE, 'skills.shout(text="loud")') == "LOUD"
            assert await answer(app, ALICE, 'notes.read(title="plan")["content"]') == "deploy on Friday"
            assert app.executor.redactor.text("the value of Alice") == "the ***"
            assert app.own_secrets is not None
            assert app.own_secrets.names() == ["BRAVE_API_KEY"]
        async with apps.use(BOB) as app:
            assert "LOUD" not in await answer(app, BOB, 'skills.shout(text="loud")')
            assert "there is no note" in await answer(app, BOB, 'notes.read(title="plan")')
            assert await answer(app, BOB, 'notes.list()["total"]') == "0"
            assert app.own_secrets is not None
            assert app.own_secrets.names() == []
    for file in [*first.rglob("*"), *second.rglob("*")]:
        assert not file.is_file() or b"value of Alice" not in file.read_bytes(), file
