"""The tools of an engine, with the processes and connections that serve them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.clients.front import KnownClients
from ot.config.loader import LoadedConfig
from ot.isolate import IsolateHost
from ot.parts import known_tools
from ot.parts.shared_parts import SharedParts
from ot.processes.standby import Standby
from ot.proxy import Servers, open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import BuiltInPacks, ToolLoader
from ot.registry.tool_threads import ToolThreads
from ot.skills.skill_loader import SkillLoader
from ot.store.parts import PersonalStore
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.pool import WorkerPool, open_worker_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The registry of all tools, and whatever finds or runs some of them."""

    registry: ToolRegistry
    places: PackPlaces
    built_in: BuiltInPacks
    extensions: ExtensionLoader
    skills: SkillLoader
    servers: Servers
    workers: WorkerPool
    isolates: IsolateHost
    standby: Standby
    threads: ToolThreads

    async def catch_up(self, code: str) -> None:
        """Let the registry see what has changed since the last run, and what this one needs."""
        await self.extensions.catch_up()
        await self.skills.catch_up()
        await self.servers.catch_up(code)


@asynccontextmanager
async def open_tools(
    loaded: LoadedConfig,
    shared: SharedParts,
    personal: PersonalStore,
    packs: Sequence[Path],
    environ: Mapping[str, str],
    clients: KnownClients | None,
    *,
    ahead: bool,
) -> AsyncIterator[Tools]:
    """Open the tools of a configuration; `packs` are folders of packs beside the built-in ones."""
    config = loaded.config
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        workers = await enter(open_worker_pool(config.workers, host=known_tools.worker_host(loaded, environ)))
        isolates = await enter(IsolateHost(find_python=workers.python_of))
        standby = await enter(Standby())
        threads = stack.enter_context(closing(ToolThreads()))
        folders = [*known_tools.find_built_in_packs(), *packs]
        registry = known_tools.load_registry(folders, isolates, threads, shared.definitions)
        registry.trust_reads(known_tools.reads_of(config))
        known_tools.note_absent(registry, loaded)
        places = PackPlaces(registry, config.packs)
        built_in = BuiltInPacks(folders, ToolLoader(registry, isolate=isolates, threads=threads), registry)
        extensions = known_tools.load_extensions(registry, places, loaded, workers.function_of, forget=workers.forget)
        skills = known_tools.load_skills(registry, places, loaded, personal.shelf)
        host = known_tools.proxy_host(loaded, environ, clients, personal=personal, pending=shared.logins)
        opening = open_servers(config.servers, registry=registry, places=places, host=host, ahead=ahead)
        yield Tools(
            registry=registry,
            places=places,
            built_in=built_in,
            extensions=extensions,
            skills=skills,
            servers=await enter(opening),
            workers=workers,
            isolates=isolates,
            standby=standby,
            threads=threads,
        )
