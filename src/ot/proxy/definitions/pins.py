"""The definitions of servers, cached, and those that a person has accepted: no server can quietly change them.

The cache lets the tools of a server be known while it is not running.

What a server says is read by a model, so words that change later can mislead it. What is seen first is accepted; what
has changed since is reported, and of a server that is pinned it is refused until a person accepts it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Literal

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.logs import write_log
from ot.store.forms import FORM, check_form
from ot.store.shelf import Shelf

Era = Literal["handshake", "sessionless"]

_CACHE_FORM = 1  # of the file; one of another form is ignored
_STALE = 30 * 24 * 3600.0  # seconds
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's offer: its tools as `tools/list` gave them, and its instructions for their use.

    Its prompts are None until somebody lists them.
    """

    tools: tuple[JsonObject, ...] = ()
    instructions: str = ""
    title: str = ""
    era: Era = "handshake"
    prompts: tuple[JsonObject, ...] | None = None
    version: str = ""  # of the program; told to nobody


@dataclass(frozen=True, slots=True)
class DefinitionCache:
    """One document per server, named by the digest of its configuration."""

    shelf: Shelf

    def holds(self, server: str, digest: str) -> bool:
        """True if there is something to read; a mere `stat`, to keep the start short."""
        return bool(self.shelf.state(_document_name(server, digest)))

    def read(self, server: str, digest: str) -> Offer | None:
        """Read what was written last; None if there is nothing usable."""
        name = _document_name(server, digest)
        try:
            return _read_offer(json.loads(self.shelf.read(name)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, ignored=name, reason=str(error))
            return None

    def write(self, server: str, digest: str, offer: Offer) -> None:
        """Remember an offer; if that fails, the server is asked again at the next start. Blocking."""
        name = _document_name(server, digest)
        try:
            self.shelf.write(name, json.dumps({FORM: _CACHE_FORM, **asdict(offer)}, separators=(",", ":")).encode())
            # Other configurations of the same name; other projects have documents of their own.
            self.shelf.forget_unused(f"{_plain(server)}.*.json", seconds=_STALE)
        except (OSError, ValueError, RecursionError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, not_written=name, reason=str(error))


def _document_name(server: str, digest: str) -> str:
    return f"{_plain(server)}.{digest}.json"


def _plain(server: str) -> str:
    return _PLAIN.sub("-", server)[:60]


def _read_offer(document: Json) -> Offer:
    found = check_form(document, _CACHE_FORM)
    era: Era = "sessionless" if found["era"] == "sessionless" else "handshake"
    prompts = _read_items(found["prompts"], "prompts") if found.get("prompts") is not None else None
    tools, version = _read_items(found["tools"], "tools"), str(found.get("version", ""))
    return Offer(tools, str(found["instructions"]), str(found["title"]), era, prompts, version)


def _read_items(found: object, what: str) -> tuple[JsonObject, ...]:
    if not isinstance(found, list) or not all(isinstance(t, dict) and isinstance(t.get("name"), str) for t in found):
        raise ValueError(f"its {what} are malformed")
    return tuple(found)


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
    """One document per server and part, named by the digest of where it is reached.

    The parts are documents of their own: each is accepted when it is first seen, which need not be at the same time.
    """

    shelf: Shelf

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
        """Accept these definitions as they are, and leave others as they were accepted; raises OSError. Blocking."""
        name, offered = _name(digest, part), definitions_of(part, items)
        self.shelf.update(name, lambda before: _as_bytes({**_understand(name, before), **offered}))

    def read(self, digest: str, part: Part) -> Definitions | None:
        """Read what was accepted; None if nothing ever was.

        What cannot be read counts as accepting nothing: damage must not open the door.
        """
        name = _name(digest, part)
        try:
            return _understand(name, self.shelf.read(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            write_log(logging.ERROR, "proxy.pins", document=name, reason=str(error))
            return {}

    def state(self, digest: str, part: Part) -> tuple[int, ...]:
        """Return a state that changes with what was accepted; at the cost of a `stat`."""
        return self.shelf.state(_name(digest, part))

    def _accept_first(self, digest: str, part: Part, offered: Definitions) -> Definitions:
        """Accept what is offered, unless another process was first; returns what holds."""
        name = _name(digest, part)
        try:
            self.shelf.write(name, _as_bytes(offered), replace=False)
        except FileExistsError:
            return self.read(digest, part) or {}
        except OSError as error:
            write_log(logging.ERROR, "proxy.pins", not_written=name, reason=str(error))
        return offered


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
        found.setdefault(str(item["name"]), {key: item[key] for key in _PINNED[part] if key in item})
    return found


def hide_unaccepted(items: Items, changes: Changes, accepted: Definitions) -> Items:
    """Yield definitions as a model may see them before a person has accepted the changes.

    What has changed is shown as it was, and what is new not at all: a name can be as long as an instruction.
    """
    for item in items:
        name = str(item["name"])
        if name in changes.changed and name in accepted:
            yield accepted[name]
        elif name not in changes:
            yield item


def _name(digest: str, part: Part) -> str:
    return f"{digest}.json" if part == "tools" else f"{digest}.{part}.json"


def _as_bytes(definitions: Definitions) -> bytes:
    return json.dumps({FORM: _FORM, "accepted": definitions}, separators=(",", ":")).encode()


def _understand(name: str, document: bytes | None) -> Definitions:
    """Read a document; one that makes no sense, and is logged, accepts nothing."""
    try:
        return {} if document is None else _read_definitions(json.loads(document))
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        write_log(logging.ERROR, "proxy.pins", document=name, reason=str(error))
        return {}


def _read_definitions(found: Json) -> Definitions:
    """Read either form: the older one was the definitions themselves, of which one may be called `form`."""
    named = isinstance(found, dict) and not isinstance(found.get(FORM, {}), dict)
    accepted = check_form(found, _FORM)["accepted"] if named else found
    if not isinstance(accepted, dict):
        raise TypeError("it is not a mapping of definitions")
    definitions = {name: item for name, item in accepted.items() if isinstance(item, dict)}
    if len(definitions) < len(accepted):
        raise TypeError("it is not a mapping of definitions")
    return definitions
