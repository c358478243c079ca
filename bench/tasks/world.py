"""Where tasks are done: a folder with all their data, and the servers that reach it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.tasks import browser, database, files, issues, mailbox, repository
from bench.tasks.task import HOME
from tests.reference_servers.servers import ServerCommand, reference_server


@dataclass(frozen=True, slots=True)
class World:
    """A place whose `folder` has the data; `addresses` are what stands here for those that a model reads."""

    place: Path
    servers: Mapping[str, ServerCommand]
    addresses: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return self.place / "folder"

    @property
    def home(self) -> Path:
        """OneTool's own."""
        return self.place / "onetool"

    def renew(self) -> None:
        """Make everything as it was in the beginning: a task may change what it works on."""
        for folder in (self.folder, self.home):
            kept = folder.with_suffix(".kept")
            if kept.exists():
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(kept, folder)

    def keep(self, folder: Path) -> None:
        """Have a folder always begin as it is now."""
        shutil.copytree(folder, folder.with_suffix(".kept"))

    def read(self, text: str) -> str:
        """As a model reads it, which costs the same wherever and whenever this is measured."""
        for shown, real in self._shown():
            text = text.replace(real, shown)
        return text

    def real(self, text: str) -> str:
        """As it is sent."""
        for shown, real in self._shown():
            text = text.replace(shown, real)
        return text

    def _shown(self) -> list[tuple[str, str]]:
        return [(HOME, str(self.folder)), *self.addresses.items()]


_DATA = {"filesystem": files.prepare, "git": repository.prepare, "sqlite": database.prepare}
_SERVERS = {"github": issues.open_issues, "mail": mailbox.open_mailbox, "playwright": browser.open_browser}
SEVEN = (*_DATA, *_SERVERS, "time")
"""The servers of all tasks."""


@contextmanager
def open_world(names: tuple[str, ...] = SEVEN) -> Iterator[World]:
    """A new one with these servers and their data."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, ExitStack() as stack:
        folder = Path(place) / "folder"
        folder.mkdir()
        for name in names:
            if name in _DATA:
                _DATA[name](folder)
        servers = {
            name: stack.enter_context(_SERVERS[name](folder)) if name in _SERVERS else reference_server(name, folder)
            for name in names
        }
        world = World(Path(place), servers, {browser.SITE: stack.enter_context(browser.open_catalogue())})
        world.keep(folder)
        yield world
