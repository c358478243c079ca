"""Layers of configuration, each over the ones farther away: `ONETOOL_*` variables, files with what they include."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from mcp_core.nearest_names import nearest
from mcp_core.quick_dataclass import dataclass
from ot.config.documents import Documents
from ot.config.keys import ANY, INCLUDE, Key, dotted, known_keys, matches, nested, printable
from ot.config.mistakes import Layer, Mistakes
from ot.config.paths import absolute
from ot.config.secrets import Variables
from ot.errors import ConfigError
from ot.renamed import TwoNamesError, move_keys
from ot.trust.project_trust import Untrusted

MAX_INCLUDE_DEPTH = 20
_CODE = ("snippets", ANY, "body")
_CREDENTIALS = (("servers", ANY, "headers", ANY), ("servers", ANY, "env", ANY))
"""Where each of many people may have a credential of their own. Nowhere else: it must not say what is reached."""
PREFIX = "ONETOOL_"
CONFIG_VARIABLE = "ONETOOL_CONFIG"
TOKEN_VARIABLE = "ONETOOL_HTTP_TOKEN"


@dataclass(frozen=True, slots=True)
class NearLayer:
    """The settings that come before the person's own files, nearest first, with the secrets beside them."""

    layers: list[Layer]
    secrets: Mapping[str, str]
    substituted: frozenset[str]
    untrusted: Untrusted
    asked: frozenset[str] = frozenset()


def merge(farther: Mapping[object, object], nearer: Mapping[object, object]) -> dict[object, object]:
    """Merge mappings key by key, at every depth; a list or a single value replaces the farther one as a whole."""
    # A mapping or list without any line (`servers:`) changes nothing.
    merged = dict(farther)
    for key, value in nearer.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = merge(below, value)
        elif value is not None or not isinstance(below, dict | list):
            merged[key] = value
    return merged


@dataclass(eq=False)
class LayerReader:
    """Reads files into layers, nearest first; of `sections` alone, if they are named."""

    variables: Variables
    home: Path
    documents: Documents
    mistakes: Mistakes
    sections: Collection[str] | None = None

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
        if prompts is not None and self._reads("prompts") and (written := self.documents.read(prompts)) is not None:
            wrapped = list(written) == ["prompts"]
            values = self._settle(written if wrapped else {"prompts": written}, prompts)
            # Below the file beside it, above what that includes.
            layers.insert(1, Layer(prompts, written, values, unwritten=0 if wrapped else 1))
        return layers

    def _read_with_includes(self, file: Path, chain: tuple[Path, ...], layers: dict[str, Layer]) -> None:
        """Add the files that `file` includes, then `file`; one that is included twice counts only the first time."""
        document = self.documents.read(file)
        if document is None:
            return
        written = self._name_as_today(document, file)
        values = self._settle(written, file)
        for item in included_in(values, file):
            included = Path(item)
            if not self.documents.exists(included):
                fix = f"create it or give a path relative to {file.parent}"
                raise ConfigError(f"{printable(item)} does not exist", file=file, key=INCLUDE, fix=fix)
            _refuse_circle(included, (*chain, file))
            if _identity(included) not in layers:
                self._read_with_includes(included, (*chain, file), layers)
        values.pop(INCLUDE, None)
        layers[_identity(file)] = Layer(file, written, values)

    def _name_as_today(self, written: Mapping[object, object], file: Path) -> Mapping[object, object]:
        """Return what a file says, with the keys that were renamed under their names of today."""
        try:
            moved, found = move_keys(written)
        except TwoNamesError as error:
            raise ConfigError(
                str(error), file=file, key=error.renamed.former, fix="remove it, or the other one"
            ) from None
        self.mistakes.renamed += [(file, each) for each in found]
        return moved

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
                self.mistakes.add(path, error)
        return settled if isinstance(value, dict) else settled.get(None)

    def _reads(self, section: object) -> bool:
        return self.sections is None or section in self.sections or section == INCLUDE

    def _settled(self, value: object, path: tuple[str, ...], file: Path) -> object:
        if isinstance(value, dict):
            return {key: self._settled(item, (*path, str(key)), file) for key, item in value.items()}
        if isinstance(value, list):
            return [self._settled(item, (*path, str(index)), file) for index, item in enumerate(value)]
        if not isinstance(value, str) or matches(_CODE, path):
            return value
        is_path = any(matches(pattern, path) for pattern in self._paths)
        personal = any(matches(pattern, path) for pattern in _CREDENTIALS)
        text = self.variables.fill(value, file=file, key=dotted(path), is_path=is_path, personal=personal)
        if is_path and text.strip():
            return str(absolute(text, folder=file.parent, home=self.home))
        return text


