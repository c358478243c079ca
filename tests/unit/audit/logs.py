"""Audit logs for tests: real files, written to and then damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from ot.audit.log import LARGEST_FILE, AuditLog, summarize
from ot.audit.reading import Finding, find_chains, walk
from ot.clients.caller import Caller
from ot.config.models import AuditSettings
from ot.effects import Effect
from ot.store.parts import AuditRows
from ot.text.redaction import Redactor

NOTHING = summarize({}, Redactor())


def build_log(
    folder: Path,
    *,
    secrets: tuple[str, ...] = (),
    keep_days: int = 365,
    max_size: int = 100 * 1024**2,
    largest_file: int = LARGEST_FILE,
    clock: Callable[[], float] = lambda: 0.0,
    later: Callable[[Callable[[], None]], object] | None = None,
) -> AuditLog:
    """A log whose project is its folder; its bounds may be smaller than a person can make them. For it, no time passes."""
    bounds = AuditSettings.model_construct(keep_days=keep_days, max_size=max_size)
    redactor = Redactor(secrets)
    return AuditLog(
        folder,
        bounds,
        project=folder,
        redactor=redactor,
        rows=AuditRows(folder),
        largest_file=largest_file,
        clock=clock,
        later=later,
    )


def reseal(fields: dict[str, Any]) -> tuple[bytes, str]:
    """A line with these fields and a digest that fits, as somebody would forge it; and the digest."""
    body = json.dumps(fields, separators=(",", ":"))
    digest = sha256(body.encode()).hexdigest()
    return f'{body[:-1]},"hash":"{digest}"}}\n'.encode(), digest


def begin(log: AuditLog, tool: str = "mail.send", *, caller: Caller | None = None, allowed_by: str = "") -> int:
    """Begin a call."""
    return log.begin(tool, Effect.UNKNOWN, caller or Caller(), depth=0, allowed_by=allowed_by, given=NOTHING)


def write_calls(log: AuditLog, times: int) -> None:
    """Write so many calls that went well."""
    for number in range(times):
        log.end(begin(log, f"mail.send{number}"), "ok", 0.001)


def files_of(folder: Path) -> list[Path]:
    """The files of the log, oldest first."""
    return sorted(folder.glob("*.jsonl"))


def entries_of(folder: Path) -> list[dict[str, Any]]:
    """Every line there is, whole or not."""
    return [json.loads(line) for file in files_of(folder) for line in file.read_bytes().splitlines()]


def findings_of(folder: Path) -> list[Finding]:
    """Everything that verifying finds."""
    return [item for chain in find_chains(folder) for item in walk(chain) if isinstance(item, Finding)]


def problems_of(folder: Path) -> list[tuple[int, str]]:
    """The findings that have no honest cause, by line."""
    return [(finding.line, finding.reason) for finding in findings_of(folder) if not finding.harmless]
