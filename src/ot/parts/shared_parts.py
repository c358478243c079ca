"""The parts that every person's app of one process uses: none of them holds anything of a person."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.kernel.groups import find_own_group
from ot.kernel.supply import KernelSupply, open_supply
from ot.kernel.zygote_process import ZygoteProcess, launch_zygote
from ot.registry.definition_cache import DEFINITIONS_FILE, DefinitionCache
from ot.run.answer import RunsElsewhere
from ot.services.rate_limits import RateLimits
from ot.store.logins import MemoryPendingLogins, PendingLogins
from ot.store.opening import Backend, open_backend
from ot.store.quotas import Quotas


@dataclass(frozen=True, slots=True)
class SharedBackend:
    """The store behind all engines of a process, and the other replicas that share it."""

    store: Backend
    elsewhere: RunsElsewhere | None = None


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Opened once a process, before the first app, and closed after the last one."""

    store: Backend
    supply: KernelSupply  # a kernel is used once, so nothing crosses from run to run
    definitions: DefinitionCache  # of built-in packs
    quotas: Quotas  # what everybody has used of what is limited
    logins: PendingLogins = field(default_factory=MemoryPendingLogins)  # at servers, for people who return from one
    rate_limits: RateLimits = field(default_factory=RateLimits)  # by key: who shares a key shares its limits
    elsewhere: RunsElsewhere | None = None  # the runs of other replicas


@asynccontextmanager
async def open_shared_parts(
    loaded: LoadedConfig, launched: ZygoteProcess | None = None, backing: SharedBackend | None = None
) -> AsyncIterator[SharedParts]:
    """Open them on the configuration of the server; `launched` is a zygote that is already starting."""
    async with (
        open_backend(loaded.config.store) if backing is None else nullcontext(backing.store) as store,
        open_supply(
            launched or launch_zygote(loaded.config.execution, state=state_folder(loaded.machine_home)),
            group=find_own_group(),
        ) as supply,
        store.open_quotas(state_folder(loaded.machine_home)) as quotas,
    ):
        definitions = DefinitionCache(state_folder(loaded.machine_home) / DEFINITIONS_FILE)
        elsewhere = None if backing is None else backing.elsewhere
        yield SharedParts(store, supply, definitions, quotas, store.build_pending_logins(), elsewhere=elsewhere)
