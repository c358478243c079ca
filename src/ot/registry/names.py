"""Names for packs, even if several claim the same one: none is silently dropped.

Names of other people's tools and parameters become names that code can write: `get-env` becomes `get_env`, `class`
`class_`, `3d` `_3d`. The result depends on the set of names alone, not on their order: who can keep a name keeps it,
the others take turns by alphabet (`get_env_2`).
"""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from mcp_core.quick_dataclass import dataclass, replace
from mcp_core.visible_text import visible
from ot.registry.definitions import PackDefinition, ToolDefinition

MAX_LENGTH = 64
PROTECTED = frozenset({"ot", "proj"})  # packs whose name nobody can take: code relies on what they do
_OF_PYTHON = frozenset({*dir(builtins), *sys.stdlib_module_names, *keyword.kwlist, "ToolError"})


def identifier(name: str, *, fallback: str) -> str:
    """The nearest name that Python accepts; `fallback` where nothing of it can be kept."""
    if name.isascii() and name.isidentifier() and len(name) <= MAX_LENGTH and name[:2] != "__":
        return f"{name}_" if keyword.iskeyword(name) else name
    # Python reads identifiers in this form, so only a name in this form is found again.
    plain = unicodedata.normalize("NFKC", name[: 4 * MAX_LENGTH])
    kept = "".join(character if _is_plain(character) else "\0" for character in plain)
    found = "_".join(filter(None, kept.split("\0")))[: MAX_LENGTH - 1]
    if found.startswith("__"):
        found = found.strip("_")  # code inside a class, and Python itself, mean something else by it
    if not found:
        return fallback
    if not found.isidentifier():
        found = f"_{found}"  # a digit, or a mark that cannot stand first
    return f"{found}_" if keyword.iskeyword(found) else found


def _is_plain(character: str) -> bool:
    """True for what a name in code may hold, if it shows something; variation selectors do not."""
    return f"a{character}".isidentifier() and visible(f"a{character}") == f"a{character}"


def shown_name(name: str) -> str:
    """Return a name that others gave to something, as a model may see it: short, on one line, and all of it visible."""
    return name if len(name) <= MAX_LENGTH and visible(name) == name else identifier(name, fallback="unnamed")


def assign_identifiers(names: Iterable[str], *, fallback: str) -> dict[str, str]:
    """An identifier for each of several names, no two alike: own name to identifier, in the order given."""
    names = list(dict.fromkeys(names))
    assigned: dict[str, str] = {}
    taken: set[str] = set()
    wanted = {name: identifier(name, fallback=fallback) for name in names}
    if all(name == own for name, own in wanted.items()):
        return wanted
    for name in sorted(names, key=lambda name: (wanted[name] != name, name)):
        free, number = wanted[name], 1
        while free in taken:
            number += 1
            free = f"{wanted[name][: MAX_LENGTH - len(str(number)) - 1]}_{number}"
        taken.add(free)
        assigned[name] = free
    return {name: assigned[name] for name in names}


@dataclass(frozen=True, slots=True)
class NameCollision:
    """One name that two packs claimed."""

    name: str
    kept_by: str
    other: str
    reachable_as: str | None  # where the other one is found; None if nowhere
    intended: bool  # a project's pack in place of the person's own, or either of them in place of a built-in one


@dataclass(frozen=True, slots=True)
class PlacedPack:
    """A pack under the name by which it is reached; `original` is the pack as it was read."""

    pack: PackDefinition
    original: PackDefinition


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Every pack that can be reached, each under a name of its own."""

    packs: tuple[PlacedPack, ...]
    collisions: tuple[NameCollision, ...]


def arrange(layers: Sequence[Sequence[PackDefinition]], built_in: Iterable[PackDefinition]) -> Arrangement:
    """Give every pack a name: nearer layers choose first, built-in packs take what is left and move aside."""
    built_in = list(built_in)
    desk = _Desk({pack.name for pack in built_in})
    for number, layer in enumerate(layers):
        for pack in layer:
            desk.place_own(pack, number)
    for pack in built_in:
        desk.place_built_in(pack)
    return Arrangement(tuple(desk.placed.values()), tuple(desk.collisions))


class _Desk:
    def __init__(self, built_in: set[str]) -> None:
        self.placed: dict[str, PlacedPack] = {}
        self.collisions: list[NameCollision] = []
        self._built_in = built_in
        self._layers: dict[str, int] = {}

    def place_own(self, pack: PackDefinition, layer: int) -> None:
        """Place a pack of the person's own; one whose name Python uses itself is reached with `_` behind it."""
        name = pack.name
        if name in PROTECTED:
            self._report(pack, "OneTool itself", None, intended=False)
            return
        if is_of_python(name) and name not in self._built_in:
            name += "_"
        if name in self.placed:
            nearer = self.placed[name].pack
            self._report(pack, describe(nearer), None, intended=self._layers[name] < layer)
            return
        if name != pack.name:
            self._report(pack, "Python itself", name, intended=False)
        self._layers[name] = layer
        self.placed[name] = PlacedPack(rename_pack(pack, name), pack)

    def place_built_in(self, pack: PackDefinition) -> None:
        """Place a built-in pack; one whose name is taken stays reachable under a longer one."""
        name = pack.name
        while name in self.placed:
            name += "_builtin"
        if name != pack.name:
            holder = describe(self.placed[pack.name].pack)
            self.collisions.append(NameCollision(pack.name, holder, "the built-in pack", name, intended=True))
        self.placed[name] = PlacedPack(rename_pack(pack, name), pack)

    def _report(self, pack: PackDefinition, kept_by: str, reachable_as: str | None, *, intended: bool) -> None:
        self.collisions.append(NameCollision(pack.name, kept_by, describe(pack), reachable_as, intended=intended))


def is_of_python(name: str) -> bool:
    """True if this name means something to Python itself: a builtin, a module, a keyword."""
    return name in _OF_PYTHON


def describe(pack: PackDefinition) -> str:
    """Identify a pack where its name does not: by its file, else by its source."""
    return str(pack.file or pack.source)


def rename_pack(pack: PackDefinition, name: str) -> PackDefinition:
    """The same pack under another name, in its signatures and examples too."""
    if name == pack.name:
        return pack
    calls = re.compile(rf"\b{re.escape(pack.name)}\.(?=(?:{'|'.join(map(re.escape, pack.tools))})\b)")
    tools: dict[str, ToolDefinition] = {}
    for tool in pack.tools.values():
        signature = name + tool.signature.removeprefix(pack.name)
        tools[tool.tool] = replace(
            tool,
            name=f"{name}.{tool.tool}",
            description=signature if tool.description == tool.signature else tool.description,
            signature=signature,
            plain_signature=tool.plain_signature and name + tool.plain_signature.removeprefix(pack.name),
            moved_from=tool.name,
            docs=replace(tool.docs, example=calls.sub(f"{name}.", tool.docs.example)),
        )
    return replace(pack, name=name, tools=tools)


def modest_name(wanted: str) -> str:
    """Return the name of a pack that nobody has trusted: never that of a module, which the pack would hide in a run."""
    taken = is_of_python(wanted) or importlib.util.find_spec(wanted) is not None
    return f"{wanted}_" if taken else wanted


def absent_name(server: str) -> str:
    """Return the name of a server's pack while nothing is known about it."""
    wanted = identifier(server, fallback="server")
    return f"{wanted}_" if is_of_python(wanted) else wanted
