"""ReplicaChannels between replicas: one asks, the other serves, and both may send until one of them ends it.

Whoever asks and leaves ends the work of whoever serves; a replica that dies ends the talks it had.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
import traceback
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup

from mcp_core.json_types import Json, JsonObject
from ot.clients.caller import Milestone, Progress
from ot.logs import write_log
from ot.tasks.owned_tasks import open_background_tasks

LOOKING = 3.0  # seconds between two looks at who is still there, while there are talks
INTERVAL = 0.2  # seconds between two messages


class ReplicaMail(Protocol):
    """Brings messages from replica to replica, each once and in the order in which one replica sent them.

    `replica` is the name of this one, which no other process has or will have; `living` are those that are there.
    """

    @property
    def replica(self) -> str: ...
    async def send(self, to: str, message: bytes) -> bool: ...  # False if there is no such replica
    def receive(self) -> AsyncGenerator[bytes]: ...
    async def living(self) -> Collection[str]: ...


class ReplicaGoneError(Exception):
    """The replica at the other end of a talk is not there, or has left."""


class ReplicaChannel:
    def __init__(self, post: ReplicaMail, peer: str, name: str) -> None:
        self.peer = peer
        self.name = name
        self.scope = anyio.CancelScope()  # of whoever serves
        self.ended = False
        self._post = post
        self._arrived: deque[Json] = deque()
        self._news = anyio.Event()
        self._gone = False

    async def send(self, body: Json) -> None:
        """Send something to the other end; raises ReplicaGoneError."""
        await self.post(body=body)

    async def receive(self) -> Json:
        """Wait for what the other end sends; raises ReplicaGoneError."""
        while not self._arrived:
            if self._gone or self.ended:
                raise ReplicaGoneError(self.peer)
            self._news = anyio.Event()
            await self._news.wait()
        return self._arrived.popleft()

    async def post(self, **fields: Json) -> None:
        message = {"talk": self.name, "from": self._post.replica, **fields}
        if not await self._post.send(self.peer, json.dumps(message, separators=(",", ":")).encode()):
            self.lose()
            raise ReplicaGoneError(self.peer)

    def take(self, message: JsonObject) -> None:
        if "body" in message:
            self._arrived.append(message["body"])
        if message.get("end"):
            self.ended = True
            self.scope.cancel()
        self._news.set()

    def lose(self) -> None:
        self._gone = True
        self.scope.cancel()
        self._news.set()


Serve: TypeAlias = Callable[[ReplicaChannel, JsonObject], Awaitable[Json]]
"""Serves a talk that another replica has opened with something; what it returns is the last word."""


@dataclass(slots=True)
class ReplicaChannels:
    """The channels of this replica. `serve` says by the subject of a channel who serves it."""

    _post: ReplicaMail
    _serve: Mapping[str, Serve]
    _tasks: TaskGroup
    _looking: float = LOOKING
    _open: dict[str, ReplicaChannel] = field(default_factory=dict)

    @asynccontextmanager
    async def open(self, replica: str, subject: str, body: JsonObject) -> AsyncIterator[ReplicaChannel]:
        """Open a channel to a replica about something; raises ReplicaGoneError, or OSError if nothing can be sent."""
        talk = ReplicaChannel(self._post, replica, secrets.token_hex(8))
        self._open[talk.name] = talk
        try:
            await talk.post(open=subject, body=body)
            yield talk
        finally:
            del self._open[talk.name]
            if not talk.ended:
                with anyio.CancelScope(shield=True):
                    await self._end(talk)

    async def listen(self) -> None:
        async with aclosing(self._post.receive()) as messages:
            async for message in messages:
                self._take(json.loads(message))

    async def look(self) -> None:
        """Give up talks whose other end has died, for ever."""
        while True:
            await anyio.sleep(self._looking)
            if not self._open:
                continue
            try:
                living = await self._post.living()
            except OSError:  # nobody knows
                continue
            for talk in list(self._open.values()):
                if talk.peer not in living:
                    talk.lose()

    def _take(self, message: JsonObject) -> None:
        name = message.get("talk")
        talk = self._open.get(name) if isinstance(name, str) else None
        if talk is not None:
            talk.take(message)
            return
        match message:
            case {"talk": str(name), "from": str(peer), "open": str(subject), "body": dict(body)}:
                talk = self._open[name] = ReplicaChannel(self._post, peer, name)
                self._tasks.start_soon(self._answer, talk, subject, body)

    async def _answer(self, talk: ReplicaChannel, subject: str, body: JsonObject) -> None:
        try:
            with talk.scope:
                last = await self._serve[subject](talk, body)
                await self._end(talk, body=last)
        except Exception:  # noqa: BLE001 - it belongs to one talk, not to the server
            write_log(logging.ERROR, "replicas.talk", subject=subject, detail=traceback.format_exc())
            await self._end(talk)
        finally:
            del self._open[talk.name]

    async def _end(self, talk: ReplicaChannel, **fields: Json) -> None:
        talk.ended = True
        try:
            await talk.post(**fields, end=True)
        except (ReplicaGoneError, OSError):  # it will find out by itself
            pass


@asynccontextmanager
async def open_talks(
    post: ReplicaMail, serve: Mapping[str, Serve], *, looking: float = LOOKING
) -> AsyncIterator[ReplicaChannels]:
    async with open_background_tasks() as tasks:
        talks = ReplicaChannels(post, serve, tasks, looking)
        tasks.start_soon(talks.listen)
        tasks.start_soon(talks.look)
        yield talks


def progress_to(talk: ReplicaChannel, *, interval: float = INTERVAL) -> Progress:
    """Send progress to the other end of a talk: the first and the last of a call, and some in between."""
    last = float("-inf")

    async def report(done: float, total: float | None, message: str) -> None:
        nonlocal last
        now, always = time.monotonic(), isinstance(message, Milestone)
        if always or now - last >= interval:
            last = now
            await talk.send({"progress": [done, total, message], "milestone": always})

    return report


async def pass_on(told: Sequence[object], progress: Progress | None, *, milestone: bool) -> None:
    match told:
        case [int() | float() as done, int() | float() | None as total, str(message)] if progress is not None:
            await progress(done, total, Milestone(message) if milestone else message)
