"""What the journal withstands: cut files, full disks, values that have gone, other servers, and many calls."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ot.app import App, open_app
from ot.clients.caller import Caller
from ot.config.loader import load_config
from ot.journal.recorded import RecordedRun
from ot.store.embedded_journal import EmbeddedJournal
from ot.store.owner import StoreUnavailableError
from ot_kernel.wire import pack
from tests.engine import answer_of, open_engine
from tests.opened_executor import wait_until
from tests.unit.journal.resumed import World, fail_in

pytestmark = pytest.mark.anyio
SMALL = "journal: {max_size: 16m}"


@asynccontextmanager
async def open_again(folder: Path) -> AsyncIterator[App]:
    """Another server with the same state folder."""
    async with open_app(load_config(environ={}, cwd=folder, home=folder)) as app:
        yield app


def journal_of(folder: Path, ending: str = ".jsonl") -> Path:
    (file,) = (folder / ".onetool" / "state" / "journal").glob(f"*{ending}")
    return file


def recent_in(app: App) -> list[RecordedRun]:
    assert app.executor.journal is not None
    return app.executor.journal.recent("local")


class GoneJournal(EmbeddedJournal):
    """A journal whose lines must be waited for, and never arrive."""

    waits = True

    async def settle(self) -> None:
        raise StoreUnavailableError("it does not answer")


async def test_a_call_with_effects_that_cannot_be_written_down_is_not_made(tmp_path: Path) -> None:
    world = World()
    async with open_engine(tmp_path / "p") as app:
        world.add_to(app)
        assert app.executor.journal is not None
        app.executor.journal.store = GoneJournal(tmp_path / "gone", keep_for=3600, max_size=2**24)
        read = await app.runner.run("world.look()")
        told = await app.runner.run("world.do(what='a')")

    assert not read.is_error
    assert "recorded first, and that failed (it does not answer)" in told.text
    assert world.done == []


@pytest.mark.parametrize("cut", [1, 100])
async def test_a_journal_that_ends_in_the_middle_of_a_line_can_be_resumed(tmp_path: Path, cut: int) -> None:
    world = World()
    async with open_engine(tmp_path / "p") as app:
        world.add_to(app)
        run = await fail_in(app, "world.do(what='a')\nworld.do(what='b')\n1 / 0")
    file = journal_of(tmp_path / "p")
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - cut)

    async with open_again(tmp_path / "p") as app:
        world.add_to(app)
        await answer_of(app, f"ot.resume(run={run!r})\nworld.do(what='a')\nworld.do(what='b')")

    assert world.done == ["a", "b"]


async def test_a_journal_cut_within_a_call_tells_of_that_call(tmp_path: Path) -> None:
    world = World()
    async with open_engine(tmp_path / "p") as app:
        world.add_to(app)
        run = await fail_in(app, "world.do(what='a')\n1 / 0")
    file = journal_of(tmp_path / "p")
    with file.open("r+b") as opened:
        opened.truncate(file.read_bytes().index(b'"event":"end"') + 20)

    async with open_again(tmp_path / "p") as app:
        world.add_to(app)
        told = await app.runner.run(f"ot.resume(run={run!r})\nworld.do(what='a')")

    assert "its outcome is unknown" in told.text
    assert world.done == ["a"]


async def test_a_journal_with_a_missing_line_is_not_resumed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        World().add_to(app)
        run = await fail_in(app, "world.do(what='a')\nworld.do(what='b')\n1 / 0")
        file = journal_of(tmp_path / "p")
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:2] + lines[3:]))

        refused = await app.runner.run(f"ot.resume(run={run!r})")

    assert "cannot be resumed: a line of its journal is missing" in refused.text


async def test_two_servers_share_runs_but_not_one_that_goes_on(tmp_path: Path) -> None:
    world = World()
    async with open_engine(tmp_path / "p") as first, open_again(tmp_path / "p") as second:
        for app in (first, second):
            world.add_to(app)
        run = await fail_in(first, "world.do(what='a')\n1 / 0")
        answer = await answer_of(second, f"ot.resume(run={run!r})\nworld.do(what='a')")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.runner.run, "world.block(what='b')")
            await wait_until(lambda: "b" in world.done)
            (going,) = (run.id for run in recent_in(second) if "block" in run.command)
            refused = await second.runner.run(f"ot.resume(run={going!r})")
            tasks.cancel_scope.cancel()

    assert answer.splitlines()[0] == "a 1"
    assert "cannot be resumed: it is still running" in refused.text


async def test_a_value_that_has_gone_is_read_again_or_told_of(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        world = World()
        world.add_to(app)
        run = await fail_in(app, "world.give(kind='large')\nworld.make(kind='large')\n1 / 0")
        journal_of(tmp_path / "p", ".values").unlink()

        told = await app.runner.run(
            f"ot.resume(run={run!r})\nprint(len(world.give(kind='large')))\nworld.make(kind='large')"
        )
        skipped = await answer_of(app, f"ot.resume(run={run!r}, unknown='skip')\nworld.make(kind='large')")

    assert told.text.startswith("5000\n")
    assert "and its result is no longer kept" in told.text
    assert skipped.splitlines()[0] == "None"
    assert world.done == ["large"]


async def test_a_run_that_has_expired_is_unknown(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config="journal: {keep_for: 0.01}") as app:
        World().add_to(app)
        run = await fail_in(app, "world.do(what='a')\n1 / 0")
        await anyio.sleep(0.02)

        refused = await app.runner.run(f"ot.resume(run={run!r})")

    assert "no longer kept (journal.keep_for, journal.max_size)" in refused.text


async def test_a_run_that_is_too_large_says_that_it_cannot_be_resumed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config=SMALL) as app:
        World().add_to(app)
        code = "world.do(what='a')\nfor n in range(20):\n    world.give(kind='large', n=n)\n1 / 0"
        failed = await app.runner.run(code)
        (run,) = recent_in(app)
        refused = await app.runner.run(f"ot.resume(run={run.id!r})")

    assert "This run cannot be resumed: its calls returned more than a run may keep (journal.max_size)." in failed.text
    assert "not all of its calls could be written" in refused.text
    assert sum(file.stat().st_size for file in (tmp_path / "p/.onetool/state/journal").iterdir()) < 16 * 1024**2


class Nowhere:
    """Takes values in place of a kernel."""

    def pack(self, value: object, /) -> bytes:
        return pack({"id": 1, "value": value})

    def send(self, packed: bytes, /) -> None:
        pass


@pytest.mark.long
async def test_a_run_of_ten_thousand_calls_is_resumed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        world, journal, caller = World(), app.executor.journal, Caller(run_id="rmany")
        world.add_to(app)
        assert journal is not None
        begun = journal.begin("", caller)
        assert begun is not None
        for n in range(10_000):
            await app.executor.call("world.do", {"what": n}, caller=caller, delivery=Nowhere())
        journal.end(begun, "error")

        code = "for n in (9_999, 0, 5_000):\n    world.do(what=n)\nworld.do(what='last')"
        first = await fail_in(app, f"found = ot.resume(run='rmany')\n{code}\nraise ValueError(found['calls'])")
        second = await answer_of(app, f"found = ot.resume(run={first!r})\n{code}\nworld.do(what=1), found['calls']")

    assert second.splitlines()[0] == "[1 2, 10001]"
    assert len(world.done) == 10_001


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY, reason="files are limited")
async def test_a_full_disk_stops_no_call_and_the_run_says_that_it_cannot_be_resumed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        world, journal, caller = World(), app.executor.journal, Caller(run_id="rfull")
        world.add_to(app)
        assert journal is not None
        begun = journal.begin("", caller)
        assert begun is not None
        await app.executor.call("world.do", {"what": "a"}, caller=caller, delivery=Nowhere())
        begun.flush()
        size = journal_of(tmp_path / "p").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, resource.RLIM_INFINITY))
        try:
            await app.executor.call("world.do", {"what": "b"}, caller=caller, delivery=Nowhere())
            notes = begun.notes(failed=True)
            journal.end(begun, "error")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        refused = await app.runner.run("ot.resume(run='rfull')")
        after = await fail_in(app, "world.do(what='c')\n1 / 0")
        answer = await answer_of(app, f"ot.resume(run={after!r})\nworld.do(what='c')")

    assert world.done == ["a", "b", "c"]
    assert [note for note in notes if note.startswith("This run cannot be resumed: its journal could not be written")]
    assert "cannot be resumed: not all of its calls could be written to the journal" in refused.text
    assert answer.splitlines()[0] == "c 3"
