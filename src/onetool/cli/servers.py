"""`onetool servers`: list the MCP servers of this person's running servers, or as they were last seen."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict

from mcp_core.json_types import Json
from onetool.cli import OK
from onetool.cli.printing import Style, add_json_argument
from onetool.cli.running import Row, show_running, text_of
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import show_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry

EPILOG = (
    "A running server reports the state of its own connections. If none is running, the list comes from the "
    "configuration and the last connections, and nothing is started; `onetool check` starts them."
)
_STYLES: dict[str, Style] = {"connected": "green", "connecting": "yellow", "disconnected": "red", "disabled": "dim"}


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    show_running("servers", loaded, _look(loaded), _word, as_json=options.json)
    return OK


def _look(loaded: LoadedConfig) -> list[Row]:
    registry = ToolRegistry()
    statuses = show_servers(registry, PackPlaces(registry), loaded).status()
    here = {"disconnected": "not connected"}
    return [{**asdict(status), "state": here.get(status.state, status.state)} for status in statuses]


def _word(server: Row) -> Iterator[tuple[str, Style | None]]:
    name, state, error = (text_of(server, key) for key in ("name", "state", "error"))
    changes = ", ".join(_changed_parts(server.get("changes")))
    yield name, "bold"
    yield state, _STYLES.get(state)
    yield f"{server['tool_count']} tools" if server["tool_count"] else "", None
    notes = [error, f"changed: {changes}; see onetool accept {name}" if changes else ""]
    yield "; ".join(filter(None, notes)), "red" if error else "yellow"


def _changed_parts(changes: Json) -> list[str]:
    parts = changes.items() if isinstance(changes, dict) else ()
    return [part for part, each in parts if isinstance(each, dict) and (each.get("changed") or each.get("added"))]
