"""The resources of one server of whose updates clients want to hear, and who is told."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import anyio

Tell = Callable[[], None]
MOST = 1_000  # addresses


class Watched:
    """Addresses as their server has them; `turn` waits for others to be watched."""

    def __init__(self) -> None:
        self._tells: dict[str, dict[int, Tell]] = {}
        self._numbers = itertools.count()
        self._turned = anyio.Event()

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(self._tells)

    def add(self, uri: str, tell: Tell) -> Callable[[], None] | None:
        """Have somebody hear of updates; returns what ends that, or None where too much is watched."""
        if uri not in self._tells and len(self._tells) >= MOST:
            return None
        number = next(self._numbers)
        self._tells.setdefault(uri, {})[number] = tell
        self._turn()

        def forget() -> None:
            tells = self._tells.get(uri, {})
            tells.pop(number, None)
            if not tells:
                self._tells.pop(uri, None)
            self._turn()

        return forget

    def tell(self, uri: str) -> None:
        """Tell of an update; it may be of a part of what is watched."""
        for watched, tells in list(self._tells.items()):
            if uri.startswith(watched):
                for tell in list(tells.values()):
                    tell()

    async def turn(self, known: frozenset[str]) -> None:
        """Wait until something else is watched than what is known."""
        while self.addresses == known:
            await self._turned.wait()

    def _turn(self) -> None:
        turned, self._turned = self._turned, anyio.Event()
        turned.set()
