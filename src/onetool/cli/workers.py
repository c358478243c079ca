"""`onetool workers`: the processes that serve extensions, in the running servers of this person."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from mcp_core.json_types import JsonObject
from onetool.cli import OK
from onetool.cli.definitions import read_registry
from onetool.cli.printing import Style, add_json_argument
from onetool.cli.running import show_running
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.registry.definitions import Cancellation
from ot.stats.wording import duration
from ot.workers.pep723 import asks_for_ray, read_header

EPILOG = (
    "A worker is started by the first call of its extension and ends when it has been idle for long. Where no server "
    "runs there are none; then the extensions are listed that would have one."
)
_STYLES: dict[str, Style] = {"busy": "green", "idle": "green", "starting": "yellow", "failed": "red", "stopped": "dim"}


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    show_running("workers", loaded, _look(loaded), _word, as_json=options.json)
    return OK


def _look(loaded: LoadedConfig) -> list[JsonObject]:
    tools = read_registry(loaded).definitions()
    files = {tool.pack: tool.file for tool in tools if tool.cancellation is Cancellation.WORKER and tool.file}
    nothing = {"pid": None, "state": "not started", "calls": 0, "idle_seconds": 0.0, "last_error": None}
    engine = loaded.config.workers.engine
    return [
        {"pack": pack, **nothing, "engine": engine if asks_for_ray(read_header(file)[0]) else "local", "node": None}
        for pack, file in sorted(files.items())
    ]


def _word(worker: JsonObject) -> Iterator[tuple[str, Style | None]]:
    doing = f"{worker['calls']} calls in flight" if worker["calls"] else ""
    idle = f"idle for {duration(worker['idle_seconds'] * 1000)}" if worker["state"] == "idle" else doing
    yield worker["pack"], "bold"
    yield worker["state"], _STYLES.get(worker["state"])
    yield f"pid {worker['pid']}" if worker["pid"] else "", None
    yield worker["engine"] if worker["node"] is None else f"{worker['engine']} on {worker['node']}", None
    yield idle, None
    yield worker["last_error"] or "", "red"
