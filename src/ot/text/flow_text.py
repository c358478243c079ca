"""Flow style of ordinary values, written without the YAML emitter: in a tenth of its time, where many lines are wanted.

Only what is certain is written here: whole numbers, truth values, None, and text of printable ASCII, plain where
nothing in it means anything to YAML and in single quotes where it may. For everything else the caller asks the emitter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MAX_KEY = 100  # characters: a longer key cannot stand in front of its colon
MAX_DEPTH = 20

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./()+*=@%-]*+(?: [A-Za-z0-9_./()+*=@%-]++)*+")
_PRINTABLE = re.compile(r"[ -~]*+")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_PLAIN_INT = 10**18


class NotOrdinaryError(Exception):
    """A value that takes an emitter, or more characters than there is room for."""


class FlowText:
    """Writes values as long as there is room for them, in characters."""

    def __init__(self, room: float) -> None:
        self._room = room

    def write(self, value: object, depth: int = 0) -> str:
        """Write a value on one line; raises NotOrdinaryError."""
        if type(value) is str:
            return self._text(value)
        if type(value) is int and -_PLAIN_INT < value < _PLAIN_INT:
            return repr(value)
        if value is True or value is False:
            return "true" if value else "false"
        if value is None:
            return "null"
        if depth < MAX_DEPTH and type(value) is dict:
            self._take(len(value))
            pairs = [f"{self.key(key)}: {self.write(item, depth + 1)}" for key, item in value.items()]
            return f"{{{', '.join(pairs)}}}"
        if depth < MAX_DEPTH and (type(value) is list or type(value) is tuple):
            self._take(len(value))
            return f"[{', '.join([self.write(item, depth + 1) for item in value])}]"
        raise NotOrdinaryError

    def key(self, key: object) -> str:
        if type(key) is not str or len(key) > MAX_KEY:
            raise NotOrdinaryError
        return self._text(key)

    def _text(self, text: str) -> str:
        self._take(len(text))
        if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
            return text
        if _PRINTABLE.fullmatch(text):
            return "'" + text.replace("'", "''") + "'"
        raise NotOrdinaryError

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise NotOrdinaryError


def flow_lines(items: Iterable[object], *, room: float) -> list[str] | None:
    """Write a line for each item, or for each pair of a mapping; None if one of them is not ordinary."""
    writer = FlowText(room)
    try:
        if isinstance(items, Mapping):
            return [f"{writer.key(key)}: {writer.write(value)}" for key, value in items.items()]
        return [f"- {writer.write(item)}" for item in items]
    except NotOrdinaryError:
        return None
