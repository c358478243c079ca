"""NamedTuple as in `typing`, which takes longer to import than all else that a guardian needs.

One is also made in half the time: `typing` compiles the annotation of each field.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_make: Callable[..., type] = namedtuple  # noqa: PYI024 - that is the point


class _Made(type):
    """Makes a named tuple of the class that it is given."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = body.pop("__annotations__")
        assert isinstance(fields, dict)
        made = _make(name, fields, defaults=[body.pop(field) for field in fields if field in body])
        for each, value in body.items():
            setattr(made, each, value)
        return made


if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class NamedTuple(metaclass=_Made):
        """The base of a class whose annotations are the fields of a tuple, and whose values are their defaults."""
