"""A project's `.onetool`, as far as a person has trusted it; of the rest only harmless names are read."""

from __future__ import annotations

import builtins
import keyword
import os
from collections.abc import Mapping
from pathlib import Path

from mcp_core.quick_dataclass import dataclass, field
from ot.config.documents import parse_document, require_closed_to_others
from ot.config.layers import LayerReader, NearLayer, included_in
from ot.config.mistakes import Layer, Mistakes
from ot.config.paths import CONFIG_FILE, PROMPTS_FILE, SECRETS_FILE, absolute, present
from ot.config.secrets import Variables, read_secrets
from ot.errors import ConfigError
from ot.trust.project_trust import Untrusted, read_inside, refuse_link
from ot.trust.store import TrustRecord, TrustStore

_MOST_FILES = 50  # that are looked through for names
_MOST_NAMES = 100  # of each kind in one of them
_LONGEST_NAME = 60


class TrustedDocuments:
    """Reads files of one `.onetool` folder as they were trusted; any other is left out, and remembered."""

    def __init__(self, folder: Path, record: TrustRecord) -> None:
        self._folder = folder
        self._record = record
        self.untrusted: list[str] = []
        self.changed: list[str] = []

    def read(self, file: Path, *, private: bool = False) -> dict[object, object] | None:
        name = self._name(file)
        content = self._record.copy(name)
        if content is None:
            self.untrusted.append(name)
            return None
        try:
            changed = read_inside(self._folder, name) != content
        except OSError:
            changed = True
        if changed:
            self.changed.append(name)
        if private and file.exists():
            require_closed_to_others(file, file.stat())
        return parse_document(content, file, private=private)

    def exists(self, file: Path) -> bool:
        return self._name(file) in self._record.digests or present(file)

    def _name(self, file: Path) -> str:
        if not file.is_relative_to(self._folder):
            reason = "a project's file can only include files in its own folder, which are trusted with it"
            raise ConfigError(reason, file=file, fix=f"move it into {self._folder}")
        return file.relative_to(self._folder).as_posix()


def read_project(
    folder: Path,
    *,
    state: Path,
    home: Path,
    variables: tuple[Mapping[str, str], Mapping[str, str]],
    taken: Mapping[object, object],
    mistakes: Mistakes,
) -> NearLayer:
    """Read a project's folder; raises ConfigError for a mistake in a trusted file, and for no other."""
    # `variables` are the person's secrets and environment, for what a trusted file asks for: it was shown when the
    # person trusted it. `taken` are the person's own settings, whose names nothing untrusted may take.
    try:
        refuse_link(folder)
    except ConfigError as error:
        return NearLayer([], {}, frozenset(), Untrusted(folder.parent, files=(".",), broken=(error.reason,)))
    documents = TrustedDocuments(folder, TrustStore(state).record(folder.parent))
    files = (CONFIG_FILE, PROMPTS_FILE, SECRETS_FILE)
    found = {name: folder / name for name in files if present(folder / name)}
    secrets = read_secrets(found.get(SECRETS_FILE), documents, keychain=False)
    own, environ = variables
    filling = Variables({**own, **secrets}, environ, keychain=False)
    reader = LayerReader(filling, home=home, documents=documents, mistakes=mistakes)
    layers = reader.read(found.get(CONFIG_FILE), found.get(PROMPTS_FILE))

    names = _UntrustedNames(folder, home, taken)
    misnamed = [file.name for name in files if present(file := (folder / name).with_suffix(".yml"))]
    names.broken += [f"{name}: a file of this name is not read" for name in misnamed]
    since = _UntrustedNames(folder, home, taken)  # what was added to trusted files; what they were is in force
    for reading, listed in ((names, documents.untrusted), (since, documents.changed)):
        for name in listed:
            if name not in (PROMPTS_FILE, SECRETS_FILE):
                reading.read(name)
    untrusted = Untrusted(
        folder.parent,
        files=tuple(documents.untrusted),
        changed=tuple(documents.changed),
        broken=tuple(names.broken),
        servers=(*names.servers, *since.servers),
        snippets=(*names.snippets, *since.snippets),
        aliases=frozenset(names.aliases),
    )
    return NearLayer([*layers, *names.layer()], secrets, frozenset(filling.substituted), untrusted)


@dataclass(slots=True)
class _UntrustedNames:
    """The names in files that nobody has trusted; a mistake in such a file stops nothing."""

    folder: Path
    home: Path
    taken: Mapping[object, object]
    servers: list[str] = field(default_factory=list)
    snippets: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    projects: dict[str, object] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def read(self, name: str) -> None:
        """Read the names in a file, and in those that it includes."""
        if name in self._seen or len(self._seen) >= _MOST_FILES:
            return
        self._seen.add(name)
        try:
            file = self.folder / name
            document = parse_document(read_inside(self.folder, name), file)
            self._take(document)
            for included in included_in(document, file):
                inside = absolute(included, folder=file.parent, home=self.home)
                if inside.is_relative_to(self.folder):
                    self.read(inside.relative_to(self.folder).as_posix())
        except (ConfigError, OSError) as error:
            reason = error.reason if isinstance(error, ConfigError) else error.strerror
            self.broken.append(f"{name}: {reason}")

    def layer(self) -> list[Layer]:
        values: dict[object, object] = {"aliases": self.aliases, "projects": self.projects}
        return [Layer("untrusted", values, values)] if self.aliases or self.projects else []

    def _take(self, document: Mapping[object, object]) -> None:
        self.servers += _names(document, "servers")
        self.snippets += _names(document, "snippets")
        for name, target in [*_section(document, "aliases").items()][:_MOST_NAMES]:
            parts = target.split(".") if isinstance(target, str) else []
            if not isinstance(name, str) or name in _section(self.taken, "aliases") or hasattr(builtins, name):
                continue
            if _is_plain(name) and len(parts) == 2 and all(map(_is_plain, parts)):
                self.aliases.setdefault(name, str(target))
        for name, said in [*_section(document, "projects").items()][:_MOST_NAMES]:
            path = said.get("path") if isinstance(said, dict) else said
            if isinstance(name, str) and _is_plain(name) and name not in _section(self.taken, "projects"):
                real = self._below(path)
                if real is not None:
                    self.projects.setdefault(name, {"path": real})

    def _below(self, path: object) -> str | None:
        """Return a folder of the project without links; None for any other."""
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            return None
        real = os.path.realpath(absolute(path, folder=self.folder, home=self.home))
        return real if Path(real).is_relative_to(os.path.realpath(self.folder.parent)) else None


def _section(values: Mapping[object, object], name: str) -> Mapping[object, object]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def _names(document: Mapping[object, object], section: str) -> list[str]:
    names = [name for name in _section(document, section) if isinstance(name, str) and len(name) <= _LONGEST_NAME]
    return names[:_MOST_NAMES]


def _is_plain(name: str) -> bool:
    """True for a short name that can be written in code: a model reads it, and it may say nothing else."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    return usable and len(name) <= _LONGEST_NAME
