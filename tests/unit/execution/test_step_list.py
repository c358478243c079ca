"""The list of steps of a call: which a tool needs, in which order they are taken, and what each does alone."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan, get_current_span

import ot.execution.tool_executor
from ot.audit.calls import AuditedCall
from ot.audit.latest import read_latest
from ot.audit.log import AuditLog
from ot.clients.caller import NOBODY, Caller, ClientMemory
from ot.config.models import AuditSettings, Config, JournalSettings
from ot.config.team import LimitSettings
from ot.context import CallContext
from ot.effects import Effect
from ot.errors import CallError, CallLimitError, ConsentError, ToolArgumentError, ToolDeniedError, ToolError
from ot.execution.auditing import AuditStep, RefusalStep, audit_answer
from ot.execution.call import Call, Step, prepare_tool
from ot.execution.policy import AskStep, LimitStep, Policy, foresee_refusal
from ot.execution.records import RedactionStep, ShapeStep, TraceStep
from ot.execution.step_parts import StepParts
from ot.execution.steps import ReadyTool, order_steps, prepare_steps
from ot.execution.validation import ArgumentStep
from ot.journal.journal import Journal
from ot.limits import PersonLimits
from ot.registry.definitions import Cancellation, LearntFrom
from ot.registry.registry import RegisteredTool
from ot.shapes.shapes import Shapes
from ot.store.embedded_journal import EmbeddedJournal
from ot.store.parts import AuditRows
from ot.store.quotas import EmbeddedQuotas
from ot.store.shelf import Shelf
from ot.telemetry.meters import Meters
from ot.telemetry.telemetry import Telemetry
from ot.text.redaction import Redactor
from tests.opened_executor import define, open_executor

NOTHING: Any = None
CONTEXT: Any = object()  # stands for a context
SECRET = "s3cr3t-value"
SOURCE = LearntFrom("x", "tool", "1")


async def _nothing(_: dict[str, Any]) -> str:
    return "done"


def tool_of(function: Callable[[dict[str, Any]], Awaitable[Any]] = _nothing, **fields: Any) -> RegisteredTool:
    return RegisteredTool(define("x.tool", **fields), function)


def ready(config: dict[str, Any] | None = None, parts: dict[str, Any] | None = None, **fields: Any) -> ReadyTool:
    engine = StepParts(NOTHING, Policy(Redactor()), Redactor(), **(parts or {}))
    return prepare_steps(tool_of(**fields), Config.model_validate(config or {}), engine)


def call_of(config: dict[str, Any] | None = None, caller: Caller | None = None, **fields: Any) -> Call:
    tool = prepare_tool(tool_of(**fields), Config.model_validate(config or {}))
    call = Call("x.tool", tool, {}, (), caller or Caller())
    call.bound, call.seconds = {}, 0.25
    return call


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(
        tmp_path / "audit", AuditSettings(), project=tmp_path, redactor=Redactor(), rows=AuditRows(tmp_path)
    )


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    store = EmbeddedJournal(tmp_path / "journal", keep_for=60, max_size=1024**2)
    return Journal(store, JournalSettings(), project=tmp_path, redactor=Redactor())


def audited(log: AuditLog) -> list[AuditedCall]:
    log.flush()
    calls, findings, _ = read_latest([AuditRows(log.folder)])
    assert findings == []
    return calls[::-1]


# -- the list


def test_a_tool_that_nobody_guards_or_writes_down_passes_few_steps() -> None:
    reading = ready(declared=Effect.READS)

    assert reading.by_code.names == ("ArgumentStep", "CallStep", "RedactionStep", "RecordStep")
    assert reading.by_others.names == ("DenyStep", "ArgumentStep", "CallStep", "RedactionStep", "RecordStep")


def test_all_steps_stand_in_the_order_of_the_docstring(audit: AuditLog, journal: Journal, tmp_path: Path) -> None:
    shapes = Shapes(Shelf(tmp_path / "shapes"))
    limits = PersonLimits("somebody", LimitSettings(), EmbeddedQuotas(tmp_path))
    parts = {"telemetry": Telemetry(), "limits": limits, "audit": audit, "journal": journal, "shapes": shapes}
    policy = {"policy": {"ask": ["x.*"], "deny": ["x.*"]}}

    names = ready(policy, parts, learns=SOURCE, secrets=("A",)).by_code.names

    assert names == (
        "TraceStep",
        "DenyStep",
        "ArgumentStep",
        "ResumeStep",
        "LimitStep",
        "AskStep",
        "AuditStep",
        "JournalStep",
        "SecretStep",
        "CallStep",
        "RedactionStep",
        "ShapeStep",
        "RecordStep",
    )
    rows = [line.split("  ")[0] for line in (ot.execution.tool_executor.__doc__ or "").splitlines() if "  `" in line]
    words = ["find", "trace", "deny", "arguments", "resume", "limits", "flows, ask", "effect", "journal"]
    assert rows == [*words, "secrets", "call", "redaction", "shape", "record"]


@pytest.mark.parametrize(
    ("fields", "step", "there"),
    [
        ({"declared": Effect.READS}, "AuditStep", False),
        ({"declared": Effect.READS}, "RefusalStep", True),
        ({"declared": Effect.IDEMPOTENT}, "AuditStep", True),
        ({"declared": Effect.READS}, "JournalStep", True),
        ({"cancellation": Cancellation.SKILL}, "JournalStep", False),
        ({"cancellation": Cancellation.SKILL}, "ResumeStep", False),
        ({"lacks": "a window"}, "DenyStep", True),
        ({"declared": Effect.IDEMPOTENT}, "DenyStep", True),
        ({"declared": Effect.READS}, "DenyStep", False),
        ({"cancellation": Cancellation.SKILL}, "DenyStep", False),
    ],
)
def test_a_tool_has_the_steps_that_it_needs(
    audit: AuditLog, journal: Journal, fields: dict[str, Any], step: str, *, there: bool
) -> None:
    assert (step in ready(None, {"audit": audit, "journal": journal}, **fields).by_code.names) is there


@pytest.mark.parametrize(
    ("policy", "step"),
    [
        ({"deny": ["x.tool"]}, "DenyStep"),
        ({"ask": ["x.*"]}, "AskStep"),
        ({"flows": [{"from": ["x.*"], "to": ["y.*"]}]}, "AskStep"),
        ({"flows": [{"from": ["y.*"], "to": ["x.*"]}]}, "AskStep"),
    ],
)
def test_a_guarded_tool_has_the_step_that_guards_it(policy: dict[str, Any], step: str) -> None:
    nothing: dict[str, Any] = {key: [] for key in policy}

    assert step in ready({"policy": policy}, declared=Effect.READS).by_code.names
    assert step not in ready({"policy": nothing}, declared=Effect.READS).by_code.names


def test_calls_that_are_not_codes_are_in_no_journal(journal: Journal) -> None:
    assert {"ResumeStep", "JournalStep"}.isdisjoint(ready(None, {"journal": journal}).by_others.names)


def test_shapes_are_learnt_of_tools_that_leave_them_open_and_where_they_are_kept(tmp_path: Path) -> None:
    shapes = Shapes(Shelf(tmp_path))

    assert "ShapeStep" in ready(None, {"shapes": shapes}, learns=SOURCE).by_code.names
    assert "ShapeStep" not in ready(None, {"shapes": shapes}).by_code.names
    assert "ShapeStep" not in ready(learns=SOURCE).by_code.names


async def test_another_configuration_makes_other_steps() -> None:
    async with open_executor() as opened:
        opened.registry.register(define("x.tool"), _nothing)
        assert await opened.executor.call("x.tool", {}) == "done"

        opened.executor.apply(Config.model_validate({"policy": {"deny": ["x.*"]}}), NOTHING)

        with pytest.raises(ToolDeniedError):
            await opened.executor.call("x.tool", {})


async def test_a_refusal_is_foreseen_by_name_and_only_of_tools_that_exist() -> None:
    async with open_executor(config={"policy": {"deny": ["x.*"]}}) as opened:
        opened.registry.register(define("x.tool"), _nothing)

        assert isinstance(opened.executor.foresee_refusal("x.tool", Caller()), ToolDeniedError)
        assert opened.executor.foresee_refusal("demo.upper", Caller()) is None
        assert opened.executor.foresee_refusal("x.other", Caller()) is None


async def test_what_code_is_refused_beforehand_is_audited(audit: AuditLog) -> None:
    async with open_executor(config={"policy": {"deny": ["x.*"]}}, audit=audit) as opened:
        opened.registry.register(define("x.tool"), _nothing)
        opened.executor.note_refused(["x.tool", "demo.upper", "x.tool"], Caller())

    [refused] = audited(audit)
    assert (refused.tool, refused.depth, refused.refused_by) == ("x.tool", 0, "policy.deny names x.*")


async def test_those_who_do_not_say_who_they_are_count_as_one_client() -> None:
    somebody = Caller(memory=ClientMemory())
    async with open_executor() as opened:
        nobody = opened.executor.known(NOBODY)

        assert nobody.memory is opened.executor.known(NOBODY).memory is not NOBODY.memory
        assert opened.executor.known(somebody) is somebody


@pytest.mark.parametrize("text", ["a", 1])
async def test_a_call_takes_the_time_between_its_beginning_and_its_end(
    caplog: pytest.LogCaptureFixture, text: object
) -> None:
    times = iter([10.0, 10.5])
    async with open_executor(clock=lambda: next(times)) as opened:
        arguments: Any = {"text": text}
        with caplog.at_level(logging.INFO, logger="ot"), suppress(ToolArgumentError):
            await opened.executor.call("demo.upper", arguments)

    [line] = [record.getMessage() for record in caplog.records if "demo.upper" in record.getMessage()]
    assert " ms=500.0 " in line


class Listening(Step):
    """A step that says what is asked of it."""

    def __init__(self, name: str, said: list[str]) -> None:
        self.name = name
        self.said = said

    def begin(self, call: Call) -> None:
        self.said.append(f"{self.name} begins")

    def end(self, call: Call) -> None:
        self.said.append(f"{self.name} ends")

    def fail(self, call: Call, error: BaseException) -> None:
        self.said.append(f"{self.name} fails")


def test_steps_are_called_in_one_order_and_only_for_what_they_have() -> None:
    said: list[str] = []
    redaction = RedactionStep(Redactor())

    steps = order_steps([Listening("first", said), Step(), redaction, Listening("last", said)])
    call = call_of()
    for begin in steps.until_value:
        begin(call)
    for end in steps.ends:
        end(call)
    for fail in steps.fails:
        fail(call, ToolError("no"))

    assert said == ["first begins", "first ends", "last ends", "first fails", "last fails"]
    assert (len(steps.until_value), len(steps.ends), len(steps.fails)) == (1, 2, 3)
    assert steps.with_value == redaction.begin


# -- each step alone


async def test_arguments_are_bound_here_or_on_a_thread() -> None:
    properties = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    step = ArgumentStep(define("x.tool", properties))
    for sent in (b"{}", b"", b" " * 6000):
        call = call_of()
        call.arguments, call.positional, call.sent = {"b": "two"}, [1], sent
        waiting = step.begin(call)
        assert (waiting is None) is (sent == b"{}")
        if waiting is not None:
            await waiting
        assert call.bound == {"a": 1, "b": "two"}


async def test_a_call_counts_against_the_limit_of_its_person(tmp_path: Path) -> None:
    limits = PersonLimits("somebody", LimitSettings(calls_per_minute=1), EmbeddedQuotas(tmp_path))
    step = LimitStep(limits)

    await step.begin(call_of())

    with pytest.raises(CallLimitError) as raised:
        await step.begin(call_of())
    assert raised.value.tool == "x.tool"


async def test_what_allowed_a_call_is_kept_with_it() -> None:
    async def agree(question: str, choices: Any) -> Any:
        return choices[0]

    call = call_of({"policy": {"ask": ["x.*"]}}, Caller(ask=agree))
    await AskStep(Policy(Redactor())).begin(call)

    assert call.allowed_by == "consent: once (policy.ask names x.*)"
    with pytest.raises(ConsentError):
        await AskStep(Policy(Redactor())).begin(call_of({"policy": {"ask": ["x.*"]}}))


@pytest.mark.parametrize("sent", [b"{}", b"", b" " * 70_000])
async def test_a_call_is_audited_before_and_after(audit: AuditLog, sent: bytes) -> None:
    step, call = AuditStep(audit), call_of()
    call.bound, call.sent, call.allowed_by = {"a": 1}, sent, "consent: once"

    waiting = step.begin(call)
    if waiting is not None:
        await waiting
    begun = audited(audit)
    step.end(call)

    assert call.audited
    assert [(each.tool, each.outcome, each.arguments, each.allowed_by) for each in begun] == [
        ("x.tool", "running", {"a": 1}, "consent: once")
    ]
    assert [(each.outcome, each.ms) for each in audited(audit)] == [("ok", 250.0)]


async def test_a_failed_call_is_audited_with_the_kind_of_its_error(audit: AuditLog) -> None:
    step, call = AuditStep(audit), call_of()
    call.sent = b"{}"
    step.begin(call)
    call.context, call.failure = CONTEXT, "KeyError"

    assert step.fail(call, ToolDeniedError("y.other", "y.*")) is None

    assert [each.outcome for each in audited(audit)] == ["KeyError"]


@pytest.mark.parametrize("kind", [RefusalStep, AuditStep])
async def test_a_refusal_is_audited_whatever_the_tool(audit: AuditLog, kind: type[RefusalStep]) -> None:
    call = call_of()
    call.arguments, call.positional = {"a": 1}, ["b"]

    waiting = kind(audit).fail(call, ToolDeniedError("x.tool", "x.*"))
    assert waiting is not None
    await waiting

    [refused] = audited(audit)
    assert (refused.outcome, refused.refused_by, refused.arguments) == (
        "refused",
        "policy.deny names x.*",
        {"*": 5, "a": 1},
    )


def test_an_answer_is_audited_in_a_call_that_is(audit: AuditLog) -> None:
    unaudited, asking = CallContext("x.tool", NOTHING), CallContext("x.tool", NOTHING)
    call = call_of()
    call.sent = b"{}"
    AuditStep(audit).begin(call)
    asking.entry = call.audited

    for context in (unaudited, asking):
        audit_answer(audit, context, "consent: once")
    audit_answer(None, asking, "consent: once")

    assert [each.asked for each in audited(audit)] == [["consent: once"]]
    assert audit.lost == 0


async def test_what_is_no_refusal_is_not_audited_as_one(audit: AuditLog) -> None:
    step, call = RefusalStep(audit), call_of()
    assert step.fail(call, ValueError("odd")) is None
    waiting = step.fail(call, ToolError("no"))
    assert waiting is not None
    await waiting
    call.context = CONTEXT
    assert step.fail(call, ToolDeniedError("y.other", "y.*")) is None

    assert audited(audit) == []


@pytest.mark.parametrize("reused", [False, True])
async def test_a_shape_is_noted_unless_the_value_is_an_old_one(tmp_path: Path, *, reused: bool) -> None:
    call = call_of(caller=Caller(principal="somebody"))
    call.value, call.reused = [1], reused

    async with Shapes(Shelf(tmp_path)) as shapes:
        ShapeStep(SOURCE, shapes).end(call)
        signature = shapes.signature(define("x.tool", learns=SOURCE), "somebody")

    assert signature == ("x.tool(...)" if reused else "x.tool(...) -> [int]  # seen 1 time")


def test_a_call_is_counted_and_calls_inside_belong_to_its_span() -> None:
    telemetry, parent = Telemetry(Meters()), NonRecordingSpan(INVALID_SPAN_CONTEXT)
    step, traced, untraced = TraceStep(telemetry), call_of(caller=Caller(span=parent)), call_of()

    for call in (traced, untraced):
        step.begin(call)
    assert traced.traced is not None
    assert (traced.caller.span, untraced.traced, untraced.caller.span) == (parent, None, None)
    assert get_current_span() is parent
    step.end(traced)
    untraced.failure = "KeyError"
    step.fail(untraced, KeyError("k"))

    assert get_current_span() is not parent
    assert telemetry.meters is not None
    counted = {labels: series.total for labels, series in telemetry.meters.calls.series()}
    assert counted == {("x", "unknown", ""): 0.25, ("x", "unknown", "KeyError"): 0.25}


def test_a_call_whose_span_is_sent_has_one_of_its_own() -> None:
    telemetry, parent = Telemetry(), NonRecordingSpan(INVALID_SPAN_CONTEXT)
    telemetry.tracer = TracerProvider().get_tracer("test")
    step, call = TraceStep(telemetry), call_of(caller=Caller(span=parent))

    step.begin(call)
    step.end(call)

    assert call.traced is not None
    assert call.caller.span is call.traced.span is not parent


@pytest.mark.parametrize(
    ("policy", "asked", "refusal"),
    [
        ({"deny": ["x.*"]}, True, ToolDeniedError),
        ({"ask": ["x.*"]}, False, ConsentError),
        ({"ask": ["x.*"]}, True, None),
        ({}, False, None),
    ],
)
def test_a_refusal_is_foreseen_where_every_call_ends_with_it(
    policy: dict[str, Any], refusal: type[CallError] | None, *, asked: bool
) -> None:
    async def ask(question: str, choices: Any) -> Any:
        raise AssertionError("nobody is asked beforehand")

    guard = call_of({"policy": policy}).tool.guard
    found = foresee_refusal(guard, Caller(ask=ask if asked else None))

    assert found is None if refusal is None else type(found) is refusal


class Sent:
    """A delivery that keeps what it sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def pack(self, value: object) -> bytes:
        return repr(value).encode()

    def send(self, packed: bytes) -> None:
        self.sent.append(packed)