def included_in(values: Mapping[object, object], file: Path) -> list[str]:
    """Return the names of files that a file includes; raises ConfigError."""
    named = values.get(INCLUDE)
    named = [] if named is None else named if isinstance(named, list) else [named]
    names = [item for item in named if isinstance(item, str) and "\0" not in item and item.strip()]
    if len(names) < len(named):
        fix = "write for example [snippets.yaml]"
        raise ConfigError("must be a list of file names", file=file, key=INCLUDE, fix=fix)
    return names


def _refuse_circle(included: Path, chain: tuple[Path, ...]) -> None:
    for index, file in enumerate(chain):
        if _identity(included) == _identity(file):
            circle = " -> ".join(printable(str(part)) for part in (*chain[index:], included))
            raise ConfigError(f"circular: {circle}", file=chain[-1], key=INCLUDE, fix="remove one of these includes")
    if len(chain) >= MAX_INCLUDE_DEPTH:
        reason = f"more than {MAX_INCLUDE_DEPTH} files include one another"
        raise ConfigError(reason, file=chain[-1], key=INCLUDE, fix="include fewer")


def _identity(file: Path) -> str:
    """Return the same text for every name of one file."""
    try:
        return os.path.realpath(file)
    except ValueError:  # no file has such a name; reading it says so
        return str(file)


def settable_variables() -> dict[str, Key]:
    """Variables by name: `ONETOOL_EXECUTION_TIMEOUT` for `execution.timeout`; mappings are set in files only."""
    plain = [key for key in known_keys() if ANY not in key.path and not key.is_mapping]
    return {PREFIX + "_".join(key.path).upper(): key for key in plain}


def read_environment(environ: Mapping[str, str], *, cwd: Path, home: Path) -> list[Layer]:
    """One layer for each variable that has a value; lists are separated by commas, paths are relative to `cwd`."""
    named = [name for name in environ if name.startswith(PREFIX) and name not in (CONFIG_VARIABLE, TOKEN_VARIABLE)]
    settable = settable_variables() if named else {}
    layers: list[Layer] = []
    for name in sorted(named):
        if name not in settable:
            raise ConfigError("unknown variable", key=dotted([name]), fix=_suggest(name, settable))
        if text := environ[name].strip():
            key = settable[name]
            parts = [part.strip() for part in text.split(",") if part.strip()] if key.is_list else [text]
            if key.is_path:
                parts = [str(absolute(part, folder=cwd, home=home)) for part in parts]
            values = nested(key.path, parts if key.is_list else parts[0])
            layers.append(Layer(name, values, values))
    return layers


def _suggest(name: str, settable: Mapping[str, Key]) -> str:
    """The variables of this name in any section, where that was left out; else the nearest."""
    word = name.removeprefix(PREFIX).lower()
    alike = [other for other, key in settable.items() if key.path[-1] == word]
    if len(alike) > 1:
        return f"the nearest known ones are {', '.join(alike)}"
    return f"the nearest known one is {nearest(name, [*settable, CONFIG_VARIABLE, TOKEN_VARIABLE])[0]}"
