"""Definitions of tools and packs: all that is known before anything is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from mcp_core.json_types import JsonObject, Schema
from mcp_core.quick_dataclass import dataclass, field
from ot.effects import Effect
from ot.renamed import find_tools_now

PROXY = "proxy:"  # begins the source of a tool that another server offers; the server's configured name follows
PROJECT, STATE, FONTS = "{project}", "{state}", "{fonts}"
"""Stand for folders in what an isolated tool touches: the project's, that of its pack's own files, those of fonts."""
_set = object.__setattr__
P = ParamSpec("P")
T = TypeVar("T")


class Cancellation(StrEnum):
    """The fate of a call that is cancelled."""

    ASYNC = "async"  # stops at its next await
    ISOLATED = "isolated"  # its helper process is killed
    PLAIN = "plain"  # runs on a thread: cannot be stopped, and says so
    WORKER = "worker"  # its worker is told, then killed
    PROXY = "proxy"  # its server is told
    KERNEL = "kernel"  # carried out inside the run itself
    SKILL = "skill"  # its code becomes part of the run, and ends with it


@dataclass(frozen=True, slots=True)
class Touches:
    """The files and hosts that an isolated tool declares it needs; see `ot.isolate.isolated`."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    written: tuple[str, ...] = ()  # real paths, as `Confine` has them; not for declarations
    mounted: tuple[str, ...] = ()

    @property
    def needs_state(self) -> bool:
        return STATE in (*self.reads, *self.writes)

    @property
    def of_arguments(self) -> bool:
        read = any(place.startswith("{") and place not in (PROJECT, STATE) for place in self.reads)
        return bool(self.outputs) or read

    @property
    def of_project(self) -> bool:
        return PROJECT in (*self.reads, *self.writes)

    def find_mistake(self, filled: set[str]) -> str | None:
        """Say which place in a declaration stands for nothing; `filled` are those of parameters."""
        for known, places in ((filled | {PROJECT, STATE, FONTS}, self.reads), ({PROJECT, STATE}, self.writes)):
            for place in places:
                if place.startswith("{") and place not in known:
                    known_here = ", ".join(sorted(known))
                    return f"{place} is none of {known_here}; a file that a call creates belongs in outputs"
        wrong = next((place for place in self.outputs if place not in filled), None)
        return None if wrong is None else f"outputs must name parameters, such as {{output}}, which {wrong} is not"


@dataclass(frozen=True, slots=True)
class ToolDocs:
    """A tool's docstring, in its parts."""

    summary: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    example: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True)
class LearntFrom:
    """The source of a tool's values, under which their shape is kept; another version begins afresh."""

    place: str  # a digest of where its server or file is
    tool: str  # its own name there
    version: str  # a digest of all that may change what it returns


