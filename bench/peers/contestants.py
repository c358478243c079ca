"""How each contestant is started, and how the same work is expressed in its terms."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, Self

from bench.peers.environments import PeerMissingError, install, installed_version
from bench.peers.official_client import OfficialClient
from bench.servers import run
from bench.stdio_client import StdioClient
from mcp_core.distribution import DISTRIBUTION

_PROGRAMS = Path(__file__).with_name("programs")
_TOOLS = _PROGRAMS / "tools.py"
_LARGE = 10_000_000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"https?://[^\s'\"]+")
_LONGEST_TRIAL = 90  # seconds in which a program that fetches parts of itself has to have started

_HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""
_FOOTER = """

if __name__ == "__main__":
    import ot_sdk

    ot_sdk.serve()
"""


Request = tuple[str, Mapping[str, object]]  # the name of a tool, and its arguments
Express = Callable[[str, str], Request]


class Client(Protocol):
    """What rounds need of a client."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def initialize(self) -> dict[str, Any]: ...
    def request(self, method: str, parameters: Mapping[str, Any], /) -> dict[str, Any]: ...
    def call(self, tool: str, arguments: Mapping[str, Any]) -> float: ...
    def answer(self, tool: str, arguments: Mapping[str, Any]) -> str: ...
    def call_many(self, tool: str, arguments: Mapping[str, Any], *, count: int, in_flight: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Contestant:
    """A program under its name; `express(statements, value)` is a request for code, None where there is no code.

    `tool` is the text that calls `upper` inside the program, `worker` the same for a tool in a process of its own.
    """

    name: str
    version: str
    start: Callable[[], Client]
    express: Express | None = None
    tool: str | None = None
    worker: str | None = None

    @property
    def trivial(self) -> Request:
        return self.express("", "1 + 1") if self.express else ("upper", {"text": "2"})

    @property
    def large(self) -> Request:
        """A result of ten megabytes."""
        if self.express:
            return self.express("", f"'x' * {_LARGE}")
        return "repeat", {"text": "x", "count": _LARGE}

    def calls(self, count: int, tool: str | None) -> tuple[Request, int] | None:
        """The request that makes so many calls of a tool, and how often it has to be sent for that."""
        if not self.express:
            return self.trivial, count
        if tool is None:
            return None
        return self.express(f"for _ in range({count}):\n    answer = {tool}", "answer"), 1


@dataclass(frozen=True, slots=True)
class Missing:
    """A contestant that cannot take part, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Field:
    """Everybody who takes part, those who cannot, and what to know about how they are set up."""

    contestants: Sequence[Contestant]
    missing: Sequence[Missing]
    notes: Sequence[str] = field(default_factory=tuple)


def gather(folder: Path, tell: Callable[[str], None]) -> Field:
    """Install and set up everybody, each in a folder of its own that is also its home."""
    contestants, missing = [], []
    for name, prepare in _PREPARATIONS.items():
        tell(f"preparing {name}")
        home = folder / name.replace(" ", "-")
        home.mkdir()
        try:
            contestants.append(prepare(name, home))
        except (PeerMissingError, OSError, subprocess.SubprocessError) as error:
            missing.append(Missing(name, str(error)))
    return Field(contestants, missing, _NOTES)


def _environment(home: Path, *programs: Path) -> dict[str, str]:
    path = os.pathsep.join([*map(str, programs), "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "DO_NOT_TRACK": "1"}


def _bare(name: str, home: Path) -> Contestant:
    command = [sys.executable, str(_PROGRAMS / "sdk_server.py")]
    return Contestant(name, version("mcp"), lambda: StdioClient(command, environment=_environment(home), folder=home))


def _direct(name: str, home: Path) -> Contestant:
    command = [sys.executable, str(_PROGRAMS / "sdk_server.py")]
    return Contestant(
        name, version("mcp"), lambda: OfficialClient(command, environment=_environment(home), folder=home)
    )


def _onetool(name: str, home: Path) -> Contestant:
    folder = home / ".onetool"
    (folder / "tools").mkdir(parents=True)
    (folder / "onetool.yaml").write_text("packs: {demo: {enabled: true}}\n")
    (folder / "tools" / "work.py").write_text(_HEADER + _TOOLS.read_text() + _FOOTER)
    command = [sys.executable, "-m", "onetool", "serve"]
    environment = _environment(home, Path(sysconfig.get_path("scripts")))
    return Contestant(
        name,
        version(DISTRIBUTION),
        lambda: StdioClient(command, environment=environment, folder=home),
        lambda statements, value: run(f"{statements}\n{value}"),
        tool="demo.upper(text='a')",
        worker="work.upper(text='a')",
    )


def _fastmcp(name: str, home: Path) -> Contestant:
    programs = install("fastmcp")
    command = [str(programs / "python"), str(_PROGRAMS / "fastmcp_code_mode.py")]
    return Contestant(
        name,
        installed_version(programs, "fastmcp"),
        lambda: StdioClient(command, environment=_environment(home, programs), folder=home),
        lambda statements, value: ("execute", {"code": f"{statements}\nreturn {value}"}),
        tool="await call_tool('upper', {'text': 'a'})",
    )


def _onetool_mcp(name: str, home: Path) -> Contestant:
    programs = install("onetool-mcp", least_python=(3, 12))
    environment = _environment(home, programs)
    folder = home / ".onetool"
    _run_once([str(programs / "onetool"), "init", "--config", str(folder)], environment, home)
    (folder / "tools").mkdir(exist_ok=True)
    (folder / "tools" / "work.py").write_text(_TOOLS.read_text() + '\npack = "work"\n')
    file = folder / "onetool.yaml"
    file.write_text(file.read_text().replace("tools_dir: []", 'tools_dir: ["tools/*.py"]'))
    command = [str(programs / "onetool"), "--config", str(file)]
    return Contestant(
        name,
        installed_version(programs, "onetool-mcp"),
        lambda: StdioClient(command, environment=environment, folder=home),
        lambda statements, value: run(f"{statements}\n{value}"),
        tool="work.upper(text='a')",
    )


def _wasm(name: str, home: Path) -> Contestant:
    programs = install("llm-wasm-sandbox")
    return Contestant(
        name,
        installed_version(programs, "llm-wasm-sandbox"),
        lambda: StdioClient([str(programs / "llm-wasm-mcp")], environment=_environment(home, programs), folder=home),
        lambda statements, value: (
            "execute_code",
            {"code": f"{statements}\nprint({value})", "language": "python"},
        ),
    )


def _mcp_run_python(name: str, home: Path) -> Contestant:
    programs = install("mcp-run-python")
    environment = _environment(home, programs) | {"DENO_DIR": str(programs.parent / ".deno")}  # fetched once
    command = [str(programs / "mcp-run-python"), "stdio"]
    _run_once([str(programs / "mcp-run-python"), "example"], environment, home)
    return Contestant(
        name,
        installed_version(programs, "mcp-run-python"),
        lambda: StdioClient(command, environment=environment, folder=home),
        lambda statements, value: ("run_python_code", {"python_code": f"{statements}\n{value}"}),
    )


def _run_once(command: list[str], environment: Mapping[str, str], folder: Path) -> None:
    """Run a program that sets something up; the first line that names an error is the reason why it cannot."""
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=_LONGEST_TRIAL
        )
    except subprocess.TimeoutExpired as error:
        raise PeerMissingError(f"was not ready within {_LONGEST_TRIAL} s") from error
    if done.returncode:
        raise PeerMissingError(f"does not start here: {_reason(done.stdout + done.stderr)}")


def _reason(output: str) -> str:
    """Find in what a program said why it failed, without addresses: they are of this machine's network."""
    lines = [line.strip() for line in _COLOUR.sub("", output).splitlines() if line.strip()]
    named = (line for line in lines if re.search(r"\berror:|\bfailed\b", line, re.IGNORECASE))
    reason = next(named, lines[-1] if lines else "it gave no reason")
    return _ADDRESS.sub("…", reason)[:200]


_PREPARATIONS: dict[str, Callable[[str, Path], Contestant]] = {
    "SDK server": _bare,
    "OneTool": _onetool,
    "direct calls": _direct,
    "FastMCP code mode": _fastmcp,
    "onetool-mcp": _onetool_mcp,
    "llm-wasm-sandbox": _wasm,
    "mcp-run-python": _mcp_run_python,
}
_NOTES = (
    (
        "Every contestant offers the same ten tools, except for sandboxes that have none, and is asked by the same"
        " small client over stdio."
    ),
    (
        "The SDK server is the floor: the official SDK with those tools. Direct calls are made to it by the official"
        " SDK's own client: as many requests as calls, and no code."
    ),
    (
        "FastMCP's limit of 50 calls a run is lifted, since a thousand could not be measured otherwise; everything else"
        " is as each project's documentation sets it up. Telemetry is off."
    ),
)
