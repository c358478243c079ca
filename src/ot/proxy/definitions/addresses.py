"""The addresses of resources that servers have listed, and when: an address stays with the server that was first."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Mapping

from mcp_core.quick_dataclass import dataclass
from ot.logs import write_log
from ot.store.forms import FORM, check_form, keep_newer, read_mapping
from ot.store.shelf import Shelf

_FORM = 1
_MOST_UNLISTED = 5_000  # addresses of one server that it does not list any more
Times = Mapping[str, float]
"""Addresses and templates of addresses, each with the time at which a server listed it first."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """One document per server; what a server no longer lists stays its own for long."""

    shelf: Shelf
    clock: Callable[[], float] = time.time

    def note(self, place: str, listed: Collection[str]) -> Times:
        """Remember what a server lists, and return when it did so first. Blocking."""
        known = self._read(place)
        if known.keys() >= {*listed}:
            return known
        name, now, times = f"{place}.json", self.clock(), dict(known)

        def change(before: bytes | None) -> bytes:
            nonlocal times
            keep_newer(before, _FORM)
            earlier = _understand(name, before)
            unlisted = [each for each in earlier if each not in listed]
            kept = {each: earlier[each] for each in unlisted[-_MOST_UNLISTED:]}
            times = kept | {each: earlier.get(each, now) for each in listed}
            return json.dumps({FORM: _FORM, "first": times}, separators=(",", ":")).encode()

        try:
            self.shelf.update(name, change)
        except (OSError, ValueError) as error:
            write_log(logging.ERROR, "proxy.addresses", not_written=name, reason=str(error))
            times |= {each: times.get(each, now) for each in listed}
        return times

    def _read(self, place: str) -> Times:
        name = f"{place}.json"
        try:
            return _understand(name, self.shelf.read(name))
        except FileNotFoundError:
            return {}
        except OSError as error:
            write_log(logging.ERROR, "proxy.addresses", document=name, reason=str(error))
            return {}


def _understand(name: str, document: bytes | None) -> dict[str, float]:
    """Read a document; one that makes no sense is logged, and counts as empty."""
    try:
        found = {} if document is None else read_mapping(check_form(json.loads(document), _FORM)["first"])
        return {str(each): float(when) for each, when in found.items() if isinstance(when, int | float)}
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        write_log(logging.ERROR, "proxy.addresses", document=name, reason=str(error))
        return {}
