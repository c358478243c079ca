"""ot.health: what works, what does not and why, as plain values."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from mcp_core.distribution import VERSION
from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.config.loader import LoadedConfig
from ot.config.models import ExecutionSettings
from ot.config.paths import state_folder
from ot.config.project_trust import project_trust
from ot.errors import RunError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error, word_mistakes
from ot.kernel.engine_choice import WASM_LACKS
from ot.kernel.supply import KernelSupply
from ot.proxy import Servers
from ot.registry.names import shown_name
from ot.registry.tool_threads import ToolThreads
from ot.trust.project_trust import Comparison, trust_command
from ot.workers.pool import WorkerPool
from ot_system import usage_of

if TYPE_CHECKING:
    from ot.proxy import ServerStatus

OK = "ok"
DEGRADED = "degraded"
REFUSED = "refused"
_DISABLED: JsonObject = {"status": "disabled"}
_MOST_FILES = 30  # that are named


@dataclass(eq=False, slots=True)
class Health:
    """A look at every part of the engine, taken when it is asked for."""

    _executor: ToolExecutor
    _supply: KernelSupply
    _workers: WorkerPool
    _servers: Servers
    _threads: ToolThreads
    _loaded: LoadedConfig
    _settings: ExecutionSettings  # of the start: kernels keep to them

    async def report(self) -> JsonObject:
        """Report everything. Servers that are not connected are tried; a kernel is started if there was none yet."""
        registry, stats, audit = self._executor.registry, self._executor.recorder, self._executor.audit
        await self._servers.probe()
        await self._servers.catch_up_listing(lambda _: False)
        servers = self._servers.status()
        return {
            "version": VERSION,
            "python": sys.version.split()[0],
            "cwd": str(Path.cwd()),
            "project": str(self._executor.project),
            "configuration": {"status": DEGRADED, "mistakes": _shortened(word_mistakes(self._loaded.mistakes))}
            if self._loaded.mistakes
            else {"status": OK},
            "registry": {
                "status": DEGRADED if registry.problems else OK,
                "pack_count": len(registry.packs()),
                "tool_count": len(registry.definitions()),
                "switched_off": [*registry.switched_off()],
            },
            "proxy": _describe_proxy(servers),
            "proxy_problems": _describe_server_problems(servers),
            "problems": [
                {"file": str(each.file), "line": each.line, "reason": each.reason} for each in registry.problems
            ],
            "collisions": [asdict(collision) for collision in registry.collisions],
            "trust": await anyio.to_thread.run_sync(_describe_trust, self._loaded),
            "sandbox": await self._describe_sandbox(),
            "workers": [asdict(status) for status in self._workers.status()],
            "worker_engine": self._workers.engine_status(),
            "libraries": await anyio.to_thread.run_sync(self._describe_libraries),
            "stats": _DISABLED
            if stats is None
            else _describe_records(stats.problem, {"file": stats.place}, {"dropped": stats.dropped}),
            "audit": _DISABLED
            if audit is None
            else _describe_records(audit.problem, {"folder": str(audit.folder)}, {"lost": audit.lost}),
            "running_late": self._threads.late,
        }

    def _describe_libraries(self) -> JsonObject:
        from ot.workers.pack_environments import state_of  # noqa: PLC0415 - every engine has a Health, few are asked

        packs = self._executor.registry.packs()
        state = state_folder(self._loaded.machine_home)
        return {pack.name: str(state_of(state, pack.libraries)) for pack in packs if pack.libraries is not None}

    async def _describe_sandbox(self) -> JsonObject:
        described: JsonObject = {"status": OK, "level": self._settings.sandbox}
        if not self._supply.layers:
            try:
                async with self._supply.take():  # only a kernel can tell what holds it
                    pass
            except RunError as error:
                described |= {"status": REFUSED, "reason": word_error(error)}
        if self._supply.missing and described["status"] == OK:
            described["status"] = DEGRADED
        engine: JsonObject = {"engine": self._supply.engine}
        if self._supply.engine == "wasm":
            engine["without"] = list(WASM_LACKS)
        if self._supply.not_held:
            engine["process_is_not_held"] = list(self._supply.not_held)
        return {
            **described,
            **engine,
            "layers": list(self._supply.layers),
            "missing": list(self._supply.missing),
            "scratch": "tmpfs" if self._supply.scratch_sized else "watched",
            "memory": "control group" if self._supply.grouped else "watched" if usage_of(os.getpid()) else "limited",
        }


def _describe_trust(loaded: LoadedConfig) -> JsonObject:
    """Describe what of the project nobody has trusted, and what its file says that only the person's may say."""
    if loaded.administrator is not None:  # trust is for whoever looks after the server to give, not for this person
        return {"status": OK}
    trust = project_trust(loaded.project, loaded.home)
    found = trust.compare() if trust is not None else Comparison()
    described: JsonObject = {"status": DEGRADED if found.untrusted or found.refused else OK}
    if found.untrusted or found.refused:
        described |= {"files": _shortened(found.untrusted), "refused": _shortened(found.refused)}
        described["remedy"] = f"a person can look at them and type: {trust_command(loaded.project)}"
    if loaded.refused:
        described["left_out"] = [asdict(refusal) for refusal in loaded.refused]
    return described


def _shortened(names: Sequence[str]) -> list[Json]:
    """The first names: a stranger may have written any number of them."""
    more = len(names) - _MOST_FILES
    return [*names[:_MOST_FILES], *([f"and {more} more"] if more > 0 else [])]


def _describe_proxy(servers: Sequence[ServerStatus]) -> JsonObject:
    lacking = any(server.state in ("connecting", "disconnected") for server in servers)
    confined: list[Json] = [server.name for server in servers if server.confined]
    return {
        "status": DEGRADED if lacking else OK,
        "server_count": len(servers),
        "servers": {server.name: server.state for server in servers},
        **({"confined": confined} if confined else {}),
    }


def _describe_server_problems(servers: Sequence[ServerStatus]) -> list[Json]:
    """List what a person should know: servers that cannot be reached, and what differs from what was accepted."""
    found: list[JsonObject] = []
    for each in servers:
        facts: JsonObject = {"server": each.name, "error": each.error, "refused_tools": {}, "left_out": {}}
        facts["refused_tools"] = {shown_name(name): reason for name, reason in each.refused.items()}
        facts["left_out"] = dict(each.left_out)
        for part, changes in each.changes.items():
            added: Json = len(changes.added) if each.pinned else list(map(shown_name, changes.added))
            facts |= {f"changed_{part}": list(map(shown_name, changes.changed)), f"new_{part}": added}
        found.append({key: value for key, value in facts.items() if value})
    return [fact for fact in found if len(fact) > 1]


def _describe_records(problem: str, place: JsonObject, lost: JsonObject) -> JsonObject:
    reason: JsonObject = {"reason": problem} if problem else {}
    return {"status": DEGRADED if problem or any(lost.values()) else OK, **place, **reason, **lost}
