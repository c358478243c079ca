"""The server over streamable HTTP: who is let in, and who is not."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from mcp_core.distribution import VERSION
from tests.demo_pack import give_demo
from tests.e2e.http_server import HttpServer
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.e2e.raw_server import WAIT, RawServer
from tests.ports import find_free_port
from tests.services.full_disk import fill, mount_small_disk

pytestmark = pytest.mark.xdist_group("http")  # the tests share a server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    started = HttpServer(tmp_path_factory.mktemp("http"))
    yield started
    started.raw.end()


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_with_the_token_gets_an_answer(server: HttpServer, mode: str) -> None:
    async with (
        httpx2.AsyncClient(headers=server.headers, timeout=WAIT) as http_client,
        Client(streamable_http_client(server.url, http_client=http_client), mode=mode) as client,
    ):
        result = await client.call_tool("run", {"command": "demo.upper(text='over http')"})

    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text == "OVER HTTP"


def test_the_token_was_made_for_the_owner_only(server: HttpServer) -> None:
    assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
    assert server.token_file.read_text().strip() not in "".join(server.raw.log)


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer wrong", "Bearer ", "Basic dXNlcjpwYXNz"],
    ids=["none", "wrong", "empty", "another-scheme"],
)
def test_without_the_token_nobody_is_let_in(server: HttpServer, authorization: str | None) -> None:
    response = server.post({"Authorization": authorization})

    assert response.status == 401
    assert (response.getheader("WWW-Authenticate") or "").startswith("Bearer")


def test_the_handshake_works_with_the_token_and_a_proper_host(server: HttpServer) -> None:
    assert server.post(server.headers).status == 200
    assert server.post({**server.headers, "Host": f"localhost:{server.port}"}).status == 200
    assert server.post({**server.headers, "Origin": f"http://127.0.0.1:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}"]
)
def test_another_host_is_refused_even_with_the_token(server: HttpServer, host: str) -> None:
    assert server.post({**server.headers, "Host": host.format(port=server.port)}).status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://localhost:1"])
def test_another_origin_is_refused_even_with_the_token(server: HttpServer, origin: str) -> None:
    assert server.post({**server.headers, "Origin": origin.format(port=server.port)}).status == 403


def test_the_token_opens_nothing_beside_the_one_path(server: HttpServer) -> None:
    assert server.post(server.headers, path="/").status == 401
    assert server.post({}, path="/").status == 401


def get(server: HttpServer, path: str, headers: dict[str, str] | None = None) -> httpx2.Response:
    return httpx2.get(f"http://127.0.0.1:{server.port}{path}", headers=headers, timeout=WAIT)


def test_anybody_may_ask_if_it_lives_and_is_ready(server: HttpServer) -> None:
    assert server.post(server.headers).status == 200

    assert get(server, "/healthz", {"Host": "balancer.example"}).text == f"ok {VERSION}\n"
    ready = get(server, "/readyz", {"Host": "balancer.example"})
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "problems": {}})


def test_figures_are_for_this_machine(server: HttpServer) -> None:
    assert server.post(server.headers).status == 200

    told = get(server, "/metrics")
    assert told.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'mcp_server_operation_duration_seconds_count{mcp_method_name="initialize",error_type=""}' in told.text
    assert "process_memory_usage_bytes" in told.text
    for headers in ({"X-Forwarded-For": "192.0.2.7"}, {"Forwarded": "for=192.0.2.7"}, {"Via": "1.1 balancer"}):
        assert get(server, "/metrics", headers).status_code == 403
    assert get(server, "/metrics", {"Host": "evil.example"}).status_code == 421


def test_an_address_that_others_could_reach_is_one_line_and_status_2(tmp_path: Path) -> None:
    server = RawServer(tmp_path, "--http", "0.0.0.0:0")

    assert server.wait_for_exit() == 2
    assert len(server.log) == 1
    assert "0.0.0.0 is not this machine alone" in server.log[0]


def test_a_port_that_is_taken_is_one_line_and_status_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = RawServer(tmp_path, "--http", f"127.0.0.1:{taken.getsockname()[1]}")

        assert server.wait_for_exit() == 2
        assert len(server.log) == 1


def test_no_token_lets_local_programs_in_and_still_checks_the_host(tmp_path: Path) -> None:
    server = HttpServer(tmp_path, "--no-token", preloaded=True)

    assert server.post({}).status == 200
    assert server.post({"Host": "evil.example"}).status == 421
    assert server.post({"Origin": "http://evil.example"}).status == 403
    assert not server.token_file.exists()
    server.raw.end()


def test_a_signal_in_the_middle_of_a_run_ends_the_server_and_all_its_processes(tmp_path: Path) -> None:
    server = HttpServer(tmp_path, "--no-token")
    session = server.post({}).getheader("Mcp-Session-Id")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    call = {"name": "run", "arguments": {"command": "demo.upper(text='begun')\nwhile True: pass"}}
    connection.request(
        "POST",
        "/mcp",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Session-Id": session or "",
            "Mcp-Protocol-Version": "2025-11-25",
        },
    )
    server.raw.wait_for_log("demo.upper")
    below = find_descendants(server.raw.process.pid)
    assert below

    server.raw.process.send_signal(signal.SIGTERM)

    assert server.raw.wait_for_exit() == 0
    wait_until_gone(below)
    connection.close()


def test_a_server_whose_disk_is_full_is_not_ready_and_a_new_one_says_so(tmp_path: Path) -> None:
    with mount_small_disk(tmp_path / "disk", size="8m") as disk:
        give_demo(disk)
        served = RawServer(disk, "--http", f"127.0.0.1:{(port := find_free_port())}", preloaded=True)
        try:
            served.wait_for_log("serving MCP at")
            wait_until_ready(port)
            fill(disk)
            answer = httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=WAIT)
        finally:
            served.end()
        (disk / ".onetool" / "state" / "http-token").unlink()
        fill(disk)
        new = RawServer(disk, "--http", "127.0.0.1:0", preloaded=True)
        status = new.wait_for_exit()

    assert (answer.status_code, answer.json()["problems"]) == (503, {"disk": "is full"})
    assert status == 2
    assert "http-token" in new.log[-1]
    assert "its disk is full" in "".join(new.log)
    assert "Traceback" not in "".join(new.log)


def wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + WAIT
    while httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=WAIT).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
