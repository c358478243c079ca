"""The calls that a server is working on, and through them the client that it may ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ot.clients.front import Front
from ot.context import CallContext


class CallsInFlight:
    """The calls of one connection."""

    def __init__(self) -> None:
        self.begun = 0  # in all
        self._contexts: list[CallContext | None] = []

    def __len__(self) -> int:
        return len(self._contexts)

    @contextmanager
    def add(self, context: CallContext | None) -> Iterator[None]:
        """Count a call for as long as it takes."""
        self.begun += 1
        self._contexts.append(context)
        try:
            yield
        finally:
            self._contexts.remove(context)

    def fronts(self) -> list[tuple[CallContext, Front]]:
        """Return the clients behind these calls, each once, the latest call first."""
        found: dict[int, tuple[CallContext, Front]] = {}
        for context in reversed(self._contexts):
            front = front_of(context)
            if context is not None and front is not None:
                found.setdefault(id(front.session), (context, front))
        return list(found.values())


def front_of(context: CallContext | None) -> Front | None:
    """Return the client behind a call, if there is one."""
    return context.caller.front if context is not None else None
