"""What is answered from the journal passes policy too: nothing denied comes back, and what was read stays marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ot.clients.caller import Caller, Choice, ClientMemory
from tests.engine import open_engine
from tests.unit.journal.resumed import World, fail_in
from tests.unit.journal.test_withstanding import open_again

pytestmark = pytest.mark.anyio
RULES = "policy: {ask: [world.do], flows: [{from: [world.look], to: [world.make], action: deny}]}"


async def test_nobody_is_asked_again_and_marks_come_with_the_value(tmp_path: Path) -> None:
    asked: list[str] = []

    async def agree(question: str, _: Sequence[Choice]) -> Choice:
        asked.append(question)
        return Choice.ONCE

    first, second = (Caller(ask=agree, memory=ClientMemory(number)) for number in (1, 2))
    async with open_engine(tmp_path / "p", config=RULES) as app:
        world = World()
        world.add_to(app)
        run = await fail_in(app, "world.do(what='a')\nworld.look()\n1 / 0", first)
        refused = await app.runner.run(
            f"ot.resume(run={run!r})\nworld.do(what='a')\nprint(world.look())\nworld.make(kind='nan')", caller=second
        )

    assert len(asked) == 1
    assert refused.text.startswith("['a']\nPermissionError: ")
    assert "world.look" in second.memory.read
    assert (world.done, world.reads) == (["a"], 1)


async def test_what_is_denied_now_does_not_come_back(tmp_path: Path) -> None:
    world = World()
    async with open_engine(tmp_path / "p") as app:
        world.add_to(app)
        run = await fail_in(app, "world.do(what='a')\n1 / 0")
    (tmp_path / "p/.onetool/onetool.yaml").write_text("policy: {deny: [world.do]}")

    async with open_again(tmp_path / "p") as app:
        world.add_to(app)
        unforeseen = "getattr(world, 'do')(what='a')"  # preflight cannot see it
        refused = await app.runner.run(f"ot.resume(run={run!r})\n{unforeseen}")

    assert refused.text.startswith("PermissionError: ")
    assert "a 1" not in refused.text
