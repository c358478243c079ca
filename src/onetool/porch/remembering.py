"""Remembering: what the answers of this start depended on, written down for the next one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import ot_tools
from mcp_core.atomic_write import write_private
from mcp_core.distribution import DISTRIBUTION
from onetool.porch.dependencies import Dependencies, TooMuchError
from onetool.porch.entry import FORM, Entry, KernelFacts
from onetool.porch.recorder import Recorder
from ot.config.paths import (
    CONFIG_FILE,
    FOLDER,
    PROMPTS_FILE,
    SECRETS_FILE,
    skill_folders,
    state_folder,
    tool_folders,
)
from ot.config.variables import references
from ot.logs import write_log
from ot.trust.store import TrustStore

if TYPE_CHECKING:
    from ot.config.loader import LoadedConfig
    from ot.config.models import ExecutionSettings

MOST_ENTRIES = 100
_SOON = 0.5  # seconds in which answers come together
_TICK = 0.02  # seconds: the system's clock for files may be this much behind
_LIBRARIES = (DISTRIBUTION, "mcp", "mcp-types", "pydantic", "pydantic-core")
_VARIABLES = ("MCP_TOOL_PREFIX", "SUDO_UID")


class Memory:
    """Keeps the entry of this start: `recorder` says what is new, and it is written soon after, or at the end.

    `place` is its file, `folder` the one that the server was told to go to, `started` the time before anything was
    read: what has changed since then may not be what the answers depended on.
    """

    def __init__(
        self, place: Path, loaded: LoadedConfig, recorder: Recorder, *, folder: tuple[str, str] | None, started: float
    ) -> None:
        self._place = place
        self._loaded = loaded
        self._recorder = recorder
        self._folder = folder
        self._started = started
        self._timer: asyncio.TimerHandle | None = None
        recorder.on_new = self._write_soon
        recorder.on_difference = self._forget

    def close(self) -> None:
        """Write what is still to be written."""
        if self._timer is not None:
            self._timer.cancel()
            self._write()

    def _write_soon(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_SOON, loop.run_in_executor, None, self._write)

    def _forget(self) -> None:
        with suppress(OSError):
            self._place.unlink()

    def _write(self) -> None:
        self._timer = None
        try:
            dependencies = find_dependencies(self._loaded)
            salt = secrets.token_bytes(16)
            digest = dependencies.digest(os.environ, salt)
            if dependencies.changed_since(self._started - _TICK):
                return
            kernels = kernel_facts(self._loaded.config.execution)
            known = dict(self._recorder.answers), dict(self._recorder.frames)
            confirmed = time.time() if self._recorder.confirmed else 0.0
            entry = Entry(self._folder, kernels, dependencies, salt.hex(), digest, *known, confirmed)
            write_entry(self._place, entry)
        except TooMuchError:
            return
        except (OSError, ValueError) as error:
            write_log(logging.DEBUG, "porch.write", reason=str(error))


def kernel_facts(settings: ExecutionSettings) -> KernelFacts:
    """Return the settings of kernels as an entry has them."""
    return KernelFacts(settings.sandbox, settings.memory, settings.warm, settings.readable, settings.writable)


def find_dependencies(loaded: LoadedConfig) -> Dependencies:
    """List what the answers of a server with this configuration depend on; raises OSError."""
    home, project, here = loaded.home, loaded.project, Path.cwd()
    above = [here, *here.parents]
    folders = {home / FOLDER, *(file.parent for file in loaded.files)}
    named = [folder / name for folder in sorted(folders) for name in _names_in_folder()]
    inside = [] if project == home else [project / FOLDER, TrustStore(state_folder(home)).place(project)]
    return Dependencies(
        files=_texts([*named, *loaded.files, *_git_links(project)]),
        trees=_texts([*inside, tool_folders(project, home)[1], skill_folders(project, home)[1]]),
        places=_texts([*above, *(folder / FOLDER for folder in above), project, home]),
        sources=_texts([*_own_sources(), *map(_find_metadata, _LIBRARIES)]),
        variables=tuple(sorted({*_VARIABLES, *_find_variables(loaded.files)})),
    )


def _texts(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, paths)))


def _names_in_folder() -> Iterator[str]:
    for name in (CONFIG_FILE, PROMPTS_FILE, SECRETS_FILE):
        yield name
        yield str(Path(name).with_suffix(".yml"))


def _git_links(project: Path) -> Iterator[Path]:
    """Give what tells whether a project lies in a worktree: trust is that of the main folder."""
    real = Path(os.path.realpath(project))
    for folder in (real, *real.parents):
        link = folder / ".git"
        yield link
        if link.is_file():
            yield folder / link.read_text(errors="surrogateescape").partition(": ")[2].strip() / "gitdir"


def _own_sources() -> Iterator[Path]:
    """Give our files that say what there is: they change without a new version where OneTool is developed."""
    yield from map(Path, ot_tools.__path__)
    server = Path(__file__).parent.parent
    yield server / "front"


def _find_metadata(library: str) -> Path:
    """Return the file that is there as long as this version of a library is."""
    found = distribution(library)
    folder = f"{library.replace('-', '_')}-{found.version}.dist-info"
    file = Path(str(found.locate_file(folder))) / "METADATA"
    if not file.is_file():
        raise FileNotFoundError(file)
    return file


def _find_variables(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        yield from references(file.read_text(errors="replace"))


def write_entry(place: Path, entry: Entry) -> None:
    """Write an entry for this user alone, and forget the oldest of too many; raises OSError."""
    kernels = entry.kernels._asdict()
    kernels.update(readable=[*map(str, entry.kernels.readable)], writable=[*map(str, entry.kernels.writable)])
    facts = {**entry._asdict(), "form": FORM, "kernels": kernels, "dependencies": entry.dependencies._asdict()}
    write_private(place, json.dumps(facts))
    by_age = sorted(place.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in by_age[:-MOST_ENTRIES]:
        file.unlink(missing_ok=True)
