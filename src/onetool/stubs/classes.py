"""The classes of one stub: a TypedDict for each shape that has names, and the names that its types are written with."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

LONGEST_NAME = 80
_WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """The modules that a stub imports, by names that no tool of its pack has."""

    builtins: str
    typing: str
    values: str

    @classmethod
    def beside(cls, taken: Iterable[str]) -> ModuleNames:
        """Choose names beside those of the tools: a tool may well be called `list` or `_t`."""
        longest = max((len(name) for name in taken if name.startswith("_")), default=0)
        end = "_" * max(longest - 1, 0)
        return cls(f"_b{end}", f"_t{end}", f"_v{end}")

    @property
    def any(self) -> str:
        return f"{self.typing}.Any"

    def plain(self, name: str) -> str:
        """Return a builtin type; a tool of that name does not hide it."""
        return name if name == "None" else f"{self.builtins}.{name}"


class Key(NamedTuple):
    """One key of a shape: its name as it is, its type, and whether it is always there."""

    name: str
    type: str
    required: bool = True


class Classes:
    """The classes of one stub, in the order in which they were asked for; the same keys have one class."""

    def __init__(self, names: ModuleNames, taken: Iterable[str]) -> None:
        self.names = names
        self._taken = {*taken, names.builtins, names.typing, names.values}
        self._known: dict[tuple[tuple[Key, ...], bool], str] = {}
        self.texts: list[str] = []

    def define(self, hint: str, keys: Iterable[Key], *, record: bool = False) -> str:
        """Return the name of the class with these keys; a record has them as attributes as well."""
        keys = tuple(keys)
        known = self._known.get((keys, record))
        if known is None:
            known = self._known[keys, record] = self._free_name(hint)
            self.texts.append(self._record(known, keys) if record else self._typed_dict(known, keys))
        return known

    def _free_name(self, hint: str) -> str:
        words = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(hint))[:LONGEST_NAME]
        wanted = words if words[:1].isalpha() else f"Shape{words}"
        name, number = wanted, 1
        while name in self._taken or keyword.iskeyword(name):
            number += 1
            name = f"{wanted}{number}"
        self._taken.add(name)
        return name

    def _typed_dict(self, name: str, keys: tuple[Key, ...]) -> str:
        if all(self._is_plain(key.name) for key in keys):
            lines = [f"    {key.name}: {self._value(key)}\n" for key in keys]
            return f"class {name}({self.names.typing}.TypedDict):\n{''.join(lines) or '    ...' + chr(10)}"
        pairs = "".join(f"    {key.name!a}: {self._value(key)},\n" for key in keys)
        return f"{name} = {self.names.typing}.TypedDict({name!r}, {{\n{pairs}}})\n"

    def _record(self, name: str, keys: tuple[Key, ...]) -> str:
        lines = [f"    {key.name}: {key.type}\n" for key in keys if self._is_plain(key.name)]
        return f"class {name}({self.names.values}.Record):\n{''.join(lines) or '    ...' + chr(10)}"

    def _value(self, key: Key) -> str:
        return key.type if key.required else f"{self.names.typing}.NotRequired[{key.type}]"

    def _is_plain(self, name: str) -> bool:
        """True if a class can have it as a name that means nothing else there."""
        own = (self.names.builtins, self.names.typing, self.names.values)
        usual = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
        return usual and not name.startswith("__") and name not in own


def join_types(types: Iterable[str], names: ModuleNames) -> str:
    """Write a union; whatever fits anything makes all of it so."""
    known = dict.fromkeys(types)
    if not known or names.any in known:
        return names.any
    ordered = [text for text in known if text != "None"] + ["None"] * ("None" in known)
    return " | ".join(ordered)
