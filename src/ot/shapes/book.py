"""ShapeBook: what is known of the values of all tools, in memory until a thread writes it about a second later."""

from __future__ import annotations

import asyncio
import logging

import anyio.to_thread

from ot.clients.person import LOCAL
from ot.logs import write_log
from ot.registry.definitions import PROXY, LearntFrom, ToolDefinition
from ot.shapes.deriving import MOST_TEXT, SHORT_TEXT, shape_of, shape_of_text
from ot.shapes.pages import Learnt, Page, Pages
from ot.shapes.shape import Shape, describe_shape
from ot.store.shelf import Shelf

DELAY = 1.0  # seconds in which further examples gather
_MOST_TEXTS = 16  # that wait for the thread

Place = tuple[str, LearntFrom]
"""A principal, and where one of their tools comes from."""


class ShapeBook:
    """Everything that was learnt; used on the event loop, written by a thread."""

    def __init__(self, shelf: Shelf) -> None:
        self._pages = Pages(shelf)
        self._fresh: dict[Place, Learnt] = {}  # learnt, and not written yet
        self._leaving: dict[Place, Learnt] = {}  # being written
        self._texts: list[tuple[Place, str]] = []  # too long to be parsed while somebody waits
        self._known: dict[tuple[str, str], tuple[tuple[int, ...], Page]] = {}  # pages as they were last read
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[bool] | None = None
        self._problem = ""

    # -- learning

    def learn(self, source: LearntFrom, principal: str, value: object) -> None:
        """Look at a value; long text is parsed by the thread that writes."""
        place = principal, source
        if type(value) is not str:
            self._add(place, shape_of(value))
        elif len(value) <= SHORT_TEXT:
            self._add(place, shape_of_text(value))
        elif len(value) <= MOST_TEXT and len(self._texts) < _MOST_TEXTS:
            self._texts.append((place, value))
        else:
            return
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._begin_writing)

    def _add(self, place: Place, shape: Shape) -> None:
        more = Learnt(place[1].version, 1, shape)
        known = self._fresh.get(place)
        self._fresh[place] = more if known is None else known.with_more(more)

    def _begin_writing(self) -> None:
        self._timer = None
        if self._writing is None or self._writing.done():
            self._leaving, self._fresh = self._fresh, {}
            texts, self._texts = self._texts, []
            self._writing = asyncio.get_running_loop().run_in_executor(None, self._write, self._leaving, texts)
            self._writing.add_done_callback(self._end_writing)
        else:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._begin_writing)

    def _end_writing(self, writing: asyncio.Future[bool]) -> None:
        """Forget what is in a file now; what could not be written is tried again with the next example."""
        leaving, self._leaving = self._leaving, {}
        if writing.cancelled() or not writing.result():
            for place, learnt in leaving.items():
                more = self._fresh.get(place)
                self._fresh[place] = learnt if more is None else learnt.with_more(more)

    def _write(self, learnt: dict[Place, Learnt], texts: list[tuple[Place, str]]) -> bool:
        pages: dict[tuple[str, str], dict[str, Learnt]] = {}
        parsed = [(place, Learnt(place[1].version, 1, shape_of_text(text))) for place, text in texts]
        for (principal, source), more in (*learnt.items(), *parsed):
            page = pages.setdefault((principal, source.place), {})
            known = page.get(source.tool)
            page[source.tool] = more if known is None else known.with_more(more)
        try:
            for (principal, where), page in pages.items():
                self._pages.add(principal, where, page)
        except OSError as error:
            if self._problem != str(error):
                write_log(logging.WARNING, "shapes.write", folder=self._pages.shelf.folder, reason=str(error))
            self._problem = str(error)
            return False
        return True

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self._fresh or self._texts:
            await anyio.to_thread.run_sync(self._write, self._fresh, self._texts)
        await anyio.to_thread.run_sync(self._pages.forget_unused)

    # -- telling

    def learnt(self, source: LearntFrom, principal: str = LOCAL) -> Learnt | None:
        """Return what is known of a tool as it is now; None if nothing is."""
        found = self._page(principal, source.place).get(source.tool)
        for more in (self._leaving.get((principal, source)), self._fresh.get((principal, source))):
            if more is not None:
                found = more if found is None else found.with_more(more)
        return found if found is not None and found.version == source.version else None

    def describe(self, tool: ToolDefinition, source: LearntFrom, principal: str, room: int) -> str:
        """Say what a tool was seen to return, and how often; empty if nothing is known of it."""
        learnt = self.learnt(source, principal)
        if learnt is None:
            return ""
        shape, times = learnt.shape, f"seen {learnt.seen} time{'s' if learnt.seen > 1 else ''}"
        if shape.json is None or not shape.always_json:
            return f"{describe_shape(shape, room=room)}  # {times}"
        way = f"json.loads() makes it {describe_shape(shape.json, room=room)}"
        if tool.source.startswith(PROXY):
            way += f", and so does servers.{tool.source.removeprefix(PROXY)}.json_text: true"
        return f"str  # {times}, always JSON: {way}"

    def _page(self, principal: str, place: str) -> Page:
        known = self._known.get((principal, place))
        if known is not None and self._leaving:
            return known[1]  # what leaves is in the file at some moment, and must not count twice
        state = self._pages.state(principal, place)
        if known is None or known[0] != state:
            known = self._known[principal, place] = state, self._pages.read(principal, place)
        return known[1]
