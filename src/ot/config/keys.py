"""All keys of the configuration, read off the models: for suggestions, `ONETOOL_*` variables, paths and reloads."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from mcp_core.nearest_names import likeness, nearest
from mcp_core.quick_dataclass import dataclass
from ot.config.models import Config
from ot.config.section import PERSON, Field, Layers, Section, When
from ot.config.values import REQUIRED

INCLUDE = "include"
INCLUDE_WORDS = "more files to read, one or a list; this file overrides them, and a later one an earlier one"
ANY = "*"  # the place in a key's path where a person puts a name or a position of their own


@dataclass(frozen=True, slots=True)
class Key:
    """One key that holds a value: `("execution", "timeout")`, or `("servers", "*", "cwd")`."""

    path: tuple[str, ...]
    field: Field
    words: str
    when: When | None
    layers: Layers  # the person's alone, unless it or a section around it says otherwise

    @property
    def default(self) -> object:
        return None if self.field.default is REQUIRED else self.field.default

    @property
    def is_path(self) -> bool:
        """True if its value, or each of its values, is a file or folder."""
        return Path in parts_of(self.field.annotation)

    @property
    def is_list(self) -> bool:
        return holder_of(self.field.annotation) is tuple

    @property
    def is_mapping(self) -> bool:
        """True if it holds names of the person's own."""
        return holder_of(self.field.annotation) is dict


@cache
def known_keys() -> tuple[Key, ...]:
    """Every key of a configuration file except `include`; without a file, nobody asks for them."""
    return tuple(_keys_of(Config, (), None, PERSON))


def known_names(path: Sequence[str]) -> list[str]:
    """The names that may stand directly below `path`."""
    names = {key.path[len(path)]: None for key in known_keys() if len(key.path) > len(path) and starts(key.path, path)}
    if not path:
        names[INCLUDE] = None
    return [name for name in names if name != ANY]


def starts(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """True if `path` is a path that `pattern` describes, or the beginning of one."""
    return len(path) <= len(pattern) and all(ours in (ANY, theirs) for ours, theirs in zip(pattern, path, strict=False))


def matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """True if `path` is a path that `pattern` describes."""
    return len(pattern) == len(path) and starts(pattern, path)


def suggest(name: str, path: Sequence[str]) -> str:
    """The way out for an unknown key `name` below `path`."""
    known = nearest(name, known_names(path))
    if likeness(name, known[0]) >= 0.6:
        words = next((key.words for key in known_keys() if matches(key.path, (*path, known[0]))), "")
        return f'the nearest known key is "{known[0]}"{f" ({words})" if words else ""}'
    loosely = name.lower().replace("-", "_")
    elsewhere = [".".join(key.path) for key in known_keys() if key.path[-1] == loosely and ANY not in key.path]
    if elsewhere:
        return f"this key is known as {' and '.join(elsewhere)}"
    return f"known keys here, nearest first: {', '.join(known)}"


def nested(path: Sequence[str], value: object) -> dict[object, object]:
    """The value at a path, inside the sections that lead to it."""
    *sections, last = path
    values: dict[object, object] = {last: value}
    for part in reversed(sections):
        values = {part: values}
    return values


def dotted(path: Iterable[object]) -> str | None:
    """A key's path as one printable word; None for the file itself."""
    return printable(".".join(map(str, path)))[:200] or None


def printable(text: str) -> str:
    """`text` on one line, with escapes for what cannot be shown."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _keys_of(model: type[Section], prefix: tuple[str, ...], when: When | None, layers: Layers) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        path = (*prefix, name)
        said = model.settings[name]
        now, by = said.when or when, said.layers or layers
        inner = inner_model(field.annotation)
        if inner is None:
            yield Key(path, field, said.words, now, by)
        else:
            yield from _keys_of(inner, (*path, ANY) if holds_several(field.annotation) else path, now, by)


def inner_model(annotation: object) -> type[Section] | None:
    """The model of the section, or of each entry of the mapping or list, that a field holds."""
    return next((part for part in parts_of(annotation) if isinstance(part, type) and issubclass(part, Section)), None)


def holds_several(annotation: object) -> bool:
    """True for a mapping or list of sections, false for one section."""
    return holder_of(annotation) in (dict, tuple)


def holder_of(annotation: object) -> object:
    """The container that a field holds, without metadata; None for a single value."""
    origin = typing.get_origin(annotation)
    return holder_of(typing.get_args(annotation)[0]) if origin is typing.Annotated else origin


def parts_of(annotation: object) -> Iterator[object]:
    """The types and marks that an annotation is made of, itself first; a choice is one part."""
    yield annotation
    if typing.get_origin(annotation) is not typing.Literal:
        for part in typing.get_args(annotation):
            yield from parts_of(part)


def choices_of(annotation: object) -> tuple[str, ...]:
    """The words that a key accepts; none where it accepts others."""
    choices = (part for part in parts_of(annotation) if typing.get_origin(part) is typing.Literal)
    return typing.get_args(next(choices, None))
