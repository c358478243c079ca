"""The event loop of a worker: on a thread of its own, for the calls of `async def` tools."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

from ot_sdk.calls import Call, refuse_too_many
from ot_sdk.host import CURRENT

Finish = Callable[[Call, object, "BaseException | None"], None]


class EventLoop:
    """Starts calls as tasks; `begin` hears of each start, `finish` of each end with the value or the error."""

    def __init__(self, begin: Callable[[Call], None], finish: Finish) -> None:
        self._begin = begin
        self._finish = finish
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="ot_sdk event loop", daemon=True).start()

    def start(self, call: Call, value: object = None) -> None:
        """Carry out a call of an async tool, or await what a plain tool returned."""
        self._loop.call_soon_threadsafe(self._create, call, value)

    def cancel(self, call: Call) -> None:
        """Stop a call at its next await."""
        self._loop.call_soon_threadsafe(self._cancel, call)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _create(self, call: Call, value: object) -> None:
        call.task = self._loop.create_task(self._carry_out(call, value))  # referred to by the call until it ends
        if call.cancelled:
            call.task.cancel()

    def _cancel(self, call: Call) -> None:
        if call.task is not None:
            call.task.cancel()

    async def _carry_out(self, call: Call, value: object) -> None:
        CURRENT.set(call)
        error: BaseException | None = None
        try:
            if value is None:
                self._begin(call)
                value = call.invoke()
            value = await value_of(value)
        except BaseException as raised:  # noqa: BLE001 - the loop of a worker answers whatever a tool does
            error = raised
        self._finish(call, value, error)


async def value_of(value: object) -> object:
    """Await a value, or collect the items of an async iterator; any other value is returned as it is."""
    if isinstance(value, AsyncIterator):
        return await _drain(value)
    return await value if isinstance(value, Awaitable) else value


async def _drain(generator: AsyncIterator[object]) -> list[object]:
    items: list[object] = []
    try:
        async for item in generator:
            items.append(item)
            refuse_too_many(items)
    finally:
        close = getattr(generator, "aclose", None)
        if close is not None:
            await close()
    return items
