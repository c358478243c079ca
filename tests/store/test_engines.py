"""Engines that share a database: what one keeps the other finds, and what happens when the database is gone."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from ot.app import App
from ot.clients.caller import Caller, Choice
from ot.effects import Effect
from ot.store.sealing import new_key
from tests.engine import open_engine
from tests.opened_executor import define
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.preloaded import run_preloaded
from tests.services.cable import Cable, lay_cable
from tests.unit.journal.resumed import World

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

ADA, BOB = Caller(principal='["https://issuer","ada"]'), Caller(principal='["https://issuer","bob"]')


@asynccontextmanager
async def open_replica(folder: Path, store: str) -> AsyncIterator[App]:
    async with open_engine(folder, config=f"store: {store!r}\n") as app:
        yield app


@pytest.fixture(scope="module")
async def replicas(database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[App]]:
    folder = tmp_path_factory.mktemp("replicas")
    async with open_replica(folder / "a", database) as first, open_replica(folder / "b", database) as second:
        yield [first, second]


async def test_a_run_is_resumed_at_another_replica(replicas: list[App]) -> None:
    first, second = replicas
    world = World()
    for app in replicas:
        world.add_to(app)
    failed = await first.runner.run("world.do(what='a')\nworld.set(what='b')\n1/0", caller=ADA)
    assert failed.is_error
    run = failed.text.partition('ot.resume(run="')[2].partition('"')[0]
    assert run, failed.text

    again = f'ot.resume(run="{run}")\nworld.do(what="a")\nworld.set(what="b")\nworld.do(what="c")'
    for_bob = await second.runner.run(again, caller=BOB)
    for_ada = await second.runner.run(again, caller=ADA)

    assert for_bob.is_error
    assert "no run" in for_bob.text
    assert not for_ada.is_error, for_ada.text
    assert world.done == ["a", "b", "c"]


async def test_a_run_is_undone_at_another_replica_where_both_have_the_keys(
    database: str, replicas: list[App], tmp_path: Path
) -> None:
    async def agree(_question: str, _choices: Sequence[Choice]) -> Choice:
        return Choice.ONCE

    config = f"store: {database!r}\nseal: {{keys: [{new_key()}]}}\n"
    write = 'notes.write(title="shared", content="the secret")\n'
    without = await replicas[0].runner.run(f'{write}notes.delete(title="shared")', caller=ADA)
    assert "The change of the note 'shared' cannot be undone:" in without.text, without.text

    async with (
        open_engine(tmp_path / "a", config=config) as first,
        open_engine(tmp_path / "b", config=config) as second,
    ):
        await first.runner.run(write, caller=replace(ADA, run_id="rwritten"))
        rows = await _fetch(first, "SELECT data FROM undo_frames WHERE run = 'rwritten'")
        for_bob = await second.runner.run('ot.undo(run="rwritten")', caller=replace(BOB, ask=agree))
        for_ada = await second.runner.run('ot.undo(run="rwritten")', caller=replace(ADA, ask=agree))
        left = await first.runner.run("notes.list()['total']", caller=ADA)

    assert rows
    assert all(row["data"].startswith(b"sealed1.") for row in rows)
    assert "no run" in for_bob.text
    assert "remove the note 'shared'" in for_ada.text
    assert left.text == "0"


async def _fetch(app: App, statement: str) -> list[Any]:
    link = app.own.backend.pick(lambda: None, lambda link: link)
    assert link is not None
    return await link.fetch(statement)


async def test_a_preview_is_applied_once_at_whichever_replica(replicas: list[App]) -> None:
    world = World()
    for app in replicas:
        world.add_to(app)
    first, second = replicas
    listed = await first.runner.run("ot.preview()\nworld.do(what='a')", caller=ADA)
    apply = re.search(r"ot\.apply\(.*\)", listed.text)
    assert apply is not None, listed.text
    for_bob = await second.runner.run(apply[0], caller=BOB)
    assert world.done == []
    answers = []

    async def use(app: App) -> None:
        answers.append(await app.runner.run(apply[0], caller=ADA))

    async with anyio.create_task_group() as tasks:
        for app in replicas:
            tasks.start_soon(use, app)

    assert for_bob.is_error
    assert sorted(answer.is_error for answer in answers) == [False, True]
    assert world.done == ["a"]


async def test_a_kept_value_and_a_long_answer_are_read_at_another_replica(replicas: list[App]) -> None:
    first, second = replicas
    kept = await first.runner.run("ot.keep(name='numbers', value=list(range(1000)))", caller=ADA)
    long = await first.runner.run("['x' * 100] * 5000", caller=ADA)
    handle = re.search(r'handle="(\w+)"', long.text)
    assert not kept.is_error, kept.text
    assert handle, long.text

    again = f"sum(ot.kept(name='numbers')), len(ot.load(handle={handle[1]!r}))"
    for_ada, for_bob = [await second.runner.run(again, caller=caller) for caller in (ADA, BOB)]

    assert for_ada.text == "[499500, 5000]"
    assert "there is no kept value 'numbers'" in for_bob.text


@pytest.fixture
def cable(postgres: RunningServer, template: str) -> Iterator[Cable]:
    with lay_cable(postgres) as cable:
        yield cable


def over(cable: Cable, address: str) -> str:
    """Return the address of the same database by a cable."""
    return urlsplit(address)._replace(netloc=f"admin@127.0.0.1:{cable.port}", query="sslmode=disable").geturl()


async def test_runs_are_refused_while_the_database_is_gone_and_come_back_by_themselves(
    postgres: RunningServer, cable: Cable, tmp_path: Path
) -> None:
    address = over(cable, fresh_database(postgres))
    world = World()
    async with open_replica(tmp_path / "a", address) as app:
        world.add_to(app)
        assert (await app.runner.run("world.do(what='a')", caller=ADA)).text == "a 1"

        cable.cut()
        with anyio.fail_after(60):
            while not (refused := await app.runner.run("world.do(what='b')", caller=ADA)).is_error:
                pass  # a connection that was cut is noticed soon

        assert "Runs are refused for the moment: PostgreSQL at 127.0.0.1" in refused.text or (
            "world.do was not called" in refused.text
        ), refused.text
        assert world.done == ["a"]

        cable.mend()
        with anyio.fail_after(60):
            while (answer := await app.runner.run("world.do(what='c')", caller=ADA)).is_error:
                await anyio.sleep(0.05)

        assert answer.text == "c 2"
        assert world.done == ["a", "c"]


async def test_a_call_with_effect_is_not_made_once_the_database_is_gone(
    postgres: RunningServer, cable: Cable, tmp_path: Path
) -> None:
    address = over(cable, fresh_database(postgres))
    world = World()
    async with open_replica(tmp_path / "a", address) as app:
        world.add_to(app)

        async def cut(_: object) -> None:
            cable.cut()

        app.registry.register(define("world.cut", declared=Effect.READS), cut)

        answer = await app.runner.run("world.do(what='a')\nworld.cut()\nworld.do(what='b')", caller=ADA)

        assert answer.is_error
        assert world.done == ["a"]
        assert "world.do was not called: a call that may have side effects is recorded first" in answer.text
        assert "This run is not in the journal: PostgreSQL at 127.0.0.1" in answer.text

        cable.mend()
        with anyio.fail_after(60):
            while (found := await app.runner.run("world.cut()\not.kept(name='x')", caller=ADA)).text.startswith("Runs"):
                await anyio.sleep(0.05)
        assert "ot.kept: 'x' cannot be looked up: PostgreSQL at 127.0.0.1" in found.text


async def test_a_server_starts_without_its_database_and_says_why_it_refuses(cable: Cable, tmp_path: Path) -> None:
    cable.cut()
    async with open_replica(tmp_path / "a", f"postgresql://admin@127.0.0.1:{cable.port}/x") as app:
        answer = await app.runner.run("1+1")

    assert answer.is_error
    assert "Runs are refused for the moment: PostgreSQL at 127.0.0.1" in answer.text
    assert "Try again soon" in answer.text


def test_commands_read_the_store_that_is_configured(postgres: RunningServer, tmp_path: Path) -> None:
    database = fresh_database(postgres)
    env = {**os.environ, "HOME": str(tmp_path), "ONETOOL_STORE": database}

    ran = run_preloaded("run", "['x' * 100] * 5000", cwd=tmp_path, env=env)
    shutil.rmtree(tmp_path / ".onetool" / "state")  # as on another machine
    listed = json.loads(run_preloaded("results", "--json", cwd=tmp_path, env=env).stdout)
    shown = run_preloaded("results", listed[0]["handle"], "--limit", "1", cwd=tmp_path, env=env)
    runs = json.loads(run_preloaded("runs", "--json", cwd=tmp_path, env=env).stdout)
    stats = json.loads(run_preloaded("stats", "--json", cwd=tmp_path, env=env).stdout)

    assert ran.returncode == 0, ran.stderr
    assert (len(listed), listed[0]["lines"]) == (1, 5000)
    assert shown.stdout.strip() == f"- {'x' * 100}"
    assert [run["outcome"] for run in runs] == ["value"]
    assert stats["runs"]["total"] == 1


def test_commands_say_that_the_store_is_gone(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "ONETOOL_STORE": "postgresql://me:hidden-word@127.0.0.1:1/x"}

    for command in ("results", "runs", "stats", "audit"):
        ended = run_preloaded(command, cwd=tmp_path, env=env)

        assert ended.returncode == 1, ended.stdout
        assert "PostgreSQL at 127.0.0.1:1/x cannot be used" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "hidden-word" not in ended.stderr
