"""A home whose configuration has many servers: small real programs, which are started when code first needs them."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.invented_tools import invent_tool
from bench.servers import RUN, Servers, run
from mcp_core.json_types import Json

_PROGRAMS = Path(__file__).parents[2] / "tests" / "programs" / "servers"
TOOLS_OF_A_SERVER = 500


@contextmanager
def open_home_with_servers(count: int) -> Iterator[Servers]:
    """Servers with one tool each, named `server0` and so on."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield _configure(Path(folder), {f"server{number}": [_PROGRAMS / "plain_server.py"] for number in range(count)})


@contextmanager
def open_home_with_tools(count: int) -> Iterator[Servers]:
    """As many servers as it takes for this number of tools, all of them listed once, so that they are known."""
    chance = random.Random(count)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        commands: dict[str, list[Path]] = {}
        for start in range(0, count, TOOLS_OF_A_SERVER):
            tools = [_invent_listed(chance, number) for number in range(start, min(start + TOOLS_OF_A_SERVER, count))]
            file = Path(folder, f"tools{start}.json")
            file.write_text(json.dumps(tools))
            commands[f"server{start // TOOLS_OF_A_SERVER}"] = [_PROGRAMS / "lists_file.py", file]
        servers = _configure(Path(folder), commands)
        connect_all(servers, len(commands))
        yield servers


def connect_all(servers: Servers, count: int) -> None:
    """Have each server connected once; its definitions are remembered from then on."""
    with servers.start_ours() as ours:
        ours.initialize()
        names = ", ".join(f"server{number}" for number in range(count))
        ours.call(*run(f"[dir(pack) for pack in [{names}]]"))


def time_start(servers: Servers) -> float:
    """Milliseconds from starting the process to the first answered run."""
    begin = time.perf_counter()
    with servers.start_ours() as ours:
        ours.initialize()
        ours.call(*RUN)
        return (time.perf_counter() - begin) * 1e3


def _configure(home: Path, commands: dict[str, list[Path]]) -> Servers:
    entries = {name: {"command": sys.executable, "args": list(map(str, words))} for name, words in commands.items()}
    file = home / ".onetool" / "onetool.yaml"
    file.parent.mkdir()
    file.write_text(json.dumps({"servers": entries}))  # which is YAML as well
    return Servers(home, {})


def _invent_listed(chance: random.Random, number: int) -> dict[str, Json]:
    tool = invent_tool(chance, number)
    schema = {"type": "object", "properties": tool["inputSchema"]["properties"]}
    return {"name": f"{tool['name']}_{number}", "description": tool["description"], "inputSchema": schema}
