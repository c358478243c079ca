"""Two replicas that want to renew one login redeem its token once: its provider ends a login that is renewed twice."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import anyio
import httpx2
import pytest

from ot.config.models import Config
from ot.parts.known_tools import load_connection_builder
from ot.proxy.host import ProxyHost
from ot.proxy.servers import open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.store.opening import build_backend
from ot.store.sealing import Sealer, new_key
from tests.http_programs import serve_http
from tests.preloaded import preloaded_command

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]
PROGRAM = Path(__file__).parent.parent / "programs" / "use_login.py"
KEY = new_key()


@pytest.fixture
def url() -> Iterator[str]:
    with serve_http("login", environ={"LIFETIME": "1"}) as url:
        yield url


async def log_in(database: str, url: str, folder: Path) -> None:
    """What a person does once, at any replica; the token that they got has ended then."""

    async def open_page(address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(address)

    settings = Config.model_validate({"servers": {"web": {"url": url}}}).servers
    registry = ToolRegistry()
    with closing(build_backend(database)) as backend:
        own = backend.build_personal_store(folder, principal="ada", sealer=lambda: Sealer([KEY]))
        host = ProxyHost(folder, own.shelf, own.credentials, {}, load_connection_builder, authorise=open_page)
        async with open_servers(settings, registry=registry, places=PackPlaces(registry), host=host) as servers:
            [server] = servers.choose("web")
            await server.obtain()
        kept = await own.credentials.read(server.memory.place)
        assert kept is not None
        ends = kept["expires_at"]
        assert isinstance(ends, float)
        while time.time() <= ends:
            await anyio.sleep(0.02)


async def test_a_token_is_redeemed_once_however_many_replicas_want_it(database: str, url: str, tmp_path: Path) -> None:
    await log_in(database, url, tmp_path / "login")
    with ExitStack() as stack:
        replicas = [
            stack.enter_context(
                subprocess.Popen(
                    preloaded_command(str(PROGRAM), database, url, str(tmp_path / name), KEY),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for name in ("one", "two")
        ]

        def hear(replica: subprocess.Popen[str]) -> str:
            assert replica.stdout is not None
            return replica.stdout.readline().strip()

        async with anyio.create_task_group() as tasks:
            for replica in replicas:
                tasks.start_soon(anyio.to_thread.run_sync, hear, replica)
        for replica in replicas:
            assert replica.stdin is not None
            replica.stdin.write("hello\n")
            replica.stdin.flush()
        for replica in replicas:
            assert await anyio.to_thread.run_sync(hear, replica) == "said"
        for replica in replicas:
            assert replica.stdin is not None
            replica.stdin.close()

    issued = httpx2.get(url.replace("/mcp", "/issued"), timeout=60).json()
    assert (issued["spent"], issued["logins"]) == (0, 1)
    assert issued["refresh"] >= 1
