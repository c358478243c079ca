"""The trace that something happens in, for the lines of the log."""

from __future__ import annotations

from opentelemetry.trace import format_span_id, format_trace_id, get_current_span


def current_trace_ids() -> dict[str, str]:
    """Return the ids of the current trace and span, as OpenTelemetry writes them; nothing where there is none."""
    context = get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
