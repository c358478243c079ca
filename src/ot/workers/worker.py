"""One worker, seen from the server: several calls in flight over its pipes, each answered under its number."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from mcp_core.facts_error import FactsError
from mcp_core.quick_dataclass import dataclass
from ot.context import CallContext
from ot.errors import ToolError, WorkerCrashedError, WorkerLostError
from ot.logs import word_incident, write_log
from ot.processes.guarded_process import ignore
from ot.workers.extension import Extension, WorkerHost
from ot.workers.requests import CallRequests, error_from, open_value
from ot_sdk import protocol
from ot_sdk.protocol import TAG, Lines, NoValueError, ProtocolError, encode

if TYPE_CHECKING:
    from ot_sdk.json_types import Message

CANCEL_GRACE = 2.0  # seconds between the word and the kill
GOODBYE = 3.0  # seconds in which an idle worker may end by itself; its guardian has less patience
_START = 0


class EndFacts(Protocol):
    """The facts about a process that has ended; for a process on this machine, an `ot_guardian.Ledger`."""

    def has_begun(self, slot: int, number: int) -> bool | None: ...  # None: nobody can tell
    def status(self) -> int | None: ...
    def explanation(self) -> str: ...


class WorkerProcess(Protocol):
    """The process of a worker, wherever it runs: bytes in, bytes out, its end. Handlers run on the event loop."""

    on_output: Callable[[bytes], None]
    on_end: Callable[[], None]
    ended: asyncio.Event
    exit_code: int

    @property
    def ledger(self) -> EndFacts: ...
    @property
    def tail(self) -> str: ...

    def write(self, data: bytes) -> None: ...
    def kill(self) -> None: ...
    async def close(self, *, patience: float) -> None: ...


class NotBegunError(Exception):
    """The worker ended before it began this call, which may therefore be made again."""


class StartFailedError(FactsError):
    """The worker did not become ready; `tail` is the end of its stderr."""

    reason: str
    tail: str = ""


@dataclass(slots=True, eq=False)
class _Flight:
    """A call that has been sent and not yet answered."""

    number: int
    tool: str
    slot: int
    context: CallContext | None
    answer: asyncio.Future[Message]
    requests: CallRequests | None = None  # once it has asked for something
    tagged: int = 0  # bytes of an answer that is not plain JSON


class Worker:
    """A process that serves one extension. Whoever made it closes it."""

    def __init__(
        self, extension: Extension, process: WorkerProcess, host: WorkerHost, *, node: str | None = None
    ) -> None:
        self.extension = extension
        self.node = node  # of a cluster, where it runs
        self.pid: int | None = None  # once it is ready
        self.retired = asyncio.Event()  # takes no more calls
        self.failure: str | None = None  # why it ended, if that was not in order
        self.last_used = anyio.current_time()
        self._process = process
        self._host = host
        self.finished = asyncio.Event()  # retired, and nothing in flight; or it has ended
        self._lines = Lines()
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[Message] = self._loop.create_future()
        self._flights: dict[int, _Flight] = {}
        self._numbers = itertools.count(_START + 1)
        self._free_slots: list[int] = []
        process.on_output = self._on_output
        process.on_end = self._on_end

    @property
    def usable(self) -> bool:
        return not self.retired.is_set()

    @property
    def calls(self) -> int:
        return len(self._flights)

    async def start(self, facts: Mapping[str, object]) -> None:
        """Hand over what it may know, and wait until it has imported its file; raises StartFailedError."""
        try:
            self._process.write(protocol.write_request(_START, "start", facts))
        except NoValueError as error:
            raise StartFailedError(f"its configuration cannot be passed to it: {error}") from error
        answer = await self._started
        if "error" in answer:
            self.kill("its file cannot be imported")
            await self._process.ended.wait()
            raise _not_loaded(self.extension, answer["error"], self._process.tail)
        result = answer.get("result")
        pid = result.get("pid") if isinstance(result, dict) else None
        if not isinstance(pid, int):
            raise StartFailedError("it answered in an unknown form", self._process.tail)
        self.pid = pid
        self.last_used = anyio.current_time()

    def kill(self, reason: str) -> None:
        """End it now, with everything that it has started; calls that it has begun fail for this reason."""
        self.retire()
        self.failure = self.failure or reason
        self._process.kill()

    def retire(self) -> None:
        """Take no more calls; those in flight are finished."""
        self.retired.set()
        self._note_finish()

    async def close(self) -> None:
        """Let it end by itself if it has nothing to do; it has ended when this returns."""
        self.retire()
        if self._flights or self.pid is None:
            self._process.kill()
        await self._process.close(patience=GOODBYE)

    def _note_finish(self) -> None:
        if self.retired.is_set() and not self._flights:
            self.finished.set()

    def _on_end(self) -> None:
        told = self.failure is not None
        status = self._process.ledger.status()
        if self.usable:
            begun = dict.fromkeys(flight.tool for flight in self._flights.values() if self._has_begun(flight))
            names = ", ".join(f"{self.extension.pack}.{tool}" for tool in begun) or "nothing"
            explanation = self._process.ledger.explanation() or f"ended while it carried out {names}"
            self.failure = self.failure or f"its worker {explanation}"
            self.retire()
        if self.failure is not None:
            facts: dict[str, Any] = {"pid": self.pid, "reason": self.failure, "status": status}
            write_log(logging.ERROR, "worker.end", pack=self.extension.pack, **facts, detail=self._process.tail)
        if not self._started.done():
            self._started.set_exception(StartFailedError(_words_of_early_end(self._process), self._process.tail))
            self._started.exception()  # whoever started it may be gone
        for flight in self._flights.values():
            if not flight.answer.done():
                flight.answer.set_exception(self._failure_of(flight, None if told else status))
                flight.answer.exception()
        self.finished.set()

    def _failure_of(self, flight: _Flight, status: int | None) -> Exception:
        reason = self.failure or "its worker was closed"
        name = f"{self.extension.pack}.{flight.tool}"
        begun = self._has_begun(flight)
        if begun is None:
            return WorkerLostError(name, reason)
        if not begun:
            return NotBegunError(reason)
        return WorkerCrashedError(name, reason, status=status, tail=self._process.tail)

    def _has_begun(self, flight: _Flight) -> bool | None:
        return self._process.ledger.has_begun(flight.slot, flight.number)

    async def call(self, tool: str, arguments: Mapping[str, object], context: CallContext | None) -> Any:
        """Call a tool; raises CallError, and NotBegunError if the worker is gone and the call had not begun."""
        # Cancelled, the call has ended when this returns, if need be with the whole worker.
        if not self.usable:
            raise NotBegunError("its worker takes no more calls")
        slot = self._free_slots[-1] if self._free_slots else len(self._flights)
        flight = _Flight(next(self._numbers), tool, slot, context, self._loop.create_future())
        try:
            line = protocol.write_call(flight.number, tool, arguments, slot)
        except NoValueError as error:
            raise ToolError(_name_argument(arguments) or str(error)) from error
        if self._free_slots:
            self._free_slots.pop()
        self._flights[flight.number] = flight
        try:
            self._process.write(line)
            answer = await flight.answer
            if flight.requests is not None:
                await flight.requests.end()
            if flight.tagged:
                answer = await self._open(answer, flight)
        except asyncio.CancelledError:
            await self._stop(flight)
            raise
        finally:
            del self._flights[flight.number]
            self._free_slots.append(slot)
            self.last_used = self._loop.time()
            self._note_finish()
        if "result" in answer:
            return answer["result"]  # JSON as it came, or what `_open` has decoded
        raise error_from(answer.get("error"), pack=self.extension.pack, tool=tool)

    async def _open(self, answer: Message, flight: _Flight) -> Message:
        """Decode the value in an answer; a worker that forges one is not to be trusted any more."""
        try:
            return {**answer, "result": await open_value(answer["result"], flight.tagged)}
        except ValueError as error:
            self.kill(f"its worker sent an invalid value: {error}")
            raise self._failure_of(flight, None) from error

    async def _stop(self, flight: _Flight) -> None:
        with anyio.CancelScope(shield=True):
            if not flight.answer.done() or flight.answer.cancelled():
                await self._cancel(flight)
            if flight.requests is not None:
                await flight.requests.end(hurried=True)

    async def _cancel(self, flight: _Flight) -> None:
        """Ask for the end of a call, and kill the worker if that does not help."""
        flight.answer = self._loop.create_future()  # the other one was cancelled along with us
        if self._process.ended.is_set():
            return
        self._process.write(protocol.write_notification("cancel", {"id": flight.number}))
        await asyncio.wait([flight.answer], timeout=CANCEL_GRACE)
        if not flight.answer.done():
            waits = self._has_begun(flight) is False
            did = "was cancelled and it did not respond" if waits else "did not end when cancelled"
            self.kill(f"its worker was stopped, because {self.extension.pack}.{flight.tool} {did}")
            await self._process.ended.wait()

    def _on_output(self, data: bytes) -> None:
        try:
            for line in self._lines.feed(data):
                if line:
                    self._on_line(line)
        except (ProtocolError, TypeError, ValueError, OverflowError) as error:
            self._process.on_output = ignore  # whatever comes after this is not to be trusted either
            self.kill(f"its worker broke the protocol: {error}")

    def _on_line(self, line: bytes) -> None:
        try:
            message = protocol.read_message(line)
        except ProtocolError:
            if self._started.done():
                raise
            return  # under `uv run` a file may print before it serves
        method = message.get("method")
        tagged = len(line) if TAG in line else 0
        number = message.get("id")
        if method in ("call", "progress", "log"):
            self._on_request(method, message, tagged)
        elif method is not None:
            raise ProtocolError(f"it sent a message of the kind {method!r}"[:200])
        elif number == _START and not self._started.done():
            self._started.set_result(message)
        else:
            flight = self._flights.get(number) if isinstance(number, int) else None
            if flight is not None and not flight.answer.done():
                flight.tagged = tagged if "result" in message else 0
                flight.answer.set_result(message)

    def _on_request(self, method: str, message: Message, tagged: int) -> None:
        params = message.get("params")
        if not isinstance(params, dict):
            raise ProtocolError(f"its message {method} has no parameters")
        if method == "log":
            level = params.get("level")
            level = level if isinstance(level, int) else logging.INFO
            write_log(level, f"{self.extension.pack}.log", message=str(params.get("message")))
            return
        flight = self._flights.get(params.get("within", -1))
        if method == "progress":
            if flight is not None:
                given = (params.get("done"), params.get("total"))
                done, total = (float(each) if isinstance(each, int | float) else None for each in given)
                self._requests_of(flight).progress(done or 0.0, total, str(params.get("message") or ""))
            return
        number, arguments = message.get("id"), params.get("arguments")
        if not isinstance(number, int) or not isinstance(arguments, dict):
            raise ProtocolError("it sent a call without a number or arguments")
        if flight is None:
            reason = "the call that asked for it has ended"
            self._process.write(protocol.write_error(number, protocol.TOOL_ERROR, reason))
        else:
            self._requests_of(flight).call(number, str(params.get("tool")), arguments, tagged)

    def _requests_of(self, flight: _Flight) -> CallRequests:
        if flight.requests is None:
            flight.requests = CallRequests(flight.context, self._process.write, self._host)
        return flight.requests


def _name_argument(arguments: Mapping[str, object]) -> str | None:
    for name, value in arguments.items():
        try:
            encode(value, f"the argument {name}")
        except NoValueError as error:
            return f"it cannot be called with these arguments: {error}"
    return None


def _not_loaded(extension: Extension, error: object, tail: str) -> StartFailedError:
    facts = error if isinstance(error, dict) else {}
    found = facts.get("data")
    data = found if isinstance(found, dict) else {}
    line = f", line {data['line']}" if data.get("line") else ""
    incident, detail = os.urandom(4).hex(), str(data.get("traceback", ""))
    write_log(logging.ERROR, "worker.import", file=extension.file, incident=incident, detail=detail)
    missing = data.get("kind") == "ModuleNotFoundError" and extension.header is None
    advice = "; without a script header it has the standard library only" if missing else ""
    reason = f"{facts.get('message')} ({word_incident(incident)}){advice}"
    return StartFailedError(f"{extension.file.name}{line}: {reason}", tail)


def _words_of_early_end(process: WorkerProcess) -> str:
    if explanation := process.ledger.explanation():
        return f"its process {explanation}"
    if process.exit_code == 0:
        return "it ended without serving; started by `uv run`, a file needs ot_sdk.serve() at its end"
    return f"its process ended before it was ready (exit status {process.exit_code})"
