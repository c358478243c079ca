"""Audit: the calls that had side effects, who made and who allowed them, and damage to the log."""

from __future__ import annotations

from fnmatch import fnmatchcase

import anyio.to_thread
from starlette.responses import Response

from onetool.dashboard.visit import Visit
from ot.audit.calls import AuditedCall, read_calls
from ot.audit.reading import Finding, find_chains
from ot.config.loader import LoadedConfig
from ot.errors import ToolError
from ot.parts.stores import open_own_store

_MOST = 300


async def show_audit(visit: Visit) -> Response:
    """Show the latest calls with side effects, of one tool, pack or pattern if it is named."""
    wanted = visit.query.get("tool", "").strip()[:200]
    calls, findings = await anyio.to_thread.run_sync(_read, visit.who.part(LoadedConfig))
    chosen = [call for call in reversed(calls) if _is_chosen(call, wanted or "*")]
    return visit.show("audit.html.j2", calls=chosen[:_MOST], total=len(chosen), findings=findings, wanted=wanted)


def _read(loaded: LoadedConfig) -> tuple[list[AuditedCall], list[Finding]]:
    try:
        with open_own_store(loaded) as store, store.audit.copied() as folder:
            return read_calls(find_chains(folder))
    except OSError as error:
        raise ToolError(f"the audit log cannot be read: {error.strerror}") from error


def _is_chosen(call: AuditedCall, tool: str) -> bool:
    return fnmatchcase(call.tool, tool) or fnmatchcase(call.tool, f"{tool}.*")
