"""Definitions that a person has accepted, on disk: a server cannot quietly change what its tools say they do.

What a server says of a tool is read by a model, so a definition that changes later can mislead it. What is seen first
is accepted; what has changed since is reported, and with `security.pin_tools` it is refused until a person accepts it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_core.atomic_write import write_private
from mcp_core.json_types import Json, JsonObject
from ot.logs import write_log

_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

Definitions = Mapping[str, Mapping[str, Json]]
"""The pinned part of each definition, by the tool's own name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Tools that differ from what was accepted, by their own names."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.added)

    def __contains__(self, tool: str) -> bool:
        return tool in self.changed or tool in self.added


@dataclass(frozen=True, slots=True)
class Pins:
    """One file per server, named by the digest of where it is reached."""

    folder: Path

    def compare(self, digest: str, tools: Sequence[Mapping[str, Json]]) -> Changes:
        """Compare with what was accepted; a server that is seen for the first time is accepted as it is."""
        accepted = self.read(digest)
        if accepted is None:
            self._accept_first(digest, tools)
            return Changes()
        offered = definitions_of(tools)
        return Changes(
            tuple(name for name, tool in offered.items() if name in accepted and accepted[name] != tool),
            tuple(name for name in offered if name not in accepted),
        )

    def accept(self, digest: str, tools: Sequence[Mapping[str, Json]]) -> None:
        """Accept these tools as they are, and leave others as they were accepted; raises OSError."""
        write_private(self._place(digest), _as_text({**(self.read(digest) or {}), **definitions_of(tools)}))

    def read(self, digest: str) -> Definitions | None:
        """Read what was accepted; None if nothing ever was.

        A file that cannot be read counts as accepting nothing: damage must not open the door.
        """
        file = self._place(digest)
        try:
            found = json.loads(file.read_bytes())
            if not isinstance(found, dict):
                raise TypeError("it is not a mapping")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, TypeError) as error:
            write_log(logging.ERROR, "proxy.pins", file=file, reason=str(error))
            return {}
        return found

    def _accept_first(self, digest: str, tools: Sequence[Mapping[str, Json]]) -> None:
        try:
            write_private(self._place(digest), _as_text(definitions_of(tools)), replace=False)
        except FileExistsError:
            pass  # another process was first
        except OSError as error:
            write_log(logging.ERROR, "proxy.pins", not_written=self._place(digest), reason=str(error))

    def _place(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"


def definitions_of(tools: Sequence[Mapping[str, Json]]) -> dict[str, JsonObject]:
    """Return the parts of these tools that are pinned."""
    return {tool["name"]: {key: tool[key] for key in _PINNED if key in tool} for tool in tools}


def hide_unaccepted(
    tools: Iterable[Mapping[str, Json]], changes: Changes, accepted: Definitions
) -> Iterable[Mapping[str, Json]]:
    """Yield tools as a model may see them before a person has accepted the changes.

    A tool that has changed is shown as it was; of a new one only the name is shown.
    """
    for tool in tools:
        if tool["name"] in changes.changed:
            yield accepted[tool["name"]]
        elif tool["name"] in changes.added:
            yield {"name": tool["name"], "description": "(new, and not accepted by a person yet: it cannot be called)"}
        else:
            yield tool


def _as_text(definitions: Definitions) -> str:
    return json.dumps(definitions, separators=(",", ":"))
