"""Names in a description as Python names: deterministic, and never one that is taken."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z][a-z0-9]*|[A-Z][A-Z0-9]*|[0-9]+")
_LONGEST = 60
OF_THE_FILE = frozenset(
    {
        *(
            "Any",
            "Literal",
            "NotRequired",
            "TypedDict",
            "annotations",
            "base64",
            "cache",
            "httpx",
            "json",
            "ot_sdk",
            "quote",
        ),
        *("BASE_URL", "pack", "secrets"),
    }
)
"""UniqueNames that the file of every pack uses itself."""

_PYTHON = frozenset({*keyword.kwlist, *keyword.softkwlist})
_TYPES = frozenset({"str", "int", "float", "bool", "bytes", "list", "dict"})
_BUILTINS = frozenset(dir(builtins))


class UniqueNames:
    """Gives out names, each only once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, wanted: str) -> str:
        """Return the name, or the first free one with a number after it."""
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name


def function_name(text: str) -> str:
    """Return the name of a tool: small letters, and nothing that Python or the file itself uses."""
    name = parameter_name(text, otherwise="call")
    return f"{name}_" if name in _BUILTINS | OF_THE_FILE else name


def parameter_name(text: str, *, otherwise: str = "value") -> str:
    """Return the name of a parameter: small letters, and no keyword."""
    name = "_".join(word.lower() for word in _words(text))[:_LONGEST].strip("_") or otherwise
    name = f"{otherwise}_{name}" if name[0].isdigit() else name
    return f"{name}_" if name in _PYTHON else name


def class_name(text: str) -> str:
    """Return the name of a class, each word with a capital."""
    name = "".join(word[0].upper() + word[1:] for word in _words(text))[:_LONGEST] or "Object"
    name = f"Object{name}" if name[0].isdigit() else name
    return f"{name}_" if name in _PYTHON | _BUILTINS | OF_THE_FILE else name


def is_field(name: str) -> bool:
    """True if a key can stand in the body of a TypedDict, where it hides no type that others are annotated with."""
    if not name.isidentifier() or not name.isascii() or name.startswith("__"):
        return False
    return name not in keyword.kwlist and name not in _TYPES and name not in OF_THE_FILE


def literal(value: object) -> str:
    """Return a value as Python writes it, in ASCII, and in double quotes where that needs no escapes."""
    text = ascii(value)
    return f'"{text[1:-1]}"' if text.startswith("'") and '"' not in text else text


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return _WORDS.findall(plain)
