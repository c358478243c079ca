"""`onetool servers`, `workers` and `reload`: what this person's running servers report, or do."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from mcp_core.json_types import Json, list_of, mapping_of
from mcp_core.visible_text import visible, visible_line
from onetool.cli import FAILED, OK
from onetool.cli.definitions import read_registry
from onetool.cli.printing import Style, add_json_argument, paint, say, say_json, say_visibly
from onetool.cli.start import load
from onetool.console.clean_text import one_line
from onetool.control.asking import ask_running
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import show_servers
from ot.registry.definitions import Cancellation
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.stats.wording import duration
from ot.workers.pep723 import asks_for_ray, read_header

EPILOG_SERVERS = (
    "A running server reports the state of its own connections. If none is running, the list comes from the "
    "configuration and the last connections, and nothing is started; `onetool check` starts them."
)
EPILOG_WORKERS = (
    "The first call of an extension starts its worker, which ends after it has been idle for a while. If no server is "
    "running, the extensions that would have a worker are listed."
)
_OF_SERVERS: dict[str, Style] = {"connected": "green", "connecting": "yellow", "disconnected": "red", "disabled": "dim"}
_OF_WORKERS: dict[str, Style] = {
    "busy": "green", "idle": "green", "starting": "yellow", "failed": "red", "stopped": "dim",
}  # fmt: skip
_WIDEST = 200  # characters of a cell

Cells = Iterator[tuple[str, Style | None]]
Row = Mapping[str, Json]
Word = Callable[[Row], Cells]


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main_servers(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    registry = ToolRegistry()
    statuses = show_servers(registry, PackPlaces(registry), loaded).status(changing=loaded.config.offer.look)
    here = {"disconnected": "not connected"}
    rows = [{**asdict(status), "state": here.get(status.state, status.state)} for status in statuses]
    return _show("servers", loaded, rows, _word_server, as_json=options.json)


def main_workers(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    tools = read_registry(loaded).definitions()
    files = {tool.pack: tool.file for tool in tools if tool.cancellation is Cancellation.WORKER and tool.file}
    nothing = {"pid": None, "state": "not started", "calls": 0, "idle_seconds": 0.0, "last_error": None}
    engine = loaded.config.workers.engine
    rows = [
        {"pack": pack, **nothing, "engine": engine if asks_for_ray(read_header(file)[0]) else "local", "node": None}
        for pack, file in sorted(files.items())
    ]
    return _show("workers", loaded, rows, _word_worker, as_json=options.json)


def _word_server(server: Row) -> Cells:
    name, state, error = (_text_of(server, key) for key in ("name", "state", "error"))
    parts = ((part, mapping_of(each)) for part, each in mapping_of(server.get("changes")).items())
    changes = ", ".join(part for part, each in parts if each.get("changed") or each.get("added"))
    yield name, "bold"
    yield state, _OF_SERVERS.get(state) if error or state != "disconnected" else "dim"
    yield f"{server['tool_count']} tools" if server["tool_count"] else "", None
    refused = [f"{tool} against the protocol: {reason}" for tool, reason in mapping_of(server.get("refused")).items()]
    changing = [str(tool) for tool in list_of(server.get("changing"))]
    left_out = f"look leaves out {', '.join(changing)}" if changing else ""
    notes = [error, *refused, left_out, f"changed: {changes}; see onetool accept {name}" if changes else ""]
    yield "; ".join(filter(None, notes)), "red" if error else "yellow"


def _word_worker(worker: Row) -> Cells:
    state, idle = _text_of(worker, "state"), worker["idle_seconds"]
    doing = f"{worker['calls']} calls in progress" if worker["calls"] else ""
    if state == "idle" and isinstance(idle, int | float):
        doing = f"idle for {duration(idle * 1000)}"
    yield _text_of(worker, "pack"), "bold"
    yield state, _OF_WORKERS.get(state)
    yield f"pid {worker['pid']}" if worker["pid"] else "", None
    yield " on ".join(filter(None, (_text_of(worker, "engine"), _text_of(worker, "node")))), None
    yield doing, None
    yield _text_of(worker, "last_error"), "red"


def _show(what: str, loaded: LoadedConfig, here: Sequence[Row], word: Word, *, as_json: bool) -> int:
    """Show what each running server answers to `what`; `here` is what this process knows, in case none is running.

    As JSON it is a list of servers: one with `pid` null is this process, which has started nothing.
    """
    replies = ask_running(loaded.home, what)
    if as_json:
        found = [{**(facts := asdict(each)), what: facts.pop("answer")} for each in replies]
        this = {"pid": None, "project": str(loaded.project), "over": "", "since": None, "error": "", what: list(here)}
        say_json(found or [this])
        return OK
    for each in replies:
        say_visibly(f"{each}:")
        listed = each.answer if isinstance(each.answer, list) else []
        _show_table([row for row in listed if isinstance(row, dict)], word, nothing=each.error or f"no {what}")
    if not replies:
        say(f"None of your servers is running; as seen from here, for {visible(str(loaded.project))}:")
        _show_table(here, word, nothing=f"no {what}")
    return OK


def _show_table(items: Sequence[Row], word: Word, *, nothing: str) -> None:
    # Where many people share a server, the first cell names the person.
    cells = ([*([(_text_of(item, "person"), None)] if "person" in item else []), *word(item)] for item in items)
    rows = [[(one_line(text, _WIDEST), style) for text, style in row] for row in cells]
    widths = [max(len(text) for text, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [(f"{text:<{width}}", style) for (text, style), width in zip(row, widths, strict=True)]
        say("  " + "  ".join(paint(text, style) if style else text for text, style in padded).rstrip())
    if not rows:
        say(f"  {nothing}")


def _text_of(row: Row, key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value)


EPILOG_RELOAD = (
    "Reloads all your running servers, whichever client started them. Runs and calls in progress continue. Exit "
    "status: 0, even if no server is running; 1 if one did not reload."
)


def main_reload(options: Namespace) -> int:
    described = []
    for reply in ask_running(Path.home(), "reload"):
        answer = reply.answer if isinstance(reply.answer, dict) else {"reloaded": False, "text": reply.error}
        reloaded, text = bool(answer["reloaded"]), str(answer["text"])
        facts = {key: value for key, value in asdict(reply).items() if key != "answer"}
        described.append({**facts, "reloaded": reloaded, "text": text})
        if not options.json:
            first, *rest = text.splitlines()
            say(f"{visible(str(reply))}: {paint(visible(first), 'green' if reloaded else 'red')}")
            for line in rest:
                say(f"    {visible_line(line)}")
    if options.json:
        say_json(described)
    elif not described:
        say("None of your servers is running; the next one reads the configuration when it starts.")
    return OK if all(each["reloaded"] for each in described) else FAILED
