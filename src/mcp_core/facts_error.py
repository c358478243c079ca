"""The base of errors that are raised with facts, and worded elsewhere."""

from __future__ import annotations

from typing import dataclass_transform


@dataclass_transform(eq_default=False)
class FactsError(Exception):
    """A class lists its facts as annotated fields, and is called like a dataclass.

    It is not one, because fifty of them would take 15 ms of a program's start. Lists are kept as tuples.
    """

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields = tuple(dict.fromkeys((*cls._fields, *cls.__annotations__)))

    def __init__(self, *values: object, **named: object) -> None:
        values = tuple(tuple(value) if isinstance(value, list) else value for value in values)
        super().__init__(*values)
        for field, value in (*zip(self._fields, values, strict=False), *named.items()):
            setattr(self, field, tuple(value) if isinstance(value, list) else value)
