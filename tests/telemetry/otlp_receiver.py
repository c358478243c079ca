"""A collector: takes spans and figures by OTLP over HTTP, as its protocol buffers define them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

WAIT = 60.0  # seconds: a bound for a machine that is busy

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A span as it came: its ids as hexadecimal digits."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    attributes: dict[str, str | int]
    failed: bool
    message: str
    events: int
    seconds: float


class Receiver:
    """What has arrived so far."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []  # of requests, as they came
        self.spans: list[ReceivedSpan] = []
        self.metrics: dict[str, Metric] = {}  # the latest of each name
        self.resource: dict[str, str | int] = {}
        self.address = ""
        self._arrived = threading.Condition()

    def take(self, path: str, body: bytes) -> bool:
        with self._arrived:
            self.bodies.append(body)
            if path == "/v1/traces":
                self._take_spans(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                self._take_metrics(ExportMetricsServiceRequest.FromString(body))
            else:
                return False
            self._arrived.notify_all()
        return True

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resource = _plain(resource.resource.attributes)
            self.spans += [_read(span) for scope in resource.scope_spans for span in scope.spans]

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                self.metrics |= {metric.name: metric for metric in scope.metrics}

    def wait_for(self, find: Callable[[], Found | None], what: str) -> Found:
        """Wait until something has arrived."""
        deadline = time.monotonic() + WAIT
        with self._arrived:
            while (found := find()) is None:
                left = deadline - time.monotonic()
                assert left > 0, f"no {what} among {[span.name for span in self.spans]}"
                self._arrived.wait(left)
        return found

    def wait_for_span(self, name: str, *, trace: str | None = None) -> ReceivedSpan:
        """Wait for a span of this name, in a trace or in any."""
        return self.wait_for(lambda: self.find_span(name, trace=trace), f"span {name!r}")

    def find_span(self, name: str, *, trace: str | None = None) -> ReceivedSpan | None:
        found = (span for span in self.spans if span.name == name and trace in (None, span.trace))
        return next(found, None)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A collector on a free port of this machine."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken = receiver.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if taken else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        receiver.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def _read(span: Span) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        _plain(span.attributes),
        failed=span.status.code == 2,
        message=span.status.message,
        events=len(span.events),
        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


def _plain(attributes: Iterable[KeyValue]) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for pair in attributes:
        found[pair.key] = pair.value.int_value if pair.value.HasField("int_value") else pair.value.string_value
    return found
