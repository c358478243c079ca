"""Requests of MCP clients as those who operate the server see them: how long each took, and whose trace it is in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import Token

from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, CallToolResult
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ot.telemetry.meters import OTHER
from ot.telemetry.telemetry import Telemetry

_TRACE = "traceparent"
_PROPAGATOR = TraceContextTextMapPropagator()


def watching_operations(telemetry: Telemetry) -> ServerMiddleware[object]:
    """Build the middleware that stands before all others, and before the SDK's spans: it continues a trace of a header.

    The SDK looks for one in `_meta`, which counts first.
    """

    async def watch(ctx: ServerRequestContext[object], call_next: CallNext) -> HandlerResult:
        token, began, failure = _continue_trace(ctx), time.perf_counter(), ""
        try:
            result = await call_next(ctx)
            if isinstance(result, CallToolResult) and result.is_error:
                failure = "tool_error"
            return result
        except BaseException as error:
            failure = str(error.error.code) if isinstance(error, MCPError) else type(error).__name__
            raise
        finally:
            if telemetry.meters is not None:
                method = OTHER if failure == str(METHOD_NOT_FOUND) else ctx.method
                telemetry.meters.operations.record(time.perf_counter() - began, (method, failure))
            if token is not None:
                detach(token)

    return watch


def _continue_trace(ctx: ServerRequestContext[object]) -> Token[Context] | None:
    headers: object = getattr(ctx.request, "headers", None)
    if not isinstance(headers, Mapping) or _TRACE not in headers:
        return None
    return attach(_PROPAGATOR.extract(headers))
