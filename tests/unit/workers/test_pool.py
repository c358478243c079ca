"""The life of workers in the pool: when they start, how long they stay, and what a changed file does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio import fail_after

from ot.errors import WorkerStartError
from ot.workers.pool import WorkerPool
from tests.e2e.processes import wait_until_gone
from tests.opened_executor import wait_until
from tests.worker_pool import open_pool, program, write_extension

pytestmark = pytest.mark.anyio

PID = "import os\ndef pid():\n    return os.getpid()\n"


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    async with open_pool(tmp_path) as opened:
        yield opened


async def test_calls_that_come_during_a_start_share_it(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PID)
    pids: list[int] = []

    async def call() -> None:
        pids.append(await pool.call(extension, "pid", {}))

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(call)

    assert len(pids) == 10
    assert len(set(pids)) == 1


async def test_two_extensions_have_a_worker_each(pool: WorkerPool, tmp_path: Path) -> None:
    first, second = (write_extension(tmp_path, PID, name) for name in ("first", "second"))

    with fail_after(60):
        pids = [await pool.call(extension, "pid", {}) for extension in (first, second, first)]

    assert pids[0] == pids[2] != pids[1]
    assert [(status.pack, status.state) for status in pool.status()] == [("first", "idle"), ("second", "idle")]


async def test_a_changed_file_is_served_by_a_new_worker(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PID)
    with fail_after(60):
        first = await pool.call(extension, "pid", {})

    write_extension(tmp_path, "def pid():\n    return 'changed'\n")

    with fail_after(60):
        assert await pool.call(extension, "pid", {}) == "changed"
        await anyio.to_thread.run_sync(wait_until_gone, {first})


async def test_a_call_that_had_begun_is_finished_after_the_file_changed(pool: WorkerPool, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    source = """
        import pathlib, time
        def wait(*, begun, go):
            pathlib.Path(begun).touch()
            while not pathlib.Path(go).exists():
                time.sleep(0.01)
            return "{}"
        """
    extension = write_extension(tmp_path, source.format("old"))
    answers: list[str] = []

    async def call() -> None:
        answers.append(await pool.call(extension, "wait", {"begun": str(begun), "go": str(go)}))

    with fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await wait_until(begun.exists)
            write_extension(tmp_path, source.format("new"))
            begun.unlink()
            tasks.start_soon(call)
            await wait_until(begun.exists)
            go.touch()

    assert sorted(answers) == ["new", "old"]


async def test_a_file_that_is_gone_is_a_start_that_fails(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PID)
    with fail_after(60):
        await pool.call(extension, "pid", {})

    extension.file.unlink()

    with fail_after(60), pytest.raises(WorkerStartError, match="No such file"):
        await pool.call(extension, "pid", {})


async def test_a_forgotten_extension_loses_its_worker(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PID)
    with fail_after(60):
        pid = await pool.call(extension, "pid", {})

        pool.forget(extension.file)

        await anyio.to_thread.run_sync(wait_until_gone, {pid})
    assert pool.status() == []


async def test_a_start_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    extension = write_extension(tmp_path, "import time\ntime.sleep(600)\n")

    async with open_pool(tmp_path, start_timeout=0.5) as pool:
        with fail_after(60), pytest.raises(WorkerStartError, match=r"not ready after 0\.5 s .* importing its file"):
            await pool.call(extension, "pid", {})


async def test_a_start_goes_on_when_the_call_that_wanted_it_is_cancelled(pool: WorkerPool) -> None:
    slow = program("slow_import")
    with anyio.move_on_after(0.3):
        await pool.call(slow, "answer", {})

    assert pool.status()[0].state == "starting"
    with fail_after(60):
        await wait_until(lambda: pool.status()[0].state == "idle")
        assert await pool.call(slow, "answer", {}) == 42


async def test_closing_the_pool_in_the_middle_of_a_start_leaves_nothing(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    source = f"import os, pathlib, time\npathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
    extension = write_extension(tmp_path, source)

    with fail_after(60):
        async with open_pool(tmp_path) as pool, anyio.create_task_group() as tasks:
            tasks.start_soon(pool.call, extension, "pid", {})
            await wait_until(lambda: started.exists() and bool(started.read_text()))
            tasks.cancel_scope.cancel()

    wait_until_gone({int(started.read_text())}, seconds=0.1)


async def test_an_idle_worker_may_tidy_up_before_it_ends(tmp_path: Path) -> None:
    farewell = tmp_path / "farewell"
    source = f"import atexit, pathlib\natexit.register(pathlib.Path({str(farewell)!r}).touch)\n{PID}"

    with fail_after(60):
        async with open_pool(tmp_path) as pool:
            await pool.call(write_extension(tmp_path, source), "pid", {})

    assert farewell.exists()


async def test_a_worker_that_does_not_leave_is_made_to(tmp_path: Path) -> None:
    source = f"import atexit, time\natexit.register(time.sleep, 600)\n{PID}"

    with fail_after(60):
        async with open_pool(tmp_path) as pool:
            pid = await pool.call(write_extension(tmp_path, source), "pid", {})

    wait_until_gone({pid}, seconds=0.1)


async def test_a_worker_that_dies_between_calls_is_replaced(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PID)
    with fail_after(60):
        first = await pool.call(extension, "pid", {})
        os.kill(first, 9)

        await wait_until(lambda: pool.status()[0].state == "failed")
        assert await pool.call(extension, "pid", {}) != first
    assert pool.status()[0].state == "idle"
    assert "its worker ended" in (pool.status()[0].last_error or "")


async def test_an_exception_in_the_body_of_the_pool_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        async with open_pool(tmp_path):
            raise LookupError


async def test_a_worker_sees_neither_the_servers_packages_nor_its_environment(
    tmp_path: Path,
) -> None:
    source = """
        import importlib.util, os, sys
        def see():
            found = [name for name in ("ot", "onetool", "mcp", "pydantic", "ot_sdk") if importlib.util.find_spec(name)]
            return {"found": found, "environ": sorted(os.environ), "cwd": os.getcwd()}
        """
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin",
        "AWS_SECRET": "x",
        "PYTHONPATH": "/x",
        "https_proxy": "http://p",
    }

    async with open_pool(tmp_path, environ=environ) as pool:
        with fail_after(60):
            seen = await pool.call(write_extension(tmp_path, source), "see", {})

    assert seen["found"] == ["ot_sdk"]
    assert set(seen["environ"]) - {"LC_CTYPE"} == {"HOME", "PATH", "https_proxy"}
    assert seen["cwd"] == str(tmp_path)


async def test_files_beside_an_extension_can_be_imported_and_hide_nothing(pool: WorkerPool, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("word = 'found'\n")
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    extension = write_extension(
        tmp_path, "import beside, json\ndef word():\n    return json.loads('\"' + beside.word + '\"')\n"
    )

    with fail_after(60):
        assert await pool.call(extension, "word", {}) == "found"
