"""Definitions that a person has accepted, on disk: a server cannot quietly change what it says of itself.

What a server says is read by a model, so words that change later can mislead it. What is seen first is accepted; what
has changed since is reported, and of a server that is pinned it is refused until a person accepts it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_core.atomic_write import write_private
from mcp_core.json_types import Json, JsonObject
from ot.logs import write_log
from ot.proxy.definitions.cache import Offer
from ot.store.forms import FORM, check_form

Part = Literal["tools", "words", "prompts"]
"""A part of an offer that is accepted by itself; `words` are the server's title and instructions."""

_FORM = 2
_PINNED: dict[Part, tuple[str, ...]] = {
    "tools": ("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    "words": ("name", "text"),
    "prompts": ("name", "title", "description", "arguments"),
}

Items = Iterable[Mapping[str, Json]]
"""The definitions of one part as the server gave them, each with a name."""

Definitions = Mapping[str, Mapping[str, Json]]
"""The pinned part of each definition, by its own name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Definitions that differ from what was accepted, by their own names."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.added)

    def __contains__(self, name: str) -> bool:
        return name in self.changed or name in self.added


@dataclass(frozen=True, slots=True)
class Pins:
    """One file per server and part, named by the digest of where it is reached.

    The parts are files of their own: each is accepted when it is first seen, which need not be at the same time.
    """

    folder: Path

    def compare(self, digest: str, part: Part, items: Items) -> Changes:
        """Compare with what was accepted; a part that is seen for the first time is accepted as it is."""
        offered = definitions_of(part, items)
        accepted = self.read(digest, part)
        if accepted is None:
            accepted = self._accept_first(digest, part, offered)
        return Changes(
            tuple(name for name, found in offered.items() if name in accepted and accepted[name] != found),
            tuple(name for name in offered if name not in accepted),
        )

    def accept(self, digest: str, part: Part, items: Items) -> None:
        """Accept these definitions as they are, and leave others as they were accepted; raises OSError."""
        accepted = {**(self.read(digest, part) or {}), **definitions_of(part, items)}
        write_private(self._place(digest, part), _as_text(accepted))

    def read(self, digest: str, part: Part) -> Definitions | None:
        """Read what was accepted; None if nothing ever was.

        A file that cannot be read counts as accepting nothing: damage must not open the door.
        """
        file = self._place(digest, part)
        try:
            found = _read_definitions(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, TypeError, KeyError) as error:
            write_log(logging.ERROR, "proxy.pins", file=file, reason=str(error))
            return {}
        return found

    def state(self, digest: str, part: Part) -> tuple[int, ...]:
        """Return a state that changes with what was accepted; at the cost of a `stat`."""
        try:
            status = self._place(digest, part).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size

    def _accept_first(self, digest: str, part: Part, offered: Definitions) -> Definitions:
        """Accept what is offered, unless another process was first; returns what holds."""
        file = self._place(digest, part)
        try:
            write_private(file, _as_text(offered), replace=False)
        except FileExistsError:
            return self.read(digest, part) or {}
        except OSError as error:
            write_log(logging.ERROR, "proxy.pins", not_written=file, reason=str(error))
        return offered

    def _place(self, digest: str, part: Part) -> Path:
        return self.folder / (f"{digest}.json" if part == "tools" else f"{digest}.{part}.json")


def parts_of(offer: Offer) -> dict[Part, Items]:
    """Return what an offer says, part by part; prompts only if they were ever listed."""
    words = ({"name": "title", "text": offer.title}, {"name": "instructions", "text": offer.instructions})
    parts: dict[Part, Items] = {"words": words, "tools": offer.tools}
    if offer.prompts is not None:
        parts["prompts"] = offer.prompts
    return parts


def definitions_of(part: Part, items: Items) -> dict[str, JsonObject]:
    """Return what is pinned of these definitions; of two with one name the first counts, as everywhere."""
    found: dict[str, JsonObject] = {}
    for item in items:
        found.setdefault(item["name"], {key: item[key] for key in _PINNED[part] if key in item})
    return found


def hide_unaccepted(items: Items, changes: Changes, accepted: Definitions) -> Items:
    """Yield definitions as a model may see them before a person has accepted the changes.

    What has changed is shown as it was; of what is new only the name is shown.
    """
    for item in items:
        name = item["name"]
        if name in changes.changed and name in accepted:
            yield accepted[name]
        elif name in changes:
            yield {"name": name, "description": "(new, and not accepted by a person yet: it cannot be used)"}
        else:
            yield item


def _as_text(definitions: Definitions) -> str:
    return json.dumps({FORM: _FORM, "accepted": definitions}, separators=(",", ":"))


def _read_definitions(found: Json) -> Definitions:
    """Read either form: the older one was the definitions themselves, of which one may be called `form`."""
    named = isinstance(found, dict) and not isinstance(found.get(FORM, {}), dict)
    accepted = check_form(found, _FORM)["accepted"] if named else found
    if not isinstance(accepted, dict) or not all(isinstance(item, dict) for item in accepted.values()):
        raise TypeError("it is not a mapping of definitions")
    return accepted
