"""ProjectPath: the folder of a configured project, as a value that code can join and pass to tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any


class ProjectPath:
    """A path that knows its project: `proj.onetool / "src"`.

    It behaves like a pure path (`name`, `parent`, `suffix`, `parts`, ...) and what it gives back stays a
    ProjectPath. The project's own attributes from the configuration are read the same way, and come first.
    It touches no disk: a run reaches files through packs.
    """

    __slots__ = ("attrs", "path", "project")

    def __init__(self, project: str, path: str | PurePath, attrs: Mapping[str, object] | None = None) -> None:
        self.project = project
        self.path = PurePath(path)
        self.attrs = dict(attrs or {})

    def _same_project(self, path: PurePath) -> ProjectPath:
        return ProjectPath(self.project, path, self.attrs)

    def __truediv__(self, other: str | PurePath | ProjectPath) -> ProjectPath:
        return self._same_project(self.path / str(other))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self.attrs:
            return self.attrs[name]
        value = getattr(self.path, name, None)
        if value is None:
            known = f"; its attributes are {', '.join(sorted(self.attrs))}" if self.attrs else ""
            if hasattr(Path, name):
                known = "; it touches no disk, so hand it to a tool: file.read(path=...), file.list(path=...)"
            raise AttributeError(f"project {self.project!r} has no attribute {name!r}{known}")
        if callable(value):
            return lambda *args, **kwargs: self._wrap(value(*args, **kwargs))
        return self._wrap(value)

    def _wrap(self, value: object) -> object:
        return self._same_project(value) if isinstance(value, PurePath) else value

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"ProjectPath({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ProjectPath):
            return self.path == other.path
        return self.path == other if isinstance(other, PurePath) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)
