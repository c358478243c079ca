"""Pages: one document with what was learnt of the tools of one server or extension, for all servers of a person."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from mcp_core.json_types import Json, JsonObject, mapping_of
from ot.logs import write_log
from ot.registry.open_results import digest_of
from ot.shapes.deriving import KINDS, is_name
from ot.shapes.shape import MOST_ALWAYS, MOST_LEVELS, MOST_SOMETIMES, NOTHING, Fields, Shape, merge, within_bounds
from ot.store.forms import FORM, check_form
from ot.store.shelf import Shelf


def store(shape: Shape) -> JsonObject:
    stored: JsonObject = {"kinds": [*sorted(shape.kinds)]} if shape.kinds else {}
    stored |= {key: store(each) for key, each in (("items", shape.items), ("json", shape.json)) if each is not None}
    if (fields := shape.fields) is not None:
        names = (("always", fields.always), ("sometimes", fields.sometimes))
        found: JsonObject = {
            key: {name: store(each) for name, each in inside.items()} for key, inside in names if inside
        }
        if fields.others is not None:
            found["others"] = store(fields.others)
        stored["fields"] = found | {key: True for key in ("closed", "empty") if getattr(fields, key)}
    return stored


def restore(stored: object) -> Shape:
    """Read a shape; raises ValueError or TypeError for anything that was never one."""
    return within_bounds(_restore(stored, MOST_LEVELS))


def _restore(stored: object, levels: int) -> Shape:
    found = _mapping(stored)
    kinds = found.get("kinds", [])
    if levels < 0 or not isinstance(kinds, list) or not KINDS.issuperset(kinds):
        raise ValueError("not a shape")
    return Shape(
        frozenset(kinds),
        _optional(found.get("items"), levels),
        _restore_fields(_mapping(found["fields"]), levels - 1) if "fields" in found else None,
        _optional(found.get("json"), levels),
    )


def _restore_fields(found: Mapping[str, object], levels: int) -> Fields:
    always = _restore_names(found.get("always", {}), MOST_ALWAYS, levels)
    sometimes = _restore_names(found.get("sometimes", {}), MOST_SOMETIMES, levels)
    others = _optional(found.get("others"), levels + 1)
    return Fields(always, sometimes, others, found.get("closed") is True, found.get("empty") is True)


def _restore_names(stored: object, most: int, levels: int) -> dict[str, Shape]:
    names = _mapping(stored)
    if len(names) > most or not all(map(is_name, names)):
        raise ValueError("names that nobody has learnt")
    return {name: _restore(shape, levels) for name, shape in names.items()}


def _optional(stored: object, levels: int) -> Shape | None:
    return None if stored is None else _restore(stored, levels - 1)


def _mapping(stored: object) -> Mapping[str, object]:
    if not isinstance(stored, dict):
        raise TypeError("not an object")
    return stored


MOST_TOOLS = 300  # of one page; those that were not called for the longest time are forgotten
_MOST_BYTES = 8 * 1024 * 1024
_FORM = 1  # of the file; one of another form is ignored
_STALE = 180 * 24 * 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Learnt:
    """The known shape of one tool's values, and the version of the tool that returned them."""

    version: str
    seen: int = 0
    shape: Shape = NOTHING

    def with_more(self, more: Learnt) -> Learnt:
        """Return what both know; another version begins afresh."""
        if more.version != self.version:
            return more
        return Learnt(self.version, self.seen + more.seen, within_bounds(merge(self.shape, more.shape)))


Page = Mapping[str, Learnt]
"""The known shapes of the tools of one place, by the tools' own names."""


@dataclass(frozen=True, slots=True)
class Pages:
    """One document per person and place."""

    shelf: Shelf

    def state(self, principal: str, place: str) -> tuple[int, ...]:
        """Return a state that changes with the page; at the cost of a `stat`."""
        return self.shelf.state(_name(principal, place))

    def read(self, principal: str, place: str) -> Page:
        """Read a page; one that cannot be used is as good as none."""
        name = _name(principal, place)
        try:
            return _understand(name, self.shelf.read(name))
        except FileNotFoundError:
            return {}
        except OSError as error:
            write_log(logging.WARNING, "shapes.read", ignored=name, reason=str(error))
            return {}

    def add(self, principal: str, place: str, more: Page) -> None:
        """Add to a page what was learnt since; blocking. Raises OSError."""
        name = _name(principal, place)

        def added(before: bytes | None) -> bytes:
            tools = dict(_understand(name, before))
            for tool, learnt in more.items():
                known = tools.pop(tool, None)
                tools[tool] = learnt if known is None else known.with_more(learnt)
            return _as_bytes(dict(list(tools.items())[-MOST_TOOLS:]))

        self.shelf.update(name, added)

    def forget_unused(self) -> None:
        """Remove the pages of servers that nobody has called for half a year."""
        with suppress(OSError):
            self.shelf.forget_unused("*.json", seconds=_STALE)


def _name(principal: str, place: str) -> str:
    return f"{digest_of(principal, place)}.json"


def _as_bytes(page: Page) -> bytes:
    tools = {
        name: {"version": learnt.version, "seen": learnt.seen, "shape": store(learnt.shape)}
        for name, learnt in page.items()
    }
    return json.dumps({FORM: _FORM, "tools": tools}, separators=(",", ":")).encode()


def _understand(name: str, document: bytes | None) -> Page:
    """Read a document; one that makes no sense, and is logged, is as good as none."""
    try:
        if document is not None and len(document) > _MOST_BYTES:
            raise ValueError("it is too large")
        return {} if document is None else _read_page(json.loads(document))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        write_log(logging.WARNING, "shapes.read", ignored=name, reason=str(error))
        return {}


def _read_page(found: Json) -> Page:
    page: dict[str, Learnt] = {}
    for name, tool in list(mapping_of(check_form(found, _FORM)["tools"]).items())[:MOST_TOOLS]:
        facts = mapping_of(tool)
        seen = facts["seen"]
        if not isinstance(seen, int):
            raise TypeError("not a number of calls")
        page[name] = Learnt(str(facts["version"]), max(seen, 1), restore(facts["shape"]))
    return page
