"""Arguments as the dataclasses that a tool's annotations name: they cross as plain objects, and are built here.

The server has compared them with the annotations already. What cannot be resolved, or does not fit, stays as it came.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Mapping

from ot_sdk import ToolError

if typing.TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Scope = dict[str, object]  # the names that an annotation may use
    Hint = object  # an annotation, resolved or still text

_ITEMS: dict[str, type] = {"list": list, "Sequence": list, "Iterable": list, "Collection": list}
_MEMBERS: dict[str, type] = {"set": set, "frozenset": frozenset}
_MAPPINGS = ("dict", "Mapping", "MutableMapping")
_MOST_QUOTES = 3  # one inside the other: quoted by hand, and by `from __future__ import annotations`
_WRAPPERS = frozenset({"Annotated", "Required", "NotRequired", "ReadOnly", "Final"})


def fit_arguments(function: Callable[..., object], variadic: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with its dataclasses built; raises ToolError where one cannot be."""
    inner: Any = function  # below its decorators: annotations are resolved where it was written
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    scope, hints = _scope_of(inner), _annotations_of(inner)
    fitted = dict(arguments)
    for name in arguments.keys() & hints.keys():
        if name == variadic:
            fitted[name] = [_fit(item, hints[name], scope, name) for item in arguments[name]]
        else:
            fitted[name] = _fit(arguments[name], hints[name], scope, name)
    return fitted


def _annotations_of(owner: Any) -> dict[str, Hint]:
    """Return the annotations of a function, or those in the body of a class."""
    if sys.version_info >= (3, 14):  # they are not evaluated before they are asked for, and may not be evaluable
        import annotationlib  # noqa: PLC0415 - there is none before

        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    found: dict[str, Hint] = vars(owner).get("__annotations__", {}) if isinstance(owner, type) else {}
    return found or getattr(owner, "__annotations__", {})


def _scope_of(owner: Any) -> Scope:
    return vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}


def _resolve(hint: Hint, scope: Scope) -> Hint:
    """Return an annotation that may be text as what it stands for; None if nobody here knows its names."""
    for _ in range(_MOST_QUOTES):
        text = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
        if not isinstance(text, str):
            return hint
        try:
            hint = eval(text, dict(scope))
        except Exception:  # noqa: BLE001 - a name that only a type checker knows, or a form that is too new
            return None
    return None


def _fit(value: object, annotation: Hint, scope: Scope, where: str) -> object:
    hint: Any = _resolve(annotation, scope)
    name, inner = _name_of(hint), typing.get_args(hint)
    if isinstance(hint, dataclasses.InitVar):
        return _fit(value, hint.type, scope, where)
    if name in _WRAPPERS:
        return _fit(value, inner[0], scope, where)
    if name in ("Union", "UnionType", "Optional"):
        suiting = [arm for arm in inner if _suits(value, arm, scope)]
        return _fit(value, suiting[0], scope, where) if suiting else value
    if isinstance(value, Mapping):
        if _is_dataclass(hint):
            return _build(hint, value, where)
        if _is_typed_dict(hint):
            return _fit_fields(hint, value, where)
        if name in _MAPPINGS and len(inner) == 2:
            return {key: _fit(item, inner[1], scope, f"{where}[{key!r}]") for key, item in value.items()}
    elif isinstance(value, (list, tuple)) and inner:
        return _fit_items(value, name, inner, scope, where)
    return value


def _name_of(hint: Hint) -> str:
    origin = typing.get_origin(hint)
    return str(getattr(origin, "__name__", None) or getattr(origin, "_name", None) or origin)


def _fit_items(
    value: list[object] | tuple[object, ...], name: str, inner: tuple[Hint, ...], scope: Scope, where: str
) -> object:
    if name == "tuple" and inner[1:] != (...,):
        if len(inner) != len(value):
            return value
        return tuple(_fit(item, hint, scope, f"{where}[{n}]") for n, (item, hint) in enumerate(zip(value, inner)))
    make = {**_ITEMS, **_MEMBERS, "tuple": tuple}.get(name)
    if make is None:
        return value
    return make(_fit(item, inner[0], scope, f"{where}[{n}]") for n, item in enumerate(value))


def _build(hint: type, value: Mapping[str, object], where: str) -> object:
    fields = _fit_fields(hint, value, where)
    try:
        return hint(**fields)
    except TypeError as error:
        raise ToolError(f"{where} is not a valid {hint.__name__}: {error}") from error


def _fit_fields(hint: type, value: Mapping[str, object], where: str) -> dict[str, object]:
    hints = _hints_of(hint)
    return {key: _fit(item, *hints.get(key, (None, {})), f"{where}.{key}") for key, item in value.items()}


def _hints_of(owner: type) -> dict[str, tuple[Hint, Scope]]:
    """Return the annotations of a class and its bases, each with the names that it may use."""
    found: dict[str, tuple[Hint, Scope]] = {}
    for base in reversed(owner.__mro__):
        scope = _scope_of(base)
        found.update({name: (hint, scope) for name, hint in _annotations_of(base).items()})
    return found


def _suits(value: object, hint: Hint, scope: Scope) -> bool:
    """True if a value may be meant by one side of a union: an object by its keys, anything else by its kind."""
    arm: Any = _resolve(hint, scope)
    if isinstance(value, Mapping):
        if _is_dataclass(arm):
            fields = [field for field in dataclasses.fields(arm) if field.init]
            missing = dataclasses.MISSING
            required = {f.name for f in fields if f.default is missing and f.default_factory is missing}
            return required <= value.keys() <= {f.name for f in fields}
        if _is_typed_dict(arm):
            return bool(arm.__required_keys__ <= value.keys() <= _hints_of(arm).keys())
        return arm is dict or _name_of(arm) in _MAPPINGS
    if isinstance(value, (list, tuple)):
        return _name_of(arm) in (*_ITEMS, *_MEMBERS, "tuple")
    return False


def _is_dataclass(hint: Hint) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _is_typed_dict(hint: Hint) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")