@pytest.mark.parametrize(
    "value",
    [f"is {SECRET}", [SECRET] * 6000, [1] * 5001, "x" * 20_000],
    ids=["short", "many and long", "many and short", "long"],
)
async def test_a_value_is_delivered_without_secrets_once_a_large_one_is_kept(value: Any) -> None:
    kept: list[int] = []
    delivery = Sent()

    async def keep(call: Call) -> None:
        assert delivery.sent == []
        kept.append(len(call.packed))

    call = call_of()
    call.value, call.delivery = value, delivery
    waiting = RedactionStep(Redactor([SECRET]), keep).begin(call)
    if waiting is not None:
        await waiting

    assert delivery.sent == [call.packed]
    assert SECRET not in repr(call.value)
    assert kept == ([len(call.packed)] if len(call.packed) > 16 * 1024 else [])


async def test_whoever_has_no_delivery_gets_the_value_alone() -> None:
    for value in ("a", ["b"] * 6000):
        call = call_of()
        call.value = value
        waiting = RedactionStep(Redactor()).begin(call)
        if waiting is not None:
            await waiting
        assert (call.value, call.packed) == (value, b"")


def test_an_error_leaves_without_secrets() -> None:
    error: CallError = ToolError(f"is {SECRET}")

    RedactionStep(Redactor([SECRET])).fail(call_of(), error)
    RedactionStep(Redactor([SECRET])).fail(call_of(), ValueError("odd"))

    assert str(error) == "is ***"
