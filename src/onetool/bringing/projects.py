"""The Python project in a bundle of type uv: what it needs, read by us, so that uv never sees the project itself.

`uv sync` goes by settings, sources and indexes that a project names, and builds it with a backend of its own choice. So
uv gets another project, which has the same requirements and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from mcp_core.json_types import Json, list_of, mapping_of
from onetool.bringing.candidate import INDEXES
from ot.services.mcp_registry import BringingError

PROJECT = "pyproject.toml"
LOCK = "uv.lock"
_SETTINGS = "uv.toml"
_LARGEST = 5_000_000  # bytes of a file
_LONGEST_LINE = 5_000  # characters: a key of many parts takes the parser the square of its length
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][^@/\\]{0,499}")  # neither an address nor a path
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*(\d{1,4}(?:\.\d{1,4}){0,2})(\.\*)?\s*", re.ASCII)
_HARMLESS = {
    "build-backend", "constraint-dependencies", "default-groups", "dev-dependencies", "managed", "package",
    "required-version",
}  # fmt: skip
"""Settings of uv that are taken over, or that only matter for a project that is built or worked on."""
_OWN = ({"editable": "."}, {"virtual": "."}, {"directory": "."})  # how a lock names the project itself


@dataclass(frozen=True)
class Project:
    """The packages that a bundle needs, and its lock if it brings one."""

    name: str
    python: str
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    lock: str

    def as_toml(self) -> str:
        """Return a project of the same requirements that has nothing to build."""

        def written(value: str | tuple[str, ...]) -> str:
            return json.dumps(value, ensure_ascii=False)

        lines = ["[project]", f"name = {written(self.name)}", 'version = "0"']
        lines += [f"requires-python = {written(self.python)}"] if self.python else []
        lines += [f"dependencies = {written(self.requirements)}", "[tool.uv]", "package = false"]
        return "\n".join([*lines, f"constraint-dependencies = {written(self.constraints)}", ""])


def read_project(archive: zipfile.ZipFile) -> Project:
    """Return the project of a bundle; raises BringingError where it is steered from anywhere but the index."""
    names = set(archive.namelist())
    if settings := next((name for name in names if PurePosixPath(name).name.lower() == _SETTINGS), None):
        raise BringingError(f"it brings settings of uv ({settings!r}), which change where packages come from")
    if PROJECT not in names:
        raise BringingError(f"it has no {PROJECT}")
    tables = _parsed(archive, PROJECT)
    project, uv = mapping_of(tables.get("project")), mapping_of(mapping_of(tables.get("tool")).get("uv"))
    if odd := sorted(uv.keys() - _HARMLESS):
        raise BringingError(f"its {PROJECT} sets tool.uv.{odd[0]}, which changes where packages come from, or which")
    if "dependencies" in list_of(project.get("dynamic")):
        raise BringingError("only its build backend knows its dependencies, and that is not run")
    name, python = project.get("name"), project.get("requires-python", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BringingError(f"its {PROJECT} gives no valid name")
    if not isinstance(python, str) or not all(map(_fits, filter(None, python.split(",")))):
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise BringingError(f"it needs Python {str(python)[:100]!r}, and OneTool runs with {own}")
    return Project(
        name,
        python,
        _requirements(project.get("dependencies", [])),
        _requirements(uv.get("constraint-dependencies", [])),
        _read_lock(archive) if LOCK in names else "",
    )


def _fits(clause: str) -> bool:
    """True if this Python is one of those that a clause such as `>=3.11` names."""
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return False
    comparison, star = match[1], match[3]
    wanted = tuple(map(int, match[2].split(".")))
    own = sys.version_info[: len(wanted) if star else 3]
    padded = wanted if star else (*wanted, 0, 0)[:3]
    above = own >= padded
    return {
        ">=": above,
        "<": not above,
        ">": own > padded,
        "<=": own <= padded,
        "==": own == padded,
        "!=": own != padded,
        "~=": above and own[: len(wanted) - 1] == wanted[:-1],
    }[comparison]


def _requirements(values: Json) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise BringingError(f"its {PROJECT} gives its dependencies in no list")
    for each in values:
        if not isinstance(each, str) or not _REQUIREMENT.fullmatch(each) or not each.isprintable():
            raise BringingError(f"it needs {str(each)[:200]!r}, which is not a package of the index")
    return tuple(map(str, values))


def _read_lock(archive: zipfile.ZipFile) -> str:
    for each in map(mapping_of, list_of(_parsed(archive, LOCK).get("package"))):
        source = dict(mapping_of(each.get("source")))
        if source not in _OWN and source != {"registry": f"{INDEXES['pypi']}/simple"}:
            raise BringingError(f"its {LOCK} has {str(each.get('name'))[:200]!r} from elsewhere than {INDEXES['pypi']}")
    return _text(archive, LOCK)


def _parsed(archive: zipfile.ZipFile, name: str) -> Mapping[str, Json]:
    try:
        tables: Mapping[str, Json] = tomllib.loads(_text(archive, name))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BringingError(f"its {name} is not TOML: {error}") from None
    return tables


def _text(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as opened:
        content = opened.read(_LARGEST + 1)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BringingError(f"its {name} is not UTF-8") from None
    if len(content) > _LARGEST or any(len(line) > _LONGEST_LINE for line in text.splitlines()):
        raise BringingError(f"its {name} is too large, or has a line of more than {_LONGEST_LINE:,} characters")
    return text
