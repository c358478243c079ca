"""Nothing of one person exists for another, whatever they ask for; what an administrator reloads, all have."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.apps import Apps
from ot.clients.person import Person
from ot.config.personal import home_of
from tests.team.people import ALICE, BOB, answer, opened

pytestmark = pytest.mark.anyio

SECRET = "the-plan-of-alice"
PREPARED = f"""
ot.keep(name="plan", value="{SECRET}")
note = notes.write(title="{SECRET}", content="{SECRET}")
print(note["id"])
"{SECRET} " * 5000
"""


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Apps, str, str, str]]:
    """A team whose Alice has kept something in every place; with her handle, her run and the id of her note."""
    async with opened(tmp_path_factory.mktemp("team"), "packs: {demo: {enabled: true}}\n") as apps:
        text = await answer(apps, ALICE, PREPARED)
        handle = re.search(r'ot\.result\(handle="([^"]+)"', text)
        assert handle is not None, text
        run = await answer(apps, ALICE, 'ot.runs()[0]["run"]')
        yield apps, handle[1], run, text.split()[0]


@pytest.mark.parametrize(
    "command",
    [
        'ot.kept(name="plan")',
        "ot.kept()",
        'ot.result(handle="{handle}")',
        'ot.load(handle="{handle}")',
        "ot.runs()",
        'ot.resume(run="{run}")',
        'ot.wait(run="{run}")',
        'ot.stop(run="{run}")',
        "notes.list()",
        'notes.search(query="plan")',
        "notes.read(id={note})",
        "notes.delete(id={note})",
        "ot.stats()",
        "ot.health()",
        'ot.help(query="plan")',
        "ot.config()",
    ],
)
async def test_another_person_finds_nothing(team: tuple[Apps, str, str, str], command: str) -> None:
    apps, handle, run, note = team

    told = await answer(apps, BOB, command.format(handle=handle, run=run, note=note))

    assert SECRET not in told
    assert home_of(apps.config, ALICE).name not in told
    assert "alice" not in told


async def test_the_person_still_has_all_of_it_afterwards(team: tuple[Apps, str, str, str]) -> None:
    apps, handle, _, note = team

    assert SECRET in await answer(apps, ALICE, f'ot.result(handle="{handle}")')
    assert SECRET in await answer(apps, ALICE, f"notes.read(id={note})")


async def test_a_reload_by_an_administrator_reaches_everybody_and_by_others_only_themselves(tmp_path: Path) -> None:
    admin = Person("https://id.example", "olga", groups=frozenset({"ops"}))
    config = "aliases: {shout: demo.upper}\npacks: {demo: {enabled: true}}\n"
    async with opened(tmp_path, "packs: {demo: {enabled: true}}\n") as apps:
        assert "shout" not in await answer(apps, ALICE, "ot.aliases()")
        assert "shout" not in await answer(apps, BOB, "ot.aliases()")
        file = tmp_path / ".onetool" / "onetool.yaml"
        file.write_text(file.read_text().replace("packs: {demo: {enabled: true}}\n", config))

        await answer(apps, ALICE, "ot.reload()")
        assert "shout" in await answer(apps, ALICE, "ot.aliases()")
        assert "shout" not in await answer(apps, BOB, "ot.aliases()")
        assert "OK: Configuration reloaded" in await answer(apps, admin, "ot.reload()")
        assert "shout" in await answer(apps, BOB, "ot.aliases()")
