"""The description of `run`: the packs that there are, its time limit, and word of it when packs come or go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_types import ToolListChangedNotification

from tests.engine import write_extension
from tests.real_server import connect_server

pytestmark = pytest.mark.anyio

OpenClient = Callable[[Path], AbstractAsyncContextManager[tuple[Client, anyio.Event]]]

EXTENSION = '''
    """Cats."""

    def purr() -> str:
        """Purr."""
        return "rrr"
'''


async def describe(client: Client) -> str:
    [tool] = (await client.list_tools()).tools
    return tool.description or ""


@asynccontextmanager
async def told_in_a_session(folder: Path) -> AsyncIterator[tuple[Client, anyio.Event]]:
    told = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.set()

    async with replace(connect_server(folder, mode="legacy"), message_handler=hear) as client:
        yield client, told


@asynccontextmanager
async def told_on_a_stream(folder: Path) -> AsyncIterator[tuple[Client, anyio.Event]]:
    told = anyio.Event()

    async def follow() -> None:
        async for _ in stream:
            told.set()

    async with (
        connect_server(folder, mode="auto") as client,
        client.listen(tools_list_changed=True) as stream,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(follow)
        yield client, told
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("told_by", [told_in_a_session, told_on_a_stream])
async def test_a_client_of_either_era_is_told_when_there_is_another_pack(told_by: OpenClient, tmp_path: Path) -> None:
    async with told_by(tmp_path) as (client, told):
        before = await describe(client)
        write_extension(tmp_path, "cats", EXTENSION)
        await client.call_tool("run", {"command": "ot.reload()"})
        with anyio.fail_after(60):
            await told.wait()
        after = await describe(client)
        claimed = client.server_capabilities.tools

    assert claimed is not None
    assert claimed.list_changed is True
    assert ", demo, " in before
    assert " cats," not in before
    assert " cats," in after
    assert "A run may take 120 s; after 50 s you get its id, and its answer from `ot.wait`." in before
