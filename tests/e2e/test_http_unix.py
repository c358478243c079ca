"""The server on a socket in the file system: for one user, in a file that comes and goes with it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ot.config.models import HttpSettings
from tests.demo_pack import give_demo
from tests.e2e.http_server import INITIALIZE
from tests.e2e.raw_server import WAIT, RawServer

pytestmark = pytest.mark.xdist_group("http_unix")  # the tests share a server

NOBODY = 65534
PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that others may look into: the socket itself must keep them out. Its path is short, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="ot") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return give_demo(tmp_path_factory.mktemp("unix"))


def serve(home: Path, path: Path, *, preloaded: bool = True) -> RawServer:
    server = RawServer(home, "--unix", str(path), preloaded=preloaded)
    server.wait_for_log(f"serving MCP at unix:{path}")
    return server


@pytest.fixture(scope="module")
def path(home: Path, folder: Path) -> Iterator[Path]:
    server = serve(home, folder / "shared", preloaded=False)
    yield folder / "shared"
    server.end()


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=WAIT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(str(self._path))


def post(path: Path, **headers: str) -> int:
    """Shake hands and give the status of the answer."""
    connection = _Connection(path)
    try:
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp", json.dumps(INITIALIZE), {**usual, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.anyio
async def test_a_client_of_the_same_user_gets_an_answer_as_the_page_shows(path: Path) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    shown: dict[str, Any] = {}
    exec(code, shown)

    assert await shown["run"]("demo.upper(text='by a file')", socket=str(path)) == "BY A FILE"


def test_the_page_names_the_limits_that_there_are() -> None:
    assert dict(re.findall(r"`http\.(\w+)` \((\d+)", PAGE)) == {
        name: str(value) for name, value in vars(HttpSettings()).items() if value is not None
    }


def test_the_socket_is_for_its_owner_only(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_host_and_the_origin_are_checked_here_too(path: Path) -> None:
    assert post(path, Host="localhost") == 200
    assert post(path, Host="evil.example") == 421
    assert post(path, Origin="http://evil.example") == 403


@pytest.mark.skipif(os.geteuid() != 0, reason="MISSING: only root can act as another user")
def test_another_user_is_refused_even_where_the_file_lets_them_in(home: Path, folder: Path) -> None:
    path = folder / "theirs"
    server = serve(home, path)
    try:
        os.seteuid(NOBODY)
        try:
            with pytest.raises(PermissionError):
                post(path)
        finally:
            os.seteuid(0)
        path.chmod(0o666)
        os.seteuid(NOBODY)
        try:
            with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
                post(path)
        finally:
            os.seteuid(0)
        server.wait_for_log(f"refused a connection of user {NOBODY}: the socket is for user 0")
        assert post(path) == 200
    finally:
        server.end()


def test_a_socket_that_is_served_is_left_alone(home: Path, path: Path) -> None:
    second = RawServer(home, "--unix", str(path))

    assert second.wait_for_exit() == 2
    assert second.log == [
        f"onetool serve: cannot listen at {path}: another server serves there; end it, or choose another path\n"
    ]
    assert post(path) == 200


def test_one_that_was_left_behind_is_replaced_and_removed_at_the_end(home: Path, folder: Path) -> None:
    path = folder / "left"
    serve(home, path).end()
    assert path.is_socket()

    server = serve(home, path)

    assert post(path) == 200
    server.process.send_signal(signal.SIGTERM)
    assert server.wait_for_exit() == 0
    assert not path.exists()


def test_stdin_or_a_port_or_a_socket_but_not_two(tmp_path: Path) -> None:
    server = RawServer(tmp_path, "--unix", "socket", "--http", "127.0.0.1:0")

    assert server.wait_for_exit() == 2
    assert "not allowed with" in server.log[-1]
