"""Arguments as a person is shown them: whole, or with the file that holds all of them, and nothing invisible."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from ot.values import ToolValue

WHOLE = 4096  # characters of a call's arguments
BEGINNING = 300  # characters at least that are shown of a long one
MOST_SHOWN = 40  # arguments

_BLANKS = re.compile(" {8,}")
_NOT_PLAIN = re.compile("[^\x20-\x7e]")
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs")


class ShownArguments(NamedTuple):
    """`text` for the question; `whole`, for a file, where that is not all of it."""

    text: str
    whole: str = ""


def show_arguments(arguments: Mapping[str, ToolValue]) -> ShownArguments:
    """Write arguments as JSON, one per line, so that no text can pass for another argument or for the end."""
    lines = {visible(name): visible(_as_json(value)) for name, value in arguments.items()}
    whole = "\n".join(f"{name} = {text}" for name, text in lines.items())
    if len(whole) <= WHOLE:
        return ShownArguments(whole)
    share = max(BEGINNING, WHOLE // len(lines))
    shown = [f"{name[:share]} = {_beginning(text, share)}" for name, text in list(lines.items())[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        shown.append(f"and {len(lines) - MOST_SHOWN} more")
    return ShownArguments("\n".join(shown), whole)


def visible(text: str) -> str:
    """Write out what an eye would miss: control characters, marks of direction, foreign blanks, long runs of blanks."""
    text = _NOT_PLAIN.sub(lambda found: _show(found[0]), text)
    return _BLANKS.sub(lambda run: f"⟨{len(run[0])} spaces⟩", text)


def _beginning(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:length]}… ({len(text)} characters, sha256 {digest})"


def _as_json(value: ToolValue) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_other)
    except (TypeError, ValueError, RecursionError):  # keys of its own kind, or a circle
        return repr(value)


def _other(value: object) -> object:
    """Write what JSON has no form for."""
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return repr(value)


def _show(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    return character.encode("unicode_escape").decode()
