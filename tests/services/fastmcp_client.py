"""Calls `run` of a server with FastMCP's client, which takes tasks, and prints what came of it as one line of JSON."""

from __future__ import annotations

import asyncio
import json
import sys

import fastmcp_tasks  # noqa: F401 - a client takes tasks once this was imported
from fastmcp import Client

ADDRESS, COMMAND = sys.argv[1:]


async def main() -> None:
    asked = []

    async def elicit(message, response_type, params, context):
        asked.append(message)
        return {"answer": "once"}

    async with Client(ADDRESS, elicitation_handler=elicit) as client:
        result = await client.call_tool("run", {"command": COMMAND}, raise_on_error=False)
    print(json.dumps({"text": result.content[0].text, "is_error": result.is_error, "asked": asked}))


asyncio.run(main())
