"""StandIn: the result of a call that a preview has not made. It can be handed on, and nothing can be known of it.

Whatever needs what is in it ends the preview there: the server is told, and never answers. So no exception reaches the
code, whichever thread it is in, and whatever it would catch. Only previews load this file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ot_kernel.executing import find_line

_NEEDS_CONTENT = (
    "bool len length_hint iter next reversed contains getitem setitem delitem missing call str repr format bytes hash"
    " fspath eq ne lt le gt ge int float complex index round trunc floor ceil neg pos abs invert enter exit"
    " aenter aexit aiter anext dir instancecheck subclasscheck get set delete setattr delattr getstate"
    " reduce reduce_ex sizeof"
)
_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
_COPIED = frozenset({"__copy__", "__deepcopy__"})


class StandIn:
    """Stands for what a call would give. `type` tells it from anything else; its content does not exist."""

    __slots__ = ("_number", "_tell")

    def __init__(self, number: int, tell: Callable[[int, int | None], object]) -> None:
        """`number` is that of the call; `tell` lets the server know that the code needs it, and at which line."""
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_tell", tell)

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name) if name in _COPIED else _end(self)

    def __copy__(self) -> StandIn:
        return self

    def __deepcopy__(self, _: object) -> StandIn:
        return self


def _end(value: StandIn, *_: object) -> NoReturn:
    """Tell the server that the code needs what is not there, for as long as this process lives."""
    number, tell = object.__getattribute__(value, "_number"), object.__getattribute__(value, "_tell")
    while True:
        tell(number, find_line(sys._getframe()))  # noqa: SLF001 - as `inspect` does, which is large


for _name in _NEEDS_CONTENT.split():
    setattr(StandIn, f"__{_name}__", _end)
for _name in _OPERATORS.split():
    for _prefix in ("", "r", "i"):
        setattr(StandIn, f"__{_prefix}{_name}__", _end)
