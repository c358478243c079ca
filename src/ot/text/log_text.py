"""Values on a log line: short whatever their size, and never by a foreign `__repr__`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.values import Rows

TEXT_LIMIT = 200
_SHORT_TEXT = 60
TOTAL_LIMIT = 1000
ITEM_LIMIT = 8
DEPTH_LIMIT = 3
_FRAME = re.compile(r'  File ".*", line \d+')
_KIND = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failure|Group))(?::|$)")
_BETWEEN = (
    "Traceback (most recent call last):",
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_SHORT = frozenset({bool, float, type(None)})
# Redaction must see a secret whole: this much is looked at beyond the cut. Longer secrets do not exist in practice.
_MARGIN = 8192


@dataclass(eq=False, slots=True)
class Outline:
    """A value of which a line shows the type and the size only: what tools read and write is nobody else's business.

    Of `arguments` it shows what is short, such as paths and names, but not texts and collections.
    """

    value: object
    arguments: bool = False

    def __str__(self) -> str:
        if self.arguments and isinstance(self.value, Mapping):
            return f"{{{', '.join(f'{name!r}: {_short(item)}' for name, item in self.value.items())}}}"
        if self.arguments and isinstance(self.value, (list, tuple)):
            return f"[{', '.join(map(_short, self.value))}]"
        return _outline(self.value)


def without_messages(text: str) -> str:
    """Return the places and types of tracebacks; messages, which quote values, and any other text are left out."""
    kept: list[str] = []
    in_frame = False
    for line in text.splitlines():
        if in_frame and line.startswith("    "):  # the source of the frame
            kept.append(line)
            in_frame = False
        elif (in_frame := _FRAME.match(line) is not None) or line in _BETWEEN:
            kept.append(line)
        elif kept and (kind := _KIND.match(line)) is not None:
            kept.append(kind[1])
    return "\n".join(kept)


def brief(value: object, redact: Callable[[str], str] | None = None) -> str:
    """Write a value in at most about a thousand characters; a plain word stays bare.

    What is cut is redacted first, so that no part of a secret remains; who writes the line redacts the rest.
    """
    if type(value) is float or (type(value) is str and len(value) < 60 and value.isidentifier()):
        return str(value)
    text = _brief(value, redact, 0)
    if len(text) <= TOTAL_LIMIT:
        return text
    return f"{(redact(text) if redact else text)[:TOTAL_LIMIT]}..."


def brief_fact(value: object, redact: Callable[[str], str]) -> Json:
    """Return a value for a JSON line: numbers and short texts are themselves, anything else is a brief text."""
    if value is None or type(value) is bool:
        return value
    if type(value) is int and abs(value) < 2**53:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, (str, PurePath)):
        text = str.__str__(value) if isinstance(value, str) else str(value)
        return redact(text) if len(text) <= TEXT_LIMIT else f"{_cut(text, redact)}...<{len(text)} characters>"
    return redact(brief(value, redact))


def _brief(value: object, redact: Callable[[str], str] | None, depth: int) -> str:
    if type(value) is Outline:
        return str(value)
    if type(value) in _SHORT:
        return repr(value)
    if type(value) is str:
        return repr(value) if len(value) <= TEXT_LIMIT else _brief_text(value, redact)
    if type(value) is int:
        return repr(value) if -(10**40) < value < 10**40 else f"<int of {_digits(value)} digits>"
    if type(value) is dict or isinstance(value, Mapping):
        return _brief_items(
            (f"{_brief(k, redact, depth + 1)}: {_brief(v, redact, depth + 1)}" for k, v in value.items()),
            "{}",
            len(value),
            depth,
        )
    if isinstance(value, (list, tuple, set, frozenset)):
        return _brief_items((_brief(item, redact, depth + 1) for item in value), "[]", len(value), depth)
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes>"
    if isinstance(value, (str, PurePath)):
        return _brief_text(str.__str__(value) if isinstance(value, str) else str(value), redact)
    return f"<{type(value).__name__}>"


def _short(value: object) -> str:
    if type(value) is str and len(value) <= _SHORT_TEXT and value.isprintable():
        return repr(value)
    return _brief(value, None, 0) if type(value) in _SHORT or type(value) is int else _outline(value)


def _outline(value: object) -> str:
    if isinstance(value, str):
        return f"<{len(value)} characters>"
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes>"
    if isinstance(value, (Mapping, list, tuple, set, frozenset, Rows)):
        return f"<{len(value)} items>"
    return "None" if value is None else f"<{type(value).__name__}>"


def _brief_text(text: str, redact: Callable[[str], str] | None) -> str:
    if len(text) <= TEXT_LIMIT:
        return repr(text)
    return f"{_cut(text, redact)!r}...<{len(text)} characters>"


def _cut(text: str, redact: Callable[[str], str] | None) -> str:
    if redact is None:
        return text[:TEXT_LIMIT]
    if len(text) <= TEXT_LIMIT + _MARGIN:
        return redact(text)[:TEXT_LIMIT]
    # The end of what was looked at may hold the beginning of a secret, so it is never shown.
    redacted = redact(text[: TEXT_LIMIT + _MARGIN])
    return redacted[: max(0, min(TEXT_LIMIT, len(redacted) - _MARGIN))]


def _brief_items(items: Iterable[str], brackets: str, total: int, depth: int) -> str:
    if depth >= DEPTH_LIMIT:
        return f"<{total} items>"
    shown = list(itertools.islice(items, ITEM_LIMIT))
    if total > ITEM_LIMIT:
        shown.append(f"...<{total} items>")
    return f"{brackets[0]}{', '.join(shown)}{brackets[1]}"


def _digits(value: int) -> int:
    """Return about how many digits it has; str() refuses very large numbers."""
    return math.ceil(value.bit_length() * math.log10(2))
