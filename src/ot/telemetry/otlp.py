"""Sending spans and figures to a collector by OTLP over HTTP, on threads of their own.

A collector that is slow or gone costs a run nothing: what cannot be sent is dropped, and the log says so once.
The libraries are an extra, and are loaded only where a collector is named.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk import resources
from opentelemetry.sdk.environment_variables import OTEL_EXPORTER_OTLP_ENDPOINT
from opentelemetry.sdk.metrics import export as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, Status

from mcp_core.distribution import VERSION
from ot.logs import write_log
from ot.telemetry import meters as own
from ot.telemetry.meters import Meters
from ot.telemetry.telemetry import Telemetry

SCOPE = "onetool"
PATIENCE = 2.0  # seconds for what is left when the server ends
_LONGEST_NAME = 120  # characters of a span's name, part of which may be a client's word
# What else the spans of the SDK say may be what people wrote: messages of errors, names of what does not exist.
_TOLD = (
    "mcp.method.name", "mcp.protocol.version", "jsonrpc.request.id", "rpc.response.status_code", "error.type",
    "gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.provider.name", "gen_ai.request.model",
    "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens", "onetool.run.id", "onetool.pack", "onetool.effect", "onetool.outcome",
)  # fmt: skip
_REFUSED = "rpc.response.status_code"

Redact = Callable[[str], str]


@contextmanager
def open_sending(telemetry: Telemetry, endpoint: str | None, *, redact: Redact) -> Iterator[None]:
    """Send what is told to `telemetry`, and the spans of the MCP SDK, for as long as this is open.

    `endpoint` is the collector's address without a path of its own; without one the variables of OpenTelemetry count,
    as they do for everything else.
    """
    usual = {resources.SERVICE_NAME: SCOPE, resources.SERVICE_VERSION: VERSION}
    usual[resources.SERVICE_INSTANCE_ID] = os.urandom(8).hex()
    given = resources.OTELResourceDetector().detect().attributes  # the environment comes first
    resource = Resource.create({**usual, **given})
    line = _Line(urlsplit(endpoint or os.environ.get(OTEL_EXPORTER_OTLP_ENDPOINT, "")).netloc.rpartition("@")[2])
    spans = OTLPSpanExporter(_signal(endpoint, "traces"))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Discreet(spans, redact, line)))
    trace.set_tracer_provider(provider)
    telemetry.tracer = provider.get_tracer(SCOPE, VERSION)
    figures = None
    if telemetry.meters is not None:
        figures = _Figures(telemetry.meters, OTLPMetricExporter(_signal(endpoint, "metrics")), resource, line)
    try:
        yield
    finally:
        telemetry.tracer = None
        _end_soon(provider.shutdown, *([] if figures is None else [figures.shutdown]))


def _signal(endpoint: str | None, signal: str) -> str | None:
    return None if endpoint is None else f"{endpoint.rstrip('/')}/v1/{signal}"


def _end_soon(*ends: Callable[[], None]) -> None:
    """Let each send what is left, at the same time; one that takes too long is left behind with its thread."""
    threads = [threading.Thread(target=end, daemon=True) for end in ends]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


class _Line:
    """Tells the log when the collector is lost, and when it is back; the exporters would tell of every attempt."""

    def __init__(self, collector: str) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._collector = collector
        self._lost = False

    def note(self, *, sent: bool) -> None:
        if sent == self._lost:
            self._lost = not sent
            level = logging.INFO if sent else logging.WARNING
            write_log(level, "telemetry.export", status="back" if sent else "unreachable", collector=self._collector)


class _Discreet(SpanExporter):
    """Sends spans without what people wrote: no events, no messages, only known attributes, and no secrets in them."""

    def __init__(self, exporter: OTLPSpanExporter, redact: Redact, line: _Line) -> None:
        self._exporter = exporter
        self._redact = redact
        self._line = line

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export([self._without_words(span) for span in spans])
        self._line.note(sent=result is SpanExportResult.SUCCESS)
        return result

    def _without_words(self, span: ReadableSpan) -> ReadableSpan:
        attributes, name = dict(span.attributes or {}), span.name
        if _REFUSED in attributes and span.kind is SpanKind.SERVER:  # what it named need not exist, and may be anything
            known = attributes[_REFUSED] != "-32601"  # no such method
            name = attributes["mcp.method.name"] = str(attributes["mcp.method.name"]) if known else own.OTHER
            attributes.pop("gen_ai.tool.name", None)
        return ReadableSpan(
            self._redact(name)[:_LONGEST_NAME],
            context=span.context,
            parent=span.parent,
            resource=span.resource,
            attributes={key: self._told(attributes[key]) for key in _TOLD if key in attributes},
            kind=span.kind,
            status=Status(span.status.status_code),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )

    def _told(self, value: object) -> str | int:
        return value if isinstance(value, int) else self._redact(str(value))[:_LONGEST_NAME]

    def shutdown(self) -> None:
        close: Callable[[], None] = self._exporter.shutdown
        close()


class _Figures:
    """Reports all figures now and then, from a thread of its own."""

    def __init__(self, meters: Meters, exporter: sdk.MetricExporter, resource: Resource, line: _Line) -> None:
        self._meters = meters
        self._exporter = exporter
        self._resource = resource
        self._line = line
        self._ending = threading.Event()
        self._interval = 60.0  # seconds between two reports
        with suppress(KeyError, ValueError):
            self._interval = max(0.1, float(os.environ["OTEL_METRIC_EXPORT_INTERVAL"]) / 1000)
        self._thread = threading.Thread(target=self._work, name="ot-telemetry", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._ending.wait(self._interval):
            self._report()
        self._report()

    def _report(self) -> None:
        result = self._exporter.export(collect(self._meters, self._resource))
        self._line.note(sent=result is sdk.MetricExportResult.SUCCESS)

    def shutdown(self) -> None:
        """Report once more."""
        self._ending.set()
        self._thread.join()
        self._exporter.shutdown()


def collect(meters: Meters, resource: Resource) -> sdk.MetricsData:
    """Put all figures into the form that is sent."""
    now = time.time_ns()
    metrics = [_histogram(each, meters.began, now) for each in meters.histograms]
    metrics += [_counter(each, meters.began, now) for each in meters.counters]
    metrics += [_gauge(each, meters.began, now) for each in meters.gauges]
    scope = sdk.ScopeMetrics(InstrumentationScope(SCOPE, VERSION), metrics, "")
    return sdk.MetricsData([sdk.ResourceMetrics(resource, [scope], "")])


def _histogram(histogram: own.Histogram, began: int, now: int) -> sdk.Metric:
    points = [
        sdk.HistogramDataPoint(
            attributes={key: value for key, value in zip(histogram.labels, labels, strict=True) if value},
            start_time_unix_nano=began,
            time_unix_nano=now,
            count=sum(counts),
            sum=series.total,
            bucket_counts=counts,
            explicit_bounds=histogram.bounds,
            min=series.lowest,
            max=series.highest,
        )
        for labels, series in histogram.series()
        for counts in [list(series.counts)]
    ]
    data = sdk.Histogram(points, sdk.AggregationTemporality.CUMULATIVE)
    return sdk.Metric(histogram.name, histogram.words, histogram.unit, data)


def _counter(counter: own.Counter, began: int, now: int) -> sdk.Metric:
    points = [
        sdk.NumberDataPoint(dict(zip(counter.labels, labels, strict=True)), began, now, count)
        for labels, count in counter.counts()
    ]
    data = sdk.Sum(points, sdk.AggregationTemporality.CUMULATIVE, is_monotonic=True)
    return sdk.Metric(counter.name, counter.words, "", data)


def _gauge(gauge: own.Gauge, began: int, now: int) -> sdk.Metric:
    points = [sdk.NumberDataPoint(dict(gauge.labels), began, now, gauge.read())]
    growing = sdk.AggregationTemporality.CUMULATIVE
    data = sdk.Sum(points, growing, is_monotonic=True) if gauge.total else sdk.Gauge(points)
    return sdk.Metric(gauge.name, gauge.words, gauge.unit, data)
