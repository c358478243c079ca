"""Workers on a real cluster: where they are placed, how many there are, and what becomes of calls when nodes go."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after, to_thread

from ot.clients.caller import NOBODY, Caller
from ot.errors import CallError, WorkerLostError, WorkerStartError
from ot.execution.wording import builtin_kind, word_error
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.opened_executor import wait_until
from tests.ray.cluster import RayCluster, run_cluster
from tests.ray.engines import open_on, write_heavy
from tests.worker_pool import Engine, program

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.xdist_group("ray")]

TOGETHER = """
import os, time

def meet(folder, others):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    while len(os.listdir(folder)) < others:
        time.sleep(0.02)
    return os.getpid()
"""
ATTEMPTS = """
import time, ot_sdk

def change(file):
    with open(file, "a") as begun:
        begun.write("begun\\n")
    with open(file) as begun:
        count = len(begun.readlines())
    if count == 1:
        time.sleep(600)
    return count

@ot_sdk.reads
def read(file):
    return change(file)
"""
WHERE = """
def where():
    return "here"
"""


@pytest.fixture(scope="module")
async def engine(cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    async with open_on(cluster.address, tmp_path_factory.mktemp("cluster"), program("heavy"), ray_actors=2) as opened:
        yield opened


@pytest.fixture
def doomed_cluster() -> Iterator[RayCluster]:
    with run_cluster() as opened:
        opened.add("only")
        yield opened


async def call(engine: Engine, tool: str, caller: Caller = NOBODY, **arguments: Any) -> Any:
    with fail_after(90):
        return await engine.executor.call(tool, arguments, caller=caller)


def nodes_of(engine: Engine, pack: str) -> set[str | None]:
    """The nodes on which the workers of a pack run."""
    return {status.node for status in engine.pool.status() if status.pack == pack and status.pid}


async def outcome(engine: Engine, tool: str, outcomes: list[Any], **arguments: Any) -> None:
    """Make a call, and keep how it ended."""
    try:
        outcomes.append(await call(engine, tool, **arguments))
    except CallError as error:
        outcomes.append(error)


async def test_a_worker_is_placed_where_its_resources_are(engine: Engine, tmp_path: Path) -> None:
    for place in ("near", "far"):
        engine.add(write_heavy(tmp_path, WHERE, name=f"of_{place}", cpus=0, resources=f"{{ {place} = 0.1 }}"))
        await call(engine, f"of_{place}.where")

    near, far = nodes_of(engine, "of_near"), nodes_of(engine, "of_far")

    assert len(near) == len(far) == 1
    assert near != far


async def test_workers_become_as_many_as_calls_keep_busy_up_to_the_bound(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "met").mkdir()
    engine.add(write_heavy(tmp_path, TOGETHER, name="meeting", cpus=0.25))
    outcomes: list[Any] = []

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(lambda: outcome(engine, "meeting.meet", outcomes, folder=str(tmp_path / "met"), others=2))

    assert len(set(outcomes)) == 2


async def test_a_place_that_no_node_has_is_named_to_those_who_wait(engine: Engine, tmp_path: Path) -> None:
    engine.add(write_heavy(tmp_path, WHERE, name="rich", cpus=0, gpus=1))
    heard = anyio.Event()

    async def hear(_done: float, _total: float | None, message: str) -> None:
        if "a node with 1 GPU; the cluster has none" in message:
            heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: call(engine, "rich.where", Caller(progress=hear)))
        with fail_after(60):
            await heard.wait()
        tasks.cancel_scope.cancel()


async def test_what_ray_does_not_accept_is_a_start_that_fails(engine: Engine, tmp_path: Path) -> None:
    engine.add(write_heavy(tmp_path, WHERE, name="fine_grained", cpus=0.00001))

    with pytest.raises(WorkerStartError, match="precision"):
        await call(engine, "fine_grained.where")


async def test_the_end_of_the_driver_is_told_and_another_one_is_started(engine: Engine, tmp_path: Path) -> None:
    began = tmp_path / "began"
    outcomes: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: outcome(engine, "heavy.hang", outcomes, file=str(began)))
        await wait_until_begun(began)
        kill_driver()

    assert isinstance(outcomes[0], WorkerLostError)
    assert "the connection to the Ray cluster was lost. Its side effects are unknown." in word_error(outcomes[0])
    await to_thread.run_sync(wait_until_gone, {int(began.read_text())})
    assert await call(engine, "heavy.echo", value="served again") == "served again"


async def test_an_idle_worker_and_an_idle_driver_end(cluster: RayCluster, tmp_path: Path) -> None:
    async with open_on(cluster.address, tmp_path, program("heavy"), idle_timeout=0.2) as engine:
        pid = await call(engine, "heavy.pid")

        await to_thread.run_sync(wait_until_gone, {pid})
        await wait_until(lambda: not engine.pool.engine_status()["connected"])

        assert [status.state for status in engine.pool.status()] == ["stopped"]
        assert await call(engine, "heavy.pid") != pid


async def test_a_call_on_a_lost_node_is_made_again_only_if_it_reads(
    engine: Engine, cluster: RayCluster, tmp_path: Path
) -> None:
    engine.add(write_heavy(tmp_path, ATTEMPTS, name="lost", cpus=0.25, resources="{ spare = 0.1 }"))
    read, changed = tmp_path / "read", tmp_path / "changed"
    outcomes: dict[str, list[Any]] = {"read": [], "change": []}
    await to_thread.run_sync(lambda: cluster.add("doomed", spare=1))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: outcome(engine, "lost.read", outcomes["read"], file=str(read)))
        tasks.start_soon(lambda: outcome(engine, "lost.change", outcomes["change"], file=str(changed)))
        await wait_until_begun(read)
        await wait_until_begun(changed)
        lost = nodes_of(engine, "lost")
        await to_thread.run_sync(lambda: cluster.add("spare", spare=1))
        await to_thread.run_sync(cluster.kill, "doomed")

    assert outcomes["read"] == [2]
    error = outcomes["change"][0]
    assert isinstance(error, WorkerLostError)
    assert builtin_kind(error) == "ChildProcessError"
    assert str(next(iter(lost))) in error.reason
    assert changed.read_text() == "begun\n"
    assert await call(engine, "lost.change", file=str(changed)) == 2
    assert nodes_of(engine, "lost").isdisjoint(lost)


async def test_the_end_of_the_head_is_told_and_calls_are_refused(doomed_cluster: RayCluster, tmp_path: Path) -> None:
    began = tmp_path / "began"
    outcomes: list[Any] = []
    async with open_on(doomed_cluster.address, tmp_path, program("heavy")) as engine:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: outcome(engine, "heavy.wait", outcomes, file=str(began)))
            await wait_until_begun(began)
            await to_thread.run_sync(doomed_cluster.kill_head)

        assert isinstance(outcomes[0], WorkerLostError)
        await to_thread.run_sync(wait_until_gone, {int(began.read_text())})
        with pytest.raises(WorkerStartError, match="no Ray cluster was reached at") as caught:
            await call(engine, "heavy.pid")

    assert "set workers.engine: local" in word_error(caught.value)


async def wait_until_begun(file: Path) -> None:
    """Wait until a call has written to a file."""
    with fail_after(60):
        while not (file.exists() and file.stat().st_size):
            await anyio.sleep(0.02)


def kill_driver() -> None:
    """Kill the process that speaks to the cluster, below its guardian."""
    for pid in find_descendants(os.getpid()):
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
        if b"-I" in words and words[2].endswith(b"/ot_ray/driver.py"):
            os.kill(pid, signal.SIGKILL)
