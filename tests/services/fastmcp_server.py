"""A server of FastMCP whose tools are tasks."""

from __future__ import annotations

import asyncio

from fastmcp import FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

server = FastMCP("Laboratory")
server.add_extension(TasksExtension())


@server.tool(task=TaskConfig(mode="required"))
async def analyze(sample: str) -> str:
    await asyncio.sleep(0.2)
    return f"{sample} is pure"


@server.tool(task=True)
async def spill() -> str:
    raise ValueError("the glass was empty")


@server.tool(task=True)
async def brew() -> str:
    await asyncio.sleep(3600)
    return "never"


server.run(show_banner=False)
