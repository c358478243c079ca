"""The databases that a configuration names: mistakes in their addresses, and roles that may do more than they need."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterator, Mapping

from ot.config.loader import LoadedConfig
from ot.errors import CallError, ToolError
from ot.execution.wording import word_error
from ot_packs.db.addresses import ServerAddress, read_connection
from ot_packs.db.database import excess_rights

_DRIVERS = {"postgres": "asyncpg", "mysql": "pymysql"}


def find_connection_mistakes(loaded: LoadedConfig) -> Iterator[str]:
    """Yield what is wrong with the addresses themselves."""
    for name, entry in _connections(loaded).items():
        try:
            read_connection(name, entry)
        except ToolError as error:
            yield error.message


def advise_on_roles(loaded: LoadedConfig) -> Iterator[str]:
    """Yield what the roles of connections may do that reading has no need of; connects to each server."""
    for name, entry in _connections(loaded).items():
        try:
            address = read_connection(name, entry)
        except ToolError:
            continue
        if isinstance(address, ServerAddress):
            yield from _advise_on(f"packs.db.connections.{name}", address)


def _advise_on(key: str, address: ServerAddress) -> Iterator[str]:
    if importlib.util.find_spec(_DRIVERS[address.engine]) is None:
        yield f"{key}: its role is not looked at without the extra `db`"
        return
    try:
        held = asyncio.run(excess_rights(address))
    except CallError as error:
        yield f"{key} cannot be looked at: {word_error(error)}"
        return
    if held:
        yield f"{key}: its role {', '.join(held)}; use a role that may only read what you want read"


def _connections(loaded: LoadedConfig) -> Mapping[str, object]:
    settings = loaded.config.packs.get("db")
    found = settings.options.get("connections") if settings is not None and settings.enabled is not False else None
    return found if isinstance(found, Mapping) else {}
