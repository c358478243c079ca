"""Isolated tools are confined to what their declaration says, filled in with the arguments of the call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ot.errors import PackLoadError, ToolFailedError
from ot.isolate import IsolateHost
from ot.registry.definitions import Touches
from ot.registry.from_source import read_pack
from tests.confine.pages import pages
from tests.opened_executor import write_pack

pytestmark = pytest.mark.anyio

PACK = """
    import os, socket, urllib.request
    from pathlib import Path

    def pid():
        return os.getpid()

    def read(path):
        return Path(path).read_text()

    def write(path):
        return Path(path).write_text("bread")

    def fetch(url):
        os.environ["no_proxy"] = ""
        return urllib.request.urlopen(url, timeout=20).read().decode()

    def connect(port):
        with socket.create_connection(("127.0.0.1", port), 5) as end:
            return end.send(b"hello")
"""


async def test_a_call_touches_what_its_tool_declares(tmp_path: Path) -> None:
    pack = str(write_pack(tmp_path, PACK))
    (tmp_path / "data").mkdir()
    notes = tmp_path / "data" / "notes"
    notes.write_text("milk")
    writes = Touches(writes=(str(tmp_path / "data"),))
    async with IsolateHost() as host:
        assert await host.run(pack, "read", {"path": str(notes)}, touches=Touches(reads=("{path}",))) == "milk"
        assert await host.run(pack, "write", {"path": str(notes)}, touches=writes) == 5
        assert await host.run(pack, "write", {"path": str(tmp_path / "data" / "new")}, touches=writes) == 5
        with pytest.raises(ToolFailedError, match="PermissionError"):
            await host.run(pack, "read", {"path": str(notes)}, touches=Touches())
        with pytest.raises(ToolFailedError, match=r"PermissionError|OSError"):
            await host.run(pack, "write", {"path": str(notes)}, touches=Touches(reads=("{path}",)))
        with pytest.raises(ToolFailedError, match="PermissionError"):
            await host.run(pack, "read", {"path": str(notes)}, touches=Touches(reads=(str(tmp_path / "other"),)))


async def test_a_call_connects_to_what_its_tool_declares(tmp_path: Path) -> None:
    pack = str(write_pack(tmp_path, PACK))
    with pages() as port:
        async with IsolateHost() as host:
            with pytest.raises(ToolFailedError, match="PermissionError"):
                await host.run(pack, "connect", {"port": port}, touches=Touches())
            hosts = Touches(hosts=(f"127.0.0.1:{port}",))
            page = await host.run(pack, "fetch", {"url": f"http://127.0.0.1:{port}/a"}, touches=hosts)

    assert page == f"/a of 127.0.0.1:{port}"


async def test_a_process_is_used_again_within_the_same_bounds_only(tmp_path: Path) -> None:
    pack = str(write_pack(tmp_path, PACK))
    shut, other = Touches(), Touches(reads=(str(tmp_path),))
    async with IsolateHost() as host:
        first = await host.run(pack, "pid", {}, touches=shut)

        assert await host.run(pack, "pid", {}, touches=other) != first
        assert await host.run(pack, "pid", {}, touches=shut) == first


def test_the_declaration_is_read_from_the_source(tmp_path: Path) -> None:
    source = """
        from ot.isolate import isolated

        @isolated(reads=["{path}", "{project}"], writes=["{state}"], outputs=["{output}"], hosts=("example.com",))
        def tool(*, path: str, output: str): ...

        @isolated
        def plain(): ...
    """
    tools = read_pack(write_pack(tmp_path, source)).tools

    assert tools["tool"].touches == Touches(
        reads=("{path}", "{project}"), writes=("{state}",), outputs=("{output}",), hosts=("example.com",)
    )
    assert tools["plain"].touches == Touches()
    assert tools["tool"].cancellation == tools["plain"].cancellation


@pytest.mark.parametrize(
    ("declared", "mistake"),
    [
        ("reads=PLACES()", "@isolated takes reads, writes, outputs and hosts"),
        ("reads='/'", "@isolated takes reads, writes, outputs and hosts"),
        ("network=[]", "@isolated takes reads, writes, outputs and hosts"),
        ("reads=['{nothing}']", "{nothing} is none of {fonts}, {path}, {project}, {state}"),
        ("writes=['{path}']", "{path} is none of {project}, {state}; a file that a call makes is in outputs"),
        ("outputs=['/tmp/made']", "outputs are parameters, such as {output}, which /tmp/made is not"),
    ],
)
def test_a_declaration_that_cannot_be_read_is_a_mistake(tmp_path: Path, declared: str, mistake: str) -> None:
    source = f"from ot.isolate import isolated\n@isolated({declared})\ndef tool(*, path: str): ...\n"

    with pytest.raises(PackLoadError, match=re.escape(mistake)):
        read_pack(write_pack(tmp_path, source))
