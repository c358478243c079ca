"""Servers under `confine`: a hostile one on the official SDK is held, and those that others wrote still work."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.errors import CallError
from ot.execution.wording import word_error
from tests.availability import require_program
from tests.confine.pages import pages
from tests.proxied import PROGRAMS, Proxied, open_proxied, program
from tests.reference_servers.servers import reference_server

pytestmark = pytest.mark.anyio

SECRET = "private key"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A person's home, and servers that want to get at it."""

    home: Path
    port: int  # of a site that one of the servers may reach
    proxied: Proxied

    async def attempt(self, server: str, code: str) -> str:
        return str(await self.proxied.call(f"{server}.attempt", code=code))


@pytest.fixture(scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hostile]:
    home = tmp_path_factory.mktemp("home")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    (home / "notes").mkdir()
    (home / "notes" / "today").write_text("milk")
    environ = {**os.environ, "HOME": str(home)}
    with pages() as port:
        servers = {
            "shut": program("hostile", confine={}),
            "linked": program("hostile", confine={"write": [home / "notes"], "hosts": [f"127.0.0.1:{port}"]}),
            "small": program("hostile", confine={"memory": "128m"}),
        }
        async with open_proxied(home, servers, environ=environ) as proxied:
            yield Hostile(home, port, proxied)


@pytest.mark.parametrize("server", ["shut", "linked"])
async def test_the_persons_files_are_neither_read_nor_written(hostile: Hostile, server: str) -> None:
    key = hostile.home / ".ssh" / "id_ed25519"
    attempts = [
        f"open({str(key)!r}).read()",
        f"subprocess.run(['cat', {str(key)!r}], capture_output=True, check=True)",
        f"os.listdir({str(hostile.home)!r})",
        f"open({str(hostile.home / '.bashrc')!r}, 'a').write('evil')",
        f"os.chmod({str(key)!r}, 0o777)",
        f"os.rename({str(key)!r}, os.environ['TMPDIR'] + '/key')",
        "open(f'/proc/{os.getppid()}/mem', 'rb')",
        "open(f'/proc/{os.getppid()}/environ', 'rb')",
    ]

    answers = [await hostile.attempt(server, code) for code in attempts]

    assert [answer for answer in answers if answer.startswith("done")] == []
    assert (key.read_text(), sorted(entry.name for entry in hostile.home.iterdir() if entry.name == ".bashrc")) == (
        SECRET,
        [],
    )


async def test_what_is_named_can_be_written(hostile: Hostile) -> None:
    note = hostile.home / "notes" / "today"

    assert await hostile.attempt("linked", f"open({str(note)!r}, 'a').write(' and bread')") == "done: 10"
    assert note.read_text() == "milk and bread"
    assert (await hostile.attempt("shut", f"open({str(note)!r}).read()")).startswith("PermissionError")


