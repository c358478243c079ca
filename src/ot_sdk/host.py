"""The server, seen from a worker: what it has given to the tools of the file, and what they ask of it in a call."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar

from ot_sdk import CallCancelled, ToolError, protocol
from ot_sdk.protocol import encode

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from typing import Any, Callable

    from ot_sdk.calls import Call
    from ot_sdk.json_types import Json, Message


class ProcessContext:
    """Everything this process was given; a worker serves one extension, so there is only one."""

    def __init__(self) -> None:
        self.host: Host | None = None  # None: run by hand
        self.pack = ""
        self.config: Mapping[str, Json] = {}
        self.secrets: Mapping[str, str | None] = {}  # those the file declares; None: declared, but not set
        self.log_level = 20


PROCESS = ProcessContext()
CURRENT: ContextVar[Call] = ContextVar("ot_sdk_call")


def config() -> Mapping[str, Json]:
    """Return the pack's own keys, `packs.<pack>` of the configuration; empty if the file is run by hand."""
    return PROCESS.config


def secret(name: str) -> str:
    """Return a secret that the file declares (`secrets = ("NAME",)`); by hand, the environment variable of that name.

    Raises ToolError if it is not declared or not set.
    """
    if PROCESS.host is None:
        value = os.environ.get(name)
    elif name in PROCESS.secrets:
        value = PROCESS.secrets[name]
    else:
        raise ToolError(f'the extension does not declare the secret {name}: add secrets = ("{name}",) to its file')
    if not value:
        raise ToolError(f"the secret {name} is not set; put it in secrets.yaml")
    return value


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


def call(tool: str, /, **arguments: object) -> Any:
    """Call another tool, `call("file.read", path="notes.txt")`, within the time left to this call.

    In an `async def` tool it must be awaited. Raises ToolError if that tool fails.
    """
    host, current = _inside_a_call(f"call {tool}")
    params = {"within": current.number, "tool": tool, "arguments": arguments}
    for name, value in arguments.items():
        encode(value, f"the argument {name} of {tool}")
    return host.ask("call", params, current)


def progress(done: float, total: float | None = None, message: str = "") -> None:
    """Report how far this call has come; returns at once, in an `async def` tool too."""
    if PROCESS.host is None:
        return
    host, current = _inside_a_call("report progress")
    params = {"within": current.number, "done": done, "total": total, "message": str(message)}
    host.send(protocol.write_notification("progress", params))


def _inside_a_call(what: str) -> tuple[Host, Call]:
    host, current = PROCESS.host, CURRENT.get(None)
    if host is None:
        raise ToolError(f"cannot {what}: the file was started by hand, without a server")
    if current is None:
        raise RuntimeError(f"cannot {what} outside a call; start your own threads with contextvars.copy_context().run")
    if current.cancelled:
        raise CallCancelled
    return host, current
