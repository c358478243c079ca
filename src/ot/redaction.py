"""Known secret values become `***` in whatever leaves the executor: text, keys, and values of any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from ot_kernel.project_path import ProjectPath
from ot_kernel.values import MAX_DEPTH, MAX_DRAINED, Record, Resource

MASK = "***"
SHORTEST = 6  # shorter values would blank out ordinary words
_INERT = frozenset({int, float, bool, complex, type(None)})


class Redactor:
    """Replaces the secret values it knows; it may learn more while calls are being made."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for secret in secrets:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """From now on replace this value too, also as it looks inside a quoted string."""
        if len(secret) < SHORTEST or secret in self._known:
            return
        quoted = {repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        self._known |= {secret, *quoted}
        # The longest first: a secret may begin with another one.
        longest_first = sorted(self._known, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    @property
    def known(self) -> frozenset[str]:
        """Every text that is replaced."""
        return frozenset(self._known)

    @property
    def active(self) -> bool:
        """Whether there is anything to replace."""
        return self._pattern is not None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def value(self, value: Any) -> Any:
        """The value without secrets: itself where there are none in it, else a copy of what had to change."""
        return value if self._pattern is None else _Walk(self._pattern).visit(value, 0)


class _Walk:
    """One walk through one value. What was seen is not walked again, so shared parts cost nothing and a circular
    value ends; that one keeps its circle, and is refused by whoever encodes it."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._sub = pattern.sub
        self._seen: dict[int, tuple[Any, Any]] = {}  # by id: the value, kept alive, and what became of it

    def visit(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._sub(MASK, value)
        if kind in _INERT or depth > MAX_DEPTH:
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, value)
            self._seen[id(value)] = (value, self._changed(value, depth + 1))
        return self._seen[id(value)][1]

    def _changed(self, value: Any, depth: int) -> Any:
        match value:
            case str():
                return self._replaced(value, str.__str__(value), str)
            case bytes() | bytearray() | memoryview():
                text = bytes(value).decode("utf-8", "surrogateescape")
                return self._replaced(value, text, lambda new: new.encode("utf-8", "surrogateescape"))
            case PurePath() | UUID():
                return self._replaced(value, str(value), Path if isinstance(value, PurePath) else str)
            case ProjectPath():
                path, attrs = self._sub(MASK, str(value)), self.visit(value.attrs, depth)
                return ProjectPath(value.project, path, attrs)
            case Resource():
                parts = [self.visit(part, depth) for part in (value.uri, value.text, value.data, value.name)]
                return Resource(parts[0], text=parts[1], data=parts[2], name=parts[3], mime_type=value.mime_type)
            case Record():
                return self._mapping(value, depth, partial(Record, value.record_name))
        name, fields = _record_parts(value)
        if name:
            return self._mapping(fields, depth, partial(Record, name), original=value)
        if isinstance(value, Mapping):
            return self._mapping(value, depth, dict)
        return self._items(value, depth)

    def _replaced(self, value: Any, text: str, build: Callable[[str], Any]) -> Any:
        new = self._sub(MASK, text)
        return value if new == text else build(new)

    def _mapping(
        self, fields: Mapping[Any, Any], depth: int, build: Callable[[dict[Any, Any]], Any], *, original: Any = None
    ) -> Any:
        changed = False
        new: dict[Any, Any] = {}
        for key, item in fields.items():
            new_key, new_item = self.visit(key, depth), self.visit(item, depth)
            changed = changed or new_key is not key or new_item is not item
            new[new_key] = new_item
        return build(new) if changed else fields if original is None else original

    def _items(self, value: Any, depth: int) -> Any:
        """Lists and their like; an iterator is used up by looking at it, so it becomes a list."""
        for kind in (list, tuple, set, frozenset):
            if isinstance(value, kind):
                new = [self.visit(item, depth) for item in value]
                return value if all(a is b for a, b in zip(value, new, strict=True)) else kind(new)
        if isinstance(value, Iterator) and not hasattr(value, "fileno"):
            return [self.visit(item, depth) for item in islice(value, MAX_DRAINED + 1)]
        return value


def _record_parts(value: Any) -> tuple[str, Mapping[str, Any]]:
    """Name and fields of a dataclass, pydantic model or named tuple; no name for anything else."""
    kind = type(value)
    if is_dataclass(kind):
        return kind.__qualname__, {field.name: getattr(value, field.name) for field in fields_of(value)}
    if hasattr(kind, "__pydantic_fields__"):
        return kind.__qualname__, {name: getattr(value, name) for name in kind.__pydantic_fields__}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind.__qualname__, dict(zip(kind._fields, value, strict=True))
    return "", {}
