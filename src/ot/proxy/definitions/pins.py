"""The definitions of servers, cached, and those that a person has accepted: no server can quietly change them.

The cache lets the tools of a server be known while it is not running.

What a server says is read by a model, so words that change later can mislead it. What is seen first is accepted; what
has changed since is reported, and of a server that is pinned it is refused until a person accepts it. Some servers
offer other things to other clients, so a definition stays accepted while another one of its name, or none, is offered.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass, field, replace
from ot.logs import write_log
from ot.store.forms import FORM, check_form, keep_newer, read_mapping
from ot.store.shelf import Shelf

Era = Literal["handshake", "sessionless"]
_CACHE_FORM = 2  # of the file; one of another form is ignored
_STALE = 30 * 24 * 3600.0  # seconds
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
Part = Literal["tools", "words", "prompts", "views"]
"""A part of an offer that is accepted by itself; `words` are the server's title and instructions."""
_FORM = 3
_MOST_OF_A_NAME = 8  # definitions that are accepted at the same time; the oldest is forgotten first
_MOST_WAITING = 500  # names
_PINNED: dict[Part, tuple[str, ...]] = {
    "tools": ("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    "words": ("name", "text"),
    "prompts": ("name", "title", "description", "arguments"),
    "views": ("name", "page", "ui"),
}

_KEYS = {"prompts": "name", "resources": "uri", "templates": "uriTemplate", "views": "name"}

Items = Iterable[Mapping[str, Json]]  # the definitions of one part as the server gave them, each with a name
Definition = Mapping[str, Json]  # the pinned part of a definition
Accepted = Mapping[str, Sequence[Definition]]
"""The definitions that are accepted, by their own names; of one name the one that was accepted last is the last."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's tools as `tools/list` gave them, its instructions, and what it has beside tools.

    What is beside tools is None until it was listed once.
    """

    tools: tuple[JsonObject, ...] = ()
    instructions: str = ""
    title: str = ""
    era: Era = "handshake"
    prompts: tuple[JsonObject, ...] | None = None
    version: str = ""  # of the program; told to nobody
    resources: tuple[JsonObject, ...] | None = None
    templates: tuple[JsonObject, ...] | None = None  # of addresses of resources
    views: tuple[JsonObject, ...] | None = None  # digests of pages, since the first of them was shown

    def with_lists(self, listed: Mapping[str, Iterable[JsonObject]]) -> Offer:
        """Return it with these lists beside that of tools; of two items with one name or address the first counts."""
        return replace(
            self,
            prompts=_each_once(listed["prompts"], "name") if "prompts" in listed else self.prompts,
            resources=_each_once(listed["resources"], "uri") if "resources" in listed else self.resources,
            templates=_each_once(listed["templates"], "uriTemplate") if "templates" in listed else self.templates,
            views=_each_once(listed["views"], "name") if "views" in listed else self.views,
        )


def _each_once(items: Iterable[JsonObject], key: str) -> tuple[JsonObject, ...]:
    found: dict[str, JsonObject] = {}
    for item in items:
        found.setdefault(str(item[key]), item)
    return tuple(found.values())


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
            found = check_form(json.loads(self.shelf.read(name)), _CACHE_FORM)
            era: Era = "sessionless" if found["era"] == "sessionless" else "handshake"
            tools, version = _read_items(found["tools"], "tools"), str(found.get("version", ""))
            prompts, resources, templates, views = (
                None if found.get(part) is None else _read_items(found[part], part, key) for part, key in _KEYS.items()
            )
            words = str(found["instructions"]), str(found["title"])
            return Offer(tools, *words, era, prompts, version, resources, templates, views)
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
            self.shelf.forget_unused(_document_name(server, "*"), seconds=_STALE)
        except (OSError, ValueError, RecursionError) as error:
            write_log(logging.WARNING, "proxy.cache", server=server, not_written=name, reason=str(error))


def _document_name(server: str, digest: str) -> str:
    return f"{_PLAIN.sub('-', server)[:60]}.{digest}.json"


def _read_items(found: object, what: str, key: str = "name") -> tuple[JsonObject, ...]:
    if not isinstance(found, list) or not all(isinstance(t, dict) and isinstance(t.get(key), str) for t in found):
        raise ValueError(f"its {what} are malformed")
    return tuple(found)


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
    """One document per server and part, as parts are first seen, and so accepted, at different times."""

    shelf: Shelf
    _unwritten: dict[str, Accepted] = field(default_factory=dict)  # for as long as this process goes on

    def compare(self, digest: str, part: Part, items: Items) -> Changes:
        """Compare with what was accepted; a part that is seen for the first time is accepted as it is."""
        offered = definitions_of(part, items)
        name, accepted = _name(digest, part), self.read(digest, part)
        if accepted is None:
            accepted = self._unwritten.get(name, {each: [found] for each, found in offered.items()})
            try:
                self.shelf.write(name, _as_bytes(accepted), replace=False)
            except FileExistsError:  # another process was first
                accepted = self.read(digest, part) or {}
            except OSError as error:
                self._unwritten[name] = accepted
                write_log(logging.ERROR, "proxy.pins", not_written=name, reason=str(error))
        return Changes(
            tuple(name for name, found in offered.items() if name in accepted and found not in accepted[name]),
            tuple(name for name in offered if name not in accepted),
        )

    def accept(self, digest: str, part: Part, items: Items, *, forget: bool = False) -> None:
        """Accept these definitions beside those that are accepted, or, to `forget`, alone; raises OSError. Blocking."""
        name = _name(digest, part)

        def change(before: bytes | None) -> bytes:
            keep_newer(before, _FORM)
            accepted = {} if forget else {each: list(known) for each, known in _understand(name, before).items()}
            for item in items:
                known, new = accepted.setdefault(str(item["name"]), []), _pinned_part(part, item)
                known[:] = [*(each for each in known if each != new), new][-_MOST_OF_A_NAME:]
            return _as_bytes(accepted)

        self.shelf.update(name, change)
        if forget:
            self.shelf.remove(f"waiting/{name}")

    def remember(self, digest: str, part: Part, items: Items) -> None:
        """Remember the last definition of each name that nobody has accepted: it may not be offered again. Blocking."""
        name, found = f"waiting/{_name(digest, part)}", definitions_of(part, items)

        def change(before: bytes | None) -> bytes:
            keep_newer(before, _FORM)
            known = {each: known[-1] for each, known in _understand(name, before).items() if each not in found}
            return _as_bytes({each: [one] for each, one in [*known.items(), *found.items()][-_MOST_WAITING:]})

        try:
            self.shelf.update(name, change)
        except OSError as error:
            write_log(logging.ERROR, "proxy.pins", not_written=name, reason=str(error))

    def waiting(self, digest: str, part: Part) -> dict[str, Definition]:
        """Return what was remembered; some of it may have been accepted since."""
        return {name: known[-1] for name, known in (self._read(f"waiting/{_name(digest, part)}") or {}).items()}

    def read(self, digest: str, part: Part) -> Accepted | None:
        """Read what was accepted; None if nothing ever was. What cannot be read, as by damage, accepts nothing."""
        return self._read(_name(digest, part))

    def _read(self, name: str) -> Accepted | None:
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


def parts_of(offer: Offer) -> dict[Part, Items]:
    """Return what an offer says, part by part; prompts and views only if they were ever read."""
    words = ({"name": "title", "text": offer.title}, {"name": "instructions", "text": offer.instructions})
    parts: dict[Part, Items] = {"words": words, "tools": offer.tools}
    if offer.prompts is not None:
        parts["prompts"] = offer.prompts
    if offer.views is not None:
        parts["views"] = offer.views
    return parts


def definitions_of(part: Part, items: Items) -> dict[str, JsonObject]:
    """Return what is pinned of these definitions; of two with one name the first counts, as everywhere."""
    found: dict[str, JsonObject] = {}
    for item in items:
        found.setdefault(str(item["name"]), _pinned_part(part, item))
    return found


def _pinned_part(part: Part, item: Definition) -> JsonObject:
    return {key: item[key] for key in _PINNED[part] if key in item}


def hide_unaccepted(items: Items, changes: Changes, accepted: Accepted) -> Items:
    """Yield definitions as a model may see them before a person has accepted the changes."""
    # What has changed is shown as it was last accepted, and what is new not at all: a name can be an instruction.
    for item in items:
        name = str(item["name"])
        if name in changes.changed and name in accepted:
            yield accepted[name][-1]
        elif name not in changes:
            yield item


def _name(digest: str, part: Part) -> str:
    return f"{digest}.json" if part == "tools" else f"{digest}.{part}.json"


def _as_bytes(definitions: Accepted) -> bytes:
    return json.dumps({FORM: _FORM, "accepted": definitions}, separators=(",", ":")).encode()


def _understand(name: str, document: bytes | None) -> Accepted:
    """Read a document; one that makes no sense, and is logged, accepts nothing."""
    # It may have any form: the second had one definition of each name, the first these alone, perhaps one named `form`.
    if document is None:
        return {}
    try:
        found: Json = json.loads(document)
        named = isinstance(found, dict) and not isinstance(found.get(FORM, {}), dict)
        single = not named or (isinstance(found, dict) and found[FORM] == 2)
        accepted = check_form(found, 2 if single else _FORM)["accepted"] if named else found
        if not isinstance(accepted, dict):
            raise TypeError("it is not a mapping of definitions")
        definitions: dict[str, list[JsonObject]] = {}
        for each, value in accepted.items():
            known = [value] if single else value
            if not isinstance(known, list) or not known:
                raise TypeError("it is not a mapping of definitions")
            definitions[each] = list(map(read_mapping, known))
        return definitions
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        write_log(logging.ERROR, "proxy.pins", document=name, reason=str(error))
        return {}
