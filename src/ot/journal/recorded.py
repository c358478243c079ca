"""Runs and calls as they are read from the journal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from mcp_core.quick_dataclass import dataclass
from ot.effects import Effect
from ot.journal.equality import Equality, canonical
from ot.store.forms import UnknownFormError, check_form, read_number
from ot.store.parts import Place
from ot_kernel.values import Encoded

START = "start"  # the event of a run's first line
FORM_OF_LINES = 1


class CallOutcome(StrEnum):
    """The outcome of a call."""

    VALUE = "value"
    ERROR = "error"
    UNKNOWN = "unknown"  # it had begun, and its end was not recorded


class DamagedRunError(Exception):
    """The lines of a run are not all there; the reason says what is wrong."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a run. Its arguments are encoded and masked, as code saw them; `digest` compares what was given."""

    number: int  # no other call has it
    tool: str
    effect: Effect
    time: float  # seconds since the epoch, when it began
    digest: str
    arguments: Encoded = None
    arguments_at: Place | None = None  # where they lie if they are large
    outcome: CallOutcome = CallOutcome.UNKNOWN
    value: Encoded = None
    value_at: Place | None = None  # where it lies if it is large
    has_value: bool = False  # of one that ended well: false where the value could not be kept
    error: str = ""  # what went wrong, in words
    kind: str = ""  # the builtin exception that code could catch
    seconds: float = 0.0
    state: int | None = None  # of one that reads: identifies the effects before it; None if some were in progress
    marks: tuple[str, ...] = ()  # guarded tools whose values may be in it
    read: tuple[str, ...] = ()  # guarded tools whose values may be in its arguments
    task: Mapping[str, Json] | None = None  # that another server has made of it, as the proxy describes it
    reused: bool = False  # it was answered from the journal of the run before


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run: what it was asked, the calls it made or had answered, and how it ended, if it has."""

    id: str
    principal: str
    project: str
    time: float  # seconds since the epoch, when it began
    command: str
    client: str
    whole: bool  # nothing of it was lost
    resuming: str = ""  # the run that it was about to go on from
    resumed: str = ""  # that run, once it had its calls
    calls: tuple[RecordedCall, ...] = ()
    left: tuple[RecordedCall, ...] = ()  # calls of that run which this one has not reached
    outcome: str = ""  # empty while it lasts, or if its server was killed
    error: str = ""  # the kind of what went wrong
    answer: str = ""
    seconds: float = 0.0
    read: frozenset[str] = frozenset()  # guarded tools whose values may be in its command, calls or answer
    preview: bool = False  # it only listed what it would do
    verbatim: bool = False  # its command is here as it was given: of a preview
    planned: tuple[JsonObject, ...] = ()  # that list, as `planned` reads it


@dataclass(slots=True)
class _Reading:
    inherited: dict[int, RecordedCall] = field(default_factory=dict)
    calls: dict[int, RecordedCall] = field(default_factory=dict)
    fields: JsonObject = field(default_factory=dict)
    planned: list[JsonObject] = field(default_factory=list)


def read_run(lines: Iterable[bytes], equality: Equality) -> RecordedRun:
    """Put the lines of one run together; raises DamagedRunError."""
    reading = _Reading()
    first: JsonObject = {}
    for count, raw in enumerate(lines, 1):
        try:
            line: JsonObject = json.loads(raw)
            first = first or line
            if count == 1:
                check_form(line, FORM_OF_LINES, unnamed=1)
            if line["n"] != count and first.get("whole"):  # of one that is known not to be whole, all that there is
                raise DamagedRunError("a line of its journal is missing")
            _take(line, reading, equality)
        except UnknownFormError as error:
            raise DamagedRunError(str(error)) from error
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise DamagedRunError(f"a line of its journal is invalid: {error}") from error
    if first.get("event") != START:
        raise DamagedRunError("the beginning of its journal is gone")
    run = summarize(first, reading.fields)
    calls, left = tuple(reading.calls.values()), tuple(reading.inherited.values())
    read = run.read.union(*((*call.read, *call.marks) for call in (*calls, *left)))
    return replace(run, calls=calls, left=left, read=read, planned=tuple(reading.planned))


def summarize(start: JsonObject, rest: JsonObject) -> RecordedRun:
    """Describe a run by its first line and what later ones add, without its calls; raises LookupError or TypeError."""
    return RecordedRun(
        _text(start["run"]),
        _text(start["principal"]),
        _text(start["project"]),
        read_number(start["time"]),
        _text(start["command"]),
        _text(start.get("client", "")),
        bool(start["whole"]),
        resuming=_text(rest.get("from", "")),
        resumed=_text(rest.get("of", "")),
        outcome=_text(rest.get("outcome", "")),
        error=_text(rest.get("error", "")),
        answer=_text(rest.get("answer", "")),
        seconds=read_number(rest.get("seconds", 0.0)),
        preview="verbatim" in rest,
        verbatim=bool(rest.get("verbatim")),
        read=frozenset((*_names(start), *_names(rest))),
    )


def describe(call: RecordedCall) -> JsonObject:
    """Describe a call for the journal of a run that goes on from it; the opposite of reading it."""
    facts: JsonObject = {
        "call": call.number,
        "tool": call.tool,
        "effect": call.effect,
        "ms": round(call.time * 1000),
        "digest": call.digest,
        "outcome": call.outcome,
        "us": round(call.seconds * 1e6),
        "got": {"value": call.value} if call.has_value and call.value_at is None else {},
    }
    optional: JsonObject = {
        "arguments_at": [*(call.arguments_at or ())],
        "value_at": [*(call.value_at or ())],
        "marks": [*call.marks],
        "read": [*call.read],
        "task": dict(call.task or {}),
    }
    facts |= {name: value for name, value in optional.items() if value}
    if call.arguments_at is None:
        facts["arguments"] = call.arguments
    if call.error:
        facts |= {"reason": call.error, "kind": call.kind}
    if call.state is not None:
        facts["world"] = call.state
    return facts


def read_described(facts: JsonObject) -> RecordedCall:
    """Read a call from its description; raises LookupError, TypeError or ValueError where that makes no sense."""
    return _ended(_begun(facts, _text(facts["digest"]), facts.get("arguments")), facts)


def _take(line: JsonObject, reading: _Reading, equality: Equality) -> None:
    match line["event"]:
        case "begin":
            call = _call_of(line, equality)
            reading.calls[call.number] = call
        case "end":
            number = _whole(line["call"])
            reading.calls[number] = _ended(reading.calls[number], line)
        case "read" | "inherited" as event:
            call = _ended(_call_of(line, equality), line)
            (reading.calls if event == "read" else reading.inherited)[call.number] = call
        case "task":
            number, state = _whole(line["call"]), _whole(line.get("world", -1))
            found = mapping_of(line.get("task")) or None
            reading.calls[number] = replace(reading.calls[number], task=found, state=state if state >= 0 else None)
        case "reused":
            call = reading.inherited.pop(_whole(line["call"]))
            if line.get("skipped"):
                call = replace(call, outcome=CallOutcome.VALUE, value=None, value_at=None, has_value=True)
            if not line.get("dropped"):
                reading.calls[call.number] = replace(call, reused=True)
        case "planned":
            reading.planned.append(line)
        case "resuming" | "resume" | "ended" | "preview":
            reading.fields.update(line)


def _call_of(line: JsonObject, equality: Equality) -> RecordedCall:
    arguments = mapping_of(line["sent"])["kwargs"] if "sent" in line else line.get("arguments")
    digest = line.get("digest") or equality.digest(_text(line["tool"]), _text(line["source"]), canonical(arguments))
    return _begun(line, _text(digest), arguments)


def _begun(line: JsonObject, digest: str, arguments: Encoded) -> RecordedCall:
    return RecordedCall(
        _whole(line["call"]),
        _text(line["tool"]),
        Effect(_text(line["effect"])),
        read_number(line["ms"]) / 1000,
        digest,
        arguments,
        _place(line.get("arguments_at")),
        read=_names(line),
        task=mapping_of(line.get("task")) or None,
    )


def _names(line: JsonObject) -> tuple[str, ...]:
    return tuple(map(_text, list_of(line.get("read"))))


def _ended(call: RecordedCall, line: JsonObject) -> RecordedCall:
    got, state = mapping_of(line["got"]), _whole(line.get("world", -1))
    return replace(
        call,
        outcome=CallOutcome(_text(line["outcome"])),
        value=got.get("value"),
        value_at=_place(line.get("value_at")),
        has_value="value" in got or "value_at" in line,
        error=_text(line.get("reason", "")),
        kind=_text(line.get("kind", "")),
        seconds=read_number(line["us"]) / 1e6,
        state=state if state >= 0 else None,
        marks=tuple(map(_text, list_of(line.get("marks")))),
    )


def _place(place: Json) -> Place | None:
    if place is None:
        return None
    file, offset, size = list_of(place)
    return _text(file), _whole(offset), _whole(size)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _whole(value: Json) -> int:
    if not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def describe_run(run: RecordedRun) -> JsonObject:
    """Describe a run in short: its outcome is empty while it goes on, or if its server was killed."""
    return {
        "run": run.id,
        "began": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.time)),
        "seconds": round(run.seconds, 3),
        "outcome": run.outcome,
        "error": run.error,
        "resumed": run.resumed,
        "command": run.command[:200],
    }
