"""Calls of an earlier run that answer those of a run which goes on from it, or plays it again: each once.

In a run that goes on, each is given to an equal call.
One that reads is given only while the effects before it are exactly those that the new run has reused or made so far;
one that may have had an effect is given wherever the equal call comes.

In a replay no call is made. A recorded one is found by its digest or, where its tool has changed since or another
person made the recording, by its tool and arguments as code saw them; identical ones in the order in which they were
made.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from mcp_core.quick_dataclass import dataclass
from ot.effects import Effect
from ot.journal.equality import canonical
from ot.journal.recorded import CallOutcome, RecordedCall
from ot.store.parts import JournalStore
from ot.values import OpaqueValue
from ot_kernel.values import Encoded


class Unknown(StrEnum):
    """The ways to treat a call whose outcome is unknown, or whose value is gone."""

    TELL = "tell"  # the code gets an error, and the call is not repeated
    REPEAT = "repeat"
    SKIP = "skip"  # it counts as made, and gives None


class Reuse:
    """The calls of one run that are still to be given; in the order of its journal where they are identical."""

    def __init__(self, run: str, calls: Iterable[RecordedCall], unknown: Unknown) -> None:
        self.run = run
        self.unknown = unknown
        self.given = 0
        self._calls: defaultdict[str, list[RecordedCall]] = defaultdict(list)
        for call in calls:
            there = call.effect is not Effect.READS or call.has_value or call.task is not None
            if call.outcome is not CallOutcome.ERROR and there:
                self._calls[call.digest].append(call)

    @property
    def left(self) -> list[RecordedCall]:
        """The calls that no equal call has taken yet."""
        return [call for calls in self._calls.values() for call in calls]

    def find(self, digest: str, state: int | None) -> RecordedCall | None:
        """Return the call that answers an equal one in a `state`, which identifies the effects so far.

        Without one, because an effect is going on, nothing that reads is given.
        """
        for call in self._calls.get(digest, ()):
            if call.effect is not Effect.READS or (state is not None and call.state == state):
                return call
        return None

    def take(self, call: RecordedCall) -> None:
        """Give this call, or drop it: no other gets it."""
        self._calls[call.digest].remove(call)

    def put_back(self, call: RecordedCall) -> None:
        """Have a call ready again that could not be given."""
        self._calls[call.digest].insert(0, call)


class JournalledValue(OpaqueValue):
    """A value in encoded form, as JSON."""

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded

    def __repr__(self) -> str:
        return f"<{len(self.encoded)} bytes from the journal>"


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
