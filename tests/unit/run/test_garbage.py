"""A run leaves no circle behind, which would stay in memory until somebody searches for garbage."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from ot.app import App
from ot.clients.caller import Caller
from tests.engine import open_engine

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    async with open_engine(tmp_path_factory.mktemp("garbage")) as app:
        yield app


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """What a search finds from now on."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize(
    "code",
    ["1 + 1", "demo.foo(); demo.upper(text='a')", "ot.parallel([demo.foo] * 20)", "print('x' * 1_000_000)", "1 / 0"],
)
async def test_nothing_of_a_run_is_in_a_circle(app: App, garbage: list[object], code: str) -> None:
    started = app.supply.started
    for _ in range(5):
        await app.runs.run(code, caller=Caller())
    with anyio.fail_after(60):  # kernels are ended, and replaced, a moment later
        while app.supply.started < started + 4:
            await anyio.sleep(0.01)

    gc.collect()

    kinds = {type(each) for each in garbage}
    assert not {kind for kind in kinds if kind.__module__.startswith(("ot.run.", "ot.kernel.", "ot.tasks.owned_tasks"))}
