"""Audited calls, put together from the lines of the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite

from mcp_core.json_types import JsonObject
from ot.audit.chain import ASKED, BEGIN, END, REFUSED
from ot.audit.reading import AuditEntry, Chain, Finding, walk

REFUSAL, RUNNING, UNKNOWN = "refused", "running", "unknown"  # the last: its process ended first


@dataclass(slots=True)
class AuditedCall:
    """One call with side effects, or one that was refused."""

    time: str  # ISO, UTC
    chain: str
    tool: str
    client: str
    connection: int | None  # None for the command line, 0 for a request without a session
    run: int
    depth: int
    effect: str
    allowed_by: str
    refused_by: str
    arguments: dict[str, int]  # bytes of JSON, by name
    digest: str
    outcome: str = UNKNOWN
    ms: float | None = None
    asked: list[str] = field(default_factory=list)  # answers to the tool's own questions
    person: str = ""  # the principal, where there are several


def whole_entries(chain: Chain, findings: list[Finding]) -> Iterator[AuditEntry]:
    """Go through the whole lines of a chain, and note everything else; a log may be larger than memory."""
    for item in walk(chain):
        if isinstance(item, Finding):
            findings.append(item)
        else:
            yield item


def collect_calls(entries: Iterable[AuditEntry], *, in_use: bool) -> list[AuditedCall]:
    """Return the calls of one chain in their order; of one that is in use, some may still run."""
    calls: list[AuditedCall] = []
    begun: dict[int, AuditedCall] = {}
    for name, fields in entries:
        event, number = fields.get("event"), _number(fields, "call")
        if event in (BEGIN, REFUSED):
            call = _read_call(name, fields)
            calls.append(call)
            call.outcome = REFUSAL if event == REFUSED else RUNNING if in_use else UNKNOWN
            if event == BEGIN:
                begun[_number(fields, "n")] = call
        elif event == ASKED and number in begun:
            begun[number].asked.append(_text(fields, "answer"))
        elif event == END and number in begun:
            call = begun.pop(number)
            call.outcome, call.ms = _text(fields, "outcome"), _duration(fields.get("ms"))
    return calls


def _read_call(chain: str, fields: JsonObject) -> AuditedCall:
    given = fields.get("arguments")
    sizes = given if isinstance(given, dict) else {}
    return AuditedCall(
        time=_time(fields.get("time")),
        chain=chain,
        tool=_text(fields, "tool"),
        client=_text(fields, "client"),
        connection=_number(fields, "connection") if "connection" in fields else None,
        run=_number(fields, "run"),
        depth=_number(fields, "depth"),
        effect=_text(fields, "effect"),
        allowed_by=_text(fields, "allowed_by"),
        refused_by=_text(fields, "refused_by"),
        arguments={name: size for name, size in sizes.items() if isinstance(size, int)},
        digest=_text(fields, "digest"),
        person=_text(fields, "person"),
    )


def _text(fields: JsonObject, key: str) -> str:
    value = fields.get(key, "")
    return value if isinstance(value, str) else ""


def _number(fields: JsonObject, key: str) -> int:
    value = fields.get(key, 0)
    return value if isinstance(value, int) else 0


def _duration(value: object) -> float | None:
    return value if isinstance(value, float) and isfinite(value) else None


def _time(value: object) -> str:
    try:
        return datetime.fromtimestamp(_duration(value) or 0.0, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""
