"""Known secrets become `***` in whatever leaves the executor: text, keys, and values of any depth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, TypeVar

from mcp_core.known_secrets import KnownSecrets
from ot_kernel.project_path import ProjectPath
from ot_kernel.rows import Rows
from ot_kernel.values import MAX_DEPTH, MAX_DRAINED, Record, Resource

Key = TypeVar("Key")

_COMMON = frozenset({dict, list, tuple})
_INERT = frozenset({int, float, bool, complex, type(None)})


class Redactor(KnownSecrets):
    """Masks known secrets in whatever can cross to a kernel; it may learn more while calls are being made.

    `teach` is told of what it learns: a person's redactor lets the server's log know, and no other person's.
    """

    def __init__(self, secrets: Iterable[str] = (), *, teach: Callable[[str], None] | None = None) -> None:
        self._teach = teach
        super().__init__(secrets)

    def learn(self, secret: str) -> None:
        """Mask this value from now on, also quoted or encoded."""
        super().learn(secret)
        if self._teach is not None:
            self._teach(secret)

    def value(self, value: object) -> Any:
        """Return the value without secrets: itself where there are none in it, else a copy of what had to change."""
        return _Walk(self.text).visit(value, 0) if self.active else value


class _Walk:
    """One walk through one value. What was seen is not walked again, so shared parts cost nothing and a circular
    value ends; that one keeps its circle, and is refused by whoever encodes it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._seen: dict[int, tuple[object, object]] = {}  # by id: the value, kept alive, and what became of it

    def visit(self, value: object, depth: int) -> Any:
        if type(value) is str:
            return self._redact(value)
        if type(value) in _INERT or depth > MAX_DEPTH:
            return value
        if id(value) not in self._seen:
            self._seen[id(value)] = (value, value)
            # What most values are made of is not compared with all that is rare.
            change = self._container if type(value) in _COMMON else self._changed
            self._seen[id(value)] = (value, change(value, depth + 1))
        return self._seen[id(value)][1]

    def _changed(self, value: object, depth: int) -> object:
        match value:
            case str():
                return self._replaced(value, str.__str__(value), str)
            case bytes() | bytearray() | memoryview():
                text = bytes(value).decode("utf-8", "surrogateescape")
                return self._replaced(value, text, lambda new: new.encode("utf-8", "surrogateescape"))
            case PurePath():
                return self._replaced(value, str(value), Path)
            case _ if _is_uuid(value):
                return self._replaced(value, str(value), str)
            case ProjectPath():
                path, attrs = self._redact(str(value)), self.visit(value.attrs, depth)
                return ProjectPath(value.project, path, attrs)
            case Resource():
                parts = [self.visit(part, depth) for part in (value.uri, value.text, value.data, value.name)]
                return Resource(parts[0], text=parts[1], data=parts[2], name=parts[3], mime_type=value.mime_type)
            case Rows():
                return value.changed(lambda part: self.visit(part, depth))
            case Record():
                return self._mapping(value, depth, partial(Record, value.record_name))
        name, fields = _record_parts(value)
        if name:
            return self._mapping(fields, depth, partial(Record, name), original=value)
        return self._container(value, depth)

    def _container(self, value: object, depth: int) -> object:
        return self._mapping(value, depth, dict) if isinstance(value, Mapping) else self._items(value, depth)

    def _replaced(self, value: object, text: str, build: Callable[[str], object]) -> object:
        new = self._redact(text)
        return value if new == text else build(new)

    def _mapping(
        self,
        fields: Mapping[Key, object],
        depth: int,
        build: Callable[[dict[Key, object]], object],
        *,
        original: object = None,
    ) -> object:
        changed = False
        new: dict[Key, object] = {}
        for key, item in fields.items():
            new_key, new_item = self.visit(key, depth), self.visit(item, depth)
            changed = changed or new_key is not key or new_item is not item
            new[new_key] = new_item
        return build(new) if changed else fields if original is None else original

    def _items(self, value: object, depth: int) -> object:
        """Visit a list or the like; an iterator is used up by looking at it, so it becomes a list."""
        for kind in (list, tuple, set, frozenset):
            if isinstance(value, kind):
                new = [self.visit(item, depth) for item in value]
                return value if all(a is b for a, b in zip(value, new, strict=True)) else kind(new)
        if isinstance(value, Iterator) and not hasattr(value, "fileno"):
            return [self.visit(item, depth) for item in islice(value, MAX_DRAINED + 1)]
        return value


def _is_uuid(value: object) -> bool:
    """True for a UUID; who has none has not loaded their module either, and need not wait for it."""
    module = sys.modules.get("uuid")
    return module is not None and isinstance(value, module.UUID)


def _record_parts(value: object) -> tuple[str, Mapping[str, object]]:
    """Return name and fields of a dataclass, pydantic model or named tuple; no name for anything else."""
    kind = type(value)
    if is_dataclass(kind):
        return kind.__qualname__, {field.name: getattr(value, field.name) for field in fields_of(kind)}
    if hasattr(kind, "__pydantic_fields__"):
        return kind.__qualname__, {name: getattr(value, name) for name in kind.__pydantic_fields__}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind.__qualname__, dict(zip(kind._fields, value, strict=True))
    return "", {}
