"""A run played again from its journal: every call is answered by what the same call gave then, and none is made.

A call is found by its digest or, where its tool has changed since or another person made the recording, by its tool
and arguments as code saw them. Each recorded call answers once, identical ones in the order in which they were made.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field

from mcp_core.quick_dataclass import dataclass
from ot.journal.equality import canonical
from ot.journal.recorded import RecordedCall
from ot.store.parts import JournalStore
from ot_kernel.values import Encoded


@dataclass(slots=True)
class Differences:
    """The differences between the calls of a replay and those of the run, in words."""

    unrecorded: list[str] = field(default_factory=list)  # made now, and not then
    changed: list[str] = field(default_factory=list)  # tools that are not as they were
    unmade: list[RecordedCall] = field(default_factory=list)  # made then, and not now


class Replay:
    """The calls of one run that are still to be given."""

    def __init__(self, calls: Iterable[RecordedCall], store: JournalStore, *, own: bool = True) -> None:
        """Digests are compared if the recording is this person's `own`."""
        self.found = Differences(unmade=list(calls))
        self._store = store
        self._own = own
        self._by_digest: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        for call in self.found.unmade:
            self._by_digest[call.digest if own else ""].append(call)

    def take(self, tool: str, digest: str, arguments: Encoded) -> RecordedCall | None:
        """Return the recorded call that answers this one; blocks where its arguments are large."""
        same = self._by_digest[digest] if self._own else []
        call = same[0] if same else self._find_changed(tool, canonical(arguments))
        if call is not None:
            self._by_digest[call.digest if self._own else ""].remove(call)
            self.found.unmade.remove(call)
        return call

    def value_of(self, call: RecordedCall) -> bytes | None:
        """Return the value of a call in encoded form; None where it is no longer kept. Blocks where it is large."""
        if call.value_at is None:
            return json.dumps(call.value, separators=(",", ":")).encode("ascii") if call.has_value else None
        try:
            return self._store.fetch(call.value_at)
        except OSError:
            return None

    def _find_changed(self, tool: str, arguments: str) -> RecordedCall | None:
        for call in self.found.unmade:
            if call.tool == tool and canonical(self._arguments_of(call)) == arguments:
                if self._own:
                    self.found.changed.append(tool)
                return call
        return None

    def _arguments_of(self, call: RecordedCall) -> Encoded:
        if call.arguments_at is None:
            return call.arguments
        try:
            arguments: Encoded = json.loads(self._store.fetch(call.arguments_at))
        except (OSError, ValueError):
            return None
        return arguments
