"""The parts of the engine that steps of calls are built from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.audit.log import AuditLog
from ot.context import CallServices
from ot.execution.policy import Policy
from ot.journal.journal import Journal
from ot.limits import PersonLimits
from ot.shapes.shapes import Shapes
from ot.stats.recorder import Recorder
from ot.text.redaction import Redactor

if TYPE_CHECKING:
    from ot.telemetry.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of the engine that steps are built from; those that are None are steps that no call has."""

    services: CallServices
    policy: Policy
    redactor: Redactor
    recorder: Recorder | None = None
    audit: AuditLog | None = None
    shapes: Shapes | None = None
    journal: Journal | None = None
    limits: PersonLimits | None = None
    telemetry: Telemetry | None = None
    unlock: Callable[[Iterable[str]], Awaitable[None] | None] = lambda _: None
