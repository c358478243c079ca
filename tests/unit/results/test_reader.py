"""Reading with a process that can be killed: patterns without end, and values that are too much."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.config.models import ResultSettings
from ot.errors import ArgumentValueError, ToolError, UnknownResultError
from ot.isolate import IsolateHost
from ot.results.page import Query
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot_kernel.values import Record
from tests.unit.results.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return open_store(tmp_path)


@pytest.fixture
async def host() -> AsyncIterator[IsolateHost]:
    async with IsolateHost(memory=100 * 1024**2) as host:
        yield host


def open_reader(store: ResultStore, host: IsolateHost, **options: Any) -> ResultReader:
    return ResultReader(store, ResultSettings(), apart=host.run, **options)


async def test_a_pattern_that_never_ends_is_stopped_and_the_way_out_is_told(
    store: ResultStore, host: IsolateHost
) -> None:
    handle = (await store.keep_value("a" * 60 + "!")).handle
    reader = open_reader(store, host, limit=0.7)

    with (
        anyio.fail_after(60),
        pytest.raises(ToolError, match=r"longer than 0\.7 s.*simpler regular expression") as raised,
    ):
        await reader.query(handle, Query(search="(a|aa)+$"))

    assert isinstance(raised.value.__cause__, TimeoutError)
    assert host.idle_pids() == []


async def test_searches_one_after_the_other_share_a_process(store: ResultStore, host: IsolateHost) -> None:
    handle = (await store.keep_value("one\ntwo")).handle
    reader = open_reader(store, host)

    assert (await reader.query(handle, Query(search="o$")))["lines"] == ["two"]
    first = host.idle_pids()
    assert (await reader.query(handle, Query(search="^o")))["lines"] == ["one"]
    assert host.idle_pids() == first


async def test_a_mistake_in_an_argument_is_told_as_one(store: ResultStore, host: IsolateHost) -> None:
    handle = (await store.keep_value([{"id": 1}])).handle

    with pytest.raises(ArgumentValueError, match="path: "):
        await open_reader(store, host).query(handle, Query(path="[0].name"))
    with pytest.raises(UnknownResultError):
        await open_reader(store, host).query("abcdefghjk", Query())


async def test_what_does_not_fit_into_memory_is_told_as_that(store: ResultStore, host: IsolateHost) -> None:
    handle = (await store.keep_value(["x" * 60 * 1024**2])).handle

    with pytest.raises(ToolError, match="more memory than is available"):
        await open_reader(store, host).query(handle, Query(path="[0]"))


@pytest.mark.parametrize("name", ['\x00"\\' * 100, "é😀" * 100, "", "x" * 10_000])
async def test_a_record_may_have_any_name(store: ResultStore, host: IsolateHost, name: str) -> None:
    handle = (await store.keep_value(Record(name, {"a": 1}))).handle

    page = await open_reader(store, host).query(handle, Query())

    assert page["lines"] == ["a: 1"]


@pytest.mark.parametrize("field", ["offset", "limit", "column"])
async def test_no_number_is_too_large_to_be_asked_for(store: ResultStore, host: IsolateHost, field: str) -> None:
    reader = open_reader(store, host)
    huge: dict[str, Any] = {field: 10**30}
    for value in ("text", ["item"], 5.5):
        handle = (await store.keep_value(value)).handle

        assert (await reader.query(handle, Query(**huge)))["total_lines"] == 1
        assert (await reader.query(handle, Query(**huge, search=".")))["total_lines"] == 1
