"""A pack generated from a description, and parsed again as a check before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onetool.openapi.description import Description, DescriptionError
from onetool.openapi.operations import Credentials, read_operations
from onetool.openapi.source import write_source
from onetool.openapi.types import Types, parameter_name
from ot.errors import PackLoadError
from ot.registry.from_source import parse_pack

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class PackSource:
    """The text of a pack, and what a person should know of it."""

    text: str
    tools: tuple[str, ...]
    secrets: dict[str, str]  # by name: what each is
    server: str


def name_pack(description: Description) -> str:
    """Return a default name for the pack: that of its service."""
    return parameter_name(description.title, otherwise="service")


def build_pack(description: Description, pack: str, only: Sequence[str]) -> PackSource:
    """Build a pack of the operations that fit one of the patterns, by default all; raises DescriptionError."""
    types, credentials = Types(description), Credentials(description, pack)
    operations = read_operations(description, types, credentials, only)
    if not operations:
        raise DescriptionError(_nothing(description, only))
    about = description.summary or "the tools of a service"
    server = description.server()
    text = write_source(
        pack,
        summary=f"{description.title}: {about}" if description.title else about,
        server=server,
        secrets=credentials.used,
        shapes=types.shapes,
        operations=operations,
    )
    names = tuple(operation.name for operation in operations)
    _read_again(text, names)
    return PackSource(text, names, dict(credentials.used), server)


def _nothing(description: Description, only: Sequence[str]) -> str:
    everything = [f"{method.upper()} {path}" for path, method, _, _ in description.paths()]
    if not everything:
        return "it has no operations"
    more = f" and {len(everything) - _SHOWN} more" if len(everything) > _SHOWN else ""
    return f"no operation matches {' or '.join(only)}; there are {', '.join(everything[:_SHOWN])}{more}"


def _read_again(text: str, names: Sequence[str]) -> None:
    """Check that the file has exactly these tools, whatever the description contains."""
    try:
        tools = parse_pack(text.encode("utf-8"), Path("pack.py")).tools
    except PackLoadError as error:
        raise DescriptionError(f"no pack can be generated from it: {error.reason} (line {error.line})") from error
    if set(tools) != set(names):
        raise DescriptionError("no pack can be generated from it: its names or descriptions would become code")
