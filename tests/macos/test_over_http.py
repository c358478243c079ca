"""The server over HTTP on a played Mac: it answers, shows its dashboard, and leaves nothing behind when it is killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from tests.e2e.http_server import ADDRESS, begin_command, run_command
from tests.e2e.processes import find_descendants, wait_until_gone
from tests.e2e.raw_server import WAIT, RawServer
from tests.engine import write_extension
from tests.macos.mac import Mac, configure

SERVER = Path(__file__).parent.parent / "programs" / "servers" / "plain_server.py"
CONFIG = f"servers: {{plain: {{command: {sys.executable}, args: ['{SERVER}']}}}}\n"


class Serving:
    """`onetool serve --http`, and its person."""

    def __init__(self, mac: Mac, home: Path) -> None:
        self.mac, self.home = mac, home
        write_extension(home, "own", "def add(*, a: int) -> int:\n    'Add.'\n    return a + 1\n")
        variables = (f"{name}={value}" for name, value in mac.surroundings(configure(home, CONFIG)).items())
        self.raw = RawServer(
            home, started_by=("env", *variables), program=tuple(mac.command("serve", "--http", "127.0.0.1:0"))
        )
        self.raw.wait_for_log("serving MCP at")
        self.url = next(found[1] for line in self.raw.log if (found := ADDRESS.search(line)))

    @property
    def headers(self) -> dict[str, str]:
        token = (self.home / ".onetool/state/http-token").read_text().strip()
        return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def serving(mac: Mac, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    started = Serving(mac, tmp_path_factory.mktemp("home"))
    yield started
    started.raw.end()


@pytest.mark.anyio
@pytest.mark.long
async def test_a_client_gets_an_answer(serving: Serving) -> None:
    async with (
        httpx2.AsyncClient(headers=serving.headers, timeout=WAIT) as http_client,
        Client(streamable_http_client(serving.url, http_client=http_client)) as client,
    ):
        result = await client.call_tool("run", {"command": "own.add(a=41)"})

    assert [part.text for part in result.content if isinstance(part, TextContent)] == ["42"]


@pytest.mark.long
def test_the_dashboard_is_opened_by_a_link(serving: Serving) -> None:
    shown = serving.mac.run("dashboard", "--no-browser", home=serving.home)
    assert shown.returncode == 0, shown.stderr
    link = shown.stdout.splitlines()[-1]
    with httpx2.Client(follow_redirects=True, timeout=WAIT) as browser:
        page = browser.get(link)

    assert page.status_code == 200
    assert "OneTool" in page.text


@pytest.mark.long
def test_a_server_that_is_killed_leaves_no_process(mac: Mac, tmp_path: Path) -> None:
    serving = Serving(mac, tmp_path)
    run_command(serving.url, serving.headers, "own.add(a=1)")
    endless = "file.write(path='begun', content='')\nplain.echo(text='x')\nwhile True:\n    pass"
    with closing(begin_command(serving.url, serving.headers, endless)):
        wait_for(lambda: (tmp_path / "begun").exists())
        below = find_descendants(serving.raw.process.pid)
        assert len(below) >= 4  # a zygote with a kernel, and a guardian with a worker

        os.kill(serving.raw.process.pid, signal.SIGKILL)
        serving.raw.wait_for_exit()

    wait_until_gone(below, seconds=WAIT)
    temporary = Path(mac.surroundings(tmp_path)["TMPDIR"])
    wait_for(lambda: not list(temporary.glob("onetool-*")))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
