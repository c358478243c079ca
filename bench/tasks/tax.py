"""What servers cost before anything is asked: the tokens of their definitions, which are in every request."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.tasks.installed import node_file, python_program
from bench.tasks.ways import configure_onetool, connect, connect_onetool, count_definitions
from bench.tasks.world import World
from tests.availability import require_node
from tests.reference_servers.servers import NAMES, ServerCommand, reference_server

_FIRST = ("fetch", "filesystem", "git", "sqlite", "time")

# Servers of vendors and others that many people use: the file that starts each, and variables without which it ends.
_MORE = {
    "airtable": ("airtable-mcp-server/dist/main.js", {"AIRTABLE_API_KEY": "none"}),
    "brave": ("@brave/brave-search-mcp-server/dist/index.js", {"BRAVE_API_KEY": "none"}),
    "context7": ("@upstash/context7-mcp/dist/index.js", {}),
    "devtools": ("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", {}),
    "firecrawl": ("firecrawl-mcp/dist/index.js", {"FIRECRAWL_API_KEY": "none"}),
    "maps": ("@modelcontextprotocol/server-google-maps/dist/index.js", {"GOOGLE_MAPS_API_KEY": "none"}),
    "notion": ("@notionhq/notion-mcp-server/bin/cli.mjs", {"NOTION_TOKEN": "none"}),
    "slack": ("@modelcontextprotocol/server-slack/dist/index.js", {"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "T0"}),
    "tavily": ("tavily-mcp/build/index.js", {"TAVILY_API_KEY": "none"}),
}

STEPS: dict[int, tuple[str, ...]] = {5: _FIRST, 10: NAMES, 20: (*NAMES, *_MORE, "mail")}
"""The names of so many servers; each list begins with those of the one before."""


async def count_all() -> dict[str, int]:
    """The tokens of every one of the twenty servers alone."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        world = _world(Path(place), STEPS[20])
        return {name: await count_definitions(connect(world, name)) for name in STEPS[20]}


async def count_through_run(servers: int) -> int:
    """The tokens of `run` with so many servers behind it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        world = _world(Path(place), STEPS[servers])
        configure_onetool(world)
        return await count_definitions(connect_onetool(world))


def _world(place: Path, names: tuple[str, ...]) -> World:
    folder = place / "folder"
    folder.mkdir()
    return World(place, {name: _server(name, folder) for name in names}, {})


def _server(name: str, folder: Path) -> ServerCommand:
    variables = {"HOME": str(folder), "PATH": ""}
    if name == "mail":
        return ServerCommand(str(python_program("mcp-email-server")), ("stdio",), variables)
    if name in NAMES:
        return reference_server(name, folder)
    file, needed = _MORE[name]
    return ServerCommand(str(require_node()), (str(node_file(file)),), {**variables, **needed})
