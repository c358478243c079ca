"""The two servers that are compared, and the same work for each."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.drift import Drift
from bench.http_client import HttpClient
from bench.stdio_client import StdioClient
from ot.config.paths import state_folder

_BARE_SERVER = Path(__file__).with_name("bare_server.py")
_WARM_UP = 20  # calls, past everything that is loaded on first need

Call = tuple[str, dict[str, str]]

ECHO: Call = "echo", {"text": "2"}


def run(code: str) -> Call:
    return "run", {"command": code}


RUN = run("1+1")


class Servers:
    """Starts ours and the bare one in an empty folder that is their home, so that both run on their defaults."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._more = environment
        self.drift = Drift()

    def rounds(self, count: int) -> Iterator[int]:
        """Count rounds; the machine itself is measured before each."""
        for number in range(count):
            self.drift.take()
            yield number

    def enable_demo(self, *, more: str = "") -> None:
        """Switch on the pack whose tools do nothing, for servers that start later; `more` is further configuration."""
        file = self.folder / ".onetool" / "onetool.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"packs: {{demo: {{enabled: true}}}}\n{more}")

    def empty_state(self) -> None:
        """Let the next start of ours be as the first one of all."""
        shutil.rmtree(state_folder(self.folder), ignore_errors=True)

    def start_ours(self, more: Mapping[str, str] | None = None) -> StdioClient:
        """Start ours, with more in its environment."""
        return self.start("-m", "onetool", "serve", more=more)

    def start_ours_over_http(self) -> HttpClient:
        command = [sys.executable, "-m", "onetool", "serve", "--http", "127.0.0.1:0", "--no-token"]
        return HttpClient(command, environment=self.environment, folder=self.folder)

    def start_bare(self) -> StdioClient:
        return self.start(str(_BARE_SERVER))

    @contextmanager
    def open_pair(self) -> Iterator[tuple[StdioClient, StdioClient]]:
        """Both running and warmed up, to be measured in turns."""
        with self.start_ours() as ours, self.start_bare() as bare:
            warm_up(ours, RUN)
            warm_up(bare, ECHO)
            yield ours, bare

    def start(self, *arguments: str, more: Mapping[str, str] | None = None) -> StdioClient:
        """Start Python with these arguments as a server."""
        environment = self.environment | dict(more or {})
        return StdioClient([sys.executable, *arguments], environment=environment, folder=self.folder)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": "", **self._more, "HOME": str(self.folder)}


def warm_up(server: StdioClient, call: Call) -> None:
    """Shake hands, and make a call until it is as fast as it gets."""
    server.initialize()
    for _ in range(_WARM_UP):
        server.call(*call)


@contextmanager
def open_servers(environment: Mapping[str, str] | None = None) -> Iterator[Servers]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Servers(Path(folder), environment or {})
