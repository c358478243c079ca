"""Proxied servers for tests: real processes behind a real executor, without a kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ot.audit.log import AuditLog
from ot.clients.caller import NOBODY, Caller
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor
from ot.parts.known_tools import load_connection_builder
from ot.proxy.host import ProxyHost
from ot.proxy.servers import Servers, open_servers
from ot.proxy.status import ServerStatus
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.shapes.shapes import Shapes
from ot.store.credentials import FileCredentials
from ot.store.shelf import Shelf

PROGRAMS = Path(__file__).parent / "programs" / "servers"


def program(name: str, *arguments: str | Path, **settings: Any) -> dict[str, Any]:
    """The settings of a server that is one of the programs."""
    return {"command": sys.executable, "args": [str(PROGRAMS / f"{name}.py"), *map(str, arguments)], **settings}


@dataclass(frozen=True, slots=True)
class Proxied:
    """What a test may look at."""

    servers: Servers
    registry: ToolRegistry
    executor: ToolExecutor

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool, as a run does: once its server has been heard of."""
        return await self.call_as(NOBODY, name, **arguments)

    async def call_as(self, caller: Caller, name: str, /, **arguments: Any) -> Any:
        await self.servers.catch_up(name)
        return await self.executor.call(name, arguments, caller=caller)

    def status(self, name: str) -> ServerStatus:
        return next(status for status in self.servers.status() if status.name == name)


@asynccontextmanager
async def open_proxied(
    folder: Path,
    servers: Mapping[str, Mapping[str, Any]],
    *,
    registry: ToolRegistry | None = None,
    environ: Mapping[str, str] = os.environ,
    audit: AuditLog | None = None,
    shapes: Shapes | None = None,
    shelf: Shelf | None = None,
    **config: Any,
) -> AsyncIterator[Proxied]:
    """An executor over servers whose project is one folder."""
    settings = Config.model_validate({"servers": servers, **config})
    registry = registry or ToolRegistry()
    host = ProxyHost(
        project=folder,
        shelf=shelf or Shelf(folder / "state"),
        credentials=FileCredentials(folder / "state" / "servers" / "tokens"),
        environ=environ,
        load_builder=load_connection_builder,
        pin_tools=settings.security.pin_tools,
    )
    places = PackPlaces(registry, settings.packs)
    async with open_servers(settings.servers, registry=registry, places=places, host=host) as opened:
        executor = ToolExecutor(
            registry, config=settings, secrets=Secrets(), project=folder, audit=audit, shapes=shapes
        )
        executor.lend(opened)
        yield Proxied(opened, registry, executor)
