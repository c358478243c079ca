"""SkillLoader: registers skills as the pack `skills` without executing anything, and follows their changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from operator import attrgetter
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.context import current
from ot.errors import BrokenSkillError, CallError, PackLoadError, ToolError, UntrustedSkillError
from ot.logs import LogSpan
from ot.registry.definitions import PackDefinition
from ot.registry.places import MODEST, OfferedPack, PackPlaces
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.skills.skill_file import MOST_BYTES, PACK, SOURCE, Skill, SkillCode, parse_skill
from ot.store.shelf import Shelf
from ot.trust.project_trust import ProjectTrust, TrustedFiles
from ot.values import ToolValue
from ot.workers.discovery import FolderContents, FoundFile, Looks, ToolFolder, list_folder

_DESCRIPTION = "Code that worked, kept as functions; each is executed inside the run that calls it."
Reading = Skill | PackLoadError | None
"""The content of one file: a skill, the error in it, or nothing because the file is not trusted."""


@dataclass(frozen=True, slots=True)
class SkillLook:
    """All folders at one moment, with every file in them read."""

    contents: tuple[FolderContents, ...]
    readings: dict[FoundFile, Reading] = field(default_factory=dict)

    def nearest(self) -> dict[str, tuple[FoundFile, Reading]]:
        """Return what a call finds: a nearer skill hides one of its name; one that nobody has trusted hides nothing."""
        found: dict[str, tuple[FoundFile, Reading]] = {}
        for file in (file for folder in self.contents for file in folder.found):
            if file.name not in found or found[file.name][1] is None:
                found[file.name] = (file, self.readings[file])
        return found


@dataclass(eq=False)
class SkillLoader:
    """Keeps the registry true to the folders of skills; `redact` takes secrets out of code on its way to a kernel."""

    _registry: ToolRegistry
    _places: PackPlaces
    _folders: Sequence[ToolFolder]  # nearest first
    home: Path
    redact: Callable[[str], str] = str
    own: Shelf | None = None  # where one of many people has theirs, the first of the folders
    _problems: list[PackLoadError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._last = SkillLook(tuple(FolderContents() for _ in self._folders))
        self._looks = Looks(self._look, self._apply)
        self.load, self.catch_up = self._looks.load, self._looks.catch_up

    def skills(self) -> list[Skill]:
        """Return the skills that can be called, by name."""
        found = (each for _, each in self._last.nearest().values() if isinstance(each, Skill))
        return sorted(found, key=attrgetter("name"))

    def waiting(self) -> list[Path]:
        """Return the files that nobody has trusted."""
        return [found.file for found, reading in self._last.readings.items() if reading is None]

    @property
    def problems(self) -> list[PackLoadError]:
        """The files that are no skills, and why."""
        return list(self._problems)

    @property
    def trust(self) -> ProjectTrust | None:
        """The trust that a skill of the project needs; None where the project's folder is the person's own."""
        return self._folders[0].trust

    def shown(self, file: Path) -> str:
        if self.own is not None and file.parent == self.own.folder:
            return f"{PACK}/{file.name}"
        for root, prefix in ((self._folders[0].path.parent.parent, ""), (self.home, "~/")):
            if file.is_relative_to(root) and (prefix or root != self.home):
                return f"{prefix}{file.relative_to(root)}"
        return str(file)

    def _look(self) -> SkillLook | None:
        """None where nothing has changed; a file that has not is not read again."""
        contents = tuple(list_folder(folder) for folder in self._folders)
        if contents == self._last.contents:
            return None
        readings: dict[FoundFile, Reading] = {}
        for folder, content in zip(self._folders, contents, strict=True):
            trusted = TrustedFiles(folder.trust) if folder.trust is not None else None
            for found in content.found:
                known = found in self._last.readings
                readings[found] = self._last.readings[found] if known else _read(found, trusted)
        return SkillLook(contents, readings)

    def _apply(self, look: SkillLook) -> None:
        """Change the registry in one step, on the event loop: no run sees half of it."""
        with LogSpan("skills.load", files=len(look.readings)) as span:
            self._last = look
            tools = {skill.name: skill.definition for skill in self.skills()}
            pack = PackDefinition(PACK, _DESCRIPTION, SOURCE, tools=tools)
            layers = [[OfferedPack(pack, self._register)]] if tools else []
            unusable: dict[str, Callable[[], CallError]] = {}  # what is said of them, by the names that code uses
            for name, (file, reading) in look.nearest().items():
                tool = f"{PACK}.{name}"
                if isinstance(reading, PackLoadError):
                    place = self.shown(file.file)
                    unusable[tool] = partial(BrokenSkillError, tool, place, reading.reason, reading.line)
                elif reading is None and self.trust is not None:
                    unusable[tool] = partial(UntrustedSkillError, PACK, str(self.trust.project), name)
            self._registry.explain_unusable("skills", unusable)
            misplaced = [
                PackLoadError(each.file, each.reason) for content in look.contents for each in content.misplaced
            ]
            broken = [each for each in look.readings.values() if isinstance(each, PackLoadError)]
            problems = [*misplaced, *broken, *self._places.offer(MODEST, layers)]
            self._problems = self._registry.replace_problems(self._problems, problems, "skills")
            span.add(skills=len(tools), problems=len(self._problems))

    def _register(self, pack: PackDefinition) -> None:
        functions = {skill.name: self._function_of(skill, pack.name) for skill in self.skills()}
        self._registry.register_pack(pack, functions)

    def _function_of(self, skill: Skill, pack: str) -> ToolFunction:
        async def call(_: dict[str, ToolValue]) -> SkillCode:
            context = current()
            if context.depth or not context.caller.run_id:
                raise ToolError("a skill is executed inside a run: call it from the code of a run")
            return SkillCode(f"{pack}.{skill.name}", self.shown(skill.file), self.redact(skill.text))

        return call


def _read(found: FoundFile, trusted: TrustedFiles | None) -> Reading:
    """Read a skill, or what is wrong with it; None for one that nobody has trusted, of which nothing is read."""
    source = found.file if trusted is None else trusted.copy_of(found.file)
    if source is None:
        return None
    try:
        with source.open("rb") as file:
            return parse_skill(file.read(MOST_BYTES + 1), found.file)
    except OSError as error:
        return PackLoadError(found.file, error.strerror or type(error).__name__)
    except PackLoadError as problem:
        return problem
