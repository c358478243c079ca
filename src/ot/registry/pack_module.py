"""A pack's module: imported by the first call, once; an import that failed is tried again when the file changes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import traceback
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ot.errors import PackLoadError

FileState = tuple[int, ...] | None


def file_state(file: Path) -> FileState:
    """Return a state that changes with the file; None if it is not there."""
    try:
        status = os.stat(file)  # noqa: PTH116 - several dozen at every start, and one on the path of every worker's call
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def module_reference(file: Path) -> str:
    """Return the name by which `import_module` finds a pack file: dotted inside a package, else its path."""
    return f"{file.parent.name}.{file.stem}" if _is_package(file.parent) else str(file)


@lru_cache(maxsize=64)  # every engine of a process asks for the same few folders, two dozen times
def _is_package(folder: Path) -> bool:
    """True for the folder of a package that can be imported by its name."""
    if not (folder / "__init__.py").exists():
        return False
    spec = importlib.util.find_spec(folder.name)
    return spec is not None and spec.origin is not None and Path(spec.origin).parent == folder


def import_module(reference: str) -> ModuleType:
    """Import by dotted name or by path; raises whatever the module raises."""
    if not reference.endswith(".py"):
        return importlib.import_module(reference)
    name = _module_name(reference)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, reference)
    if spec is None or spec.loader is None:
        raise ImportError(f"{reference} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their own module up while it is being executed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(reference: str) -> str:
    if not reference.endswith(".py"):
        return reference
    return f"ot_pack_{Path(reference).stem}_{zlib.crc32(reference.encode()):08x}"


class PackModule:
    """One pack file, and its module once a call has needed it; `problems` shows what is wrong with it now."""

    def __init__(self, file: Path, problems: list[PackLoadError], *, fresh: bool = False) -> None:
        """With `fresh`, the file has changed since somebody imported it."""
        self.file = file
        self.reference = module_reference(file)
        self._fresh = fresh
        self._problems = problems
        self._module: ModuleType | None = None
        self._failure: tuple[FileState, PackLoadError] | None = None  # the file as it was then, and why
        self._importing = threading.Lock()

    def function(self, name: str) -> Callable[..., Any]:
        """One function of the module, imported if need be; blocking. Raises PackLoadError."""
        with self._importing:
            if self._module is None:
                self._module = self._import()
        try:
            function: Callable[..., Any] = getattr(self._module, name)
        except AttributeError:
            raise PackLoadError(self.file, f"it no longer has {name}") from None
        return function

    def _import(self) -> ModuleType:
        if self._fresh:
            # The next import reads the file again; whoever holds the module as it was keeps it.
            sys.modules.pop(_module_name(self.reference), None)
            importlib.invalidate_caches()
            with suppress(OSError):
                # Its compiled form counts as current by the second and the size alone.
                Path(importlib.util.cache_from_source(str(self.file))).unlink()
            self._fresh = False
        state = file_state(self.file)
        if self._failure is not None:
            if self._failure[0] == state:
                raise self._failure[1].with_traceback(None)
            if self._failure[1] in self._problems:
                self._problems.remove(self._failure[1])
            self._failure = None
            importlib.invalidate_caches()
        try:
            return import_module(self.reference)
        except (Exception, SystemExit) as error:  # importing runs foreign code
            reason = f"cannot be imported: {type(error).__name__}: {error}"
            problem = PackLoadError(self.file, reason, _line_in(self.file, error))
            self._failure = (state, problem)
            self._problems.append(problem)
            raise problem from error


def _line_in(file: Path, error: BaseException) -> int | None:
    """The last line of that file on the way to the error."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None
