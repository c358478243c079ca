"""The engines of a team in this process, and some of its people."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ot.apps import Apps
from ot.clients.caller import Caller
from ot.clients.person import Person
from ot.config.loader import load_config
from ot.config.personal import for_team
from tests.read_packs import give_definitions

ALICE, BOB = Person("https://id.example", "alice"), Person("https://id.example", "bob")
_CONFIG = """
auth: {{public_url: https://tools.example, admins: [ops]}}
execution: {{warm: 1, patience: {patience}}}
"""


@asynccontextmanager
async def opened(
    folder: Path, config: str = "", *, idle: float = 900.0, most: int = 256, patience: float = 60
) -> AsyncIterator[Apps]:
    """The engines of a team whose administrator's home is a folder."""
    (folder / ".onetool").mkdir(exist_ok=True)
    (folder / ".onetool" / "onetool.yaml").write_text(_CONFIG.format(patience=patience) + config)
    give_definitions(folder)
    team = for_team(load_config(environ={}, cwd=folder, home=folder, tolerant=True))
    async with Apps(team, idle=idle, most=most).serve() as apps:
        yield apps


async def answer(apps: Apps, person: Person, command: str) -> str:
    """The answer to a person's command."""
    async with apps.use(person) as app:
        return (await app.runs.run(command, caller=Caller(principal=person.principal))).text
