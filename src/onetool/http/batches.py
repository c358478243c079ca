"""Batches over HTTP, in sessions of the one revision that has them: each message goes its usual way by itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_core.line_pipes import MAX_LINE
from onetool.front.batches import Batch, BatchError, read_batch, write_batch
from onetool.front.messages import BATCHING_REVISION, INTERNAL_ERROR, RequestId, read_json, read_revision, write_error
from onetool.http.gates import join_body, read_messages, receive_again

_SESSION = "mcp-session-id"
_MOST_SESSIONS = 10_000  # as many as the SDK's server has room for
_JSON, _EVENTS = "application/json", "text/event-stream"
_ACCEPTED, _NOT_FOUND = 202, 404


class BatchedRequests:
    """Takes batches apart for `app`, which knows none, and puts the answers together."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sessions: OrderedDict[str, None] = OrderedDict()  # those that may send batches, the latest last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        session = Headers(scope=scope).get(_SESSION)
        if session is not None and session not in self._sessions:
            await self._app(scope, receive, send)
            return
        messages = await read_messages(receive, MAX_LINE)
        receive = receive_again(messages, receive)
        body = b"" if messages[-1].get("more_body", True) else join_body(messages)
        if session is None:
            begins = read_revision(body) == BATCHING_REVISION
            await self._app(scope, receive, partial(self._note, send) if begins else send)
        elif body.lstrip()[:1] == b"[":
            self._sessions.move_to_end(session)
            await self._answer(body, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _note(self, send: Send, message: Message) -> None:
        """Pass on the answer to a handshake, and note the session that it names."""
        if message["type"] == "http.response.start":
            session = Headers(raw=message["headers"]).get(_SESSION)
            if session is not None:
                self._sessions[session] = None
                while len(self._sessions) > _MOST_SESSIONS:
                    self._sessions.popitem(last=False)
        await send(message)

    async def _answer(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            batch = read_batch(body)
        except BatchError as error:
            await Response(error.answer, 400, media_type=_JSON)(scope, receive, send)
            return
        answer = _BatchAnswer(batch, send)
        async with anyio.create_task_group() as tasks:
            for member in batch.members:
                headers = MutableHeaders(raw=list(scope["headers"]))
                headers["content-length"] = str(len(member.line))
                part = _Part(member.id, answer)
                one = receive_again([{"type": "http.request", "body": member.line}], receive)
                tasks.start_soon(self._pass, {**scope, "headers": headers.raw}, one, part.send)
        await answer.finish(scope, receive)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _BatchAnswer:
    """The answer to a batch: JSON, or events as soon as anything else is told."""

    def __init__(self, batch: Batch, send: Send) -> None:
        self._answers = batch.refusals
        self._send = send
        self._sending = anyio.Lock()
        self._streams = False
        self._refusal: tuple[int, bytes] | None = None  # of the session as a whole

    def add(self, answer: bytes) -> None:
        self._answers.append(answer)

    def refuse(self, status: int, body: bytes) -> None:
        self._refusal = status, body

    async def tell(self, lines: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Pass on an event that is not an answer, or a comment."""
        async with self._sending:
            if not self._streams:
                self._streams = True
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": lines, "more_body": True})

    async def finish(self, scope: Scope, receive: Receive) -> None:
        if self._streams:
            event = b"event: message\r\ndata: %b\r\n\r\n" % write_batch(self._answers).strip()
            body = event if self._answers else b""
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
            return
        if self._refusal is not None:
            answer = Response(self._refusal[1], self._refusal[0], media_type=_JSON)
        elif self._answers:
            answer = Response(write_batch(self._answers), media_type=_JSON)
        else:
            answer = Response(status_code=_ACCEPTED)
        await answer(scope, receive, self._send)


class _Part:
    """The answer to one message of a batch, as it is sent; `identifier` is None where the message wants none."""

    def __init__(self, identifier: RequestId | None, whole: _BatchAnswer) -> None:
        self._id = identifier
        self._whole = whole
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._is_stream = False
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message["headers"])
            self._is_stream = Headers(raw=self._headers).get("content-type", "").startswith(_EVENTS)
            return
        self._body += message.get("body", b"")
        if self._is_stream:
            await self._pass_events()
        elif not message.get("more_body", False):
            self._keep_answer()

    async def _pass_events(self) -> None:
        """Keep the answer of the stream, and pass everything else on."""
        *events, self._body = self._body.replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            data = b"".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
            if data and _is_answer(data):
                self._whole.add(data)
            elif event:
                await self._whole.tell(event + b"\n\n", self._headers)

    def _keep_answer(self) -> None:
        if self._status == _NOT_FOUND:
            self._whole.refuse(self._status, self._body)
        elif self._id is not None:
            found = read_json(self._body) if self._body else None
            error = found.get("error") if isinstance(found, dict) else None
            reason = str(error.get("message", "")) if isinstance(error, dict) else "the request was not answered"
            code = error.get("code") if isinstance(error, dict) else None
            self._whole.add(write_error(self._id, code if isinstance(code, int) else INTERNAL_ERROR, reason))


def _is_answer(data: bytes) -> bool:
    found = read_json(data)
    return isinstance(found, dict) and "method" not in found
