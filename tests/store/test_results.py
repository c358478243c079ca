"""Results in either store: found by all servers of their owner and by nobody else, gone after a while."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ot.config.models import ResultSettings
from ot.errors import ExpiredResultError, ResultNotKeptError, ToolError, UnknownResultError
from ot.results.lines import StoredValue
from ot.results.store import ResultStore
from ot.store.opening import Store
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.results import PostgresResults
from ot.text.redaction import Redactor
from tests.demo_pack import give_demo
from tests.engine import answer_of, open_engine
from tests.packs.db.servers import RunningServer
from tests.services.cable import lay_cable
from tests.services.full_disk import fill, mount_small_disk
from tests.store.conftest import link_of
from tests.unit.results.stores import Clock

pytestmark = pytest.mark.anyio

MEGABYTE = 1024 * 1024
PROGRAM = Path(__file__).parent.parent / "programs" / "keep_results.py"

Opened = Callable[..., ResultStore]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_results(open_store: Callable[..., Store], tmp_path: Path, clock: Clock) -> Opened:
    """Opens results as a server of somebody would; each replica that shares a database has a folder of its own."""

    replicas = itertools.count()

    def open_one(principal: str = "local", **keys: Any) -> ResultStore:
        name = f"{principal} of {tmp_path.name}"  # the tests of a module share a database
        shared = link_of(open_store(name)) is not None
        folder = tmp_path / (f"replica-{next(replicas)}" if shared else principal)
        limits = ResultSettings.model_validate(keys)
        return ResultStore(open_store(name, folder).results, limits, redactor=Redactor(), clock=clock)

    return open_one


def read(results: ResultStore, handle: str) -> Any:
    return StoredValue(results.find_now(handle)).read()


async def test_what_one_server_keeps_another_reads_again_and_again(open_results: Opened) -> None:
    first, second = open_results(), open_results()
    values: list[Any] = ["", "text\n", ["a", 1], {"a": [1]}, "é" * 3 * MEGABYTE]

    kept = [(await first.keep_value(value, read_before=["gmail.read"])).handle for value in values]

    for results in (first, second, second):
        assert [read(results, handle) for handle in kept] == values
    assert [each.handle for each in second.all_now()] == [each.handle for each in first.all_now()]
    assert {each.handle for each in second.all_now()} == set(kept)


async def test_a_handle_of_another_does_not_exist(open_results: Opened) -> None:
    ada, bob = open_results('["issuer","ada"]'), open_results('["issuer","bob"]')
    handle = (await ada.keep_value("secret")).handle

    bob.let_go_now(handle)

    with pytest.raises(UnknownResultError):
        bob.find_now(handle)
    assert bob.all_now() == []
    assert read(ada, handle) == "secret"


async def test_a_result_expires_everywhere_and_is_told_apart_from_one_that_never_was(
    open_results: Opened, clock: Clock
) -> None:
    first, second = open_results(keep_for=60), open_results(keep_for=1000)
    handle = (await first.keep_value("old")).handle
    clock.now += 59
    assert read(second, handle) == "old"

    clock.now += 2
    await second.keep_value("sweeps")

    for results in (first, second):
        with pytest.raises(ExpiredResultError):
            results.find_now(handle)
        with pytest.raises(UnknownResultError):
            results.find_now("abcdefghjk")


async def test_what_was_let_go_is_there_for_its_last_readers_and_then_gone_everywhere(
    open_results: Opened, clock: Clock
) -> None:
    first, second = open_results(), open_results()
    handle = (await first.keep_value("let go")).handle

    second.let_go_now(handle)
    clock.now += 50
    assert read(second, handle) == "let go"
    clock.now += 20

    with pytest.raises(ExpiredResultError):
        first.find_now(handle)


async def test_the_latest_are_listed_or_those_that_are_named(open_results: Opened, clock: Clock) -> None:
    first, second = open_results(), open_results()
    handles = []
    for number in range(4):
        clock.now += 1
        handles.append((await first.keep_value(number)).handle)

    assert [each.handle for each in second.all_now(most=2)] == handles[-2:]
    assert [each.handle for each in second.all_now(only=[handles[1], "abcdefghjk"])] == [handles[1]]
    assert second.all_now(only=[]) == []


@pytest.mark.xdist_group("databases")
async def test_a_list_of_kept_values_fetches_none_of_them(database: str, tmp_path: Path) -> None:
    homes = (give_demo(tmp_path / f"home of {name}", f"store: {database}") for name in "ab")
    engines = (open_engine(tmp_path / name, home=home) for name, home in zip("ab", homes, strict=True))
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(engine) for engine in engines]
        (tmp_path / "b").rename(tmp_path / "moved")
        (tmp_path / "b").symlink_to(tmp_path / "a")  # the same project, under two names
        await answer_of(first, "for n in range(3): ot.keep(name=f'n{n}', value=[n] * 1000)")

        assert await answer_of(second, "[each['name'] for each in ot.kept()]") == "[n0, n1, n2]"
        assert not [*(tmp_path / "home of b").rglob("*.result")]


async def test_where_an_owner_has_too_much_the_oldest_of_theirs_go(open_results: Opened, clock: Clock) -> None:
    results, other = open_results(max_size="16m"), open_results("other", max_size="16m")
    others = (await other.keep_value("x" * 10 * MEGABYTE)).handle
    handles = []
    for number in range(5):
        clock.now += 1
        handles.append((await results.keep_value(str(number) * 6 * MEGABYTE)).handle)
        await anyio.sleep(0.02)  # the file system's own clock, by which files are ordered, is coarse

    assert [each.handle for each in results.all_now()] == handles[-2:]
    with pytest.raises(ExpiredResultError):
        results.find_now(handles[0])
    assert read(other, others) == "x" * 10 * MEGABYTE


@pytest.fixture(scope="module")
def shared(database: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    link = PostgresLink(database)
    folders = [tmp_path_factory.mktemp("results") for _ in range(2)]
    yield [
        ResultStore(PostgresResults(link, "property", folder), ResultSettings(), redactor=Redactor())
        for folder in folders
    ]
    link.close()


@pytest.mark.xdist_group("databases")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=5000), times=st.sampled_from([1, 200, 1000]))
async def test_any_bytes_cross_as_they_are(shared: list[ResultStore], content: bytes, times: int) -> None:
    value = content * times

    stored = await shared[0].keep_value(value)

    assert read(shared[1], stored.handle) == value


@pytest.mark.xdist_group("databases")
async def test_a_database_that_is_gone_is_a_reason(postgres: RunningServer, database: str, tmp_path: Path) -> None:
    with lay_cable(postgres) as cable:
        link = PostgresLink(database.replace("@/", f"@127.0.0.1:{cable.port}/").partition("?")[0] + "?sslmode=disable")
        files = PostgresResults(link, "local", tmp_path / "results")
        results = ResultStore(files, ResultSettings(), redactor=Redactor())
        handle = (await results.keep_value("there")).handle
        cable.cut()

        with pytest.raises(ToolError, match="the stored result cannot be read: PostgreSQL at 127"):
            results.find_now(handle)
        with pytest.raises(ResultNotKeptError) as refused:
            await results.keep_value("more")
        link.close()
    assert refused.value.reason.startswith("PostgreSQL at 127.0.0.1")
    assert [file.suffix for file in (tmp_path / "results").iterdir()] == [".result"]


@pytest.mark.xdist_group("databases")
async def test_a_replica_that_is_killed_loses_nothing_it_has_acknowledged(database: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(tmp_path), database], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(10)]
        process.send_signal(signal.SIGKILL)
        told += [line.strip() for line in process.stdout if line.endswith("\n")]

    link = PostgresLink(database)
    files = PostgresResults(link, "local", tmp_path / "b")
    elsewhere = ResultStore(files, ResultSettings(), redactor=Redactor())
    for handle in told:
        assert read(elsewhere, handle) == ["x" * 1000] * 500
    link.close()


@pytest.mark.xdist_group("databases")
async def test_a_full_disk_keeps_nobody_from_what_the_store_holds(database: str, tmp_path: Path) -> None:
    large = "x" * 300_000
    with closing(PostgresLink(database)) as link, mount_small_disk(tmp_path / "disk") as disk:
        there = ResultStore(PostgresResults(link, "local", tmp_path / "there"), ResultSettings(), redactor=Redactor())
        here = ResultStore(PostgresResults(link, "local", disk / "here"), ResultSettings(), redactor=Redactor())
        held = (await there.keep_value(large)).handle
        fill(disk)
        kept = (await here.keep_value([large])).handle

        assert read(here, held) == large
        assert read(here, kept) == read(there, kept) == [large]
        assert not link.problem


@pytest.mark.xdist_group("databases")
async def test_an_error_names_the_disk_that_is_full(database: str, tmp_path: Path) -> None:
    with closing(PostgresLink(database)) as link, mount_small_disk(tmp_path / "disk") as disk:
        there = ResultStore(PostgresResults(link, "local", tmp_path / "there"), ResultSettings(), redactor=Redactor())
        files = PostgresResults(link, "local", disk / "here", memory=tmp_path / "none")
        here = ResultStore(files, ResultSettings(), redactor=Redactor())
        held = (await there.keep_value("x" * 300_000)).handle
        await here.keep_value(1)
        fill(disk)

        for reason in (f"the disk with {disk / 'here'} is full",):
            with pytest.raises(ToolError, match=reason):
                here.find_now(held)
            with pytest.raises(ResultNotKeptError, match=reason):
                await here.keep_value("x" * 300_000)
        assert not link.problem
