"""`onetool workers`: list the processes that serve extensions in this person's running servers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from onetool.cli import OK
from onetool.cli.definitions import read_registry
from onetool.cli.printing import Style, add_json_argument
from onetool.cli.running import Row, show_running, text_of
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.registry.definitions import Cancellation
from ot.stats.wording import duration
from ot.workers.pep723 import asks_for_ray, read_header

EPILOG = (
    "The first call of an extension starts its worker, which ends after it has been idle for a while. If no server is "
    "running, the extensions that would have a worker are listed."
)
_STYLES: dict[str, Style] = {"busy": "green", "idle": "green", "starting": "yellow", "failed": "red", "stopped": "dim"}


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    show_running("workers", loaded, _look(loaded), _word, as_json=options.json)
    return OK


def _look(loaded: LoadedConfig) -> list[Row]:
    tools = read_registry(loaded).definitions()
    files = {tool.pack: tool.file for tool in tools if tool.cancellation is Cancellation.WORKER and tool.file}
    nothing = {"pid": None, "state": "not started", "calls": 0, "idle_seconds": 0.0, "last_error": None}
    engine = loaded.config.workers.engine
    return [
        {"pack": pack, **nothing, "engine": engine if asks_for_ray(read_header(file)[0]) else "local", "node": None}
        for pack, file in sorted(files.items())
    ]


def _word(worker: Row) -> Iterator[tuple[str, Style | None]]:
    state, idle = text_of(worker, "state"), worker["idle_seconds"]
    doing = f"{worker['calls']} calls in progress" if worker["calls"] else ""
    if state == "idle" and isinstance(idle, int | float):
        doing = f"idle for {duration(idle * 1000)}"
    yield text_of(worker, "pack"), "bold"
    yield state, _STYLES.get(state)
    yield f"pid {worker['pid']}" if worker["pid"] else "", None
    yield " on ".join(filter(None, (text_of(worker, "engine"), text_of(worker, "node")))), None
    yield doing, None
    yield text_of(worker, "last_error"), "red"
