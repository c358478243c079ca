"""The files of all stubs, a package with one module a pack; and the folder that they are written to."""

from __future__ import annotations

import keyword
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mcp_core.atomic_write import write_file
from onetool.stubs.pack_stub import VALUES, KnownResults, StubbedTool, write_pack
from ot.clients.person import LOCAL
from ot.config.models import Config
from ot.errors import ConfigError
from ot.registry.definitions import PackDefinition
from ot.registry.registry import ToolRegistry
from ot.run.namespace import PROJECTS, Namespace
from ot.shapes.shapes import Shapes
from ot_system.opening import READ_FILE

PACKAGE = "onetool_packs"
MARK = "# Written by `onetool stubs`, and written again the next time: changes are lost.\n"

_VALUES_STUB = '''"""Types that the stubs of all packs share."""

import os
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

T_co = TypeVar("T_co", covariant=True)

Text: TypeAlias = str | os.PathLike[str]

class Items(Protocol[T_co]):
    """A list or a tuple; a string is none."""

    def __contains__(self, value: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T_co]: ...
    def __len__(self) -> int: ...
    def count(self, value: Any, /) -> int: ...
    def index(self, value: Any, /) -> int: ...

class Record(dict[str, Any]):
    """A dict with its keys as attributes."""

class ProjectPath(os.PathLike[str]):
    """A path that knows its project."""

    def __fspath__(self) -> str: ...
    def __truediv__(self, other: str | os.PathLike[str]) -> ProjectPath: ...
    def __getattr__(self, name: str) -> Any: ...

class ToolError(Exception):
    """A call to a tool that failed."""

    message: str
'''


@dataclass(frozen=True, slots=True)
class StubWriter:
    registry: ToolRegistry
    shapes: Shapes
    results: KnownResults
    config: Config

    def files(self) -> dict[str, str]:
        """Return the text of each file by its path in the folder of stubs."""
        packs = {pack.name: pack for pack in self.registry.packs() if is_usable(pack.name)}
        found = {f"{PACKAGE}/{VALUES}.pyi": _VALUES_STUB}
        found |= {f"{PACKAGE}/{name}.pyi": self._pack(pack) for name, pack in packs.items()}
        found[f"{PACKAGE}/__init__.pyi"] = "".join(f"from . import {name} as {name}\n" for name in packs)
        # Code in a run can import a pack, unless the standard library has that name.
        reserved = sys.stdlib_module_names | {PACKAGE}
        found |= {f"{name}.pyi": f"from {PACKAGE}.{name} import *\n" for name in packs if name not in reserved}
        lines = [f"from {PACKAGE}.{VALUES} import ToolError as ToolError"]
        lines += [f"from {PACKAGE} import {name} as {name}" for name in packs]
        for alias, target in sorted(self.config.aliases.items()):
            pack, _, tool = target.partition(".")
            if is_usable(alias) and pack in packs and tool in packs[pack].tools:
                lines.append(f"from {PACKAGE}.{pack} import {tool} as {alias}")
        found["__builtins__.pyi"] = "".join(f"{line}\n" for line in lines)
        return {path: f"{MARK}\n{text}" for path, text in found.items()}

    def _pack(self, pack: PackDefinition) -> str:
        describe = Namespace(self.registry, {}, {}, shapes=self.shapes).describe
        tools = [
            StubbedTool(tool, str(describe(tool.name, LOCAL)["doc"]), self.results.of(tool))
            for _, tool in sorted(pack.tools.items())
        ]
        return write_pack(pack, tools, sorted(self.config.projects) if pack.name == PROJECTS else ())


def is_usable(name: str) -> bool:
    """True for a name that code can write; those with two underscores are Python's own, and ours."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


class Changes(NamedTuple):
    """The files that were written because they are new or other than before, and those that were removed."""

    written: list[str]
    removed: list[str]


def write_stubs(folder: Path, files: Mapping[str, str]) -> Changes:
    """Make a folder hold exactly these stubs beside whatever else is in it.

    Raises ConfigError if it cannot be written, and before anything has changed if somebody else's file is in the way,
    or a link: a cloned repository may bring one that leads anywhere.
    """
    for place in (folder, folder / PACKAGE):
        if place.is_symlink():
            raise ConfigError("is a link", file=place, fix="name the folder itself: onetool stubs FOLDER")
    try:
        before = {path: _read(folder / path) for path in files}
        strangers = [path for path, text in before.items() if text is not None and not text.startswith(MARK)]
        if strangers:
            reason = f"{strangers[0]} is there already, and `onetool stubs` did not write it"
            raise ConfigError(reason, file=folder, fix="name another folder: onetool stubs FOLDER")
        (folder / PACKAGE).mkdir(parents=True, exist_ok=True)
        changed = [path for path, text in files.items() if before[path] != text]
        for name in changed:
            write_file(folder / name, files[name].encode(), mode=0o644)
        found = [path for place in (folder, folder / PACKAGE) for path in sorted(place.glob("*.pyi"))]
        others = (path for path in found if str(path.relative_to(folder)) not in files)
        gone = [path for path in others if (_read(path) or "").startswith(MARK)]
        for path in gone:
            path.unlink(missing_ok=True)
        return Changes(changed, [str(path.relative_to(folder)) for path in gone])
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise ConfigError(f"cannot be written: {error.strerror}{where}", file=folder) from error


def _read(path: Path) -> str | None:
    """Return the text of a plain file, None if there is none; anything else is somebody's, and no text of ours."""
    try:
        descriptor = os.open(path, READ_FILE)
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return file.read().decode("utf-8", "replace")
