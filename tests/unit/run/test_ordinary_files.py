"""Ordinary code around files and threads: what a run has is used as anywhere, what it has not is told with a way out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ot.app import App
from tests.engine import answer_of, open_engine

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    """An engine with a project named shop."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "README.md").write_text("hello")
    async with open_engine(folder / "home", config=f"projects: {{shop: {{path: '{folder}'}}}}") as opened:
        yield opened


async def test_a_pool_of_threads_works_as_anywhere(app: App) -> None:
    code = "from multiprocessing.pool import ThreadPool\nwith ThreadPool(4) as pool:\n    found = pool.map(lambda n: n * n, range(5))\nfound"

    assert await answer_of(app, code) == "[0, 1, 4, 9, 16]"
    assert await answer_of(app, "import multiprocessing\nwith multiprocessing.Lock():\n    x = 1\nx") == "1"


async def test_a_file_of_a_project_is_refused_with_the_tool_that_reads_it_and_the_key(app: App) -> None:
    for code in ("open(proj.shop / 'README.md')", "import pathlib\npathlib.Path(proj.shop, 'README.md').read_text()"):
        told = await app.runner.run(code)

        assert "PermissionError" in told.text
        assert "file.read(path=...)" in told.text
        assert "execution.readable" in told.text
    told = await app.runner.run("(proj.shop / 'README.md').read_text()")
    assert (
        "project 'shop' has no attribute 'read_text'; it touches no disk, so hand it to a tool: file.read" in told.text
    )
