"""The store: what is kept, for how long, and what is left after an accident."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.errors import ExpiredResultError, ResultNotKeptError, UnknownResultError
from ot.results.lines import StoredValue
from ot.results.store import ResultStore
from ot.store.results import MOST_GONE, STALE, Room
from ot_kernel.stored_form import TEXT
from tests.unit.results.stores import Clock, files_of, open_store

PROGRAM = Path(__file__).parents[2] / "programs" / "keep_results.py"
MEGABYTE = 1024**2


async def read(store: ResultStore, handle: str) -> Any:
    return StoredValue(store.find_now(handle)).read()


@pytest.mark.parametrize("value", ["text\n", ["a", 1], {"a": [1]}, (1, 2), b"\x00", 1 << 100, {1: {2}}], ids=repr)
async def test_a_value_comes_back_as_it_was(tmp_path: Path, value: Any) -> None:
    store = open_store(tmp_path)

    stored = await store.keep_value(value)

    assert await read(store, stored.handle) == value


async def test_what_is_kept_survives_a_restart_and_is_closed_to_others(tmp_path: Path) -> None:
    stored = await open_store(tmp_path).keep_value(["kept"])

    folder = tmp_path / "state" / "results"
    assert await read(open_store(tmp_path), stored.handle) == ["kept"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


async def test_a_result_expires_and_is_told_apart_from_one_that_never_was(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(tmp_path, clock=clock, keep_for=60)
    handle = (await store.keep_value("old")).handle

    clock.now += 59
    assert await read(store, handle) == "old"
    clock.now += 2
    for _ in range(2):
        with pytest.raises(ExpiredResultError):
            store.find_now(handle)
    with pytest.raises(UnknownResultError):
        store.find_now("abcdefghjk")
    assert files_of(tmp_path, ".result") == []


async def test_each_result_expires_when_it_was_meant_to_whatever_other_servers_are_set_to(tmp_path: Path) -> None:
    clock = Clock()
    long_lived = (await open_store(tmp_path, clock=clock, keep_for=1000).keep_value("long")).handle
    brief = open_store(tmp_path, clock=clock, keep_for=10)
    short_lived = (await brief.keep_value("short")).handle

    clock.now += 100
    await brief.keep_value("sweeps")

    assert await read(brief, long_lived) == "long"
    with pytest.raises(ExpiredResultError):
        brief.find_now(short_lived)


async def test_where_there_is_too_much_the_oldest_go_first(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_size="16m")
    handles = []
    for number in range(6):
        handles.append((await store.keep_value(str(number) * 4 * MEGABYTE)).handle)
        time.sleep(0.02)  # the file system's own clock, by which they are ordered, is coarse

    kept = [handle for handle in handles if f"{handle}.result" in files_of(tmp_path)]
    assert kept == handles[-3:]
    with pytest.raises(ExpiredResultError):
        store.find_now(handles[0])


async def test_what_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path, max_size="16m")

    with pytest.raises(ResultNotKeptError, match="larger than 16 MB"):
        await store.keep_value("x" * 17 * MEGABYTE)
    assert files_of(tmp_path) == []


async def test_a_folder_that_cannot_be_written_to_is_a_reason_and_no_crash(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")

    with pytest.raises(ResultNotKeptError):
        await open_store(tmp_path).keep_value("x")


async def test_what_a_crash_has_left_is_swept_but_not_what_another_server_is_writing(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = time.time()
    store = open_store(tmp_path, clock=clock)
    await store.keep_value("makes the folder")
    folder = tmp_path / "state" / "results"
    for name, age in (("aaaaaaaaaa.tmp", STALE + 60), ("bbbbbbbbbb.tmp", STALE - 200)):
        (folder / name).write_text("half")
        os.utime(folder / name, (clock.now - age, clock.now - age))

    clock.now += 61
    await store.keep_value("sweeps")

    assert files_of(tmp_path, ".tmp") == ["bbbbbbbbbb.tmp"]


async def test_only_so_many_handles_are_remembered(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(tmp_path, clock=clock)
    await store.keep_value("makes the folder")
    folder = tmp_path / "state" / "results"
    for number in range(MOST_GONE + 50):
        (folder / f"{number:010}.gone").touch()

    clock.now += 61
    await store.keep_value("sweeps")

    assert len(files_of(tmp_path, ".gone")) == MOST_GONE


async def test_known_secrets_are_not_stored(tmp_path: Path) -> None:
    store = open_store(tmp_path, secrets=("open sesame", 'with "quotes"'))
    hidden = await store.keep_value(["say open sesame", 'a secret with "quotes" in it'])
    text = await store.keep_value("x" * (MEGABYTE - 4) + "open sesame" + "y" * 10)

    assert await read(store, hidden.handle) == ["say ***", "a secret *** in it"]
    assert await read(store, text.handle) == "x" * (MEGABYTE - 4) + "***" + "y" * 10


async def test_a_file_that_is_said_to_be_a_value_and_is_not_hurts_nobody(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    lie = tmp_path / "lie"
    lie.write_bytes(b"[" * 100_000 + b"\n" * 5)

    stored = await store.keep_file(lambda: os.open(lie, os.O_RDONLY), "value", what="list")

    assert stored.facts.lines == 4
    assert stored.facts.size == 100_005


async def test_a_pipe_that_is_said_to_be_a_file_is_not_waited_for(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    with anyio.fail_after(60), pytest.raises(ResultNotKeptError):
        await store.keep_file(lambda: reading, TEXT, what="str")
    os.close(writing)


async def test_many_servers_keep_and_sweep_in_one_folder(tmp_path: Path) -> None:
    stores = [open_store(tmp_path, max_size="16m") for _ in range(4)]
    kept: list[tuple[ResultStore, str, str]] = []

    async def keep_some(store: ResultStore, letter: str) -> None:
        for _ in range(10):
            store._files._room = Room()  # it is time to sweep
            kept.append((store, (await store.keep_value(letter * 100_000)).handle, letter))

    async with anyio.create_task_group() as tasks:
        for store, letter in zip(stores, "abcd", strict=True):
            tasks.start_soon(keep_some, store, letter)

    for store, handle, letter in kept:
        assert await read(store, handle) == letter * 100_000


@pytest.mark.parametrize("pause", [0.0, 0.003, 0.01, 0.05])
async def test_a_server_that_is_killed_loses_nothing_it_has_acknowledged(tmp_path: Path, pause: float) -> None:
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(5)]
    time.sleep(pause)  # not to wait for something: to be killed in another place
    process.send_signal(signal.SIGKILL)
    told += [line.strip() for line in process.stdout if line.endswith("\n")]
    process.wait()
    process.stdout.close()

    clock = Clock()
    clock.now = time.time()
    store = open_store(tmp_path, clock=clock)
    assert len(told) >= 5
    for handle in told:
        assert await read(store, handle) == ["x" * 1000] * 500
    assert {name.rpartition(".")[2] for name in files_of(tmp_path)} <= {"result", "tmp"}
    for name in files_of(tmp_path, ".result"):
        assert len(await read(store, name.removesuffix(".result"))) == 500
