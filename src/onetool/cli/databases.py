"""Databases in the configuration: mistakes in their addresses, and roles with more rights than they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from mcp_core.json_types import mapping_of
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.registry.definitions import Libraries
from ot.registry.registry import ToolRegistry
from ot.workers.pack_environments import LibraryState, find_environment, is_installed, state_of
from ot_packs.db.addresses import ServerAddress, read_connection
from ot_packs.db.database import PACK, excess_rights


def find_connection_mistakes(loaded: LoadedConfig) -> Iterator[str]:
    for name, entry in _connections(loaded).items():
        try:
            read_connection(name, entry)
        except ToolError as error:
            yield error.message


def advise_on_roles(loaded: LoadedConfig, registry: ToolRegistry) -> list[str]:
    """Return the rights of each connection's role that reading does not need; connects to each server.

    The libraries for this may be in an environment of their own; they are not installed for it.
    """
    servers: dict[str, ServerAddress] = {}
    for name, entry in _connections(loaded).items():
        with suppress(ToolError):
            address = read_connection(name, entry)
            servers |= {f"packs.db.connections.{name}": address} if isinstance(address, ServerAddress) else {}
    if not servers:
        return []
    libraries = registry.pack(PACK).libraries
    assert libraries is not None
    state = state_folder(loaded.home)
    if state_of(state, libraries) is LibraryState.MISSING:
        return [f"{key}: run `onetool fetch {PACK}` to have its role checked" for key in servers]
    advice = dict.fromkeys(servers, "")

    async def find_python(wanted: Libraries) -> Path | None:
        return None if is_installed(wanted) else find_environment(state, wanted).python

    async def look(key: str, host: IsolateHost) -> None:
        try:
            held = await excess_rights(host, servers[key], libraries)
        except CallError as error:
            advice[key] = f"{key} cannot be checked: {word_error(error)}"
        else:
            text = f"{key}: its role {', '.join(held)}; use a role that can only read what you need"
            advice[key] = text if held else ""

    async def look_at_all() -> None:
        async with IsolateHost(find_python=find_python) as host, anyio.create_task_group() as looking:
            for key in servers:
                looking.start_soon(look, key, host)

    anyio.run(look_at_all)
    return list(filter(None, advice.values()))


def _connections(loaded: LoadedConfig) -> Mapping[str, object]:
    settings = loaded.config.packs.get("db")
    return mapping_of(settings and settings.enabled is not False and settings.options.get("connections"))
