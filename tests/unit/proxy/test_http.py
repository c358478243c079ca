"""Servers over HTTP: every transport, lost connections, headers, and logins."""

from __future__ import annotations

import gc
import json
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from ot.clients.caller import Caller
from ot.clients.front import Abilities, Front
from ot.errors import ServerUnavailableError
from ot.proxy.resources import list_resources
from ot.proxy.transports.http import open_older_http
from tests.http_programs import address_of, serve_http
from tests.opened_executor import define
from tests.ports import find_free_port
from tests.proxied import Proxied, open_proxied

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("proxy http")]

Address = Callable[..., str]
KINDS = ("modern", "handshake", "json", "sse")


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    """The addresses of servers by kind, each started when it is first asked for."""
    with ExitStack() as servers:

        def start(kind: str, lifetime: int = 3600, program: str = "http_server") -> str:
            return servers.enter_context(serve_http(kind, environ={"LIFETIME": str(lifetime)}, program=program))

        yield cache(start)


@pytest.fixture(scope="module", params=KINDS)
def url(request: pytest.FixtureRequest, address: Address) -> str:
    return address(request.param)


async def test_calls_of_every_size_and_several_at_once(url: str, tmp_path: Path) -> None:
    answers: list[Any] = []

    async with open_proxied(tmp_path, {"web": {"url": url}}) as proxied:
        assert await proxied.call("web.echo", text="hello") == "hello"
        with anyio.fail_after(60):
            assert len(await proxied.call("web.large")) == 20 * 1024 * 1024

            async def meet() -> None:
                answers.append(await proxied.call("web.meet", count=8))

            async with anyio.create_task_group() as tasks:
                for _ in range(8):
                    tasks.start_soon(meet)

    assert answers == ["met"] * 8


@pytest.mark.parametrize(
    ("tool", "value"), [("trap", {"text": "a" * 60 + "!"}), ("other", {"text": 5}), ("only_text", {"text": "aa"})]
)
async def test_a_schema_cannot_keep_us_busy_with_its_answers(
    tool: str, value: Any, address: Address, tmp_path: Path
) -> None:
    async with open_proxied(tmp_path, {"web": {"url": address("json", program="trap_over_http")}}) as proxied:
        assert await proxied.call(f"web.{tool}") == value


async def test_headers_of_the_settings_are_sent(address: Address, tmp_path: Path) -> None:
    settings = {
        "url": address("handshake"),
        "json_text": True,
        "headers": {"X-Api-Key": "swordfish-9", "Authorization": "Bearer of ours"},
    }
    async with open_proxied(tmp_path, {"web": settings}) as proxied:
        found = await proxied.call("web.headers")

    assert (found["x-api-key"], found["authorization"]) == ("swordfish-9", "Bearer of ours")


@pytest.mark.parametrize("kind", ["handshake", "modern"])
async def test_a_lost_connection_is_told_and_comes_back(kind: str, tmp_path: Path) -> None:
    port = find_free_port()

    async with open_proxied(tmp_path, {"web": {"url": address_of(kind, port)}}) as proxied:
        with serve_http(kind, port=port):
            first = await proxied.call("web.pid")
        with pytest.raises(ServerUnavailableError):
            await proxied.call("web.pid")
        await proxied.servers.probe()
        state_while_gone = proxied.status("web").state
        with serve_http(kind, port=port):
            with anyio.fail_after(60):
                await proxied.servers.probe()
                second = await proxied.call("web.pid")
            assert proxied.status("web").state == "connected"

    assert state_while_gone == "disconnected"
    assert first != second


async def test_a_session_that_the_server_has_forgotten_is_begun_anew_unseen(tmp_path: Path) -> None:
    port = find_free_port()

    async with open_proxied(tmp_path, {"web": {"url": address_of("handshake", port)}}) as proxied:
        with serve_http("handshake", port=port):
            first = await proxied.call("web.pid")
        with serve_http("handshake", port=port):
            assert await proxied.call("web.pid") != first


async def test_a_stream_that_is_refused_leaves_nothing_open() -> None:
    refusing = httpx2.MockTransport(lambda _: httpx2.Response(404))
    async with httpx2.AsyncClient(transport=refusing) as client:
        with pytest.raises(httpx2.HTTPStatusError):
            async with open_older_http("http://localhost/sse", client, server="web", max_event=1000):
                pass

    gc.collect()  # whatever is still open warns now, and so fails this test


async def test_health_sees_a_server_over_http_that_is_gone(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"web": {"url": address_of("handshake", find_free_port())}}) as proxied:
        await proxied.servers.probe()

        status = proxied.status("web")
    assert status.state == "disconnected"
    assert "cannot be reached at its address" in status.error


async def test_progress_of_a_call_over_http(address: Address, tmp_path: Path) -> None:
    told: list[str] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        told.append(message)

    async with open_proxied(tmp_path, {"web": {"url": address("handshake")}}) as proxied:
        await proxied.call_as(Caller(progress=listen), "web.wait", seconds=0.2)

    assert "web.wait: waiting" in told


