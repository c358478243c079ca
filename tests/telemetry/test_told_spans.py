"""What the executor and the models tell the telemetry, seen at an exporter in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ot.ai.failover import Backoff, Models
from ot.ai.messages import Piece, Request, Spent, Stopped, Text
from ot.ai.opening import ModelAccess
from ot.config.secrets import Secrets
from ot.context import current
from ot.errors import CallError, ModelRefusedError
from ot.telemetry.meters import MOST_SERIES, Meters, render_prometheus
from ot.telemetry.telemetry import Telemetry
from ot.text.redaction import Redactor
from tests.opened_executor import Opened, add_tool, open_executor


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def telemetry(exporter: InMemorySpanExporter) -> Iterator[Telemetry]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(Meters())
    telemetry.tracer = provider.get_tracer("test")
    yield telemetry
    provider.shutdown()


@pytest.fixture
async def opened(telemetry: Telemetry, tmp_path: Path) -> AsyncIterator[Opened]:
    async with open_executor(tmp_path, telemetry=telemetry) as opened:
        yield opened


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


@pytest.mark.anyio
async def test_a_call_that_a_tool_makes_is_a_child_of_the_tools_own(
    opened: Opened, exporter: InMemorySpanExporter
) -> None:
    async def inner(_: dict[str, object]) -> str:
        return "done"

    async def outer(_: dict[str, object]) -> object:
        return await current().call("x.inner")

    add_tool(opened, "x.inner", inner)
    add_tool(opened, "x.outer", outer)

    await opened.executor.call("x.outer", {})

    child, parent = exporter.get_finished_spans()
    assert (child.name, parent.name) == ("execute_tool x.inner", "execute_tool x.outer")
    assert child.parent is not None
    assert parent.context is not None
    assert child.parent.span_id == parent.context.span_id
    assert parent.parent is None


@pytest.mark.anyio
async def test_a_call_that_fails_or_is_cancelled_says_so_by_type(
    opened: Opened, exporter: InMemorySpanExporter, telemetry: Telemetry
) -> None:
    class MadeUpError(Exception):
        pass

    async def fails(_: dict[str, object]) -> str:
        raise MadeUpError("what nobody should read")

    add_tool(opened, "x.fails", fails)
    add_tool(opened, "x.waits", lambda _: anyio.sleep_forever())

    with pytest.raises(CallError):
        await opened.executor.call("x.fails", {})
    with anyio.CancelScope() as scope:
        scope.cancel()
        await opened.executor.call("x.waits", {})

    failed, cancelled = (attributes_of(span) for span in exporter.get_finished_spans())
    assert (failed["onetool.outcome"], failed["error.type"]) == ("error", "Exception")
    assert (cancelled["onetool.outcome"], cancelled["error.type"]) == ("error", "CancelledError")
    assert telemetry.meters is not None
    text = render_prometheus(telemetry.meters)
    assert (
        'onetool_call_duration_seconds_count{onetool_pack="x",onetool_effect="unknown",error_type="Exception"} 1'
        in text
    )
    assert "MadeUpError" not in text


class SmallModel:
    """A model that says one word, or refuses."""

    provider, name = "openai", "small-1"

    def __init__(self, *, refuses: bool = False) -> None:
        self._refuses = refuses

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        if self._refuses:
            raise ModelRefusedError(self.provider, "no")
        yield Text("yes")
        yield Spent(input_tokens=20, output_tokens=3, cache_read_tokens=100)
        yield Stopped()

    async def close(self) -> None:
        pass


async def ask(model: SmallModel, telemetry: Telemetry) -> None:
    access = ModelAccess(Secrets({}), Redactor([]), None, telemetry)
    models = Models(model, backoff=Backoff(0), prices={}, record=access.record)
    async with aclosing(models.ask(Request("", (), (), 10))) as events:
        async for _ in events:
            pass


@pytest.mark.anyio
async def test_a_request_to_a_model_is_a_span_with_its_tokens(
    telemetry: Telemetry, exporter: InMemorySpanExporter
) -> None:
    await ask(SmallModel(), telemetry)
    with pytest.raises(ModelRefusedError):
        await ask(SmallModel(refuses=True), telemetry)

    answered, refused = exporter.get_finished_spans()
    assert answered.name == refused.name == "chat small-1"
    assert attributes_of(answered) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "onetool.outcome": "ok",
    }
    assert attributes_of(refused)["error.type"] == "ModelRefusedError"
    assert telemetry.meters is not None
    assert 'gen_ai_token_type="input"} 120.0' in render_prometheus(telemetry.meters)


def test_labels_that_never_end_are_counted_together() -> None:
    meters = Meters()

    for number in range(MOST_SERIES + 10):
        meters.calls.record(1.0, (f"pack{number}", "reads", ""))

    text = render_prometheus(meters)
    assert text.count("onetool_call_duration_seconds_count{") == MOST_SERIES + 1
    assert (
        'onetool_call_duration_seconds_count{onetool_pack="_OTHER",onetool_effect="_OTHER",error_type="_OTHER"} 10'
        in text
    )


def test_figures_are_written_as_prometheus_reads_them() -> None:
    meters = Meters()
    meters.add_gauge("onetool.run.active", "{run}", "Runs in progress", lambda: 2)
    meters.add_gauge("process.cpu.time", "s", "Processor time", lambda: 1.5, total=True)
    meters.runs.record(0.003, ('a "quoted\\ word"\n',))

    lines = render_prometheus(meters).splitlines()

    label = 'error_type="a \\"quoted\\\\ word\\"\\n"'
    assert f'onetool_run_duration_seconds_bucket{{{label},le="0.0025"}} 0' in lines
    assert f'onetool_run_duration_seconds_bucket{{{label},le="0.005"}} 1' in lines
    assert f'onetool_run_duration_seconds_bucket{{{label},le="+Inf"}} 1' in lines
    assert f"onetool_run_duration_seconds_count{{{label}}} 1" in lines
    assert "onetool_run_active 2" in lines
    assert "process_cpu_time_seconds_total 1.5" in lines
