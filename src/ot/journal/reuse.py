"""Calls of an earlier run that a run goes on from: each is given once, to an equal call.

One that reads is given only while the effects before it are exactly those that the new run has reused or made so far;
one that may have had an effect is given wherever the equal call comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum

from ot.effects import Effect
from ot.journal.recorded import CallOutcome, RecordedCall


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
            if call.outcome is not CallOutcome.ERROR and not (call.effect is Effect.READS and not call.has_value):
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
