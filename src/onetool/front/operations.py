"""Requests of MCP clients as those who operate the server see them: how long each took, and whose trace it is in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ot.telemetry.meters import OTHER
from ot.telemetry.telemetry import Telemetry

TRACE = "traceparent"
"""The header that names the trace of a request."""

_PROPAGATOR = TraceContextTextMapPropagator()


def watching_operations(telemetry: Telemetry) -> ServerMiddleware[object]:
    """Build the middleware that stands before all others, and before the SDK's spans: it continues a trace of a header.

    The SDK looks for one in `_meta`, which counts first.
    """

    async def watch(ctx: ServerRequestContext[object], call_next: CallNext) -> HandlerResult:
        token = _continue_trace(ctx)
        try:
            with timed_operation(telemetry, ctx.method) as operation:
                result = await call_next(ctx)
                operation.failed = isinstance(result, dict) and result.get("isError") is True
                return result
        finally:
            if token is not None:
                detach(token)

    return watch


class Operation:
    """A request that is being answered; whoever answers it says whether its tool has `failed`."""

    failed = False


@contextmanager
def timed_operation(telemetry: Telemetry, method: str) -> Iterator[Operation]:
    """Count how long a request takes, and what went wrong."""
    operation, began, failure = Operation(), time.perf_counter(), ""
    try:
        yield operation
        failure = "tool_error" if operation.failed else ""
    except BaseException as error:
        failure = str(error.error.code) if isinstance(error, MCPError) else type(error).__name__
        raise
    finally:
        if telemetry.meters is not None:
            method = OTHER if failure == str(METHOD_NOT_FOUND) else method
            telemetry.meters.operations.record(time.perf_counter() - began, (method, failure))


def _continue_trace(ctx: ServerRequestContext[object]) -> Token[Context] | None:
    headers: object = getattr(ctx.request, "headers", None)
    if not isinstance(headers, Mapping) or TRACE not in headers:
        return None
    return attach(_PROPAGATOR.extract(headers))
