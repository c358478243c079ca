"""Layers of configuration: files with what they include, each over the ones farther away."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.config.documents import Documents
from ot.config.entries import Mistakes
from ot.config.keys import ANY, INCLUDE, dotted, known_keys, matches, printable
from ot.config.paths import absolute
from ot.config.variables import Variables
from ot.errors import ConfigError
from ot.trust.project_trust import Untrusted

MAX_INCLUDE_DEPTH = 20

_CODE = ("snippets", ANY, "body")
_CREDENTIALS = (("servers", ANY, "headers", ANY), ("servers", ANY, "env", ANY))
"""Where each of many people may have a credential of their own. Nowhere else: it must not say what is reached."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings of one file or one variable.

    `written` is as the person wrote it, to be quoted in mistakes; `values` has variables and paths filled in and is
    never shown. `unwritten` counts the leading keys that the file itself leaves out.
    """

    source: Path | str
    written: Mapping[object, object]
    values: Mapping[object, object]
    unwritten: int = 0


@dataclass(frozen=True, slots=True)
class NearLayer:
    """The settings that come before the person's own files, nearest first, with the secrets beside them."""

    layers: list[Layer]
    secrets: Mapping[str, str]
    substituted: frozenset[str]
    untrusted: Untrusted
    asked: frozenset[str] = frozenset()


def merge(farther: Mapping[object, object], nearer: Mapping[object, object]) -> dict[object, object]:
    """Merge mappings key by key, at every depth; a list or a single value replaces the farther one as a whole.

    A mapping or list without any line (`servers:`) changes nothing.
    """
    merged = dict(farther)
    for key, value in nearer.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = merge(below, value)
        elif value is not None or not isinstance(below, dict | list):
            merged[key] = value
    return merged


class LayerReader:
    """Reads files into layers, nearest first; of `sections` alone, if they are named."""

    def __init__(
        self,
        variables: Variables,
        *,
        home: Path,
        documents: Documents,
        sections: Collection[str] | None = None,
        mistakes: Mistakes,
    ) -> None:
        self._variables = variables
        self._documents = documents
        self._mistakes = mistakes
        self._home = home
        self._sections = None if sections is None else {*sections, INCLUDE}

    @cached_property
    def _paths(self) -> list[tuple[str, ...]]:
        named = [(*key.path, ANY) if key.is_list else key.path for key in known_keys() if key.is_path]
        return [*named, (INCLUDE,), (INCLUDE, ANY)]

    def read(self, file: Path | None, prompts: Path | None) -> list[Layer]:
        """Read `file`, the prompts beside it, and the files that `file` includes; each of them may be missing."""
        by_file: dict[str, Layer] = {}
        if file is not None:
            self._read_with_includes(file, (), by_file)
        layers = list(reversed(by_file.values()))
        if prompts is not None and self._reads("prompts"):
            layers[1:1] = self._read_prompts(prompts)  # below the file beside it, above what that includes
        return layers

    def _read_with_includes(self, file: Path, chain: tuple[Path, ...], layers: dict[str, Layer]) -> None:
        """Add the files that `file` includes, then `file`; one that is included twice counts only the first time."""
        written = self._documents.read(file)
        if written is None:
            return
        values = self._settle(written, file)
        for included in self._included(values, file):
            _refuse_circle(included, (*chain, file))
            if _identity(included) not in layers:
                self._read_with_includes(included, (*chain, file), layers)
        values.pop(INCLUDE, None)
        layers[_identity(file)] = Layer(file, written, values)

    def _read_prompts(self, file: Path) -> list[Layer]:
        written = self._documents.read(file)
        if written is None:
            return []
        wrapped = list(written) == ["prompts"]
        values = self._settle(written if wrapped else {"prompts": written}, file)
        return [Layer(file, written, values, unwritten=0 if wrapped else 1)]

    def _included(self, values: Mapping[object, object], file: Path) -> list[Path]:
        named = included_in(values, file)
        for item in named:
            if not self._documents.exists(Path(item)):
                raise ConfigError(
                    f"{printable(item)} does not exist",
                    file=file,
                    key=INCLUDE,
                    fix=f"create it or give a path relative to {file.parent}",
                )
        return [Path(item) for item in named]

    def _settle(self, written: Mapping[object, object], file: Path) -> dict[object, object]:
        """Return a copy with variables filled in, paths absolute, and a project's bare path spelled out."""
        projects = written.get("projects")
        if isinstance(projects, dict):
            spelled = {name: {"path": item} if isinstance(item, str) else item for name, item in projects.items()}
            written = {**written, "projects": spelled}
        return {key: self._section(value, str(key), file) for key, value in written.items() if self._reads(key)}

    def _section(self, value: object, name: str, file: Path) -> object:
        """Settle a section; what cannot be filled in is left out, and counts as a mistake of its entry."""
        settled: dict[object, object] = {}
        items = value.items() if isinstance(value, dict) else [(None, value)]
        for key, item in items:
            path = (name,) if key is None else (name, str(key))
            try:
                settled[key] = self._settled(item, path, file)
            except ConfigError as error:
                self._mistakes.add(path, error)
        return settled if isinstance(value, dict) else settled.get(None)

    def _reads(self, section: object) -> bool:
        return self._sections is None or section in self._sections

    def _settled(self, value: object, path: tuple[str, ...], file: Path) -> object:
        if isinstance(value, dict):
            return {key: self._settled(item, (*path, str(key)), file) for key, item in value.items()}
        if isinstance(value, list):
            return [self._settled(item, (*path, str(index)), file) for index, item in enumerate(value)]
        if not isinstance(value, str) or matches(_CODE, path):
            return value
        is_path = any(matches(pattern, path) for pattern in self._paths)
        personal = any(matches(pattern, path) for pattern in _CREDENTIALS)
        text = self._variables.fill(value, file=file, key=dotted(path), is_path=is_path, personal=personal)
        if is_path and text.strip():
            return str(absolute(text, folder=file.parent, home=self._home))
        return text


def included_in(values: Mapping[object, object], file: Path) -> list[str]:
    """Return the names of files that a file includes; raises ConfigError."""
    named = values.get(INCLUDE)
    named = [] if named is None else [named] if isinstance(named, str) else named
    if not isinstance(named, list) or not all(
        isinstance(item, str) and "\0" not in item and item.strip() for item in named
    ):
        raise ConfigError(
            "must be a list of file names", file=file, key=INCLUDE, fix="write for example [snippets.yaml]"
        )
    return named


def _refuse_circle(included: Path, chain: tuple[Path, ...]) -> None:
    for index, file in enumerate(chain):
        if _identity(included) == _identity(file):
            circle = " -> ".join(printable(str(part)) for part in (*chain[index:], included))
            raise ConfigError(f"circular: {circle}", file=chain[-1], key=INCLUDE, fix="remove one of these includes")
    if len(chain) >= MAX_INCLUDE_DEPTH:
        raise ConfigError(
            f"more than {MAX_INCLUDE_DEPTH} files include one another", file=chain[-1], key=INCLUDE, fix="include fewer"
        )


def _identity(file: Path) -> str:
    """Return the same text for every name of one file."""
    try:
        return os.path.realpath(file)
    except ValueError:  # no file has such a name; reading it says so
        return str(file)