@dataclass(frozen=True, slots=True)
class Late:
    """The parts of a definition that are made when somebody first reads them, and what a search reads instead."""

    make: Callable[[], ToolDefinition]
    make_parameters: Callable[[Schema], JsonObject]  # by itself it takes a third of the time
    schema: Schema  # names and describes the same parameters
    body: str  # of its docs


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool: enough to show it to a model, to check a call, and to know how it ends."""

    name: str
    description: str
    parameters: JsonObject
    signature: str
    cancellation: Cancellation
    source: str = "local"
    file: Path | None = None
    docs: ToolDocs = field(default_factory=ToolDocs)
    timeout: float | None = None  # seconds; None takes the default
    secrets: tuple[str, ...] = ()
    variadic: str | None = None  # the parameter that takes all further positional arguments, `*calls`
    moved_from: str | None = None  # the name that it had to give up; what policy says of that name holds for this one
    original: str = ""  # a proxied tool's own name at its server, where code cannot write that
    spellings: dict[str, str] = field(default_factory=dict)  # parameters as code writes them, to their own names
    declared: Effect = Effect.UNKNOWN  # by its pack's file, or by its server: of that one it is a hint
    known_to_read: bool = False  # the person says so
    undone_by: Mapping[str, str] = field(default_factory=dict)  # `tool`, and where each of its arguments comes from
    best_first: bool = False  # what it gives is ordered by how well it fits: the first few are what is asked for
    takes_rows: bool = False  # by column, as they travel
    touches: Touches = Touches()  # an isolated tool
    plain_signature: str = ""  # the signature as Python writes it, where the one that is shown says more
    open_result: str | None = None  # the result in its signature, where that leaves open what comes back
    lacks: str = ""  # what its server does, if that keeps us from calling it
    for_views: bool = False  # of its server alone: nobody else calls it, and nothing lists it
    learns: LearntFrom | None = None  # where the shape of its values is kept
    late: Late | None = None  # until all fields are there

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Make the fields that a late definition lacks; Python asks here for no others."""
            if name not in self.__dataclass_fields__:
                raise AttributeError(name)
            if name == "parameters":
                _set(self, name, self.late.make_parameters(self.late.schema))
            else:
                made = self.late.make()
                for each in self.__dataclass_fields__:
                    _set(self, each, getattr(made, each))
            return getattr(self, name)

    @property
    def pack(self) -> str:
        return self.name.partition(".")[0]

    @property
    def tool(self) -> str:
        return self.name.partition(".")[2]

    @property
    def all_names(self) -> tuple[str, ...]:
        """Every name that a rule can mean it by: each name of its pack with each name of the tool, its own first."""
        moved_pack, _, moved_tool = (self.moved_from or self.name).partition(".")
        server = self.source.removeprefix(PROXY) if self.source.startswith(PROXY) else self.pack
        packs = dict.fromkeys((self.pack, moved_pack, server))
        tools = dict.fromkeys((self.tool, moved_tool, self.original or self.tool))
        former = (each.former for each in find_tools_now(self.name))
        return (*(f"{pack}.{tool}" for pack in packs for tool in tools), *former)

    @property
    def python_signature(self) -> str:
        """The signature as something that Python can parse."""
        return self.plain_signature or self.signature

    @property
    def effect(self) -> Effect:
        return Effect.READS if self.known_to_read else self.declared

    def own_name(self, keyword: str) -> str:
        """The parameter that a keyword means: `from` by its own name, or as code has to write it, `from_`."""
        return self.spellings.get(keyword, keyword)

    def shown_name(self, parameter: str) -> str:
        return next((shown for shown, name in self.spellings.items() if name == parameter), parameter)


def define_late(
    name: str, description: str, late: Late, *, source: str, original: str, declared: Effect
) -> ToolDefinition:
    """Define a tool of another server by what is read of every tool; the rest follows for those that are looked at."""
    made = object.__new__(ToolDefinition)
    _set(made, "name", name)
    _set(made, "description", description)
    _set(made, "source", source)
    _set(made, "original", original)
    _set(made, "declared", declared)
    _set(made, "late", late)
    _set(made, "cancellation", Cancellation.PROXY)
    _set(made, "file", None)
    _set(made, "known_to_read", False)
    _set(made, "for_views", False)
    return made


@dataclass(frozen=True, slots=True)
class Libraries:
    """The libraries of a pack's isolated tools, and its programs, with the list that pins them and all they need."""

    pack: str
    modules: tuple[str, ...]
    requirements: tuple[str, ...]
    pinned: Path


@dataclass(frozen=True, slots=True)
class PackDefinition:
    """One pack with its tools, by their names without the pack."""

    name: str
    description: str
    source: str = "local"
    file: Path | None = None
    tools: dict[str, ToolDefinition] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)  # modules and `bin/` programs of its tools, to requirements

    @property
    def libraries(self) -> Libraries | None:
        """The libraries that `needs` lists; None if it lists none."""
        if not self.needs or self.file is None:
            return None
        pinned = self.file.parent / "requirements" / f"{self.file.stem}.txt"
        return Libraries(self.file.stem, tuple(self.needs), tuple(dict.fromkeys(self.needs.values())), pinned)


def in_kernel(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a tool that the run itself carries out: it has a definition, and no call of it leaves the kernel."""
    return function
