"""PackEnvironments: the interpreters that helpers of built-in packs run on, made when a call first needs one.

Each has the libraries of a pack, installed by uv from the pinned list that comes with the pack.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_core.file_lock import try_lock, try_share
from mcp_core.private_files import make_private, open_lock
from mcp_core.quick_dataclass import dataclass
from ot.attempt import Attempt
from ot.context import current_or_none
from ot.errors import PackNotReadyError
from ot.logs import LogSpan, write_log
from ot.registry.definitions import Libraries
from ot.workers.extension import WorkerHost
from ot.workers.uv_program import PreparationError, Tell, UvProgram

FOLDER = "pack_environments"
READY = "onetool.ready"
"""A file that is written last, so an environment without it is unfinished. Locked by whoever uses the environment."""
_IMPATIENT = {"UV_HTTP_RETRIES": "0", "UV_HTTP_CONNECT_TIMEOUT": "5"}
"""How uv fetches while a call waits: without a network it must fail at once."""
KEPT_DAYS = 30  # that an environment stays which no server uses
_DAY = 24 * 3600  # seconds


class LibraryState(StrEnum):
    INSTALLED = "installed"  # this interpreter has them
    PREPARED = "prepared"  # its environment is ready
    MISSING = "not fetched"  # the first call that needs them installs them


@dataclass(frozen=True, slots=True)
class PackEnvironment:
    """The folder of an environment, which need not exist: one for each list, and each interpreter of a server."""

    libraries: Libraries
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def ready(self) -> bool:
        return (self.folder / READY).exists()

    def use(self) -> int | None:
        """Return a descriptor that keeps it from being removed until it is closed; None if it is not ready."""
        try:
            mark = os.open(self.folder / READY, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        if try_share(mark) and self.is_marked_by(mark):
            os.utime(mark)
            return mark
        os.close(mark)
        return None

    def is_marked_by(self, mark: int) -> bool:
        """True if the descriptor is one of this environment, and not of one that was in its place."""
        try:
            return os.path.samestat(os.fstat(mark), (self.folder / READY).stat())
        except FileNotFoundError:
            return False

    def size(self) -> int:
        """Return the bytes of its files; blocking."""
        return sum(file.lstat().st_size for file in self.folder.rglob("*") if not file.is_symlink())


def is_installed(libraries: Libraries) -> bool:
    """True if this interpreter has all modules and programs of a pack, as with its extra; no module is imported."""
    for module in libraries.modules:
        program = module.removeprefix("bin/")
        if program != module and not (own_programs() / program).exists():
            return False
        if program == module and importlib.util.find_spec(module) is None:
            return False
    return True


def own_programs() -> Path:
    """Return the folder of the programs that came with this interpreter's packages."""
    return Path(sysconfig.get_path("scripts"))


def find_environment(state: Path, libraries: Libraries) -> PackEnvironment:
    """Return the environment of a pack as its list is now; raises PreparationError if there is no list."""
    try:
        pinned = libraries.pinned.read_bytes()
    except OSError as error:
        raise PreparationError(f"the list of its libraries, {libraries.pinned}, cannot be read: {error}") from error
    interpreter = f"{sys.version} {os.path.realpath(sys.base_prefix)}"
    digest = hashlib.sha256(interpreter.encode() + b"\0" + pinned).hexdigest()[:16]
    return PackEnvironment(libraries, state / FOLDER / f"{libraries.pack}-{digest}")


def state_of(state: Path, libraries: Libraries) -> LibraryState:
    """Return what is there of a pack's libraries."""
    if is_installed(libraries):
        return LibraryState.INSTALLED
    try:
        return LibraryState.PREPARED if find_environment(state, libraries).ready else LibraryState.MISSING
    except PreparationError:
        return LibraryState.MISSING  # trying to install them says why


async def make_environment(
    environment: PackEnvironment, host: WorkerHost, tell: Tell, *, patient: bool, again: bool = False
) -> bool:
    """Make an environment unless it is ready, also then with `again`; false if it was. Raises PreparationError."""
    # Of several processes one makes it, and the others wait for that; whatever an ended one left is removed.
    folder = environment.folder
    try:
        make_private(folder.parent)
        with open_lock(lock_of(folder)) as lock:  # which ends with this process
            while not try_lock(lock.fileno()):
                tell("waiting for another process, which installs its libraries")
                await anyio.sleep(0.2)
            if environment.ready and not again:
                return False
            with LogSpan("packs.install", pack=environment.libraries.pack) as span:
                await anyio.to_thread.run_sync(remove_environment, folder)
                pace = {} if patient else {key: each for key, each in _IMPATIENT.items() if key not in host.environ}
                await _install(environment, UvProgram(host, tell, doing="installing its libraries", environ=pace))
                span.add(folder=folder)
            (folder / READY).touch()
            return True
    except OSError as error:
        raise PreparationError(f"{error.strerror or error}: {error.filename or folder}") from error


