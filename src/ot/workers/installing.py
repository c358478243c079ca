"""The dependencies of an extension: resolved into a lock once, and installed from it by uv ever after."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from mcp_core.atomic_write import write_private
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass
from ot.logs import LogSpan, write_log
from ot.processes.run_program import Finished
from ot.store.forms import FORM, check_form
from ot.workers.extension import WorkerHost
from ot.workers.pep723 import ScriptHeader
from ot.workers.uv_program import PreparationError, Tell, UvProgram

_FORM = 1
_AS_JSON = ("--output-format", "json")
_FROM_LOCK = {"shipped": ("--locked",), "kept": ("--frozen",), "none": ()}
"""By the kind of a lock: one that was shipped is compared with the header, ours was made for it."""
Kind = Literal["shipped", "kept", "none"]  # beside the extension; in the state folder; or there can be none


class LockDamagedError(Exception):
    """A lock cannot be read; the text says why. It is left as it is."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of one extension."""

    kind: Kind
    script: (
        Path  # which uv is asked about, with its lock beside it; in the state folder, only the header it is made for
    )

    @property
    def file(self) -> Path:
        return lock_beside(self.script)

    def fits(self, header: ScriptHeader) -> bool:
        """True if no lock has to be made for this header; whether a shipped one fits, uv finds out itself."""
        return self.kind != "kept" or (self.file.exists() and _content(self.script) == header.as_comments().encode())

    def content(self) -> bytes | None:
        """Return the lock as it is; None if there is none."""
        return _content(self.file)

    @contextmanager
    def draft(self, header: ScriptHeader) -> Iterator[Path]:
        """Provide a script to resolve, with the current lock beside it so that versions stay; raises OSError."""
        folder = self.script.parent
        make_private(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as beside:
            script = Path(beside) / self.script.name
            script.write_text(header.as_comments(), encoding="utf-8")
            if self.file.exists():
                shutil.copyfile(self.file, lock_beside(script))
            yield script

    def keep(self, draft: Path, header: ScriptHeader) -> None:
        """Replace our lock with that of a resolved draft; raises OSError."""
        lock_beside(draft).replace(self.file)
        write_private(self.script, header.as_comments())  # last: a lock without its header is resolved again


def find_lock(state: Path, file: Path, header: ScriptHeader) -> Lock:
    """Find the lock of an extension; it need not exist."""
    if lock_beside(file).exists():
        return Lock("shipped", file)
    uv = header.tool.get("uv")
    sources = uv.get("sources") if isinstance(uv, dict) else None
    given = sources.values() if isinstance(sources, dict) else ()
    lists = [each if isinstance(each, list) else [each] for each in given]
    if any(isinstance(source, dict) and "path" in source for each in lists for source in each):
        return Lock("none", file)  # packages come from folders that are named as seen from the extension's own
    return Lock("kept", state / "locks" / _key(file) / file.name)


def _key(file: Path) -> str:
    return f"{file.stem}-{hashlib.sha256(os.fsencode(file)).hexdigest()[:16]}"


def lock_beside(script: Path) -> Path:
    return script.with_name(f"{script.name}.lock")


def read_versions(content: bytes) -> dict[str, str]:
    """Return the version of each package in a lock; raises LockDamagedError."""
    import tomllib  # noqa: PLC0415 - start-up path: an environment that is ready needs none of this

    try:
        found = tomllib.loads(content.decode())
        if not isinstance(found["version"], int):
            raise TypeError("its version is not a number")
        return {str(package["name"]): str(package.get("version", "")) for package in found.get("package", [])}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LockDamagedError(f"it is not a lock file of uv ({type(error).__name__}: {error})") from error


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def read_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock) -> Path | None:
    """Return the interpreter of the environment of `file` if it is as uv left it; None: ask uv."""
    uv = header.tool.get("uv")
    if (isinstance(uv, dict) and "sources" in uv) or any("file:" in item for item in header.dependencies):
        return None  # packages come from folders or repositories that uv has to look at each time
    try:
        stamp: Any = check_form(json.loads((state / "environments" / f"{_key(file)}.json").read_bytes()), _FORM)
        python = Path(stamp["python"])
        intact = python.exists() and stamp["state"] == _state(python) and stamp["asked"] == _asked(header, lock)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return python if intact else None


def write_stamp(state: Path, file: Path, header: ScriptHeader, lock: Lock, python: Path) -> None:
    """Remember an environment; if that cannot be written, uv is asked the next time."""
    try:
        stamp = {FORM: _FORM, "asked": _asked(header, lock), "python": str(python), "state": _state(python)}
        write_private(state / "environments" / f"{_key(file)}.json", json.dumps(stamp))
    except OSError:
        pass


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
    """Asks uv for what the header of an extension needs: from uv's cache, and if that is not enough, from outside."""

    # Nothing is fetched that is not in the lock, except for packages whose place is named as seen from the extension.

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
        """Resolve the dependencies into our lock; returns how that has changed. Raises PreparationError."""
        # Versions that fit stay as they are, unless an upgrade is wanted, for which the network is asked.
        before = self.versions()
        self._uv.offline = self._uv.offline and not upgrade
        try:
            with self.lock.draft(self._header) as script:
                words = ["lock", "--script", str(script), *(["--upgrade"] if upgrade else [])]
                done = await self._uv.ask(words, wanted=self._header.dependencies)
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
        words = ["sync", "--script", str(script), *_FROM_LOCK[self.lock.kind], *_AS_JSON]
        done = await self._uv.ask(words, wanted=self._header.dependencies)
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


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is None:
            yield f"{name} {new}"
        elif new is None:
            yield f"{name} {old} is gone"
        elif old != new:
            yield f"{name} {old} -> {new}"