async def test_without_hosts_nothing_answers(hostile: Hostile, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as unix, socket.create_server(("127.0.0.1", 0)) as tcp:
        unix.bind(path)
        unix.listen()
        attempts = [
            f"exchange(socket.AF_INET, socket.SOCK_STREAM, {tcp.getsockname()!r})",
            f"exchange(socket.AF_INET, socket.SOCK_DGRAM, {tcp.getsockname()!r})",
            f"exchange(socket.AF_UNIX, socket.SOCK_STREAM, {path!r})",
            "subprocess.run([sys.executable, '-c', 'import socket; socket.socket()'], check=True)",
            "syscall(425, 8, ctypes.byref((ctypes.c_char * 120)()))",
        ]
        answers = [await hostile.attempt("shut", code) for code in attempts]

    assert [answer for answer in answers if answer.startswith("done")] == []
    assert await hostile.attempt("shut", "descriptors()[:3]") == "done: [0, 1, 2]"


async def test_with_hosts_those_answer_and_no_others(hostile: Hostile, tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as unix, pages() as other:
        unix.bind(path)
        unix.listen()
        attempts = [
            f"exchange(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {other}))",
            f"exchange(socket.AF_UNIX, socket.SOCK_STREAM, {path!r})",
            f"fetch('http://127.0.0.1:{other}/')",
            "fetch('http://169.254.169.254/latest/meta-data/')",
        ]
        answers = [await hostile.attempt("linked", code) for code in attempts]

    assert [answer for answer in answers if answer.startswith("done")] == []
    assert await hostile.attempt("linked", f"fetch('http://127.0.0.1:{hostile.port}/a')") == (
        f"done: '/a of 127.0.0.1:{hostile.port}'"
    )


@pytest.mark.parametrize("code", ["hold(300 << 20)", "[hold(60 << 20, shared=True) for _ in range(5)]"])
async def test_memory_ends_at_its_line_or_with_the_server(hostile: Hostile, code: str) -> None:
    said = ""
    try:
        said = await hostile.attempt("small", f"{code} and time.sleep(60)")
    except CallError as error:
        said = word_error(error)

    assert any(text in said for text in ("held more memory than the 128m", "Cannot allocate", "not permitted"))


async def test_a_server_whose_hosts_cannot_be_held_does_not_start_and_says_why(tmp_path: Path) -> None:
    """In a process that is refused namespaces, as most containers are."""
    config = tmp_path / "onetool.yaml"
    server = program("hostile", confine={"hosts": ["example.com"]})
    config.write_text(json.dumps({"servers": {"hostile": server}}))
    start = [sys.executable, str(PROGRAMS.parent / "restricted_start.py"), "bare", sys.executable, "-m", "onetool"]
    command = [*start, "run", "--config", str(config), "hostile.attempt(code='1')"]

    done = await anyio.run_process(command, check=False, env={**os.environ, "HOME": str(tmp_path)})

    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0
    assert "the server hostile cannot be confined as its `confine` says" in said
    assert "network namespace, and this system refuses one (Operation not permitted)" in said


# -- servers that others wrote


@pytest.mark.parametrize("name", ["filesystem", "everything", "git", "time", "sqlite"])
async def test_servers_that_others_wrote_work_within_their_bounds(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("milk")
    (tmp_path / "diary.txt").write_text("private")
    calls: dict[str, tuple[str, dict[str, Any], str]] = {
        "filesystem": ("read_text_file", {"path": str(folder / "notes.txt")}, "milk"),
        "everything": ("get_sum", {"a": 2, "b": 40}, "42"),
        "git": ("git_log", {"repo_path": str(folder / "repository")}, "Begin"),
        "time": ("get_current_time", {"timezone": "Europe/Vienna"}, "Europe/Vienna"),
        "sqlite": ("list_tables", {}, "[]"),
    }
    found = reference_server(name, folder)
    settings = {**found.settings(), "env": {}, "confine": {"write": [folder], "memory": "512m"}}
    tool, arguments, expected = calls[name]

    async with open_proxied(folder, {"sample": settings}) as proxied:
        answer = await proxied.call(f"sample.{tool}", **arguments)

    assert expected in str(answer)


async def test_a_server_that_npx_starts_works_and_is_held(tmp_path: Path) -> None:
    """What npx starts is a process of a process, in Node."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "today").write_text("milk")
    (tmp_path / "diary").write_text("private")
    packages = Path(reference_server("filesystem", tmp_path).args[0]).parents[4]
    npx = str(require_program("npx"))
    args = ["--offline", "--prefix", str(packages), "mcp-server-filesystem", str(tmp_path)]
    confine = {"read": [packages, (packages / "node_modules").resolve(), tmp_path / "notes"]}

    async with open_proxied(tmp_path, {"fs": {"command": npx, "args": args, "confine": confine}}) as proxied:
        assert "milk" in str(await proxied.call("fs.read_text_file", path=str(tmp_path / "notes" / "today")))
        with pytest.raises(CallError, match="EACCES"):
            await proxied.call("fs.read_text_file", path=str(tmp_path / "diary"))
        with pytest.raises(CallError, match=r"EACCES|EROFS"):
            await proxied.call("fs.write_file", path=str(tmp_path / "notes" / "today"), content="bread")
