"""ToolRegistry: every tool once, with its definition and the function that calls it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, replace
from ot.errors import CallError, ChangedFilesError, PackLoadError, UnknownPackError, UnknownToolError
from ot.logs import write_log
from ot.registry.definitions import PackDefinition, ToolDefinition
from ot.registry.names import NameCollision
from ot.renamed import find_tools_now
from ot.values import ToolValue

ToolFunction = Callable[[dict[str, ToolValue]], Awaitable[ToolValue]]
"""How every tool is called, whatever its kind: one object of arguments in, the native value out."""
LoadedPack = tuple[PackDefinition, Mapping[str, ToolFunction]]
LoadPack = Callable[[], LoadedPack]  # gives a pack that was registered late, with the function of each tool
_MOST_NAMED = 40  # packs that are named to every client
_LONGEST_NAMED = 40  # characters of such a name


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    definition: ToolDefinition
    function: ToolFunction


@dataclass(frozen=True, slots=True)
class AbsentPack:
    """A pack that would be here if what provides it were."""

    explain: Callable[[], CallError]  # to whoever looks for it
    expected: bool = True  # it may still come; one that is switched off will not
    pack: PackDefinition | None = None  # what it would offer, where that is known


class ToolRegistry:
    """The single place for definitions; who registers a tool keeps the means to call it alive."""

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._packs: dict[str, PackDefinition] = {}
        self._late: dict[str, LoadPack] = {}  # packs of which only the name is known until somebody looks at them
        self._absent: dict[str, Mapping[str, AbsentPack]] = {}  # by who explains it
        self._unusable: dict[str, Mapping[str, Callable[[], CallError]]] = {}  # by origin and the tool's full name
        self._wrong_aliases: Mapping[str, Callable[[], CallError]] = {}
        self._changed: dict[str, tuple[str, tuple[str, ...]]] = {}  # by origin
        self._originals: dict[str, str] = {}  # `server.get-env` to `server.get_env`
        self._reads: Mapping[str, Sequence[str]] = {}
        self.problems: list[PackLoadError] = []
        self.collisions: tuple[NameCollision, ...] = ()
        self.on_change: Callable[[], None] = lambda: None  # hears, on the event loop, that packs may have come or gone
        self.version = 0  # changes with every change: what was made of all definitions is good for as long as it stays

    def register(self, definition: ToolDefinition, executor: ToolFunction) -> None:
        """Add a tool; one of this name is replaced, with a warning. Raises PackLoadError if no client could use it."""
        pack_name, _, tool = definition.name.partition(".")
        reason = ""
        if not (pack_name.isidentifier() and tool.isidentifier()):
            reason = f"{definition.name!r} is not a tool name of the form pack.tool"
        elif not definition.description.strip():
            reason = f"{definition.name} has no description"
        elif definition.late is None and definition.parameters.get("type") != "object":
            reason = f"the parameters of {definition.name} are not a JSON Schema of an object"
        if reason:
            raise PackLoadError(definition.file or Path(definition.source), reason)
        previous = self._tools.get(definition.name)
        if previous is not None:
            facts = {"source": definition.source, "replaced": previous.definition.source}
            write_log(logging.WARNING, "registry.register", tool=definition.name, **facts)
        self.version += 1
        definition = self._with_effect(definition)
        for each in find_tools_now(definition.name):
            self._originals[each.former] = definition.name
        self._tools[definition.name] = RegisteredTool(definition, executor)
        pack = self._packs.get(pack_name)
        if pack is None:
            pack = self._packs[pack_name] = PackDefinition(pack_name, "", definition.source, definition.file)
        if not definition.for_views:
            pack.tools[tool] = definition
        if definition.original:
            self._originals[f"{pack_name}.{definition.original}"] = definition.name

    def trust_reads(self, rules: Mapping[str, Sequence[str]]) -> None:
        """Take the person's word for it that tools only read: patterns of their names, by pack."""
        if rules == self._reads:
            return
        self._reads = rules
        self.version += 1
        for name, known in list(self._tools.items()):
            definition = self._with_effect(known.definition)
            if definition is not known.definition:
                self._tools[name] = RegisteredTool(definition, known.function)
                tools = self._packs[definition.pack].tools
                if definition.tool in tools:
                    tools[definition.tool] = definition

    def known_to_read(self, pack: str, *names: str | None) -> bool:
        """True if the person says that a tool, by one of its names, changes nothing."""
        rules = self._reads.get(pack, ()) if self._reads else ()
        return any(fnmatchcase(name, rule) for rule in rules for name in names if name)

    def _with_effect(self, definition: ToolDefinition) -> ToolDefinition:
        known = self.known_to_read(definition.pack, definition.tool, definition.original)
        return definition if definition.known_to_read == known else replace(definition, known_to_read=known)

    def describe_pack(self, pack: PackDefinition) -> None:
        """Say what a pack is about; its tools are those that are registered."""
        self.version += 1
        known = self._packs.get(pack.name)
        self._packs[pack.name] = replace(pack, tools=known.tools if known else {})

    def register_pack(self, pack: PackDefinition, functions: Mapping[str, ToolFunction]) -> None:
        """Add a whole pack, with the function of each tool; one that cannot be used leaves nothing behind."""
        # One of the same name from another file is replaced as a whole, with a warning in the log.
        known = self._packs.get(pack.name)
        if known is not None and known.file != pack.file:
            write_log(logging.WARNING, "registry.register_pack", pack=pack.name, file=pack.file, replaced=known.file)
            self.remove_pack(pack.name)
        try:
            for tool, definition in pack.tools.items():
                self.register(definition, functions[tool])
        except PackLoadError:
            self.remove_pack(pack.name)
            raise
        self.describe_pack(pack)

    def register_late(self, name: str, load: LoadPack) -> None:
        """Add a pack of which only the name is known; `load` is called when somebody looks at it."""
        self.remove_pack(name)
        self._late[name] = load

    def remove_pack(self, name: str) -> None:
        """Forget a pack and its tools; an unknown name is ignored. Calls that have begun go on."""
        self.version += 1
        self._late.pop(name, None)
        pack = self._packs.pop(name, None)
        for tool in [each for each in self._tools if each.startswith(f"{name}.")] if pack is not None else ():
            original = self._tools.pop(tool).definition.original
            self._originals.pop(f"{name}.{original}", None)

    def explain_absent(self, origin: str, packs: Mapping[str, AbsentPack]) -> None:
        """Replace what one origin has to say about packs that are not here."""
        self.version += 1
        self._absent[origin] = packs
        self.on_change()

    def explain_unusable(self, origin: str, tools: Mapping[str, Callable[[], CallError]]) -> None:
        """Replace what one origin says, to whoever looks for one of them, about tools that are there but unusable."""
        self.version += 1
        self._unusable[origin] = tools

    def explain_changed(self, origin: str, project: Path, files: Iterable[str]) -> None:
        """Replace what one origin knows of files that have changed since they were trusted."""
        self._changed[origin] = (str(project), tuple(files))

    def changed_files(self) -> ChangedFilesError | None:
        """Return why a name may be missing that a project defines; None if its files are as they were trusted."""
        project = next((project for project, files in self._changed.values() if files), None)
        files = sorted({name for _, files in self._changed.values() for name in files})
        return ChangedFilesError(project, files) if project is not None else None

    def explain_aliases(self, aliases: Mapping[str, Callable[[], CallError]]) -> None:
        """Replace what is said, to whoever uses one of them, about aliases that are off."""
        self._wrong_aliases = aliases

    def find(self, name: str) -> RegisteredTool:
        """Find `pack.tool`, also by its server's own name; raises UnknownPackError or UnknownToolError."""
        found = self._tools.get(name) or self._tools.get(self._originals.get(name, ""))
        if found is None and self._late:
            self._load(name.partition(".")[0])
            found = self._tools.get(name) or self._tools.get(self._originals.get(name, ""))
        if found is None:
            raise self._unknown(name)
        return found

    def name_of(self, pack: str, original: str) -> str:
        """Return the name of a tool, given that of its server; empty if it has none."""
        self._load(pack)
        name = f"{pack}.{original}"
        return self._originals.get(name, name if name in self._tools else "")

    def has(self, name: str) -> bool:
        """True if `pack.tool` can be called, by this name or by the name that its server has for it."""
        self._load(name.partition(".")[0])
        return name in self._tools or name in self._originals

    def get(self, name: str) -> ToolDefinition:
        """The definition of `pack.tool`; raises UnknownPackError or UnknownToolError."""
        return self.find(name).definition

    def executor(self, name: str) -> ToolFunction:
        """The function that calls `pack.tool`; raises UnknownPackError or UnknownToolError."""
        return self.find(name).function

    def definitions(self) -> list[ToolDefinition]:
        self._load_all()
        found = (self._tools[name].definition for name in sorted(self._tools))
        return [definition for definition in found if not definition.for_views]

    def model_tools(self) -> list[JsonObject]:
        """Every tool in the form in which AI clients show it to a model."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.definitions()
        ]

    def pack(self, name: str) -> PackDefinition:
        """One pack; raises UnknownPackError."""
        self._load(name)
        found = self._packs.get(name)
        if found is None:
            raise self._unknown(name)
        return found

    def packs(self) -> list[PackDefinition]:
        self._load_all()
        return [self._packs[name] for name in sorted(self._packs)]

    def pack_names(self) -> list[str]:
        """The name of every pack, also of those that are absent; none is loaded for it."""
        unusable = (name.partition(".")[0] for name in chain.from_iterable(self._unusable.values()))
        return sorted({*self._packs, *self._late, *chain.from_iterable(self._absent.values()), *unusable})

    def word_packs(self) -> str:
        """Name the packs that are here, or should soon be, to somebody who has no more room; none is loaded for it."""
        names = self._expected_names()
        more = f" and {len(names) - _MOST_NAMED} more (ot.packs() lists all)" if len(names) > _MOST_NAMED else ""
        return f"Packs: {', '.join(name[:_LONGEST_NAMED] for name in names[:_MOST_NAMED])}{more}."

    def absence(self, name: str) -> CallError | None:
        """Return why a pack, `pack.tool` or an alias is missing that should be here; None for any other name."""
        if name not in self._tools:
            for unusable in self._unusable.values():
                if name in unusable:
                    return unusable[name]()
        pack = name.partition(".")[0]
        if pack in self._packs or pack in self._late:
            return None
        return self._wrong_aliases[name]() if name in self._wrong_aliases else self._held_back(pack)

    def _held_back(self, name: str) -> CallError | None:
        return next((packs[name].explain() for packs in self._absent.values() if name in packs), None)

    def switched_off(self) -> list[str]:
        """The names of packs and servers that the configuration keeps off."""
        return sorted(set(self.pack_names()).difference(self._expected_names()))

    def switched_off_packs(self) -> list[PackDefinition]:
        """The packs that a person could switch on, and whose tools are known."""
        absent = chain.from_iterable(packs.items() for packs in self._absent.values())
        return [each.pack for name, each in absent if each.pack is not None and name not in self._packs]

    def _expected_names(self) -> list[str]:
        absent = chain.from_iterable(packs.items() for packs in self._absent.values())
        return sorted({*self._packs, *self._late, *(name for name, pack in absent if pack.expected)})

    def replace_problems(self, old: list[PackLoadError], new: list[PackLoadError], origin: str) -> list[PackLoadError]:
        """Replace what was wrong with the packs of one origin; what is wrong with others stays."""
        for problem in old:
            self.problems.remove(problem)
        for problem in new:
            self.problems.append(problem)
            write_log(logging.WARNING, f"{origin}.problem", file=problem.file, line=problem.line, reason=problem.reason)
        return new

    def is_late(self, name: str) -> bool:
        """True if only the name of a pack is known so far."""
        return name in self._late

    def _load_all(self) -> None:
        for name in list(self._late):
            self._load(name)

    def _load(self, name: str) -> None:
        load = self._late.pop(name, None)
        if load is None:
            return
        self.version += 1
        try:
            self.register_pack(*load())
        except PackLoadError as problem:
            self.problems.append(problem)
            write_log(logging.WARNING, "registry.load", pack=name, reason=problem.reason)

    def _unknown(self, name: str) -> CallError:
        absence, wanted = self.absence(name), name.partition(".")[0]
        if absence is not None:
            return absence
        pack = self._packs.get(wanted)
        if pack is None:
            here = {*self._packs, *self._late}
            absent = {name: each for packs in self._absent.values() for name, each in packs.items() if each.expected}
            reasons = [absent[name].explain() for name in sorted(absent.keys() - here)]
            changed = self.changed_files()
            return UnknownPackError(wanted, sorted(here), [*reasons, *([changed] if changed else [])])
        # A pack of that name which is held back may have the tool that this one lacks.
        return self._held_back(wanted) or UnknownToolError(name, pack=pack.name, available=sorted(pack.tools))
