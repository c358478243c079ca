"""Ten servers that others wrote behind OneTool: what they cost at the start, at each call, and in a model's context."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client, StdioServerParameters

from bench.bench_calls import marginal_call
from bench.listing_server import RESOURCES
from bench.report import Line
from bench.servers import RUN, Servers, run, warm_up
from bench.stdio_client import StdioClient
from ot.registry.names import identifier, is_of_python
from tests.reference_servers.servers import NAMES, ServerCommand, reference_server
from tests.tokens import count_tokens

REPEATS = 9
DIRECT_CALLS = 300
LISTINGS = 50


def measure(_: Servers) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "work").mkdir()
        try:
            commands = {name: reference_server(name, folder / "work") for name in NAMES}
        except pytest.skip.Exception as reason:
            print(f"servers: left out. {reason.msg}")
            return
        with_servers = _configure(folder / "with", {"servers": {n: c.settings() for n, c in commands.items()}})
        without = _configure(folder / "without", {})
        _fill_cache(with_servers)
        yield from _measure_start(with_servers, without)
        yield _measure_call(with_servers, commands["everything"], folder)
        yield _measure_tokens(with_servers, commands, folder)
    yield _measure_listing()


def _configure(home: Path, config: dict[str, Any]) -> Servers:
    file = home / ".onetool" / "onetool.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(config))
    return Servers(home, {})


def _fill_cache(servers: Servers) -> None:
    """Connect each once; a run that names a server waits for it."""
    packs = [identifier(name, fallback="server") for name in NAMES]
    names = [f"{pack}_" if is_of_python(pack) else pack for pack in packs]
    with servers.start_ours() as ours:
        ours.initialize()
        ours.call(*run(f"[dir(pack) for pack in [{', '.join(names)}]]"))


def _measure_start(with_servers: Servers, without: Servers) -> Iterator[Line]:
    """Both in turns; the first start of each only reads files into memory."""
    pairs = [(_start(with_servers), _start(without)) for _ in range(REPEATS + 1)][1:]
    for index, what in ((0, "start to initialize, 10 servers / none"), (1, "start to first run, 10 servers / none")):
        ours, bare = (median(pair[side][index] for pair in pairs) * 1e3 for side in (0, 1))
        yield Line(what, ours, bare, "ms", 1.2)


def _measure_listing() -> Line:
    """A list of many resources of one server, by ours from memory and by the server itself."""
    with tempfile.TemporaryDirectory() as place:
        listing = str(Path(__file__).with_name("listing_server.py"))
        settings = {"command": sys.executable, "args": [listing]}
        servers = _configure(Path(place), {"servers": {"listing": settings}})
        with servers.start_ours() as ours, servers.start(listing) as theirs:
            for server in (ours, theirs):
                server.initialize()
            ours.call(*run("listing.echo(text='a')"))
            while len(ours.request("resources/list", {})["resources"]) < RESOURCES:
                time.sleep(0.05)
            pairs = [(_time_listing(ours), _time_listing(theirs)) for _ in range(LISTINGS)]
    taken, bare = (median(pair[side] for pair in pairs[LISTINGS // 10 :]) * 1e3 for side in (0, 1))
    return Line(f"list of {RESOURCES:,} resources / by the SDK's own server", taken, bare, "ms", 2)


def _time_listing(server: StdioClient) -> float:
    begin = time.perf_counter()
    server.request("resources/list", {})
    return time.perf_counter() - begin


def _start(servers: Servers) -> tuple[float, float]:
    begin = time.perf_counter()
    with servers.start_ours() as ours:
        ours.initialize()
        initialized = time.perf_counter() - begin
        ours.call(*RUN)
        return initialized, time.perf_counter() - begin


def _measure_call(servers: Servers, everything: ServerCommand, folder: Path) -> Line:
    """A call of a server from a run, against the same call by the official client, connected to that server alone."""
    with servers.start_ours() as ours:
        warm_up(ours, run("everything.echo(message='2')"))
        proxied = marginal_call(ours, "everything.echo(message='2')")
    direct = anyio.run(_call_directly, StdioServerParameters(**everything.settings(), cwd=folder))
    return Line("marginal call of a server / by a direct client", proxied, direct * 1e6, "µs", 2)


async def _call_directly(server: StdioServerParameters) -> float:
    """Seconds of one call, as fast as it gets."""
    taken = []
    async with Client(server, mode="legacy") as client:
        for _ in range(DIRECT_CALLS):
            begin = time.perf_counter()
            await client.call_tool("echo", {"message": "2"})
            taken.append(time.perf_counter() - begin)
    return median(taken[DIRECT_CALLS // 10 :])


def _measure_tokens(servers: Servers, commands: dict[str, ServerCommand], folder: Path) -> Line:
    """What a model reads of `tools/list`: name, description and schema of every tool."""
    environment = {"HOME": str(servers.folder), "PATH": ""}
    ours = StdioServerParameters(
        command=sys.executable, args=["-m", "onetool", "serve"], env=environment, cwd=servers.folder
    )
    others = [StdioServerParameters(**command.settings(), cwd=folder) for command in commands.values()]
    through = anyio.run(_count_tokens, ours)
    direct = sum(anyio.run(_count_tokens, other) for other in others)
    return Line("tokens of tools/list, through OneTool / direct", through, direct, "tok", 0.1)


async def _count_tokens(server: StdioServerParameters) -> int:
    async with Client(server, mode="legacy") as client:
        listed = await client.list_tools()
    seen = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in listed.tools
    ]
    return count_tokens(json.dumps(seen, ensure_ascii=False))
