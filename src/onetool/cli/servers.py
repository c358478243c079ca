"""`onetool servers`: the MCP servers behind the running servers of this person, or as they were last seen."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict

from mcp_core.json_types import JsonObject
from onetool.cli import OK
from onetool.cli.printing import Style, add_json_argument
from onetool.cli.running import show_running
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import show_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry

EPILOG = (
    "A running server tells the state of its own connections. Where none runs, the list comes from the configuration "
    "and from the last connections, and nothing is started; `onetool check` tries them."
)
_STYLES: dict[str, Style] = {"connected": "green", "connecting": "yellow", "disconnected": "red", "disabled": "dim"}


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    show_running("servers", loaded, _look(loaded), _word, as_json=options.json)
    return OK


def _look(loaded: LoadedConfig) -> list[JsonObject]:
    registry = ToolRegistry()
    statuses = show_servers(registry, PackPlaces(registry), loaded).status()
    return [{**asdict(status), "state": _state_here(status.state)} for status in statuses]


def _state_here(state: str) -> str:
    return "not connected" if state == "disconnected" else state


def _word(server: JsonObject) -> Iterator[tuple[str, Style | None]]:
    tools = f"{server['tool_count']} tools" if server["tool_count"] else ""
    changes = ", ".join(part for part, each in server["changes"].items() if each["changed"] or each["added"])
    notes = [server["error"], f"changed: {changes}; see onetool accept {server['name']}" if changes else ""]
    yield server["name"], "bold"
    yield server["state"], _STYLES.get(server["state"])
    yield tools, None
    yield "; ".join(filter(None, notes)), "red" if server["error"] else "yellow"
