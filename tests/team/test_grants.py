"""What one of many people may call: the team's policy, what their groups are granted, and nothing of the machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.apps import Apps
from ot.clients.person import Person
from tests.engine import write_extension
from tests.team.people import ALICE, answer, opened

pytestmark = pytest.mark.anyio

CONFIG = """
packs: {demo: {enabled: false}, git: {enabled: true}}
policy: {deny: ["web.request"]}
projects: {site: ./site}
grants:
  ops: {allow: ["file.*", "git.log", "shell.*", "demo.upper"], ask: ["file.write"]}
  guests: {deny: ["file.delete", "ot.notify"]}
  analysts: {allow: ["db.*"]}
"""


def member(*groups: str) -> Person:
    return Person("https://id.example", "-".join(groups), groups=frozenset(groups))


@pytest.fixture(scope="module")
async def apps(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Apps]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "report.txt").write_text("quarterly figures\n")
    (folder / "numbers.csv").write_text("a,b\n1,2\n")
    write_extension(
        folder,
        "looker",
        """
        from pathlib import Path

        pack = "looker"


        def look(*, path: str) -> str:
            '''Read a file.

            Args:
                path: Where it is.
            '''
            return Path(path).read_text()
        """,
    )
    async with opened(folder, CONFIG) as apps:
        yield apps


@pytest.mark.parametrize(
    "command",
    [
        'file.read(path="report.txt")',
        'ripgrep.search(pattern="figures")',
        "git.status()",
        'code.search(query="figures")',
        'shell.run(argv=["id"])',
        'demo.upper(text="a")',
        'scaffold.extension(name="mine")',
    ],
)
async def test_packs_of_the_machine_are_off_for_who_is_granted_none(apps: Apps, command: str) -> None:
    refused = await answer(apps, ALICE, command)

    assert "is not open to you: no group of yours is granted it" in refused


async def test_files_are_closed_to_every_other_pack_too(apps: Apps) -> None:
    by_file = await answer(apps, ALICE, 'db.query(path="numbers.csv", sql="select * from numbers")')
    converted = await answer(apps, ALICE, 'convert.auto(path="report.txt")')

    assert "You don't have access to database files" in by_file
    assert "no group of yours is granted the files of this server" in converted


async def test_a_grant_opens_of_a_pack_what_it_names_and_nothing_else(apps: Apps) -> None:
    ops = member("ops")

    assert "quarterly figures" in await answer(apps, ops, 'file.read(path="report.txt")')
    assert await answer(apps, ops, 'demo.upper(text="a")') == "A"
    assert "demo.fail is not open to you" in await answer(apps, ops, 'demo.fail(message="a")')
    assert "git.status is not open to you" in await answer(apps, ops, "git.status()")
    assert "file.write was not called" in await answer(apps, ops, 'file.write(path="a.txt", content="a")')
    assert "denies 'web.request' (policy.deny)" in await answer(
        apps, ops, 'web.request(method="GET", url="https://a.example")'
    )


async def test_what_one_group_is_denied_no_other_group_opens(apps: Apps) -> None:
    refused = await answer(apps, member("guests", "ops"), 'file.delete(path="report.txt")')

    assert "the configuration denies 'file.delete'" in refused


async def test_the_state_of_the_server_is_closed_even_to_those_who_may_read_files(apps: Apps) -> None:
    await answer(apps, ALICE, 'ot.keep(name="plan", value="the secret plan")')
    state = await answer(apps, member("ops"), 'file.list(path=".onetool/state/people")')
    by_link = await answer(apps, member("ops"), 'file.read(path=".onetool/onetool.yaml")')

    assert "OneTool's own configuration and state are not for tools" in state
    assert "OneTool's own configuration and state are not for tools" in by_link


async def test_files_as_databases_are_for_who_is_granted_them(apps: Apps) -> None:
    refused = await answer(apps, member("analysts"), 'db.tables(path="missing.db")')

    assert "You don't have access to database files" not in refused
    assert "No such file" in refused


async def test_an_extension_without_bounds_has_its_own_files_only(apps: Apps, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("of another")

    refused = await answer(apps, ALICE, f'looker.look(path="{tmp_path / "other.txt"}")')

    assert "PermissionError" in refused
    assert "of another" not in refused


async def test_listings_say_what_is_not_open(apps: Apps) -> None:
    tools = await answer(apps, member("ops"), 'ot.tools(pattern="demo.fail")')
    packs = await answer(apps, ALICE, "ot.packs()")

    assert "(Not open to you: no group of yours is granted it.)" in tools
    assert "looker" in packs
    assert "ripgrep" not in packs
