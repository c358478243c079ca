"""Every definition there is, for commands that call nothing."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Never

from onetool.cli.printing import complain
from ot.config.loader import LoadedConfig
from ot.parts import known_tools
from ot.proxy import Servers, open_servers
from ot.registry.definitions import PROXY
from ot.registry.names import absent_name
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.skills.skill_loader import SkillLoader
from ot.workers.extension import Extension


def read_registry(loaded: LoadedConfig) -> ToolRegistry:
    """Read every definition; no process is started."""
    return read_definitions(loaded)[0]


def read_definitions(loaded: LoadedConfig) -> tuple[ToolRegistry, dict[str, Extension]]:
    """Read every definition, and the extensions, by their packs; no process is started."""
    registry, places, extensions = _read_own(loaded)
    known_tools.show_servers(registry, places, loaded)
    return registry, extensions


@asynccontextmanager
async def open_definitions(loaded: LoadedConfig) -> AsyncIterator[tuple[ToolRegistry, Servers]]:
    """Read every definition, with servers that are connected on demand."""
    registry, places, _ = _read_own(loaded)
    known, host = loaded.config.servers, known_tools.proxy_host(loaded, os.environ)
    async with open_servers(known, registry=registry, places=places, host=host, ahead=False) as servers:
        yield registry, servers


def _read_own(loaded: LoadedConfig) -> tuple[ToolRegistry, PackPlaces, dict[str, Extension]]:
    """Read the definitions that need no server."""
    extensions: dict[str, Extension] = {}

    def function_of(extension: Extension, tool: str) -> ToolFunction:
        extensions[extension.pack] = extension

        async def call(_: dict[str, Any]) -> Never:
            raise NotImplementedError(f"{extension.pack}.{tool}: this command starts no workers")

        return call

    registry = known_tools.load_built_in(loaded)
    registry.trust_reads(known_tools.reads_of(loaded.config))
    places = PackPlaces(registry, loaded.config.packs)
    known_tools.load_extensions(registry, places, loaded, function_of)
    known_tools.load_skills(registry, places, loaded)
    return registry, places, extensions


def name_in_code(name: str, loaded: LoadedConfig, registry: ToolRegistry) -> str:
    """Return the name of a server, or of a tool of it, as code writes it: `time_` for `time`."""
    server, dot, tool = name.partition(".")
    if server not in loaded.config.servers:
        return name
    packs = {pack.source: pack.name for pack in registry.packs()}
    return f"{packs.get(f'{PROXY}{server}', absent_name(server))}{dot}{tool}"


def find_unseen_servers(loaded: LoadedConfig) -> list[str]:
    """Return the servers whose tools are not known, because they were never connected."""
    registry = ToolRegistry()
    servers = known_tools.show_servers(registry, PackPlaces(registry), loaded)
    return [server.name for server in servers.choose() if not server.memory.known]


def mention_unseen_servers(loaded: LoadedConfig) -> None:
    """Say on stderr which servers are missing from a list."""
    if unseen := find_unseen_servers(loaded):
        complain(f"(not listed, because they have not been connected yet: {', '.join(unseen)}; run `onetool check`)")


def read_skills(loaded: LoadedConfig) -> SkillLoader:
    registry = ToolRegistry()
    return known_tools.load_skills(registry, PackPlaces(registry), loaded)
