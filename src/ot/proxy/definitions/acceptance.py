"""The differences that a person sees before they accept what a server says of itself."""

from __future__ import annotations

import difflib
import json
from functools import partial

from mcp_core.quick_dataclass import dataclass
from ot.config.server_settings import ServerSettings
from ot.proxy.definitions.memory import Records, digest_of_configuration, digest_of_place
from ot.proxy.definitions.pins import Definition, Items, Offer, Part, definitions_of, parts_of


@dataclass(frozen=True, slots=True)
class Difference:
    """One definition that nobody has accepted; `lines` are a diff in plain ASCII, which cannot control a terminal."""

    part: Part
    definition: Definition
    new: bool
    offered: bool  # when the server last listed what it offers; if not, it did so before, perhaps to another client
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.definition["name"])


class Acceptance:
    """One server as it was seen, compared with what was accepted; used only by a person's command."""

    def __init__(self, name: str, settings: ServerSettings, records: Records, *, offer: Offer | None = None) -> None:
        digest = digest_of_configuration(name, settings, project=records.project)
        self._pins = records.pins
        self._place = digest_of_place(name, settings, project=records.project)
        self._keep = partial(records.cache.write, name, digest)
        self._offer = offer = offer or records.cache.read(name, digest)  # one that was tried, or what it offered last
        self._parts: dict[Part, Items] = parts_of(offer) if offer is not None else {}
        self._differences = {part: self._compare(part, items) for part, items in self._parts.items()}

    @property
    def seen(self) -> bool:
        """True if this server has ever listed its tools."""
        return bool(self._parts)

    def differences(self) -> list[Difference]:
        """List what would be accepted: words, then tools and prompts by name."""
        return [each for part in self._parts for each in self._differences[part]]

    def _compare(self, part: Part, items: Items) -> list[Difference]:
        changes = self._pins.compare(self._place, part, items)
        accepted = self._pins.read(self._place, part) or {}
        offered = definitions_of(part, items)
        waiting = self._pins.waiting(self._place, part)
        found: list[tuple[Definition, bool]] = [(offered[name], True) for name in (*changes.changed, *changes.added)]
        found += [
            (each, False)
            for name, each in waiting.items()
            if each != offered.get(name) and each not in accepted.get(name, ())
        ]
        differences = []
        for each, now in sorted(found, key=lambda pair: str(pair[0]["name"])):
            known = accepted.get(str(each["name"]), ())
            before = _lines(known[-1]) if known else []
            diff = difflib.unified_diff(before, _lines(each), "accepted", "offered", lineterm="")
            differences.append(Difference(part, each, not known, now, tuple(diff)))
        return differences

    def absent(self) -> list[str]:
        """List the tools and prompts that are accepted, but were not offered when the server last listed them."""
        accepted = {part: self._pins.read(self._place, part) or {} for part in self._parts}
        offered = {part: definitions_of(part, items) for part, items in self._parts.items()}
        return sorted(name for part, names in accepted.items() for name in names if name not in offered[part])

    def remember(self) -> None:
        """Let what was tried count as what it offers, until it says something else; raises OSError."""
        if self._offer is not None:
            self._keep(self._offer)

    def accept(self, *, forget: bool = False) -> None:
        """Accept exactly what `differences` lists; or, to `forget` the rest, all that is offered. Raises OSError."""
        for part, items in self._parts.items():
            listed = [each.definition for each in self._differences[part]]
            if listed or forget:
                chosen = definitions_of(part, items).values() if forget else listed
                self._pins.accept(self._place, part, chosen, forget=forget)


def _lines(definition: Definition) -> list[str]:
    """Write a definition as lines, with the lines of its description apart."""
    text = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=True)
    return [part for line in text.splitlines() for part in line.replace("\\n", "\\n\n").splitlines()]
