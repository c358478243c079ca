"""Plain runs of a client over stdio, given to the engine directly.

The way of a request through the SDK takes the processor about as long as the run itself, and a call of `run` with
nothing else in it needs none of it. Its answer has the form in which the SDK has answered the first one. Whatever needs
the session (a question to the person, an answer that is more than text) gets it: the request is given to the SDK after
all, and its handler joins the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio

from onetool.front.early_runs import BegunRun, EarlyRuns
from onetool.front.late_app import LateApp
from onetool.porch.early_run import EarlyRun
from onetool.porch.recorder import Recorder
from onetool.porch.requests import CALL, Request, read_command, read_request
from ot.clients.memory import ClientMemory
from ot.run.answer import Answer
from ot.tasks.owned_tasks import OwnedTasks
from ot.telemetry.telemetry import Telemetry
from ot.text.output import escape_surrogates

if TYPE_CHECKING:
    from mcp_official import MessageReader

_CALL = CALL.encode()
_CANCELLED = "notifications/cancelled"
_CONCERNED = (_CALL, _CANCELLED.encode(), b"logging/setLevel")


class _DirectRun(BegunRun):
    """One run; `lines` are what its client has still to be told."""

    def __init__(
        self, request: Request, command: str, introduction: Request, frame: str, line: bytes, client: MessageReader
    ) -> None:
        self.lines: list[bytes] = []
        early = EarlyRun(request, command, introduction, frame, self.lines.append, on_answered=lambda _: None)
        super().__init__(early)
        self.given_back = False
        self.client = client
        self._line = line

    def give_back(self) -> None:
        if not self.given_back:
            self.given_back = True
            self.client.take_back(self._line)

    async def report(self, step: float, total: float | None, message: str | None) -> None:
        await super().report(step, total, message)
        await self.tell()

    async def tell(self) -> None:
        """Send what is to be told; a client that has left need not hear it."""
        while self.lines:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self.client.send_line(self.lines.pop(0))


class DirectRuns:
    """Takes the plain runs of one client, once the SDK has answered one of them.

    `memory` is the client's, which the handler of a run has found. `before` are the runs of the porch. Where requests
    are counted or traced, and for a client that wants to hear a log, the SDK has them all.
    """

    def __init__(self, app: LateApp, recorder: Recorder, telemetry: Telemetry, before: EarlyRuns | None = None) -> None:
        self.memory: ClientMemory | None = None if before is None else before.memory
        self._app = app
        self._recorder = recorder
        self._telemetry = telemetry
        self._before = before
        self._going: dict[str, _DirectRun] = {}
        self._tasks = OwnedTasks()
        self._loop = asyncio.get_running_loop()
        self._off = False
        self._session: object = None  # by which the servers of a run tell its client from others

    def know(self, memory: ClientMemory, session: object) -> None:
        """Learn who the client is, from the handler of its first run."""
        self.memory, self._session = memory, session

    def take(self, identifier: str) -> BegunRun | None:
        """Return the run that this request has begun, if it has, for its handler to join."""
        return self._going.pop(identifier, None) or (None if self._before is None else self._before.take(identifier))

    def take_line(self, line: bytes, client: MessageReader) -> bool:
        """Take a line; False if the SDK has to see it."""
        if not any(word in line for word in _CONCERNED) or (request := read_request(line)) is None:
            return False
        if request.method == _CANCELLED:
            return self._cancel(request)
        self._off = self._off or request.method != CALL
        return self._begin(request, line, client)

    def _cancel(self, request: Request) -> bool:
        run = self._going.get(str(request.params.get("requestId")))
        if run is None or run.given_back:
            return False
        run.scope.cancel()
        return True

    def _begin(self, request: Request, line: bytes, client: MessageReader) -> bool:
        command = read_command(request)
        traced = self._telemetry.meters is not None or self._telemetry.tracer is not None
        if command is None or self._session is None or self._off or traced or str(request.id) in self._going:
            return False
        known = self._recorder.known_frame(request)
        if known is None:
            return False
        run = _DirectRun(request, command, *known, line, client)
        run.session = self._session
        self._going[str(request.id)] = run
        app, came = self._app.at_hand, self._loop.time()
        if app is not None and self.memory is not None:
            caller = run.build_caller(self.memory)
            begun = app.runs.begin(command, partial(self._answer, run), caller=caller, since=came)
            if begun is not None:
                run.scope = begun.scope
                return True
        return self._tasks.start(self._carry_out, run)

    async def _carry_out(self, run: _DirectRun) -> None:
        """Carry out a run for which there is no engine yet, or one that is followed to its end."""
        assert self.memory is not None
        came = self._loop.time()
        outcome: Answer | Exception | None = None
        try:
            with run.scope:
                app = await self._app.get()
                outcome = await app.runs.run(run.early.command, caller=run.build_caller(self.memory), since=came)
        except Exception as error:  # noqa: BLE001 - it belongs to the handler of the request
            outcome = error
        finally:
            await self._answer(run, outcome)

    async def _answer(self, run: _DirectRun, outcome: Answer | Exception | None) -> None:
        run.outcome = outcome
        run.ended.set()
        if run.given_back:
            return  # its handler has it, or will have it in a moment
        if isinstance(run.outcome, Exception) or (run.outcome is not None and run.outcome.attachments):
            run.give_back()
            return
        del self._going[str(run.early.id)]
        if isinstance(run.outcome, Answer):
            run.early.answer(escape_surrogates(run.outcome.text), is_error=run.outcome.is_error)
            if len(run.lines) > 1 or not run.client.send_short(run.lines[0]):
                self._tasks.start(_DirectRun.tell, run)  # the run does not wait for a client that does not read

    async def end(self) -> None:
        """Cancel what is still going."""
        with anyio.CancelScope(shield=True):
            for run in list(self._going.values()):
                run.scope.cancel()
                await run.ended.wait()
        await self._tasks.end()


@asynccontextmanager
async def open_direct_runs(
    app: LateApp, recorder: Recorder, telemetry: Telemetry, before: EarlyRuns | None = None
) -> AsyncIterator[DirectRuns]:
    """Take runs as long as this is open; then those that are still going are cancelled."""
    runs = DirectRuns(app, recorder, telemetry, before)
    try:
        yield runs
    finally:
        await runs.end()
