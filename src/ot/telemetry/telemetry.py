"""Telemetry: what runs, calls and requests to models tell those who operate the server.

It counts them (`meters`), and makes a span of each where spans are sent (`otlp`). The trace that a client has begun
goes on in either case: proxied servers hear of it. A command line has no telemetry at all.
"""

from __future__ import annotations

import builtins
import time
from types import TracebackType
from typing import Self

from opentelemetry import trace
from opentelemetry.context import attach, detach
from opentelemetry.trace import INVALID_SPAN, Span, get_current_span, set_span_in_context

import ot.errors
from ot.telemetry.meters import OTHER, Meters

CANCELLED = "CancelledError"
CALL_LIMIT = ot.errors.CallLimitError.__name__
_USAGE = "input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens"
_LONGEST = 100  # characters of the name of an error's type, which may be anybody's word


def is_traced() -> bool:
    """True in a task whose client, or whose request, is part of a trace."""
    return get_current_span() is not INVALID_SPAN


class Traced:
    """Something that goes on: its span, which is the current one of its task meanwhile."""

    __slots__ = ("_token", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self._token = attach(set_span_in_context(span))

    def leave(self) -> None:
        detach(self._token)


class Telemetry:
    """One of a process. `tracer` is there while spans are sent, `meters` where anybody can read them."""

    def __init__(self, meters: Meters | None = None) -> None:
        self.meters = meters
        self.tracer: trace.Tracer | None = None
        self.runs_in_progress = 0

    def run(self, run_id: str) -> RunSpan:
        """Watch a run: `with telemetry.run(...) as run`, and `end` once it is known how it went."""
        return RunSpan(self, run_id)

    def begin_call(self, tool: str, effect: str, parent: Span | None) -> Traced | None:
        """Begin a call as a child of its run, or of the call that makes it; None if there is no trace."""
        if self.tracer is None:
            return None if parent is None else Traced(parent)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "onetool.pack": tool.partition(".")[0],
            "onetool.effect": effect,
        }
        context = None if parent is None else set_span_in_context(parent)
        return Traced(self.tracer.start_span(f"execute_tool {tool}", context, attributes=attributes))

    def end_call(self, traced: Traced | None, tool: str, effect: str, error: str, seconds: float) -> None:
        """End a call; `error` is the type of what went wrong."""
        if self.meters is not None:
            if error == CALL_LIMIT:
                self.refuse("calls_per_minute")
            self.meters.calls.record(seconds, (tool.partition(".")[0], effect, _label(error)))
        if traced is not None:
            if self.tracer is not None:
                _end(traced.span, error)
            traced.leave()

    def refuse(self, limit: str) -> None:
        """Note that a limit, such as `limits.runs_per_minute`, has refused a run or a call."""
        if self.meters is not None:
            self.meters.refusals.add(limit.removeprefix("limits."))

    def model(self, provider: str, model: str, tokens: tuple[int, int, int, int], seconds: float, error: str) -> None:
        """Note a request to a model that has ended.

        The tokens are all that were sent, those received, and of those sent the ones that the provider's cache had, and
        that it has kept.
        """
        kind = "chat"
        if self.meters is not None:
            self.meters.model_requests.record(seconds, (kind, provider, model, _label(error)))
            for kind_of_token, count in zip(("input", "output"), tokens, strict=False):
                if count:
                    self.meters.model_tokens.record(count, (kind, provider, model, kind_of_token))
        if self.tracer is not None:
            attributes: dict[str, str | int] = {
                "gen_ai.operation.name": kind,
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
                **{f"gen_ai.usage.{key}": count for key, count in zip(_USAGE, tokens, strict=True) if count},
            }
            name, began = f"{kind} {model}", time.time_ns() - int(seconds * 1e9)
            _end(self.tracer.start_span(name, None, trace.SpanKind.CLIENT, attributes, start_time=began), error)


class RunSpan:
    """A run while it lasts; one that is never said to have ended was cancelled."""

    __slots__ = ("_began", "_error", "_run_id", "_telemetry", "_traced")

    def __init__(self, telemetry: Telemetry, run_id: str) -> None:
        self._telemetry = telemetry
        self._run_id = run_id
        self._error = ""
        self._traced: Traced | None = None

    @property
    def span(self) -> Span | None:
        """The span that calls of the run are children of: its own, or the client's where none is made here."""
        return None if self._traced is None else self._traced.span

    def end(self, error: str) -> None:
        """Say how it went: `error` is the type of what went wrong."""
        self._error = error

    def __enter__(self) -> Self:
        telemetry = self._telemetry
        telemetry.runs_in_progress += 1
        self._began = time.perf_counter()
        if telemetry.tracer is not None:
            self._traced = Traced(telemetry.tracer.start_span("run", attributes={"onetool.run.id": self._run_id}))
        elif (current := get_current_span()) is not INVALID_SPAN:
            self._traced = Traced(current)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        telemetry, failure = self._telemetry, self._error if kind is None else kind.__name__
        telemetry.runs_in_progress -= 1
        if telemetry.meters is not None:
            telemetry.meters.runs.record(time.perf_counter() - self._began, (_label(failure),))
        if self._traced is not None:
            if telemetry.tracer is not None:
                _end(self._traced.span, failure)
            self._traced.leave()


def _label(error: str) -> str:
    """Return the type of an error for a figure, where a type that code has made up would begin a series of its own."""
    known = not error or error == CANCELLED or hasattr(builtins, error) or hasattr(ot.errors, error)
    return error if known else OTHER


def _end(span: Span, error: str) -> None:
    span.set_attribute("onetool.outcome", "error" if error else "ok")
    if error:
        span.set_attribute("error.type", error[:_LONGEST])
        span.set_status(trace.StatusCode.ERROR)
    span.end()


def current_trace_ids() -> dict[str, str]:
    """Return the ids of the current trace and span, as OpenTelemetry writes them; nothing where there is none."""
    context = get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": trace.format_trace_id(context.trace_id), "span_id": trace.format_span_id(context.span_id)}