# -- logins


class Browser:
    """A client at the front that opens the pages it is sent to."""

    def __init__(self, *, willing: bool = True) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.front = Front(self, Abilities(can_open_urls=True), self._open)
        self._willing = willing

    async def _open(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        self.asked.append(params)
        if not self._willing:
            return {"action": "decline"}
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            await client.get(params["url"])
        return {"action": "accept"}


class Issued:
    """What a server has given out since this was made."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("/mcp", "/issued")
        self._before = httpx2.get(self._url, timeout=60).json()

    def __getitem__(self, kind: str) -> int:
        found: int = httpx2.get(self._url, timeout=60).json()[kind] - self._before[kind]
        return found


async def connect_as(proxied: Proxied, browser: Browser) -> None:
    """Use a server of which nothing is known yet, on behalf of a client."""
    await proxied.servers.probe()

    async def look(arguments: dict[str, Any]) -> Any:
        return await list_resources(proxied.servers, "web")

    proxied.registry.register(define("test.look"), look)
    await proxied.executor.call("test.look", {}, caller=Caller(front=browser.front))


async def test_a_person_logs_in_once_and_the_token_is_kept_for_their_eyes_only(
    address: Address, tmp_path: Path
) -> None:
    browser = Browser()
    url = address("login")
    issued = Issued(url)
    async with open_proxied(tmp_path, {"web": {"url": url}}) as proxied:
        await connect_as(proxied, browser)
        assert await proxied.call("web.echo", text="in") == "in"
    async with open_proxied(tmp_path, {"web": {"url": url}}) as proxied:
        assert await proxied.call("web.echo", text="again") == "again"

    (file,) = (tmp_path / "state" / "servers" / "tokens").iterdir()
    assert issued["logins"] == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["tokens"]["access_token"].startswith("access-secret")
    assert "asks you to log in" in browser.asked[0]["message"]


async def test_a_token_that_has_ended_is_renewed_without_a_person(address: Address, tmp_path: Path) -> None:
    url = address("login", 1)
    issued = Issued(url)
    async with open_proxied(tmp_path, {"web": {"url": url}}) as proxied:
        await connect_as(proxied, Browser())
    await wait_until_the_token_has_ended(tmp_path)
    async with open_proxied(tmp_path, {"web": {"url": url}}) as proxied:
        assert await proxied.call("web.echo", text="again") == "again"

    assert issued["logins"] == 1
    assert issued["refresh"] >= 1


async def wait_until_the_token_has_ended(folder: Path) -> None:
    (file,) = (folder / "state" / "servers" / "tokens").glob("*.json")
    with anyio.fail_after(60):
        while time.time() <= json.loads(file.read_text())["expires_at"]:
            await anyio.sleep(0.02)


async def test_two_servers_with_one_login_never_offer_a_token_that_is_spent(address: Address, tmp_path: Path) -> None:
    said: list[str] = []

    async def say(proxied: Proxied, text: str) -> None:
        said.append(await proxied.call("web.echo", text=text))

    url = address("login", 1)
    issued = Issued(url)
    settings = {"web": {"url": url}}
    async with open_proxied(tmp_path, settings) as first:
        await connect_as(first, Browser())
        async with open_proxied(tmp_path, settings) as second:
            await say(second, "both have the same token")
            await wait_until_the_token_has_ended(tmp_path)
            await say(first, "one renews it")
            await say(second, "the other uses what it finds")
            await wait_until_the_token_has_ended(tmp_path)
            async with anyio.create_task_group() as tasks:
                for each in (first, second, first, second):
                    tasks.start_soon(say, each, "all at once")

    assert len(said) == 7
    assert (issued["spent"], issued["logins"]) == (0, 1)


async def test_a_token_that_another_server_got_is_used_where_ours_is_refused(address: Address, tmp_path: Path) -> None:
    url = address("login")
    issued = Issued(url)
    settings = {"web": {"url": url}}
    async with open_proxied(tmp_path, settings) as first:
        await connect_as(first, Browser())
        async with open_proxied(tmp_path, settings) as second:
            await second.call("web.echo", text="in")
            spent = {"grant_type": "refresh_token", "refresh_token": "no", "resource": url}
            httpx2.post(url.replace("/mcp", "/oauth/tokens"), data=spent, timeout=60)
            await connect_as(second, Browser())
            assert await first.call("web.echo", text="again") == "again"

    assert issued["logins"] == 2


async def test_where_nobody_can_log_in_the_error_says_how(address: Address, tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"web": {"url": address("login")}}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("web.echo", text="in")

    assert "nobody can be asked here" in caught.value.reason
    assert "onetool login web" in caught.value.remedy


async def test_a_login_that_is_declined_is_an_error(address: Address, tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"web": {"url": address("login")}}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await connect_as(proxied, Browser(willing=False))

    assert "they declined" in caught.value.reason
