"""MCP servers that others wrote, ready to be started by a test.

    from tests.reference_servers.servers import NAMES, reference_server, serve_everything

    server = reference_server("filesystem", tmp_path)       # command, args and env of a stdio server
    server.settings()                                       # the same as an entry of `servers:`
    StdioServerParameters(**server.settings())              # the same for the official client

    with serve_everything("streamableHttp") as url: ...     # or "sse": the reference server over HTTP

Each server works in the folder that it is given: files and notes are there, `git` has a repository with one commit in
it, `sqlite` a database. `make test` installs them (scripts/install-reference-servers). Where one is missing the test
is skipped with a reason that names it, and fails where CI is set.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.availability import report_missing, require_node, require_program
from tests.ports import find_free_port

_FOLDER = Path(__file__).parent
_PACKAGES = _FOLDER / "node_modules"
_PROGRAMS = _FOLDER / ".venv" / "bin"
_REMEDY = "`make test` installs it (scripts/install-reference-servers)."
_NODE_FILES = {
    "everything": "@modelcontextprotocol/server-everything/dist/index.js",
    "filesystem": "@modelcontextprotocol/server-filesystem/dist/index.js",
    "github": "@modelcontextprotocol/server-github/dist/index.js",
    "memory": "@modelcontextprotocol/server-memory/dist/index.js",
    "playwright": "@playwright/mcp/cli.js",
    "thinking": "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
}
_PYTHON_PROGRAMS = ("fetch", "git", "sqlite", "time")

NAMES = tuple(sorted([*_NODE_FILES, *_PYTHON_PROGRAMS]))
"""All ten; each lists its tools without a network, an account or a browser."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How one server is started."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """As an entry of `servers:`, which is also the way of every other client."""
        return {"command": self.command, "args": list(self.args), "env": dict(self.env)}


def reference_server(name: str, folder: Path) -> ServerCommand:
    """One of NAMES, working in `folder`."""
    arguments: tuple[str, ...] = ()
    variables = {"HOME": str(folder), "PATH": os.environ.get("PATH", "")}
    match name:
        case "everything":
            arguments = ("stdio",)
        case "filesystem":
            arguments = (str(folder),)
        case "git":
            arguments = ("--repository", str(_make_repository(folder)))
        case "memory":
            variables["MEMORY_FILE_PATH"] = str(folder / "memory.jsonl")
        case "sqlite":
            arguments = ("--db-path", str(folder / "database.db"))
        case "time":
            arguments = ("--local-timezone", "Europe/Vienna")
    if name in _NODE_FILES:
        return ServerCommand(str(require_node()), (str(_node_file(name)), *arguments), variables)
    return ServerCommand(str(_python_program(name)), arguments, variables)


@contextmanager
def serve_everything(transport: str = "streamableHttp") -> Iterator[str]:
    """The address of the `everything` server over HTTP; `transport` is "streamableHttp" or the older "sse"."""
    port = find_free_port()
    server = subprocess.Popen(
        [require_node(), _node_file("everything"), transport],
        env={"PORT": str(port), "PATH": os.environ.get("PATH", "")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(port, server)
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    finally:
        server.kill()
        server.wait()


def _node_file(name: str) -> Path:
    file = _PACKAGES / _NODE_FILES[name]
    if not file.exists():
        report_missing(f"the reference server {name}", remedy=_REMEDY)
    return file


def _python_program(name: str) -> Path:
    program = _PROGRAMS / f"mcp-server-{name}"
    if not program.exists():
        report_missing(f"the reference server {name}", remedy=_REMEDY)
    return program


def _make_repository(folder: Path) -> Path:
    """A repository with one commit, made without the settings of whoever runs the tests."""
    repository = folder / "repository"
    if not repository.exists():
        git = shutil.which("git") or require_program("git")
        repository.mkdir(parents=True)
        (repository / "README.md").write_text("# A repository\n")
        variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
        for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "Begin"]):
            subprocess.run([git, *identity, *arguments], cwd=repository, env=variables, check=True, timeout=30)
    return repository


def wait_until_open(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the reference server ended before it listened"
        time.sleep(0.05)
    raise AssertionError("the reference server did not listen within 60 s")
