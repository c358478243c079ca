"""Learnt shapes as Python types: what a tool was seen to return, where its definition does not say."""

from __future__ import annotations

from onetool.stubs.classes import Classes, Key, join_types
from ot.shapes.shape import DICT, EMPTY_TEXT, LIST, NONE, TEXT, Fields, Shape

_PLAIN = {TEXT: "str", EMPTY_TEXT: "str", "int": "int", "float": "float", "bool": "bool", "bytes": "bytes", NONE: NONE}


def type_of_shape(shape: Shape, classes: Classes, hint: str) -> str:
    """Return the type of values that have a shape; of what nobody has looked at, any."""
    names = classes.names
    types = []
    if shape.fields is not None:
        types.append(_type_of_fields(shape.fields, classes, hint))
    elif DICT in shape.kinds:
        types.append(f"{names.builtins}.dict[{names.plain('str')}, {names.any}]")
    if shape.items is not None or LIST in shape.kinds:
        items = names.any if shape.items is None else type_of_shape(shape.items, classes, f"{hint} Item")
        types.append(f"{names.builtins}.list[{items}]")
    if shape.json is not None:
        types.append(names.plain("str"))
    kinds = sorted(shape.kinds - {DICT, LIST})
    types += [names.plain(_PLAIN[kind]) if kind in _PLAIN else names.any for kind in kinds]
    return join_types(types, names)


def _type_of_fields(fields: Fields, classes: Classes, hint: str) -> str:
    names = classes.names
    if fields.others is not None or fields.closed or not (fields.always or fields.sometimes):
        named = bool(fields.always or fields.sometimes)
        values = names.any if named or fields.others is None else type_of_shape(fields.others, classes, f"{hint} Value")
        return f"{names.builtins}.dict[{names.plain('str')}, {values}]"
    always, sometimes = sorted(fields.always.items()), sorted(fields.sometimes.items())
    keys = [
        Key(name, type_of_shape(shape, classes, f"{hint} {name}"), required)
        for shapes, required in ((always, not fields.empty), (sometimes, False))
        for name, shape in shapes
    ]
    return classes.define(hint, keys)