async def _install(environment: PackEnvironment, uv: UvProgram) -> None:
    libraries = environment.libraries
    done = await uv.run(["venv", "--python", sys.executable, "--no-project", str(environment.folder)])
    # A helper is confined, so it cannot keep the bytecode of what it imports.
    words = ["pip", "sync", "--python", str(environment.python), "--require-hashes", "--no-build", "--compile-bytecode"]
    if done.status == 0:
        done = await uv.ask([*words, str(libraries.pinned)], wanted=libraries.requirements)
    if done.status != 0:
        raise PreparationError(done.tail)


def lock_of(folder: Path) -> Path:
    """Return the file that is locked by whoever makes or removes environments of a pack, given the folder of one."""
    return folder.with_name(f"{folder.name.rpartition('-')[0]}.lock")


def remove_environment(folder: Path) -> None:
    """Remove what is there; its mark first, so that nobody takes half of it for the whole. Blocking."""
    (folder / READY).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def find_unused(state: Path, *, remove: bool = False) -> list[Path]:
    """Return the environments that no server has used for a month. Blocking."""
    # With `remove` they are removed, and so is what was never finished; what is used or being made now stays.
    try:
        entries = sorted((state / FOLDER).iterdir())
    except FileNotFoundError:
        return []
    folders = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
    unused = [folder for folder in folders if _is_unused(folder, remove=remove)]
    for folder in unused if remove else ():
        write_log(logging.INFO, "packs.remove", folder=folder)
    return unused


def _is_unused(folder: Path, *, remove: bool) -> bool:
    with open_lock(lock_of(folder)) as making:
        if not try_lock(making.fileno()):
            return False
        try:
            mark = os.open(folder / READY, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            if remove:
                remove_environment(folder)  # whoever was making it has ended: they would hold the lock
            return False
        try:
            if time.time() - os.fstat(mark).st_mtime < KEPT_DAYS * _DAY or not try_lock(mark):
                return False
            if remove:
                remove_environment(folder)
            return True
        finally:
            os.close(mark)


class _Making(Attempt):
    def __init__(self, pack: str) -> None:
        super().__init__("installing its libraries", prefix=f"{pack}: ")
        self.failure: str | None = None


class PackEnvironments:
    """Owned by the pool of workers, whose tasks and time limit it has."""

    def __init__(self, host: WorkerHost, tasks: TaskGroup, *, limit: Callable[[], float]) -> None:
        self._host = host
        self._tasks = tasks
        self._limit = limit  # seconds in which one must be ready
        self._found: dict[Libraries, PackEnvironment | None] = {}
        self._making: dict[Path, _Making] = {}
        self._uses: dict[Path, int] = {}  # descriptors that keep environments from being removed

    async def python_of(self, libraries: Libraries) -> Path | None:
        """Return the interpreter for the libraries of a pack, None for this process's own; raises PackNotReadyError."""
        try:
            if libraries not in self._found:  # once, and so it stays until the server ends
                own = is_installed(libraries)
                self._found[libraries] = None if own else find_environment(self._host.state, libraries)
            environment = self._found[libraries]
        except PreparationError as error:
            raise PackNotReadyError("", libraries.pack, libraries.requirements, str(error)) from error
        if environment is None:
            return None
        if not self._use(environment):  # it is made: for this call, or for another one that waits too
            making = self._making.get(environment.folder)
            if making is None or making.done:
                making = self._making[environment.folder] = _Making(libraries.pack)
                self._tasks.start_soon(self._make, environment, making)
            await making.wait(current_or_none())
            if making.failure is not None:
                raise PackNotReadyError("", libraries.pack, libraries.requirements, making.failure)
            self._use(environment)
        return environment.python

    def close(self) -> None:
        """Let others remove what was used."""
        for mark in self._uses.values():
            os.close(mark)
        self._uses.clear()

    def _use(self, environment: PackEnvironment) -> bool:
        """True if it is ready, and is not removed as long as this server lives."""
        mark = self._uses.get(environment.folder)
        if mark is not None and environment.is_marked_by(mark):
            return True
        if mark is not None:
            os.close(self._uses.pop(environment.folder))  # it was made anew
        mark = environment.use()
        if mark is None:
            return False
        if not self._uses:  # the first one of this server: time to look for those of others
            self._tasks.start_soon(anyio.to_thread.run_sync, partial(find_unused, self._host.state, remove=True))
        self._uses[environment.folder] = mark
        return True

    async def _make(self, environment: PackEnvironment, making: _Making) -> None:
        """Make it also where the call that wanted it is cancelled meanwhile: the next one will want it too."""
        limit = self._limit()
        making.failure = "the server is closing"
        try:
            with anyio.move_on_after(limit):
                await make_environment(environment, self._host, making.tell, patient=False)
                making.failure = None
                return
            making.failure = f"not ready after {limit:g} s (workers.start_timeout), and was still {making.doing}"
        except PreparationError as error:
            write_log(logging.WARNING, "packs.install", pack=environment.libraries.pack, failure=str(error))
            making.failure = _cause(str(error))
        finally:
            making.finish()


def _cause(words: str) -> str:
    """Return the line of what uv says that comes to the point: its last cause, or else the last of all."""
    lines = [line.strip() for line in words.strip().splitlines()] or [""]
    causes = [line.removeprefix("cause: ") for line in lines if line.startswith("cause: ")]
    return (causes or lines)[-1].rstrip(".")
