"""The dependencies of an extension: resolved into a lock once, and installed from it by uv ever after."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_core.atomic_write import write_private
from ot.logs import LogSpan, write_log
from ot.processes.run_program import Finished
from ot.store.forms import FORM, check_form
from ot.workers.extension import WorkerHost
from ot.workers.locks import Lock, LockDamagedError, find_lock, read_versions
from ot.workers.pep723 import ScriptHeader
from ot.workers.uv_program import PreparationError, Tell, UvProgram

_FORM = 1
_AS_JSON = ("--output-format", "json")
_FROM_LOCK = {"shipped": ("--locked",), "kept": ("--frozen",), "none": ()}
"""By the kind of a lock: one that was shipped is compared with the header, ours was made for it."""


def read_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock) -> Path | None:
    """Return the interpreter of the environment of `file` if it is as uv left it; None: ask uv."""
    uv = header.tool.get("uv")
    if (isinstance(uv, dict) and "sources" in uv) or any("file:" in item for item in header.dependencies):
        return None  # packages come from folders or repositories that uv has to look at each time
    try:
        stamp: Any = check_form(json.loads(_place(state, file).read_bytes()), _FORM)
        python = Path(stamp["python"])
        intact = python.exists() and stamp["state"] == _state(python) and stamp["asked"] == _asked(header, lock)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return python if intact else None


def write_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock, python: Path) -> None:
    """Remember an environment; if that cannot be written, uv is asked the next time."""
    try:
        stamp = {FORM: _FORM, "asked": _asked(header, lock), "python": str(python), "state": _state(python)}
        write_private(_place(state, file), json.dumps(stamp))
    except OSError:
        pass


def _place(state: Path, file: Path) -> Path:
    return state / "environments" / f"{file.stem}-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}.json"


def _asked(header: ScriptHeader, lock: Lock) -> str:
    """Return a digest of the header and of the lock, which uv goes by."""
    asked = header.text.encode() + b"\0" + lock.kind.encode() + b"\0" + (lock.content() or b"")
    return hashlib.sha256(asked).hexdigest()


def _state(python: Path) -> list[int]:
    """Return when the environment was last changed: installing or removing a package touches one of these folders."""
    root = python.parent.parent
    folders = [root / "pyvenv.cfg", *sorted(root.glob("lib*/python*/site-packages"))]
    return [folder.stat().st_mtime_ns for folder in folders]


class Installer:
    """Asks uv for what the header of one extension needs: from uv's cache, and only if that is not enough from outside.

    Nothing is fetched that is not in the lock, except for packages whose place is named as seen from the extension.
    """

    def __init__(self, file: Path, header: ScriptHeader, host: WorkerHost, tell: Tell) -> None:
        self.lock = find_lock(host.state, file, header)
        self._file = file
        self._header = header
        self._host = host
        self._tell = tell
        self._uv = UvProgram(host, tell, doing="installing its dependencies")

    async def interpreter(self) -> Path:
        """Return the interpreter of the extension's environment, made from its lock; raises PreparationError."""
        state, header, lock = self._host.state, self._header, self.lock
        python = read_stamp(state, self._file, header, lock)
        if python is None:
            with LogSpan("worker.sync", file=self._file) as span:
                python, locked = await self._install()
                span.add(offline=self._uv.offline, locked=locked)
            if locked:
                write_stamp(state, self._file, header, lock, python)
        return python

    async def locked(self) -> bytes:
        """Return the content of the lock, made if need be, with nothing installed; raises PreparationError."""
        if self.lock.kind == "none":
            raise PreparationError(
                "its header takes packages from folders beside it ([tool.uv.sources] with `path`), which a "
                "cluster cannot reach; take them from an index or a repository"
            )
        self.versions()  # a damaged lock is not used
        await self._complete_lock()
        content = self.lock.content()
        assert content is not None
        return content

    def versions(self) -> dict[str, str]:
        """Return the version of each package in the lock; raises PreparationError if that is damaged."""
        try:
            content = self.lock.content()
            return read_versions(content) if content is not None else {}
        except (LockDamagedError, OSError) as error:
            raise PreparationError(
                f"its lock {self.lock.file} is damaged ({error}). Restore it, or remove it to have its dependencies "
                "resolved again"
            ) from error

    async def resolve(self, *, upgrade: bool = False) -> list[str]:
        """Resolve the dependencies into our lock; returns how that has changed. Raises PreparationError.

        Versions that fit stay as they are, unless an upgrade is wanted, for which the network is asked.
        """
        before = self.versions()
        self._uv.offline = self._uv.offline and not upgrade
        try:
            with self.lock.draft(self._header) as script:
                done = await self._ask(["lock", "--script", str(script), *(["--upgrade"] if upgrade else [])])
                if done.status != 0:
                    raise PreparationError(f"its dependencies cannot be resolved. uv says:\n{done.tail}")
                self.lock.keep(script, self._header)
        except OSError as error:
            raise PreparationError(f"its lock {self.lock.file} cannot be written: {error}") from error
        changes = list(_differences(before, self.versions()))
        write_log(logging.INFO, "worker.lock", file=self._file, lock=self.lock.file, changes=changes)
        return changes

    async def _install(self) -> tuple[Path, bool]:
        """Return the interpreter, and whether its environment is the locked one; raises PreparationError."""
        self.versions()  # a damaged lock is neither used nor replaced
        script = self.lock.script
        try:
            await self._complete_lock()
        except PreparationError as error:
            # Without a network uv's cache may do all the same: it holds what was fetched before.
            done = await self._uv.run(["sync", "--script", str(self._file), *_AS_JSON, "--offline"])
            if done.status != 0:
                raise
            write_log(logging.WARNING, "worker.lock", file=self._file, not_locked=str(error))
            return await self._find_python(self._file, done), False
        done = await self._ask(["sync", "--script", str(script), *_FROM_LOCK[self.lock.kind], *_AS_JSON])
        if done.status != 0:
            name, shipped = self.lock.file.name, self.lock.kind == "shipped"
            lock = f"\nIts lock is {name}, which `uv lock --script {script.name}` updates." if shipped else ""
            raise PreparationError(f"its dependencies cannot be installed. uv says:\n{done.tail}{lock}")
        return await self._find_python(script, done), True

    async def _complete_lock(self) -> None:
        """Resolve the dependencies unless the lock is that of this header; raises PreparationError."""
        if not self.lock.fits(self._header):
            if self.lock.content() is not None:
                self._tell("resolving its dependencies again, because its header has changed")
            await self.resolve()

    async def _find_python(self, script: Path, synced: Finished) -> Path:
        """Return the interpreter of an environment that uv has made; uv is asked if its report does not say."""
        try:
            return Path(json.loads(synced.output)["sync"]["environment"]["python"]["path"])
        except (ValueError, KeyError, TypeError):
            found = await self._uv.run(["python", "find", "--script", str(script), "--offline"])
        if found.status != 0 or not found.output.strip():
            raise PreparationError(f"the interpreter of its environment was not found. uv says:\n{found.tail}")
        return Path(os.fsdecode(found.output.strip()))

    async def _ask(self, words: Sequence[str]) -> Finished:
        return await self._uv.ask(words, wanted=self._header.dependencies)


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is None:
            yield f"{name} {new}"
        elif new is None:
            yield f"{name} {old} is gone"
        elif old != new:
            yield f"{name} {old} -> {new}"
