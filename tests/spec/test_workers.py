"""Extension tools in persistent workers as they are specified: real files, a real uv, real processes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after

from ot.workers.extension import Extension
from ot.workers.pep723 import read_header
from ot.workers.pool import WorkerPool
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.opened_executor import wait_until
from tests.worker_pool import open_pool, write_extension

pytestmark = pytest.mark.anyio

PERSISTENT = """
    # /// script
    # requires-python = ">=3.11"
    # dependencies = []
    # ///
    import os
    import sys
    import time

    calls = 0

    def count():
        global calls
        calls += 1
        return [os.getpid(), calls, sys.prefix]

    def rest(*, seconds):
        time.sleep(seconds)
        return os.getpid()
    """


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which uv has a cache of its own, to be thrown away."""
    return {**os.environ, "UV_CACHE_DIR": str(tmp_path_factory.mktemp("uv"))}


async def call(pool: WorkerPool, extension: Extension, tool: str, arguments: dict[str, Any]) -> Any:
    return await pool.call(extension, tool, arguments)


@pytest.fixture
async def pool(tmp_path: Path, environ: dict[str, str]) -> AsyncIterator[WorkerPool]:
    async with open_pool(tmp_path, environ=environ) as opened:
        yield opened


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/worker-startup-on-first-call")
async def test_the_first_call_starts_a_worker_that_stays(
    pool: WorkerPool, tmp_path: Path, environ: dict[str, str]
) -> None:
    extension = write_extension(tmp_path, PERSISTENT)
    before = find_descendants(os.getpid())

    with fail_after(60):
        pid, calls, prefix = await call(pool, extension, "count", {})

    assert calls == 1
    assert pid not in before
    assert pid in find_descendants(os.getpid())
    assert prefix.startswith(environ["UV_CACHE_DIR"])  # in the environment that uv made


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/worker-startup-on-first-call")
async def test_the_worker_can_be_started_by_uv_run_itself(tmp_path: Path, environ: dict[str, str]) -> None:
    footer = '\n    import ot_sdk\n    if __name__ == "__main__":\n        ot_sdk.serve()\n    '
    extension = write_extension(tmp_path, PERSISTENT + footer)

    async with open_pool(tmp_path, environ=environ, launch="uv-run") as pool:
        with fail_after(60):
            first = await call(pool, extension, "count", {})
            second = await call(pool, extension, "count", {})
        commands = [
            (Path("/proc") / str(pid) / "cmdline").read_text().split("\0") for pid in find_descendants(os.getpid())
        ]

    # In the environment that was made from its lock, which uv would not find by itself.
    started = [words[1:5] for words in commands if Path(words[0]).name == "uv"]
    assert started == [["run", "--offline", "--active", "--script"]]
    assert (first[0], first[1], second[1]) == (second[0], 1, 2)


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/subsequent-calls-use-existing-worker")
async def test_further_calls_go_to_the_same_process(pool: WorkerPool, tmp_path: Path) -> None:
    extension = write_extension(tmp_path, PERSISTENT)
    with fail_after(60):
        pid, _, _ = await call(pool, extension, "count", {})
        processes = find_descendants(os.getpid())

        answers = [await call(pool, extension, "count", {}) for _ in range(3)]

    assert [answer[:2] for answer in answers] == [[pid, 2], [pid, 3], [pid, 4]]
    assert find_descendants(os.getpid()) == processes


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/worker-idle-timeout")
async def test_an_idle_worker_is_ended_and_leaves_the_pool(tmp_path: Path, environ: dict[str, str]) -> None:
    extension = write_extension(tmp_path, PERSISTENT)

    async with open_pool(tmp_path, environ=environ, idle_timeout=0.2) as pool:
        with fail_after(60):
            pid, _, _ = await call(pool, extension, "count", {})
            await anyio.to_thread.run_sync(wait_until_gone, {pid})

        assert [(status.state, status.pid) for status in pool.status()] == [("stopped", None)]
        with fail_after(60):
            assert (await call(pool, extension, "count", {}))[1] == 1  # a new one


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/session-refresh-on-call")
async def test_each_call_begins_the_idle_time_anew(tmp_path: Path, environ: dict[str, str]) -> None:
    extension = write_extension(tmp_path, PERSISTENT)

    async with open_pool(tmp_path, environ=environ, idle_timeout=1.5) as pool:
        with fail_after(60):
            pid, _, _ = await call(pool, extension, "count", {})
            for _ in range(4):  # longer than the idle time altogether, and each of them shorter
                await wait_until(lambda: pool.status()[0].idle_seconds >= 0.5)
                assert (await call(pool, extension, "count", {}))[0] == pid
            await anyio.to_thread.run_sync(wait_until_gone, {pid})


@pytest.mark.scenario("workers/persistent-worker-subprocess-execution/worker-idle-timeout")
async def test_a_worker_is_not_idle_while_it_carries_out_a_call(tmp_path: Path, environ: dict[str, str]) -> None:
    extension = write_extension(tmp_path, PERSISTENT)

    async with open_pool(tmp_path, environ=environ, idle_timeout=0.2) as pool:
        with fail_after(60):
            assert isinstance(await call(pool, extension, "rest", {"seconds": 0.8}), int)


@pytest.mark.scenario("workers/pep-723-dependency-declaration/tool-with-dependencies")
async def test_declared_dependencies_are_installed_in_an_environment_of_their_own(
    pool: WorkerPool, tmp_path: Path, environ: dict[str, str]
) -> None:
    extension = write_extension(
        tmp_path,
        """
        # /// script
        # requires-python = ">=3.11"
        # dependencies = ["six==1.16.0"]
        # ///
        import importlib.util
        import six

        def facts():
            return [six.__version__, six.__file__, importlib.util.find_spec("pydantic") is None]
        """,
    )

    with fail_after(60):
        version, file, apart = await call(pool, extension, "facts", {})

    assert version == "1.16.0"
    assert file.startswith(environ["UV_CACHE_DIR"])
    assert apart
    assert not file.startswith(sys.prefix)


@pytest.mark.scenario("workers/pep-723-dependency-declaration/toml-parsing-compliance")
@pytest.mark.parametrize(
    ("block", "dependencies"),
    [
        pytest.param('dependencies = ["six>=1"]', ("six>=1",), id="plain"),
        pytest.param("dependencies = [\n  'six',  # small\n\n  \"a[b] ; python_version < '3'\",\n]", ("six", "a[b] ; python_version < '3'"), id="the whole of TOML"),
        pytest.param('dependencies = ["six"', None, id="malformed"),
        pytest.param("dependencies = six", None, id="no value of TOML"),
    ],
)  # fmt: skip
async def test_a_header_is_parsed_as_toml_without_its_comment_signs(
    tmp_path: Path, block: str, dependencies: tuple[str, ...] | None
) -> None:
    file = tmp_path / "sample.py"
    lines = ["# /// script", *(f"# {line}".rstrip() for line in block.split("\n")), "# ///"]
    file.write_text("\n".join(lines) + "\nimport os\n")

    header, warning = read_header(file)

    assert (header.dependencies if header is not None else None) == dependencies
    assert (warning is None) == (dependencies is not None)
