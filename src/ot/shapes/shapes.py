"""Shapes: what tools returned, noted after each call and shown to whoever asks about a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio

from ot.clients.person import LOCAL
from ot.registry.definitions import LearntFrom, ToolDefinition
from ot.store.shelf import Shelf

if TYPE_CHECKING:
    from ot.shapes.book import ShapeBook

SHAPES_FOLDER = "shapes"
EXAMPLES = 16  # of a tool that are all looked at; after that the 32nd, the 64th and so on
ROOM = 600  # characters of a shape


class Shapes:
    """All shapes of all persons that this process serves; what is learnt last is written when this is closed.

    Nothing of it can fail a call.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._calls: dict[tuple[str, LearntFrom], int] = {}
        self._book: ShapeBook | None = None

    def note(self, source: LearntFrom, principal: str, value: object) -> None:
        """Note what a tool has returned, once its caller has it: the first values, and then ever fewer."""
        place = principal, source
        calls = self._calls[place] = self._calls.get(place, 0) + 1
        if calls <= EXAMPLES or not calls & (calls - 1):
            self.book.learn(source, principal, value)

    def signature(self, tool: ToolDefinition, principal: str = LOCAL, *, room: int = ROOM) -> str:
        """Return a tool's signature, with what it was seen to return where it does not say so itself."""
        told = "" if tool.learns is None else self.book.describe(tool, tool.learns, principal, room)
        return f"{tool.signature.removesuffix(f' -> {tool.open_result}')} -> {told}" if told else tool.signature

    @property
    def book(self) -> ShapeBook:
        """The known shapes; loaded on first need, since neither the start nor most runs need them."""
        if self._book is None:
            from ot.shapes.book import ShapeBook  # noqa: PLC0415

            self._book = ShapeBook(self._shelf)
        return self._book

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._book is not None:
            with anyio.CancelScope(shield=True):
                await self._book.close()
