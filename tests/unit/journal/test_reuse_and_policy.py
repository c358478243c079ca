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
RULES = "policy: {preview: false, ask: [world.do], flows: [{from: [world.look], to: [world.make], action: deny}]}"


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


@pytest.mark.parametrize(
    "read",
    [
        "found = ot.runs()",
        "found = ot.resume(run={run!r})",
        "ot.resume(run={run!r})\ntry:\n    world.block(what='words')\nexcept Exception as error:\n    found = str(error)",
    ],
    ids=["runs", "summary", "not repeated"],
)
async def test_whoever_reads_the_words_of_a_run_has_read_what_their_writer_had(tmp_path: Path, read: str) -> None:
    writer, reader, stranger = (Caller(memory=ClientMemory(number)) for number in (1, 2, 3))
    async with open_engine(tmp_path / "p", config=f"{RULES}\nexecution: {{timeout: 1}}") as app:
        World().add_to(app)
        run = await fail_in(app, "world.look()\nworld.block(what='words')", writer)
        told = await app.runner.run(f"{read.format(run=run)}\nworld.make(kind=found)", caller=reader)
        alone = await app.runner.run("world.make(kind='nan')", caller=stranger)

    assert "world.make was not called: world.look was called before" in told.text
    assert "world.look" in reader.memory.read
    assert not alone.is_error


async def test_marks_stay_with_a_call_that_one_run_after_the_other_inherits(tmp_path: Path) -> None:
    writer, second, third = (Caller(memory=ClientMemory(number)) for number in (1, 2, 3))
    async with open_engine(tmp_path / "p", config=f"{RULES}\nexecution: {{timeout: 1}}") as app:
        World().add_to(app)
        run = await fail_in(app, "world.look()\nworld.block(what='words')", writer)
        run = await fail_in(app, f"ot.resume(run={run!r})\n1 / 0", second)
        await app.runner.run(f"ot.resume(run={run!r})", caller=third)

    assert "world.look" in third.memory.read


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
