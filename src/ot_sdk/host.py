"""The server, seen from a worker: requests to it, and who waits for their answers."""

from __future__ import annotations

import itertools
import sys
import threading

from ot_sdk import protocol
from ot_sdk.errors import CallCancelled, ToolError

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from typing import Any, Callable

    from ot_sdk.calls import Call
    from ot_sdk.json_types import Message


class _Wait:
    """A thread that waits for an answer of the server."""

    __slots__ = ("_answered", "answer")

    def __init__(self) -> None:
        self.answer: Message | None = None  # None: the call that asks was cancelled
        self._answered = threading.Lock()
        self._answered.acquire()

    def resolve(self, answer: Message | None) -> None:
        self.answer = answer
        self._answered.release()

    def result(self) -> object:
        with self._answered:
            return _value_of(self.answer)


class _Awaited:
    """A task that awaits an answer of the server, on its own event loop."""

    __slots__ = ("_future", "_loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._future: Future[Message | None] = loop.create_future()

    def resolve(self, answer: Message | None) -> None:
        self._loop.call_soon_threadsafe(self._set, answer)

    def _set(self, answer: Message | None) -> None:
        if not self._future.done():
            self._future.set_result(answer)

    async def result(self) -> object:
        return _value_of(await self._future)


class Host:
    """Numbered requests to the server, matched with their answers by whichever thread reads those."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.send = send
        self.before_waiting: Callable[[Call], None] = lambda call: None  # a thread is going to wait, in this call
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[_Wait | _Awaited, Call]] = {}  # by number: who waits, and in which call

    def ask(self, method: str, params: dict[str, object], current: Call) -> Any:
        """Return the answer; on an event loop, something to be awaited for it."""
        loop = _running_loop()
        wait = _Wait() if loop is None else _Awaited(loop)
        number = next(self._numbers)
        line = protocol.write_request(number, method, params)
        self._asked[number] = (wait, current)
        current.waits.add(number)
        if current.cancelled:  # meanwhile, by the thread that reads
            self.resolve(number, None)
        self.send(line)
        if loop is None:
            self.before_waiting(current)
        return wait.result()

    def resolve(self, number: object, answer: Message | None) -> None:
        """Hand an answer to the thread or task that waits for it, or drop it."""
        asked = self._asked.pop(number, None) if isinstance(number, int) else None
        if asked is not None:
            wait, current = asked
            current.waits.discard(number)
            wait.resolve(answer)

    def abandon(self, current: Call) -> None:
        """Release everything in a cancelled call that waits for an answer."""
        for number in tuple(current.waits):
            self.resolve(number, None)


def _value_of(answer: Message | None) -> object:
    if answer is None:
        raise CallCancelled
    if "error" in answer:
        raise ToolError(str(answer["error"].get("message")))
    return answer.get("result")


def _running_loop() -> AbstractEventLoop | None:
    asyncio = sys.modules.get("asyncio")  # whoever runs a loop has imported it
    if asyncio is None:
        return None
    try:
        loop: AbstractEventLoop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop
