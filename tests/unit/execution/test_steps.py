"""The steps of a call, each by itself: rules, consent, time, what leaves, what is recorded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import NOBODY, Caller, Choice, Milestone
from ot.config.models import Config
from ot.context import current, current_or_none
from ot.effects import Effect
from ot.errors import (
    ConsentError,
    ServiceUnavailableError,
    ToolDeniedError,
    ToolError,
    ToolFailedError,
    ToolStoppedError,
    ToolTimeoutError,
    UnsupportedToolError,
)
from ot.execution.call import DEFAULT_LIMIT, Call, PreparedTool, prepare_tool
from ot.execution.consent import Consent, held
from ot.execution.invocation import CallStep, time_limit
from ot.execution.policy import MAX_DEPTH, DenyStep, Policy
from ot.execution.records import SLOW, RecordStep, RedactionStep, record_unknown
from ot.execution.rules import Guard, first_rule
from ot.execution.step_parts import StepParts
from ot.execution.steps import Preparation
from ot.execution.subject import Subject
from ot.registry.registry import RegisteredTool, ToolFunction, ToolRegistry
from ot.stats.recorder import UNKNOWN_TOOL
from ot.tasks.large_values import FileValue
from ot.text.redaction import Redactor
from tests.opened_executor import Opened, define, open_executor
from tests.unit.stats.noted import file_of, open_for_reading, open_recorder

SECRET = "s3cr3t-value"
NO_SERVICES: Any = None  # of the engine: nothing is called


async def _nothing(_: dict[str, Any]) -> str:
    return "done"


def registered(function: ToolFunction = _nothing, **fields: Any) -> RegisteredTool:
    registry = ToolRegistry()
    registry.register(define("x.tool", **fields), function)
    return registry.find("x.tool")


def prepare(
    function: ToolFunction = _nothing, *, config: Mapping[str, Any] | None = None, **fields: Any
) -> PreparedTool:
    return prepare_tool(registered(function, **fields), Config.model_validate(config or {}))


def call_of(tool: PreparedTool | None = None, *, caller: Caller = NOBODY, depth: int = 0, **fields: Any) -> Call:
    return Call(
        "x.tool", tool or prepare(), fields.pop("arguments", {}), fields.pop("positional", ()), caller, depth, **fields
    )


def parts(**others: Any) -> StepParts:
    return StepParts(NO_SERVICES, Policy(Redactor()), Redactor(), **others)


# -- find


def test_a_tool_is_prepared_once_until_it_is_registered_again() -> None:
    registry = ToolRegistry()
    registry.register(define("x.tool", timeout=3), _nothing)
    preparation = Preparation(registry, Config(), parts())
    first = preparation.of("x.tool")

    assert preparation.of("x.tool") is first
    registry.register(define("x.tool", timeout=4), _nothing)
    assert preparation.of("x.tool").tool.limit == 4


@pytest.mark.parametrize(
    ("timeout", "packs", "limit"),
    [
        (None, {}, DEFAULT_LIMIT),
        (5, {}, 5),
        (5, {"x": {"timeout": 7}}, 7),
        (None, {"x": {"timeout": 7}}, 7),
        (5, {"y": {"timeout": 7}}, 5),
        (5, {"x": {"colour": "red"}}, 5),
    ],
)
def test_the_packs_own_time_counts_before_the_tools(timeout: float | None, packs: dict[str, Any], limit: float) -> None:
    assert prepare(timeout=timeout, config={"packs": packs}).limit == limit


def test_what_policy_says_of_a_tool_is_found_out_beforehand() -> None:
    tool = prepare(config={"policy": {"deny": ["y.*", "x.t*"], "ask": ["x.*"]}}, declared=Effect.READS)

    assert (tool.guard.denied_by, tool.guard.asked_by, tool.effect) == ("x.t*", "x.*", Effect.READS)
    assert (prepare().guard, prepare().effect) == (Guard(("x.tool",), None, None, None, False, ()), Effect.UNKNOWN)


# -- deny


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (("new.get_env",), "new.get_env"),
        (("old.get_env",), "old.get_env"),
        (("new.get-env",), "new.get-env"),
        (("other.*", "old.*", "new.*"), "old.*"),
        (("NEW.*",), None),
        (("new",), None),
        (("get_env",), None),
        ((), None),
    ],
    ids=str,
)
def test_a_rule_names_a_tool_by_any_of_its_names(rules: tuple[str, ...], found: str | None) -> None:
    definition = define("new.get_env", moved_from="old.get_env", original="get-env")

    assert first_rule(definition.all_names, rules) == found


def test_a_denied_call_is_refused_with_the_rule() -> None:
    with pytest.raises(ToolDeniedError) as raised:
        DenyStep(prepare(config={"policy": {"deny": ["x.*"]}})).begin(call_of())

    assert (raised.value.tool, raised.value.rule) == ("x.tool", "x.*")
    DenyStep(prepare()).begin(call_of())


def test_a_tool_that_needs_what_we_do_not_have_is_refused() -> None:
    with pytest.raises(UnsupportedToolError) as raised:
        DenyStep(prepare(lacks="a window")).begin(call_of())

    assert (raised.value.tool, raised.value.lacks) == ("x.tool", "a window")


# -- ask


class Person:
    """Answers questions, and keeps them with what the clock did meanwhile."""

    def __init__(self, *, agrees: bool) -> None:
        self.agrees = agrees
        self.questions: list[str] = []
        self.holding = 0
        self.held_while_asked: list[int] = []

    async def ask(self, question: str, choices: Sequence[Choice]) -> Choice | None:
        self.questions.append(question)
        self.held_while_asked.append(self.holding)
        return Choice.ONCE if self.agrees else None

    @contextmanager
    def hold(self) -> Iterator[None]:
        self.holding += 1
        try:
            yield
        finally:
            self.holding -= 1


async def test_a_person_is_asked_without_secrets_while_no_clock_runs() -> None:
    person = Person(agrees=True)
    subject = Subject("x.tool", "policy.ask names x.*", {"key": SECRET})

    await Consent(Redactor([SECRET])).obtain(subject, Caller(ask=person.ask, hold=person.hold))

    assert person.questions == ['Allow this call?\n\nx.tool\n  key = "***"\n  (asked because policy.ask names x.*)']
    assert (person.held_while_asked, person.holding) == ([1], 0)


async def test_without_agreement_there_is_an_error_with_the_reason() -> None:
    consent = Consent(Redactor())
    for caller, reason in (
        (Caller(ask=Person(agrees=False).ask), "the answer was no"),
        (NOBODY, "nobody can be asked here"),
    ):
        with pytest.raises(ConsentError) as raised:
            await consent.obtain(Subject("x.tool", "policy.ask names x.*", {}), caller)
        assert (raised.value.tool, raised.value.reason) == ("x.tool", reason)


def test_a_caller_without_a_clock_needs_none_held() -> None:
    with held(NOBODY):
        pass


# -- call


@pytest.mark.parametrize(
    ("timeout", "remaining", "limit", "key"),
    [
        (None, None, 10, "packs.x.timeout"),
        (None, 0.5, 0.5, "execution.timeout"),
        (4, None, 4, ""),
        (40, None, 10, "packs.x.timeout"),
        (None, 3, 3, "execution.timeout"),
        (None, 30, 10, "packs.x.timeout"),
        (None, 10, 10, "packs.x.timeout"),
        (4, 3, 3, "execution.timeout"),
        (2, 3, 2, ""),
    ],
)
def test_the_least_of_all_limits_counts(timeout: float | None, remaining: float | None, limit: float, key: str) -> None:
    left: Callable[[], float] | None = None if remaining is None else lambda: remaining

    assert time_limit(call_of(prepare(timeout=10), caller=Caller(timeout=timeout, remaining=left))) == (limit, key)


@pytest.mark.parametrize("left", [0, -1])
def test_a_run_without_time_makes_no_calls(left: float) -> None:
    with pytest.raises(ToolStoppedError) as raised:
        time_limit(call_of(caller=Caller(remaining=lambda: left)))

    assert (raised.value.tool, raised.value.still_running) == ("x.tool", False)


def test_calls_inside_calls_have_an_end() -> None:
    deny = DenyStep(prepare())
    deny.begin(call_of(depth=MAX_DEPTH))
    with pytest.raises(ToolFailedError, match="more than 32 deep") as raised:
        deny.begin(call_of(depth=MAX_DEPTH + 1))

    assert (raised.value.tool, raised.value.kind) == ("x.tool", "RecursionError")


async def invoked(function: ToolFunction, *, caller: Caller = NOBODY, **fields: Any) -> Any:
    async with open_executor() as opened:
        call = call_of(prepare(function, **fields), caller=caller, depth=3)
        return await made(call, opened, {"a": 1})


async def made(call: Call, opened: Opened, arguments: dict[str, Any] | None = None) -> Any:
    call.bound = arguments or {}
    assert await CallStep(opened.executor._door).begin(call)
    return call.value


async def test_a_function_gets_its_arguments_and_its_context() -> None:
    caller = Caller(client="test")

    async def tool(arguments: dict[str, Any]) -> Any:
        context = current()
        assert 400 < context.remaining() <= 500
        return arguments, context.tool, context.caller, context.depth, context.effect

    found = await invoked(tool, caller=caller, timeout=500, declared=Effect.IDEMPOTENT)

    assert found == ({"a": 1}, "x.tool", caller, 3, Effect.IDEMPOTENT)
    assert current_or_none() is None


async def test_a_clock_that_is_held_before_the_tool_waits_does_not_end_it() -> None:
    held: list[float] = []

    async def tool(arguments: dict[str, Any]) -> Any:
        context = current()
        context.hold()
        held.append(context.remaining())
        await anyio.sleep(0.6)
        held.append(context.remaining())
        context.release()
        await anyio.sleep_forever()

    with pytest.raises(ToolTimeoutError):
        await invoked(tool, timeout=0.5)
    before, after = held
    assert 0 < before == after


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("reports", "told"),
    [
        (1, [(1, True)]),
        (2, [(1, True), (2, False), (2, True)]),
        (3, [(1, True), (2, False), (3, False), (3, True)]),
    ],
)
async def test_the_first_and_the_last_report_of_a_call_are_milestones(
    reports: int, told: list[tuple[float, bool]], *, fails: bool
) -> None:
    heard: list[tuple[float, bool]] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        heard.append((done, isinstance(message, Milestone)))

    async def tool(arguments: dict[str, Any]) -> Any:
        for done in range(1, reports + 1):
            await current().progress(done)
        if fails:
            raise ValueError("no")

    with pytest.raises(ToolFailedError) if fails else nullcontext():
        await invoked(tool, caller=Caller(progress=listen))

    assert heard == told


async def test_statistics_leave_out_the_start_that_a_call_waited_for(tmp_path: Path) -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        current().startup += 4.0

    call = call_of(prepare(tool))
    with open_recorder(tmp_path) as recorder:
        async with open_executor() as opened:
            await made(call, opened)
        call.seconds = 5.0
        RecordStep(recorder).end(call)
        recorder.flush()
        with open_for_reading(file_of(recorder)) as database:
            assert database.execute("SELECT seconds FROM calls").fetchall() == [(1.0,)]


async def test_the_context_is_gone_after_a_failure_too() -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        raise ValueError("no")

    with pytest.raises(ToolFailedError):
        await invoked(tool)
    assert current_or_none() is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
async def test_what_ends_the_server_is_no_failure_of_a_tool(error: type[BaseException]) -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        raise error

    async with open_executor() as opened:
        call = call_of(prepare(tool))
        with pytest.raises(error):
            await made(call, opened)


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        raise asyncio.CancelledError

    with pytest.raises(ToolFailedError) as raised:
        await invoked(tool)
    assert isinstance(raised.value.__cause__, asyncio.CancelledError)


async def test_whoever_is_cancelled_is_cancelled() -> None:
    async def tool(arguments: dict[str, Any]) -> Any:
        await anyio.sleep_forever()

    async with open_executor() as opened:
        call = call_of(prepare(tool))
        task = asyncio.create_task(made(call, opened))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_tool_that_stops_late_tells_whether_it_goes_on() -> None:
    def stopping(*, still_running: bool) -> ToolFunction:
        async def tool(arguments: dict[str, Any]) -> Any:
            try:
                await anyio.sleep_forever()
            except BaseException as error:
                raise ToolStoppedError("x.tool", still_running=still_running) from error

        return tool

    for still_running in (True, False):
        with pytest.raises(ToolTimeoutError) as raised:
            await invoked(stopping(still_running=still_running), timeout=0.01)
        assert (raised.value.limit, raised.value.still_running) == (0.01, still_running)


async def test_causes_stay_with_errors() -> None:
    def raising(error: BaseException) -> ToolFunction:
        async def tool(arguments: dict[str, Any]) -> Any:
            raise error

        return tool

    refused = ConnectionRefusedError("refused")
    with pytest.raises(ServiceUnavailableError) as unavailable:
        await invoked(raising(refused))
    with pytest.raises(ToolError) as plain:
        await invoked(raising(ToolError("no")))

    assert unavailable.value.__cause__ is refused
    assert plain.value.__cause__ is None


# -- redaction


class FromFile(FileValue):
    """A value that says whether it was read."""

    def __init__(self, value: Any) -> None:
        self._value = value
        self.read_times = 0

    def read(self) -> Any:
        self.read_times += 1
        return self._value


class Packer:
    """A delivery that packs by `repr`."""

    def pack(self, value: object) -> bytes:
        return f"<{value if isinstance(value, FileValue) else repr(value)}>".encode()

    def send(self, packed: bytes) -> None:
        raise AssertionError("packing sends nothing")


def test_values_leave_without_secrets_and_packed_for_who_wants_them_so() -> None:
    outgoing = RedactionStep(Redactor([SECRET]))

    assert outgoing.make_ready([SECRET, 1], None) == (["***", 1], b"")
    assert outgoing.make_ready([SECRET, 1], Packer()) == (["***", 1], b"<['***', 1]>")


def test_a_value_without_secrets_is_the_value_itself() -> None:
    value: list[Any] = [1, "two"]

    assert RedactionStep(Redactor()).make_ready(value, None)[0] is value


def test_a_value_in_a_file_is_read_for_who_has_no_use_for_the_file() -> None:
    outgoing = RedactionStep(Redactor([SECRET]))
    read, passed_on = FromFile(f"is {SECRET}"), FromFile("x")

    assert outgoing.make_ready(read, None) == ("is ***", b"")
    assert outgoing.make_ready(passed_on, Packer())[0] is passed_on
    assert (read.read_times, passed_on.read_times) == (1, 0)


async def test_a_value_in_a_file_comes_out_of_a_call_as_a_value() -> None:
    value = FromFile({"key": SECRET})

    async def tool(arguments: dict[str, Any]) -> Any:
        return value

    async with open_executor(secrets={"KEY": SECRET}) as opened:
        opened.registry.register(define("x.tool"), tool)
        assert await opened.executor.call("x.tool", {}) == {"key": "***"}


# -- record


def rows_of(file: Path) -> list[tuple[Any, ...]]:
    with open_for_reading(file) as connection:
        return connection.execute("SELECT tool, error, run, depth, sent, received FROM calls ORDER BY id").fetchall()


def test_a_call_is_recorded_with_how_it_ended(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        call = call_of(caller=Caller(run=7), depth=2, sent=b"[1]")
        call.value, call.packed, call.seconds = "value", b"[12]", 1.0
        record = RecordStep(recorder)
        record.end(call)
        call.packed = b""
        for error, call.failure in (
            (ToolFailedError("x.tool", "KeyError", "k", "1"), "KeyError"),
            (ValueError("odd"), "ValueError"),
        ):
            record.fail(call, error)
        record_unknown("y.z", ToolError("no"), Caller(run=8), b"{}", recorder)
        recorder.flush()

        assert rows_of(file_of(recorder)) == [
            ("x.tool", "", 7, 2, 3, 4),
            ("x.tool", "KeyError", 7, 2, 3, 0),
            ("x.tool", "ValueError", 7, 2, 3, 0),
            (UNKNOWN_TOOL, "ToolError", 8, 0, 2, 0),
        ]


def test_a_call_of_an_unknown_tool_took_no_time(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        record_unknown("y.z", ToolError("no"), Caller(), b"", recorder)
        recorder.flush()

        with open_for_reading(file_of(recorder)) as connection:
            assert connection.execute("SELECT seconds FROM calls").fetchall() == [(0.0,)]


def test_a_call_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    call = call_of(arguments={"a": 1}, positional=["b"])
    call.value, call.seconds = [2], 0.5
    with caplog.at_level(logging.INFO, logger="ot"):
        RecordStep(None).end(call)

    [line] = caplog.records
    assert line.getMessage() == "x.tool status=ok ms=500.0 arguments={'a': 1} positional=['b'] result=<1 items>"
    assert line.levelno == logging.INFO


def test_a_failed_call_says_why_and_a_slow_one_that_it_was(caplog: pytest.LogCaptureFixture) -> None:
    call = call_of()
    call.value = None
    with caplog.at_level(logging.INFO, logger="ot"):
        call.seconds = SLOW + 1
        RecordStep(None).end(call)
        call.seconds = SLOW
        RecordStep(None).fail(call, ToolError("no such row"))
        RecordStep(None).fail(call, asyncio.CancelledError())

    slow, failed, cancelled = caplog.records
    assert slow.getMessage() == "x.tool status=ok ms=2000.0 arguments={} result=None slow=True"
    assert slow.levelno == logging.WARNING
    assert failed.getMessage() == "x.tool status=ToolError ms=1000.0 arguments={} error='no such row'"
    assert failed.levelno == logging.WARNING
    assert cancelled.getMessage() == "x.tool status=CancelledError ms=1000.0 arguments={}"
    assert cancelled.levelno == logging.INFO


def test_an_unknown_tool_is_a_warning_also_where_nothing_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    record_unknown("y.z", ToolError("no"), NOBODY, b"", None)

    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [
        (logging.WARNING, "executor.unknown_tool tool='y.z' error=ToolError")
    ]
