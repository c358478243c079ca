"""One extension on both engines: a caller cannot tell where its worker runs. `make test-ray` runs those on Ray."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after, to_thread

from ot.clients.caller import NOBODY, Caller
from ot.errors import ToolError, ToolFailedError, WorkerCrashedError
from ot.execution.wording import word_error
from tests.e2e.processes import wait_until_gone
from tests.opened_executor import define, wait_until
from tests.ray.cluster import RayCluster
from tests.ray.engines import open_on, write_heavy
from tests.worker_pool import Engine, program

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("ray")]
PATIENCE = 60  # seconds: the first call on a cluster starts a driver and makes an environment


async def upper(arguments: dict[str, Any]) -> Any:
    return arguments["text"].upper()


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def address(request: pytest.FixtureRequest) -> str | None:
    """The address of the cluster, None for this machine."""
    if request.param == "local":
        return None
    cluster: RayCluster = request.getfixturevalue("cluster")
    return cluster.address


@pytest.fixture(scope="module")
async def engine(address: str | None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder = tmp_path_factory.mktemp("both")
    secrets = {"TOKEN": "of-the-test", "OTHER": "not-declared"}
    async with open_on(address, folder, program("heavy"), secrets=secrets, ray_actors=1) as opened:
        opened.registry.register(define("words.upper"), upper)
        yield opened


async def call(engine: Engine, tool: str, caller: Caller = NOBODY, **arguments: Any) -> Any:
    with fail_after(PATIENCE):
        return await engine.executor.call(f"heavy.{tool}", arguments, caller=caller)


@pytest.mark.parametrize("value", [None, 1.5, "ü\n", [1, {"a": b"\x00\xff"}], {"$": "dollar"}], ids=repr)
async def test_a_value_comes_back_as_it_was(engine: Engine, value: object) -> None:
    assert await call(engine, "echo", value=value) == value


async def test_a_worker_serves_call_after_call(engine: Engine) -> None:
    first = await call(engine, "pid")

    assert await call(engine, "pid") == first


async def test_a_message_may_be_larger_than_what_is_passed_on_at_once(engine: Engine) -> None:
    text = "0123456789" * 100_000

    assert await call(engine, "echo", value=text) == text


async def test_the_errors_of_a_tool_arrive_as_what_they_are(engine: Engine) -> None:
    with pytest.raises(ToolError, match="no such city"):
        await call(engine, "refuse")
    with pytest.raises(ToolFailedError) as caught:
        await call(engine, "fail")

    assert caught.value.place.startswith("heavy.py, line ")


async def test_progress_reaches_the_caller(engine: Engine) -> None:
    told: list[tuple[float, float | None, str]] = []

    async def hear(done: float, total: float | None, message: str) -> None:
        told.append((done, total, message))

    await call(engine, "count", Caller(progress=hear), upto=3)

    assert told[-1] == (3, 3, "step 3")


async def test_a_tool_calls_another_one_through_the_executor(engine: Engine) -> None:
    assert await call(engine, "shout", text="quiet") == "QUIET"


async def test_what_a_tool_logs_is_in_the_log(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ot"):
        await call(engine, "note", text="seen from afar")
        await wait_until(lambda: "seen from afar" in caplog.text)


async def test_a_worker_knows_the_secrets_that_it_declares_and_none_in_its_environment(engine: Engine) -> None:
    token, other, *environment = await call(engine, "known")

    assert token[::-1] == "of-the-test"  # backwards, since it would be redacted
    assert "secrets" in other
    assert not {name for name in environment if name.startswith(("RAY_", "UV_", "TOKEN", "OTHER"))}


async def test_a_cancelled_call_ends_and_its_worker_stays(engine: Engine, tmp_path: Path) -> None:
    before = await call(engine, "pid")

    await cancel_once_begun(engine, "wait", tmp_path / "began")

    assert await call(engine, "pid") == before


async def test_a_call_that_does_not_react_ends_with_its_worker(engine: Engine, tmp_path: Path) -> None:
    await cancel_once_begun(engine, "hang", tmp_path / "began")

    await to_thread.run_sync(wait_until_gone, {int((tmp_path / "began").read_text())})
    assert await call(engine, "echo", value="served by another") == "served by another"


async def test_a_crash_is_told_with_its_signal(engine: Engine) -> None:
    with pytest.raises(WorkerCrashedError) as caught:
        await call(engine, "die")

    assert "SIGSEGV" in word_error(caught.value)
    assert caught.value.begun


async def test_bounds_hold_where_the_worker_runs(engine: Engine, tmp_path: Path) -> None:
    opened, closed, tools = (tmp_path / name for name in ("opened", "closed", "tools"))
    for folder in (opened, closed, tools):
        folder.mkdir()
        (folder / "words").write_text("content")
    source = "def read(file):\n    return open(file).read()\n"
    engine.add(write_heavy(tools, source, name="held", cpus=0.5, confine=f'{{ read = ["{opened}"] }}'))

    with fail_after(PATIENCE):
        assert await engine.executor.call("held.read", {"file": str(opened / "words")}) == "content"
        with pytest.raises(ToolFailedError, match="Permission denied"):
            await engine.executor.call("held.read", {"file": str(closed / "words")})


async def cancel_once_begun(engine: Engine, tool: str, file: Path) -> None:
    """Cancel a call that writes a file when it begins; it has ended when this returns."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: call(engine, tool, file=str(file)))
        await wait_until(lambda: file.exists() and file.stat().st_size > 0)
        tasks.cancel_scope.cancel()
