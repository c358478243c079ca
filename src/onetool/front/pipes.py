"""One client at stdin and stdout: its plain messages are answered here, everything else by the SDK.

The SDK is loaded by the first line that needs it, most clients never send one, and a server without it starts in a
fifth of the time and half the memory. It is told what the client has said of itself, and from then on is given each
line that is not plain.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio

from mcp_core.json_types import Json, JsonObject
from mcp_core.line_pipes import LinePipes, LineTooLongError
from onetool.front import messages
from onetool.front.definition import LOOK, define_tools, final_names
from onetool.front.late_app import LateApp
from onetool.front.messages import Request, RequestId, shows_views
from onetool.front.offer import Offer, StaleCursorError
from onetool.front.rendering import FRESH, STALE_CURSOR, PlainResults, ProgressReport, render_answer
from onetool.front.tasks import render_begun, takes_tasks
from ot.clients.caller import Caller, ClientMemory, caller_of
from ot.clients.front import Abilities, Front, FrontError
from ot.clients.person import LOCAL_PERSON
from ot.logs import write_log
from ot.run.answer import Answer
from ot.tasks.owned_tasks import OwnedTasks
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from onetool.front.batches import OpenBatches
    from onetool.front.sdk_session import SdkSession
    from ot.app import App
    from ot.run.live_run import Deliver, Delivered, LiveRun

_OURS = "onetool-"  # ids of our requests to the client begin with it, and no others
_OPENING = messages.write_message(
    {
        "id": f"{_OURS}opening",
        "method": messages.DISCOVER,
        "params": {"_meta": messages.envelope_of(messages.SESSIONLESS_REVISIONS[-1])},
    }
)
"""Tells the SDK the era of a client without a session, who has made its first request to the front."""


class _Going:
    """A request without an answer; one that was cancelled before its run could begin never begins."""

    def __init__(self, identifier: RequestId) -> None:
        self.id = identifier
        self.run: LiveRun | None = None
        self.cancelled = False

    def begin(self, command: str, caller: Caller, deliver: Deliver, came: float, app: App, *, takes_task: bool) -> None:
        if not self.cancelled:
            self.run = app.runs.begin(command, caller, deliver, since=came, takes_task=takes_task)

    def cancel(self) -> None:
        self.cancelled = True
        if self.run is not None:
            self.run.scope.cancel()


class PipeFront:
    """Reads what the client says, answers what is plain, begins its runs, and gives the SDK the rest.

    The first request decides the era of the connection. In that of handshakes the client introduces itself once.
    """

    def __init__(self, app: LateApp, offer: Offer, results: PlainResults, telemetry: Telemetry) -> None:
        self.memory = ClientMemory(1)  # of the client, over all its runs
        self.left = asyncio.Event()
        self.introduction: list[bytes] = []  # the lines by which the client has introduced itself
        self._app = app
        self._offer = offer
        self._results = results
        self._telemetry = telemetry
        self._tools = final_names(look=app.look)
        self._sessionless: bool | None = None
        self._introduced: Request | None = None
        self._revision = ""  # that the client asked for in its handshake
        self._batches: OpenBatches | None = None  # once there was one
        self._level = len(messages.LEVELS)  # from which on the client wants to hear the log: none
        self._going: dict[str, _Going] = {}  # by id, as the SDK tells ids apart: "1" and 1 are one
        self._asked: dict[str, asyncio.Future[JsonObject]] = {}  # requests to the client
        self._numbers = itertools.count(1)
        self._tasks = OwnedTasks()
        self._loop = asyncio.get_running_loop()

    def connect(self, pipes: LinePipes, sdk: SdkSession) -> None:
        """Answer through these pipes, and let the SDK have what is not plain."""
        self._pipes = pipes
        self._sdk = sdk

    def take(self, line: bytes | LineTooLongError) -> None:
        if isinstance(line, LineTooLongError):
            self._sdk.give(line)
            return
        if line[:1] in b"[ \t" and self._revision == messages.BATCHING_REVISION and line.lstrip()[:1] == b"[":
            self._take_batch(line)
            return
        if self._batches is not None:
            self._batches.hear(line)
        if self._telemetry.tracer is not None or not self._take(line):
            if not (self._revision or self._sessionless):
                self._revision = messages.read_revision(line)
            self._sdk.give(line)

    def _take_batch(self, line: bytes) -> None:
        from onetool.front.batches import BatchError, OpenBatches, read_batch  # noqa: PLC0415 - few clients send any

        if self._batches is None:
            self._batches = OpenBatches(self._pipes.write)
            self._pipes.divert = self._batches.take
        try:
            batch = read_batch(line)
        except BatchError as error:
            self._pipes.write(error.answer)
            return
        self._batches.begin(batch)
        for member in batch.members:
            self.take(member.line)

    def end(self) -> None:
        self._sdk.end()
        self.left.set()

    async def close(self) -> None:
        """Cancel what is still going, and say so."""
        going = list(self._going.values())
        for each in going:
            each.cancel()
        with anyio.CancelScope(shield=True):
            for each in going:
                if each.run is not None:
                    await each.run.has_ended()
            await self._tasks.end()
        for each in going:
            self._pipes.write(messages.write_error(each.id, messages.CONNECTION_CLOSED, "Connection closed"))

    def write_rest(self) -> None:
        """Write the answers to batches that are not whole: nobody is left who could give the others."""
        if self._batches is not None:
            self._batches.end()

    # -- lines

    def _take(self, line: bytes) -> bool:
        """Do something about a line; False if it is the SDK's."""
        request = messages.read_request(line)
        if request is None:
            return self._take_answer(line)
        if request.id is None:
            return self._hear(request, line)
        if self._sessionless is None and not self._sdk.loaded:
            self._sessionless = request.sessionless
            if request.sessionless:
                self.introduction.append(_OPENING)
        if request.sessionless != self._sessionless:
            return False
        if request.method == messages.INITIALIZE:
            return self._introduce(request, line)
        if not request.sessionless and self._introduced is None and request.method != messages.PING:
            return False
        if request.method == messages.CALL:
            return self._begin_run(request, request.id)
        return self._answer_plainly(request, request.id)

    def _hear(self, request: Request, line: bytes) -> bool:
        if request.method == messages.CANCELLED:
            going = self._going.pop(str(request.params.get("requestId")), None)
            if going is not None:
                going.cancel()
                return True
        if request.method == messages.INITIALIZED and not self._sdk.loaded:
            self.introduction.append(line)
        return not self._sdk.loaded  # which is concerned with nobody else's

    def _introduce(self, request: Request, line: bytes) -> bool:
        if self._introduced is not None or request.sessionless or request.id is None or self._sdk.loaded:
            return False  # whoever has begun with the SDK goes on with it
        self._introduced = request
        self._revision = request.revision
        self.introduction.append(line)
        self._greet(request)
        self._send_result(
            request, time.perf_counter(), self._results.initialize(request.revision, shows=shows_views(request))
        )
        return True

    def _greet(self, request: Request) -> None:
        self._app.clients.note(Abilities.read(request.capabilities))
        self._loop.call_soon(self._app.want)  # once the answer has left

    def _answer_plainly(self, request: Request, identifier: RequestId) -> bool:
        began = time.perf_counter()
        if request.method == messages.LIST or request.method in messages.LISTS:
            self._going[str(identifier)] = _Going(identifier)
            self._tasks.start(partial(self._list, began), request)
        elif request.method == messages.DISCOVER and request.sessionless:
            self._greet(request)
            self._send_result(request, began, self._results.discover(shows=shows_views(request)))
        elif request.method == messages.PING and not request.sessionless:
            self._send_result(request, began, {})
        elif request.method == messages.SET_LEVEL and not request.sessionless:
            self._level = messages.LEVELS.index(str(request.params["level"]))
            self._send_result(request, began, {})
        else:
            return False
        return True

    async def _list(self, began: float, request: Request) -> None:
        async def tell_changed(name: str) -> None:
            self._pipes.write(messages.write_notification(f"notifications/{name}/list_changed"))

        if request.method == messages.LIST:
            offer, shows = await self._offer.describe(LOCAL_PERSON), shows_views(self._introduced or request)
            listed: JsonObject = {"tools": define_tools(self._tools, offer, shows=shows)}
            fresh = FRESH
        else:
            try:
                cursor = str(request.params.get("cursor", ""))
                listed, fresh = await self._offer.list(LOCAL_PERSON, request.method, cursor)
            except StaleCursorError:
                if self._going.pop(str(request.id), None) is not None and request.id is not None:
                    self._pipes.write(messages.write_error(request.id, messages.INVALID_PARAMS, STALE_CURSOR))
                return
        if not request.sessionless:
            self._offer.watch(LOCAL_PERSON, tell_changed, key=self)
        if self._going.pop(str(request.id), None) is not None:
            self._send_result(
                request, began, self._results.complete(listed, sessionless=request.sessionless, fresh=fresh)
            )

    # -- runs

    def _begin_run(self, request: Request, identifier: RequestId) -> bool:
        command = messages.read_command(request, self._tools)
        introduced = self._introduced or request
        able = Abilities.read(introduced.capabilities)
        if command is None or str(identifier) in self._going or (request.sessionless and able.any):
            return False
        going = self._going[str(identifier)] = _Going(identifier)
        front = Front(self.memory, able, self._ask, self._log, sessionless=request.sessionless)
        caller = caller_of(
            front,
            memory=self.memory,
            progress=None if request.token is None else ProgressReport(partial(self._report, request.token)),
            client=introduced.client,
            looks=self._tools[str(request.params["name"])] == LOOK,
        )
        deliver = partial(self._answer, request, time.perf_counter())
        task = request.sessionless and takes_tasks(request.capabilities)
        begin = partial(going.begin, command, caller, deliver, self._loop.time(), takes_task=task)
        if self._app.at_hand is not None:
            begin(self._app.at_hand)
        else:
            self._tasks.start(self._begin_late, begin)
        return True

    async def _begin_late(self, begin: Callable[[App], None]) -> None:
        begin(await self._app.get())

    def _answer(self, request: Request, began: float, outcome: Delivered) -> None:
        if self._going.pop(str(request.id), None) is None or request.id is None:
            return  # it was cancelled
        if isinstance(outcome, Answer):
            if outcome.task is not None:
                result = self._results.complete(render_begun(outcome.task), sessionless=True)
            elif request.sessionless:
                result = self._results.complete(render_answer(outcome, request.revision), sessionless=True)
            else:
                result = render_answer(outcome, self._results.revision)
            self._send_result(request, began, result, failure="tool_error" if outcome.is_error else "")
        elif isinstance(outcome, Exception):
            detail = "".join(traceback.format_exception(outcome))
            write_log(logging.ERROR, "front.run", request=str(request.id), detail=detail)
            self._pipes.write(messages.write_error(request.id, messages.INTERNAL_ERROR, "Internal server error"))

    async def _report(self, token: RequestId, step: float, total: float | None, message: str | None) -> None:
        self._pipes.write(
            messages.write_notification("notifications/progress", messages.progress_params(token, step, total, message))
        )

    # -- requests to the client

    async def _ask(self, method: str, params: Mapping[str, Json], key: str) -> JsonObject:
        """Send the client a request, and wait for what it answers; raises FrontError."""
        identifier = f"{_OURS}{next(self._numbers)}"
        answer: asyncio.Future[JsonObject] = self._loop.create_future()
        self._asked[identifier] = answer
        self._pipes.write(messages.write_message({"id": identifier, "method": method, "params": dict(params)}))
        try:
            return await answer
        except asyncio.CancelledError:
            withdrawn: JsonObject = {"requestId": identifier, "reason": "the run has ended"}
            self._pipes.write(messages.write_notification(messages.CANCELLED, withdrawn))
            raise
        finally:
            del self._asked[identifier]

    def _take_answer(self, line: bytes) -> bool:
        """Take the answer to one of our requests; one that nobody waits for any more is dropped."""
        found = messages.read_answer(line)
        if found is None or not found[0].startswith(_OURS):
            return False
        waiting = self._asked.get(found[0])
        if waiting is not None and not waiting.done():
            if isinstance(found[1], str):
                waiting.set_exception(FrontError(found[1]))
            else:
                waiting.set_result(found[1])
        return True

    async def _log(self, level: str, logger: str, data: Json) -> None:
        if level in messages.LEVELS and messages.LEVELS.index(level) >= self._level:
            said: JsonObject = {"level": level, "logger": logger, "data": data}
            self._pipes.write(messages.write_notification("notifications/message", said))

    # -- answers

    def _send_result(self, request: Request, began: float, result: JsonObject, failure: str = "") -> None:
        assert request.id is not None
        self._pipes.write(messages.write_result(request.id, result))
        if self._telemetry.meters is not None:
            self._telemetry.meters.operations.record(time.perf_counter() - began, (request.method, failure))
