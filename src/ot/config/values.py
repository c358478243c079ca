"""Single values of the configuration: how a word, number, size, path or name is read and checked."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Any

MISTAKE = "mistake"
INCOMPLETE = "incomplete"
"""Kinds of mistakes in words of their own; an incomplete value may be completed by a file farther away."""
REQUIRED: Any = ...  # the default of a key that must be given; for a type checker it fits every field
SMALLEST_MEMORY = 16 * 1024**2
LARGEST_MEMORY = 1024**4
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_URL = re.compile(r"https?://[^\s/?#]+[^\s]*")
RUN_TOOL = "onetool.run"
"""The tool that runs code, where one is registered: for the assistant, which has no other way to it."""
_RESERVED_PACKS = frozenset({"ot", "proj"})


class ValueMistakeError(ValueError):
    """A value that does not fit, why, and what would; it does not quote the value."""

    def __init__(self, kind: str, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.fix = fix


def mistake(reason: str, fix: str, *, kind: str = MISTAKE) -> ValueMistakeError:
    return ValueMistakeError(kind, reason, fix)


def read_word(value: object) -> object:
    """A word of a closed set, in any case; YAML reads a bare `off` as false."""
    if value is False:
        return "off"
    return value.strip().lower() if isinstance(value, str) else value


def read_number(value: object) -> object:
    """A number that is not true or false, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise mistake("must be a number, not true or false", "write a number")
    return value


def read_seconds_or_off(value: object) -> object:
    """A number of seconds, or `off` for 0."""
    return 0 if read_word(value) == "off" else read_number(value)


def read_offer(value: object) -> object:
    """Patterns of tools; the word `run` alone stands for the one tool that runs code."""
    return (RUN_TOOL,) if value in ("run", ["run"], ("run",)) else value


def parse_size(text: str) -> int | None:
    """Bytes of "1g", "512m", "64k" or "1000" (units of 1024); None if it is not a size."""
    match = _SIZE.fullmatch(text.strip())
    return int(float(match[1]) * _UNITS[match[2].lower()]) if match else None


def word_size(size: int) -> str:
    """Write bytes as `parse_size` reads them, in the largest unit that is exact."""
    unit = next(unit for unit in reversed(_UNITS) if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"


def read_size(value: object) -> int:
    """A number of bytes within the bounds of a kernel's memory."""
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, bool) or not isinstance(size, int):
        raise mistake("must be a size", 'write a number with a unit, for example "512m" or "1g"')
    if not SMALLEST_MEMORY <= size <= LARGEST_MEMORY:
        raise mistake("must be between 16m and 1t", 'write a size in between, for example "1g"')
    return size


def read_path(value: object) -> object:
    """A path that is not empty, with `~` expanded."""
    if not isinstance(value, str | Path):
        raise mistake("must be a path", "write a path as text")
    if not str(value).strip() or "\0" in str(value):
        raise mistake("must be the path of a file or folder", "write a path or remove the key")
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise mistake("begins with ~ and the name of an unknown user", "write the whole path") from None


def check_name(value: str) -> str:
    """A text that can be shown on one line."""
    if not value.strip() or not value.isprintable():
        raise mistake("must be a name, without line breaks", "write a name")
    return value


def check_server_name(value: str) -> str:
    """The name of a server, which becomes the name of its pack; two packs cannot be taken."""
    if value in _RESERVED_PACKS:
        raise mistake(f'the pack "{value}" cannot be replaced', "give the server another name")
    return check_name(value)


def check_identifier(value: str) -> str:
    """A name that can be written in code."""
    if not value.isidentifier() or keyword.iskeyword(value):
        raise mistake("is not a name that can be used in code", "use letters, digits and _, and no Python keyword")
    return value


def check_target(value: str) -> str:
    """The target of an alias: `pack.tool`, or another alias."""
    parts = value.split(".")
    if len(parts) > 2 or not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise mistake("must name a tool as pack.tool", 'write for example "brave.web_search"')
    return value


def check_undo(value: dict[str, str]) -> dict[str, str]:
    """A tool that undoes another, with its arguments."""
    if not value.get("tool"):
        raise mistake("must name the tool that undoes it", 'write for example {tool: delete_event, id: "result.id"}')
    return value


def check_pattern(value: str) -> str:
    """A shell pattern; one with blanks around or inside would silently match nothing."""
    if not value or any(char.isspace() for char in value):
        raise mistake("must be a pattern without spaces", 'write for example "file.*"')
    return value


def check_url(value: str) -> str:
    if not _URL.fullmatch(value):
        raise mistake("must be an address that begins with http:// or https://", 'write "https://..."')
    return value


def check_host(value: str) -> str:
    """A host of `confine`: a name, an address or a network, with a port or without."""
    from ot_confinement.hosts import parse_host  # noqa: PLC0415 - start-up path: only where a host is named

    try:
        parse_host(value)
    except ValueError:
        raise mistake("must be a host", 'write "api.example.com", "*.example.com" or "192.168.1.7:8080"') from None
    return value
