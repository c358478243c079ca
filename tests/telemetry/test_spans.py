"""Spans of a real server at a real collector: what a run and its calls look like there, and what is never told."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import RequestParamsMeta

from tests.demo_pack import with_demo
from tests.e2e.http_server import serving_to_anybody
from tests.e2e.raw_server import WAIT, RawServer
from tests.proxied import program
from tests.telemetry.otlp_receiver import Receiver, receiving

pytestmark = pytest.mark.xdist_group("telemetry")  # the tests share a server

_QUICK = ("env", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=100")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
PRIVATE = "correct horse battery"


@pytest.fixture(scope="module")
def collector() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def server(collector: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    folder = tmp_path_factory.mktemp("told")
    servers = {"far": program("tells_trace")}
    config = f"telemetry: {{otlp: {collector.address}}}\nlog: {{format: json}}\nservers: {json.dumps(servers)}\n"
    (folder / "onetool.yaml").write_text(with_demo(config))
    started = RawServer(folder, "--config", str(folder / "onetool.yaml"), preloaded=True, started_by=_QUICK)
    started.initialize()
    started.run("1")  # spans are sent once the engine is open
    yield started
    started.end()


def run_in_trace(server: RawServer, command: str, trace: str) -> str:
    """Run a command in a trace that the client has begun."""
    parent = PARENT.replace(TRACE, trace)
    answer = server.wait_for_answer(server.start_run(command, traceparent=parent))
    text: str = answer["result"]["content"][0]["text"]
    return text


def new_trace() -> str:
    return os.urandom(16).hex()


def test_a_run_is_a_span_with_a_child_for_each_call(server: RawServer, collector: Receiver) -> None:
    trace = new_trace()

    run_in_trace(server, f"demo.upper(text={PRIVATE!r}); demo.upper(text='b')", trace)

    request = collector.wait_for_span("tools/call run", trace=trace)
    run = collector.wait_for_span("run", trace=trace)
    calls = [span for span in collector.spans if span.trace == trace and span.name == "execute_tool demo.upper"]
    assert request.parent == "00f067aa0ba902b7"
    assert run.parent == request.id
    assert [call.parent for call in calls] == [run.id, run.id]
    assert calls[0].attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "demo.upper",
        "onetool.pack": "demo",
        "onetool.effect": calls[0].attributes["onetool.effect"],
        "onetool.outcome": "ok",
    }
    assert run.attributes["onetool.outcome"] == "ok"
    assert collector.resource["service.name"] == "onetool"


def test_nothing_that_code_or_a_tool_said_leaves(server: RawServer, collector: Receiver) -> None:
    trace = new_trace()

    run_in_trace(server, f"demo.fail(message={PRIVATE!r})", trace)
    server.request("tools/call", {"name": PRIVATE, "arguments": {}, "_meta": {"traceparent": PARENT}})

    run = collector.wait_for_span("run", trace=trace)
    call = collector.wait_for_span("execute_tool demo.fail", trace=trace)
    assert (run.failed, call.failed) == (True, True)
    assert call.attributes["error.type"]
    assert (run.message, call.message, run.events, call.events) == ("", "", 0, 0)
    unknown = collector.wait_for_span("tools/call")
    assert unknown.attributes["error.type"] == "-32602"
    assert PRIVATE.encode() not in b"".join(collector.bodies)


def test_a_proxied_server_is_called_in_the_same_trace(server: RawServer, collector: Receiver) -> None:
    trace = new_trace()

    told = run_in_trace(server, "far.echo(text='')", trace)

    assert told.startswith("00-"), told
    call = collector.wait_for_span("execute_tool far.echo", trace=trace)
    assert told == f"00-{trace}-{call.id}-01"


@pytest.mark.parametrize(
    ("command", "tool", "request_name"),
    [
        ("ot.read(uri='trace://now')", "ot.read", "MCP send resources/read"),
        ("ot.prompts(name='now')[0]['content']", "ot.prompts", "MCP send prompts/get now"),
    ],
    ids=["resource", "prompt"],
)
def test_reads_and_prompts_are_asked_for_in_the_same_trace(
    server: RawServer, collector: Receiver, command: str, tool: str, request_name: str
) -> None:
    trace = new_trace()

    told = run_in_trace(server, command, trace)

    request = collector.wait_for_span(request_name, trace=trace)
    call = collector.wait_for_span(f"execute_tool {tool}", trace=trace)
    assert told == f"00-{trace}-{request.id}-01"
    assert request.parent == call.id


def test_servers_hear_of_the_clients_trace_where_no_spans_are_made(tmp_path: Path) -> None:
    (tmp_path / "onetool.yaml").write_text(f"servers: {json.dumps({'far': program('tells_trace')})}\n")
    server = RawServer(tmp_path, "--config", str(tmp_path / "onetool.yaml"), preloaded=True)
    try:
        server.initialize()
        for command in ("far.echo(text='')", "ot.read(uri='trace://now')", "ot.prompts(name='now')[0]['content']"):
            assert run_in_trace(server, command, TRACE) == PARENT
    finally:
        server.end()


def test_log_lines_are_json_objects_that_name_their_trace(server: RawServer, collector: Receiver) -> None:
    trace = new_trace()

    run_in_trace(server, "demo.upper(text='c')", trace)
    server.wait_for_log(trace, times=2)

    call = collector.wait_for_span("execute_tool demo.upper", trace=trace)
    run = collector.wait_for_span("run", trace=trace)
    lines = [json.loads(line) for line in server.log if trace in line]
    assert [(line["name"], line["span_id"]) for line in lines] == [("demo.upper", call.id), ("run.command", run.id)]
    assert lines[0]["fields"]["status"] == "ok"
    assert lines[0]["level"] == "INFO"


def test_figures_are_sent_too(server: RawServer, collector: Receiver) -> None:
    server.run("demo.upper(text='d')")

    calls = collector.wait_for(lambda: collector.metrics.get("onetool.call.duration"), "figures")
    assert calls.unit == "s"
    assert any(point.count for point in calls.histogram.data_points)
    assert {"mcp.server.operation.duration", "onetool.run.duration", "process.memory.usage"} <= set(collector.metrics)


@pytest.mark.anyio
async def test_the_trace_of_a_header_goes_on_and_that_of_the_request_counts_first(
    collector: Receiver, tmp_path: Path
) -> None:
    header, body = new_trace(), new_trace()
    with serving_to_anybody(tmp_path, f"telemetry: {{otlp: {collector.address}}}", started_by=_QUICK) as url:
        headers = {"traceparent": PARENT.replace(TRACE, header)}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=WAIT) as http_client,
            Client(streamable_http_client(url, http_client=http_client), mode="2026-07-28") as client,
        ):
            await client.call_tool("run", {"command": "demo.upper(text='e')"})
            meta = cast(RequestParamsMeta, {"traceparent": PARENT.replace(TRACE, body)})
            await client.call_tool("run", {"command": "2"}, meta=meta)

        await anyio.to_thread.run_sync(partial(collector.wait_for_span, "execute_tool demo.upper", trace=header))
        await anyio.to_thread.run_sync(partial(collector.wait_for_span, "run", trace=body))


@pytest.mark.parametrize("kind", ["gone", "silent"])
def test_a_collector_that_is_not_there_disturbs_no_run(tmp_path: Path, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are made, and nobody ever reads them
        port = 1 if kind == "gone" else silent.getsockname()[1]
        (tmp_path / "onetool.yaml").write_text(with_demo(f"telemetry: {{otlp: 'http://127.0.0.1:{port}'}}"))
        quick = (*_QUICK, "OTEL_EXPORTER_OTLP_TIMEOUT=0.5")
        server = RawServer(tmp_path, "--config", str(tmp_path / "onetool.yaml"), preloaded=True, started_by=quick)
        server.initialize()

        assert server.run("demo.upper(text='f')")["content"][0]["text"] == "F"
        server.wait_for_log("unreachable")
        assert server.run("demo.upper(text='g')")["content"][0]["text"] == "G"

        server.close_stdin()
        assert server.wait_for_exit() == 0
        assert sum("unreachable" in line for line in server.log) == 1
        assert not any("Traceback" in line for line in server.log)
