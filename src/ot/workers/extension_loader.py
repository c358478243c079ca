"""ExtensionLoader: registers extension files as packs without starting them, and follows their changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import BrokenPackError, PackLoadError, UntrustedPackError
from ot.logs import LogSpan
from ot.registry.definitions import Cancellation, PackDefinition
from ot.registry.from_source import parse_name, read_pack
from ot.registry.names import modest_name
from ot.registry.open_results import digest_of, learn_result
from ot.registry.places import OfferedPack, PackPlaces
from ot.registry.registry import AbsentPack, ToolFunction, ToolRegistry
from ot.trust.project_trust import TrustedFiles
from ot.trust.store import digest
from ot.workers.discovery import PATIENCE, FolderContents, FoundFile, Looks, ToolFolder, list_folder
from ot.workers.extension import Extension
from ot.workers.pep723 import ScriptHeader, read_header

_MOST_PARSED = 200_000  # bytes of a file that nobody has trusted; a larger one goes by its own name
_LONGEST_NAME = 100  # characters
FunctionOf = Callable[[Extension, str], ToolFunction]
"""How a tool of an extension is called: given the extension and the tool's name."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The definitions in one file; no pack if it has none."""

    pack: PackDefinition | None
    header: ScriptHeader | None
    problems: tuple[PackLoadError, ...]
    source: Path | None = None  # what a worker runs; None if nobody has trusted the file
    untrusted: str = ""  # the name under which it is then refused
    changed: str = ""  # its path in the project's folder, if it was trusted before it changed


@dataclass(frozen=True, slots=True)
class Look:
    """All folders at one moment, with every file in them read."""

    contents: tuple[FolderContents, ...]
    readings: dict[FoundFile, Reading] = field(default_factory=dict)

    def problems(self) -> Iterable[PackLoadError]:
        for folder in self.contents:
            yield from (PackLoadError(misplaced.file, misplaced.reason) for misplaced in folder.misplaced)
            for found in folder.found:
                yield from self.readings[found].problems


