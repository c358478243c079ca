"""`dataclass` as in `dataclasses`, made in a tenth of the time: the engine has a hundred of them, and a command waits.

The standard library compiles up to six functions for each class. Here it is `__init__` alone, and only when the first
one is made: a short command makes a few. The others read the fields by their names. `fields`, `replace`, `asdict` and
`match` take such a class for one of theirs; `field` is the standard library's own.

`replace` here copies fields without a look at each; the path of a run makes four such copies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from operator import attrgetter
from reprlib import recursive_repr
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace

    from _typeshed import DataclassInstance as Record

    Fields = Mapping[str, dataclasses.Field[object]]
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, slots=False, kw_only=False):
        """Make a dataclass of a class; the options are those of the standard library."""

        def make(plain):
            return _make(plain, eq=eq, frozen=frozen, slots=slots, kw_only=kw_only)

        return make if cls is None else make(cls)

    def replace(record, /, **changes):
        """Return a copy with other values in some fields; `__post_init__` does not see it."""
        kind = type(record)
        copy = object.__new__(kind)
        for name in kind.__dataclass_fields__:
            _set(copy, name, changes.pop(name) if name in changes else getattr(record, name))
        if changes:
            raise TypeError(f"{kind.__name__} has no {', '.join(changes)}")
        return copy


_A_FIELD = dataclasses.__dict__["_FIELD"]  # marks what is no `ClassVar`
_set = object.__setattr__
_MADE = object()  # stands for a default that is made at each call


def _make(plain: type, *, eq: bool, frozen: bool, slots: bool, kw_only: bool) -> type:
    fields: dict[str, dataclasses.Field[object]] = {}
    for base in reversed(plain.__mro__[1:]):
        fields |= base.__dict__.get("__dataclass_fields__", {})
    for name, kind in plain.__annotations__.items():
        if not str(kind).startswith(("ClassVar", "typing.ClassVar")):
            fields[name] = _describe(plain, name, kind, kw_only=kw_only)
    body = {
        "__dataclass_fields__": fields,
        "__dataclass_params__": SimpleNamespace(eq=eq, frozen=frozen),
        "__match_args__": tuple(name for name, own in fields.items() if own.init and not own.kw_only),
        "__init__": _late_init(fields, frozen=frozen, then=hasattr(plain, "__post_init__")),
        "__repr__": _repr,
    }
    if eq:
        names = [name for name, own in fields.items() if own.compare]
        compared: Callable[[object], object] = attrgetter(*names) if names else lambda record: ()

        def same(self: object, other: object) -> bool:
            return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

        body |= {"__eq__": same, "__hash__": (lambda self: hash(compared(self))) if frozen else None}
    own = plain.__dict__
    body = {name: value for name, value in body.items() if own.get(name) is None or name == "__dataclass_fields__"}
    made: type[Any] = _with_slots(plain, fields, body) if slots else _with_members(plain, body)
    if frozen:

        def refuse(self: object, name: str, *value: object) -> None:
            if type(self) is made or name in fields:
                raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
            change = super(made, self).__setattr__ if value else super(made, self).__delattr__
            change(name, *value)

        _with_members(made, {"__setattr__": refuse, "__delattr__": refuse})
    return made


def _describe(plain: type, name: str, kind: object, *, kw_only: bool) -> dataclasses.Field[object]:
    given = plain.__dict__.get(name, dataclasses.MISSING)
    described: Any = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
    if described.default.__class__.__hash__ is None:
        raise ValueError(f"the default of {name} would be shared by all: use default_factory")
    described.name, described.type, described._field_type = name, kind, _A_FIELD  # noqa: SLF001 - as theirs
    if described.kw_only is dataclasses.MISSING:
        described.kw_only = kw_only
    if described is given and described.default is dataclasses.MISSING:
        delattr(plain, name)
    elif described is given:
        setattr(plain, name, described.default)
    made: dataclasses.Field[object] = described
    return made


def _late_init(fields: Fields, *, frozen: bool, then: bool) -> Callable[..., None]:
    def initialise(self: object, /, *given: object, **named: object) -> None:
        init = _build_init(fields, frozen=frozen, then=then)
        for kind in type(self).__mro__:
            if kind.__dict__.get("__init__") is initialise:
                type.__setattr__(kind, "__init__", init)
        init(self, *given, **named)

    return initialise


def _build_init(fields: Fields, *, frozen: bool, then: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_made": _MADE, "_set": _set}
    taken: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for name, described in fields.items():
        value = name
        if described.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = described.default_factory
            value = f"_make_{name}() if {name} is _made else {name}" if described.init else f"_make_{name}()"
            default = "=_made"
        elif described.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = described.default
            default = f"=_default_{name}"
        else:
            default = ""
        if described.init:
            taken[described.kw_only is True].append(f"{name}{default}")
        elif value == name:
            value = default.removeprefix("=")
        if value:
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if then:
        lines.append("self.__post_init__()")
    parameters = ["self", *taken[False], *(["*", *taken[True]] if taken[True] else [])]
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", names)
    init: Callable[..., None] = names["__init__"]
    return init


def _with_members(plain: type, members: Mapping[str, object]) -> type:
    for name, member in members.items():
        setattr(plain, name, member)
    return plain


def _with_slots(plain: type, fields: Fields, members: Mapping[str, object]) -> type:
    """Make the class once more: slots cannot be added to one."""
    inherited = {slot for base in plain.__mro__[1:-1] for slot in base.__dict__.get("__slots__", ())}
    kept = {name: item for name, item in plain.__dict__.items() if name not in (*fields, "__dict__", "__weakref__")}
    slots = {"__slots__": tuple(name for name in fields if name not in inherited)}
    moving = {"__getstate__": _get_state, "__setstate__": _set_state}
    kind: Callable[..., type] = type(plain)
    made = kind(plain.__name__, plain.__bases__, {**moving, **kept, **members, **slots})
    made.__qualname__ = plain.__qualname__
    return made


def _get_state(self: Record) -> list[object]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _set_state(self: Record, state: Iterable[object]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        _set(self, name, value)


@recursive_repr()
def _repr(self: Record) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, own in self.__dataclass_fields__.items() if own.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
