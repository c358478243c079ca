"""The lock of an extension's dependencies: the versions and hashes that uv found first, which it uses ever after."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from mcp_core.atomic_write import write_private
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass
from ot.workers.pep723 import ScriptHeader

Kind = Literal["shipped", "kept", "none"]  # beside the extension; in the state folder; or there can be none


class LockDamagedError(Exception):
    """A lock cannot be read; the text says why. It is left as it is."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of one extension; `script` is the file that uv is asked about, which has its lock beside it.

    In the state folder that is a file with nothing but the header that the lock was made for.
    """

    kind: Kind
    script: Path

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
    if _needs_its_folder(header):
        return Lock("none", file)
    key = hashlib.sha256(os.fsencode(file)).hexdigest()[:16]
    return Lock("kept", state / "locks" / f"{file.stem}-{key}" / file.name)


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


def _needs_its_folder(header: ScriptHeader) -> bool:
    """True if packages come from folders that are named as seen from the extension's own."""
    uv = header.tool.get("uv")
    sources = uv.get("sources") if isinstance(uv, dict) else None
    if not isinstance(sources, dict):
        return False
    alternatives = [each if isinstance(each, list) else [each] for each in sources.values()]
    return any(isinstance(source, dict) and "path" in source for each in alternatives for source in each)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