@dataclass(eq=False)
class ExtensionLoader:
    """Registers extensions; without `places`, beside the packs that the registry holds when this is made."""

    _registry: ToolRegistry
    _folders: Sequence[ToolFolder]
    _function_of: FunctionOf
    timeout: float  # seconds of one call
    places: PackPlaces | None = None
    forget: Callable[[Path], None] = lambda _: None  # is told of each file that is gone
    list_folder: Callable[[ToolFolder], FolderContents] = list_folder  # this and the two below are there for tests
    patience: float = PATIENCE
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        looks = Looks(self._look, self._apply, patience=self.patience, clock=self.clock)
        self.load, self.catch_up = looks.load, looks.catch_up
        self._last = Look(())
        self._problems: list[PackLoadError] = []
        self._places = self.places or PackPlaces(self._registry)

    def apply(self, *, timeout: float) -> None:
        """Set the time limit of calls, from the next look on."""
        if timeout != self.timeout:
            self.timeout = timeout
            self._last = Look(())  # every file is read again

    def _look(self) -> Look | None:
        """None where nothing has changed; a file that has not is not read again."""
        contents = tuple(self.list_folder(folder) for folder in self._folders)
        if contents == self._last.contents:
            return None
        known = self._last.readings
        readings: dict[FoundFile, Reading] = {}
        for folder, content in zip(self._folders, contents, strict=True):
            trusted = TrustedFiles(folder.trust) if folder.trust is not None else None
            readings |= {file: known.get(file) or self._read(file, trusted) for file in content.found}
        return Look(contents, readings)

    def _read(self, found: FoundFile, trusted: TrustedFiles | None) -> Reading:
        source = found.file
        if trusted is not None:
            copy = trusted.copy_of(found.file)
            if copy is None:
                name, changed = _untrusted_name(found, trusted), trusted.changed_name(found.file)
                return Reading(None, None, (), untrusted=name, changed=changed)
            source = copy
        try:
            pack = read_pack(source, name=found.name, cancellation=Cancellation.WORKER)
            header, mistake = read_header(source)
            if not pack.tools:
                mistake = "it has no tools: no function without a leading underscore"
            if mistake is not None:  # its bounds may stand in the part of the header that cannot be read
                raise PackLoadError(source, mistake)
        except PackLoadError as problem:
            return Reading(None, None, (PackLoadError(found.file, problem.reason, problem.line),), source)
        file, version = found.file, _version_of(source)  # `source` may be a copy of the file
        learning = (learn_result(tool, digest_of(str(file)), lambda _: version) for tool in pack.tools.values())
        tools = {tool.tool: replace(tool, file=file, timeout=self.timeout) for tool in learning}
        return Reading(replace(pack, file=file, tools=tools), header, (), source)

    def _apply(self, look: Look) -> None:
        """Change the registry in one step, on the event loop: no run sees half of it."""
        with LogSpan("extensions.load", files=len(look.readings)) as span:
            layers = [
                [OfferedPack(reading.pack, partial(self._register, reading)) for reading in layer if reading.pack]
                for layer in ([look.readings[found] for found in folder.found] for folder in look.contents)
            ]
            problems = [*look.problems(), *self._places.offer("extensions", layers)]
            self._problems = self._registry.replace_problems(self._problems, problems, "extensions")
            self._registry.explain_absent("extensions", self._absent(look))
            for trust in filter(None, (folder.trust for folder in self._folders)):
                changed = (reading.changed for reading in look.readings.values() if reading.changed)
                self._registry.explain_changed("extensions", trust.project, changed)
            for file in {found.file for found in self._last.readings} - {found.file for found in look.readings}:
                self.forget(file)
            self._last = look
            span.add(problems=len(problems), collisions=len(self._registry.collisions))

    def _register(self, reading: Reading, pack: PackDefinition) -> None:
        assert pack.file is not None
        assert reading.source is not None
        folder = self.folder_of(pack.file).path.parent.parent
        extension = Extension(pack.name, pack.file, reading.header, folder=folder, source=reading.source)
        self._registry.register_pack(pack, {tool: self._function_of(extension, tool) for tool in pack.tools})

    def _absent(self, look: Look) -> dict[str, AbsentPack]:
        """Return the packs whose files have a mistake, by the name that they would have, and those nobody trusts."""
        broken: dict[str, AbsentPack] = {}
        untrusted: dict[str, AbsentPack] = {}
        for found, reading in look.readings.items():
            if reading.problems and found.name.isidentifier():
                problem = reading.problems[-1]
                line = f", line {problem.line}" if problem.line else ""
                explain = partial(BrokenPackError, found.name, f"{found.file.name}{line}", problem.reason)
                broken[found.name] = AbsentPack(explain, expected=True)
            trust = self.folder_of(found.file).trust
            if trust is not None and reading.untrusted.isidentifier():
                name = modest_name(reading.untrusted)
                untrust = partial(UntrustedPackError, name, project=str(trust.project))
                untrusted[name] = AbsentPack(untrust, expected=False)
        return {**broken, **untrusted}

    def folder_of(self, file: Path) -> ToolFolder:
        """Return the folder for tools that a file belongs to."""
        return next((each for each in self._folders if file.is_relative_to(each.path)), self._folders[-1])


def _untrusted_name(found: FoundFile, trusted: TrustedFiles) -> str:
    """Return the name of a pack that nobody has trusted; nothing else in its file is looked at."""
    try:
        content = trusted.read(found.file)
        name = parse_name(content, found.file) if len(content) <= _MOST_PARSED else None
    except (OSError, PackLoadError):
        name = None
    return name if name and len(name) <= _LONGEST_NAME else found.name


def _version_of(source: Path) -> str:
    """Return a digest of a file's content: whatever is changed in it may change what its tools return."""
    try:
        return digest(source.read_bytes())
    except OSError:
        return ""
