"""`onetool demo`: a session between the official MCP client and the server, which runs as a subprocess."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from statistics import median
from typing import NamedTuple, TextIO

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from onetool.cli import FAILED, OK
from ot.config.paths import CONFIG_FILE, SECRETS_FILE

EPILOG = "Starts the server, connects to it with the official MCP client, and shows the requests and answers."
REPEATED = 20


class Step(NamedTuple):
    title: str
    command: str
    fails: bool = False  # it is meant to show an error


STEPS = (
    Step("Python in, one answer out", "squares = [n * n for n in range(10)]\nprint(squares)\nsum(squares)"),
    Step(
        "Tools are called in code: a loop costs no round trips to the model",
        'words = "one tool to call them all".split()\n[demo.upper(text=word) for word in words]',
    ),
    Step("All tools can be listed", 'ot.tools(pattern="demo.u")'),
    Step(
        "Mistakes are found before anything runs, all at once, with a fix",
        'name = demo.uper(text="hello")\ndemo.upper(txt=name)',
        fails=True,
    ),
    Step(
        "Code runs in its own confined process",
        'import socket\nsocket.create_connection(("example.com", 80))',
        fails=True,
    ),
)


def main(options: Namespace) -> int:
    return OK if anyio.run(_show_session, options.config and options.config.absolute()) else FAILED


async def _show_session(config: Path | None) -> bool:
    """Show the session on stdout; True if every step went as expected."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as log:
        started = time.perf_counter()
        async with _connect(Path(folder), config, log) as client:
            seconds, server = time.perf_counter() - started, client.server_info
            name = f"{server.name} {server.version}" if server else "a server without a name"
            how = f"MCP {client.protocol_version}: started and connected in {seconds * 1000:.0f} ms"
            console.print(f"[bold]{name}[/] over stdio, {how}")
            listing = (await client.list_tools()).tools
            text = (client.instructions or "") + "".join(
                tool.model_dump_json(by_alias=True, exclude_none=True, exclude_unset=True) for tool in listing
            )
            tokens = f"about {len(text) // 4} tokens (estimated)"
            if find_spec("splintr") is not None:  # comes with the tests, not with the program
                tokenizer = import_module("splintr").Tokenizer.from_pretrained("o200k_base")
                tokens = f"{len(tokenizer.encode(text))} tokens (o200k)"
            names = ", ".join(tool.name for tool in listing)
            console.print(f"What a model sees: the tool [bold]{names}[/], {tokens}\n")
            outcomes = [await _show_step(console, client, step) for step in STEPS]
            times = []
            for _ in range(REPEATED):
                began = time.perf_counter()
                await client.call_tool("run", {"command": "1 + 1"})
                times.append(time.perf_counter() - began)
            figures = f"median {median(times) * 1000:.1f} ms, best {min(times) * 1000:.1f} ms"
            console.print(f"[bold]1 + 1[/], {REPEATED} times, each in a new process: {figures}")
    if which("onetool") is None:
        console.print("\nPut onetool on your PATH: [bold]uv tool install .[/] or [bold]pipx install --force .[/]")
    else:
        console.print("\nNext: [bold]onetool import[/] imports the servers of your MCP clients")
    return all(outcomes)


@asynccontextmanager
async def _connect(folder: Path, config: Path | None, log: TextIO) -> AsyncIterator[Client]:
    """Start the server on its defaults, or on `config`, away from any other configuration."""
    file = folder / CONFIG_FILE  # switches the pack `demo` on, over everything that `config` says
    included = f"include: [{json.dumps(str(config))}]\n" if config else ""
    file.write_text(f"{included}packs: {{demo: {{enabled: true}}}}\n")
    if config is not None and (config.parent / SECRETS_FILE).exists():
        (folder / SECRETS_FILE).symlink_to(config.parent / SECRETS_FILE)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ONETOOL_")}
    environ["HOME"] = str(folder)
    arguments = ["-m", "onetool", "serve", "--config", str(file)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environ, cwd=folder)
    try:
        async with Client(stdio_client(server, errlog=log)) as client:
            yield client
    except Exception:
        log.seek(0)
        sys.stderr.write(log.read())
        raise


async def _show_step(console: Console, client: Client, step: Step) -> bool:
    started = time.perf_counter()
    result = await client.call_tool("run", {"command": step.command})
    elapsed = time.perf_counter() - started
    answer = "".join(block.text for block in result.content if isinstance(block, TextContent))
    console.print(f"[bold]{step.title}[/]")
    console.print(Syntax(step.command, "python", theme="ansi_dark", background_color="default", padding=(0, 2)))
    what, colour = ("error", "red") if result.is_error else ("answer", "green")
    title = f"{what} in {elapsed * 1000:.1f} ms"
    console.print(Panel(Text(answer), title=title, title_align="left", border_style=colour))
    return bool(result.is_error) == step.fails
