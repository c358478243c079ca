"""Devices by the names that people give them: number, name, or place and name, in any case."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from mcp_core.nearest_names import likeness
from zwave_mcp.abilities import list_abilities
from zwave_mcp.errors import AmbiguousDeviceError, Candidate, UnknownDeviceError
from zwave_mcp.nodes import Node

_SEPARATORS = re.compile(r"[\s/\\,:;|>_.·–—-]+")
_NUMBER = re.compile(r"(?:node |# ?)?(\d{1,5})")
_NEAREST = 5
_SHOWN = 40


def find_device(wanted: str | int, devices: Sequence[Node]) -> Node:
    """Find the one device that is meant; raises UnknownDeviceError and AmbiguousDeviceError.

    A name that is a device's whole name, alone or with its place, comes first; then its number; then words that only
    one device has all of, so that "kitchen" is enough where there is one device.
    """
    form = fold(str(wanted))
    matches = [node for node in devices if form and form in _full_names(node)] if isinstance(wanted, str) else []
    if not matches and (number := _NUMBER.fullmatch(form)):
        matches = [node for node in devices if node.id == int(number[1])]
    if not matches and form:
        matches = [node for node in devices if words_of(node).issuperset(form.split())]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise AmbiguousDeviceError(str(wanted), tuple(map(_describe, matches[:_SHOWN])))
    nearest = sorted(devices, key=lambda node: -max(likeness(form, name) for name in _full_names(node)))[:_NEAREST]
    raise UnknownDeviceError(str(wanted), nearest=tuple(map(_describe, nearest)), total=len(devices))


def fold(name: str) -> str:
    """Return one form for all names that a person would call the same."""
    once = unicodedata.normalize("NFKC", name).casefold()
    # Folding may write what has another normal form, and the other way round.
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold())).strip()


def words_of(node: Node) -> set[str]:
    """Return the words in a device's place and name."""
    return set(f"{fold(node.location)} {fold(node.title)}".split())


def _describe(node: Node) -> Candidate:
    return Candidate(node.id, node.title, node.location, list_abilities(node))


def _full_names(node: Node) -> set[str]:
    name, place = fold(node.title), fold(node.location)
    return {name, f"{place} {name}".strip(), f"{name} {place}".strip()}
