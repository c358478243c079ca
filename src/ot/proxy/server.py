"""One configured server: connected when it is needed, tried again when it was lost, and what it offers meanwhile."""

from __future__ import annotations

import contextvars
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Literal, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.config.server_settings import ServerSettings
from ot.context import CallContext, current_or_none
from ot.errors import KeychainError, ServerUnavailableError, SwitchedOffError, ToolChangedError
from ot.logs import LogSpan, write_log
from ot.proxy.connections.connect_attempt import Backoff, ConnectAttempt
from ot.proxy.definitions.memory import ServerMemory
from ot.proxy.definitions.pins import Offer, Part
from ot.proxy.host import BuildConnection, ProxyHost
from ot.proxy.plan import ConnectionPlan, Mode
from ot.proxy.status import ConnectFailedError, LostError, State, TaskGoneError
from ot.proxy.task_states import ServerTask, recall_task
from ot.proxy.watched import Tell, Watched

if TYPE_CHECKING:
    from ot.proxy.connections.connection import Connection

Answer = TypeVar("Answer")
Offered = Literal["tools", "prompts", "resources"]
ATTEMPTS = 3
PATIENT = 2.0  # seconds of backoff that a call waits for; where there is more to wait, it fails at once
LOGIN = 330.0  # seconds that an attempt may take once a person was sent to log in


@dataclass(eq=False)
class ProxiedServer:
    """One server, made by `Servers`, in whose task group its connections live."""

    name: str
    settings: ServerSettings
    _host: ProxyHost
    _tasks: TaskGroup | None  # without one it can only tell what is known of it
    _tell_changed: Callable[[ProxiedServer], None]
    _connection: Connection | None = None
    _attempt: ConnectAttempt | None = None
    _scope: anyio.CancelScope | None = None  # of the connection, or of the attempt at one
    _deadline: anyio.CancelScope | None = None  # of the attempt
    _older: bool = False
    _retired: bool = False
    last_failure: ConnectFailedError | None = None
    outwaited: ConnectAttempt | None = None  # an attempt to connect that took longer than one waits for a list

    def __post_init__(self) -> None:
        self.memory = ServerMemory(self.name, self.settings, self._host.records)
        self._backoff = Backoff(anyio.current_time)
        self.watched = Watched()

    def offer(self) -> Offer:
        """Return what it offers, or offered last time; if that is not known, nothing, and it is connected soon."""
        found = self.memory.recall()
        if found is None:
            self.connect_soon()
        return found or Offer()

    @property
    def state(self) -> State:
        if not self.settings.enabled:
            return "disabled"
        if self._connection is not None and self._connection.usable:
            return "connected"
        return "connecting" if self._attempt is not None and not self._attempt.done else "disconnected"

    @property
    def error(self) -> str:
        """The last failure, as long as nothing has gone right since."""
        failure = self.last_failure
        return "" if failure is None or self.state == "connected" else f"it {failure.reason}"

    @property
    def heard(self) -> bool:
        """True if it has listed everything that it offers, also if that was earlier."""
        found = self.memory.recall()
        if found is None:
            return False
        resources = found.resources is not None or not self.offers("resources")
        return resources and (found.prompts is not None or not self.offers("prompts"))

    @property
    def due(self) -> bool:
        """True if it is connecting, or may be tried again soon enough for a call to wait."""
        return self.state == "connecting" or self._backoff.remaining() <= PATIENT

    def connect_soon(self) -> ConnectAttempt:
        """Begin to connect, whatever the backoff says; returns the attempt that is under way."""
        if self._attempt is None or self._attempt.done:
            way = f"A person can do that with `onetool login {self.name}`."
            if self._host.logins is not None:
                way = f"Log in to {self.name} at {self._host.logins.url.rstrip('/')}/servers."
            attempt = self._attempt = ConnectAttempt(self.name, way)
            if self.state == "connected":
                attempt.settle(None)
            elif self._retired or self._tasks is None:
                attempt.settle(ConnectFailedError("is not connected from here"))
            else:
                # In an empty context: what the connection does later belongs to no call.
                contextvars.Context().run(self._tasks.start_soon, self._live, attempt)
        return self._attempt

    async def obtain(self, context: CallContext | None = None) -> Connection:
        """Return a usable connection; raises ServerUnavailableError. The caller's clock stands still meanwhile."""
        if context is not None and context.caller.front is not None:
            self._host.clients.note(context.caller.front.able)
        for _ in range(ATTEMPTS):
            connection = self._connection
            if connection is not None and connection.usable:
                if connection.calls.begun or not connection.claims_less_than(self._host.clients.claims):
                    return connection
                await self._end(connection)
            wait = self._backoff.remaining()
            if wait > PATIENT:
                raise self._unavailable(f"{self._last_reason()}; it is tried again in {wait:.0f} s at the earliest")
            if wait > 0:
                with context.held() if context is not None else nullcontext():
                    await anyio.sleep(wait)
            attempt = self.connect_soon()
            await attempt.wait(context)
            if attempt.failure is not None:
                raise self.unavailable()
        raise self._unavailable("ends as soon as it is connected")

    async def wait_for_lists(self) -> None:
        """Wait for what it lists beside tools, up to `listing_timeout`, and in vain only once.

        It is connected for that if it has never listed it.
        """
        attempt = None if self.heard or self.error else self.connect_soon()
        with anyio.move_on_after(self.settings.listing_timeout) as scope:
            if attempt is not None and attempt is not self.outwaited:
                await attempt.wait(None)
            if self._connection is not None:
                await self._connection.listed.wait()
        if self._connection is not None:
            self._connection.listed.set()
        elif scope.cancelled_caught:
            self.outwaited = attempt

    async def probe(self, timeout: float) -> None:
        """Spend at most `timeout` seconds on finding out if it is there."""
        with anyio.move_on_after(timeout):
            if self._connection is not None and self._connection.usable:
                await self._connection.ping()
            if self.state != "connected":
                await self.connect_soon().wait(None)

    async def _live(self, attempt: ConnectAttempt) -> None:
        """Connect, and keep the connection until it is lost or closed; all in this one task, as the SDK demands."""
        failure = ConnectFailedError("is being closed")
        try:
            with anyio.CancelScope() as self._scope:
                build = await anyio.to_thread.run_sync(self._host.load_builder)
                for mode, older in self._ways():
                    found = await self._try(attempt, build, self._plan(attempt, mode, older=older))
                    if found is None:
                        return
                    failure = failure if older and failure.another_way else found
                    if not found.another_way:
                        break
                self.last_failure = failure
                self._backoff.fail()
                write_log(logging.WARNING, "proxy.failed", server=self.name, reason=failure.reason, detail=failure.tail)
        finally:
            attempt.settle(failure)
            if self.watched.addresses and not self._retired and self._tasks is not None:
                self._tasks.start_soon(self._come_back)

    async def _come_back(self) -> None:
        """Connect again for those who want to hear of updates."""
        await anyio.sleep(max(self._backoff.remaining(), PATIENT))
        if self.watched.addresses and not self._retired:
            self.connect_soon()

    def watch(self, uri: str, tell: Tell) -> Callable[[], None] | None:
        """Have somebody hear when a resource changes; returns what ends that, or None where too much is watched."""
        end = self.watched.add(uri, tell)
        if end is not None:
            self.connect_soon()
        return end

    async def _try(
        self, attempt: ConnectAttempt, build: BuildConnection, plan: ConnectionPlan
    ) -> ConnectFailedError | None:
        """Try one way to connect; None after a connection that was lost or closed again."""
        limit = self.settings.start_timeout
        assert self._scope is not None
        connection: Connection | None = None
        try:
            with (
                anyio.CancelScope(deadline=anyio.current_time() + limit) as scope,
                LogSpan("proxy.connect", server=self.name) as span,
            ):

                async def ready(found: Connection) -> None:
                    scope.deadline = math.inf
                    changed = await anyio.to_thread.run_sync(self.memory.note, found.offer)
                    self._connection, self._older, self.last_failure = found, plan.older, None
                    self._backoff.succeed()
                    if changed:
                        self._tell_changed(self)
                    attempt.settle(None)

                self._deadline = scope
                if plan.is_locked:
                    plan = await anyio.to_thread.run_sync(plan.unlock, abandon_on_cancel=True)
                connection = build(plan)
                await connection.hold(ready, self._on_changed)
                span.add(ended=connection.verdict)
                return None
        except ConnectFailedError as error:
            return error
        except KeychainError as error:
            fix = error.fix or ""
            return ConnectFailedError(f"needs a secret, and {error.reason}", remedy=f"{fix[:1].upper()}{fix[1:]}.")
        finally:
            if self._connection is connection:
                self._connection = None
        stray = connection.describe_silence() if connection is not None else ""
        return ConnectFailedError(f"was not ready after {limit:g} s (servers.{self.name}.start_timeout){stray}")

    def _ways(self) -> Iterator[tuple[Mode, bool]]:
        """Yield the ways to connect, the one that worked last time first."""
        known = self.memory.recall()
        stdio = self.settings.command is not None
        if self._older:
            yield "legacy", True
        if known is not None and known.era == "handshake":
            yield "legacy", False
            yield "auto", False
        else:
            yield "auto", False
            if stdio:
                yield "legacy", False  # some end at once when the first message is not the one they know
        if not stdio and not self._older:
            yield "legacy", True

    def _plan(self, attempt: ConnectAttempt, mode: Mode, *, older: bool) -> ConnectionPlan:
        async def authorise(url: str) -> None:
            if self._deadline is not None and self._connection is None:
                self._deadline.deadline = anyio.current_time() + LOGIN
            if self._host.authorise is not None:
                await self._host.authorise(url)
            else:
                await attempt.send_to(url, self._connection.calls if self._connection is not None else None)

        return ConnectionPlan(
            server=self.name,
            settings=self.settings,
            mode=mode,
            older=older,
            project=self._host.project,
            environ=self._host.environ,
            place=self.memory.place,
            credentials=self._host.credentials,
            logins=self._host.logins,
            authorise=authorise,
            learn=self._host.learn,
            watched=self.watched,
            claims=lambda: self._host.clients.claims,
        )

    async def _on_changed(self, connection: Connection) -> None:
        """Take over what a connection says it has."""
        if await anyio.to_thread.run_sync(self.memory.note, connection.offer):
            self._tell_changed(self)

    async def note_prompts(self, prompts: Sequence[JsonObject]) -> None:
        """Take over the prompts that it lists now."""
        if await anyio.to_thread.run_sync(self.memory.note_listed, {"prompts": prompts}):
            self._tell_changed(self)

    async def look_at_prompts(self) -> None:
        """Have it list its prompts, so that one is not used which has changed; raises CallError."""
        await self.note_prompts(await self.ask(lambda connection: connection.contents.prompts()))

    async def note_views(self, views: Sequence[JsonObject]) -> None:
        """Take over what views are like now, beside those that are known."""
        known = {str(each["name"]): each for each in self.memory.views or ()} | {
            str(each["name"]): each for each in views
        }
        await anyio.to_thread.run_sync(self.memory.note_listed, {"views": [*known.values()]})

    def offers(self, part: Offered) -> bool:
        """True if a part of it is offered to anybody."""
        return part in self.settings.offer

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool by its own name; raises CallError. If cancelled, it tells the server."""
        # A call that was lost is made again if it never began, or if that is harmless.
        # One that has become a task is not: the next connection looks at the same task, also that of an earlier run.
        context = current_or_none()
        task, lost = self._recall_task(context), None
        for _ in range(ATTEMPTS):
            connection = await self.obtain(context)
            self.refuse_unaccepted("tools", tool)
            try:
                answer = task or await connection.call(tool, arguments, context)
                if not isinstance(answer, ServerTask):
                    return answer
                task = answer
                return await connection.follow(task, context)
            except LostError as error:
                lost = error
                if isinstance(error, TaskGoneError):
                    task = None
                if task is None and error.begun and not (context is not None and context.effect.repeatable):
                    break
        assert lost is not None
        raise ServerUnavailableError("", server=self.name, reason=lost.reason, begun=lost.begun, tail=lost.tail)

    def _recall_task(self, context: CallContext | None) -> ServerTask | None:
        """Return the task that this call has become in an earlier run; raises ServerUnavailableError."""
        recorded = None if context is None or context.task_record is None else context.task_record.task
        if recorded is None:
            return None
        task = recall_task(recorded, self.memory.place)
        if task is None:
            reason = "is another one than that in which the call of the earlier run goes on as a task"
            raise ServerUnavailableError("", server=self.name, reason=reason, begun=True)
        return task

    async def ask(self, question: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        """Ask a connection something that changes nothing, again if it was lost; raises CallError."""
        lost: LostError | None = None
        for _ in range(ATTEMPTS):
            connection = await self.obtain(current_or_none())
            try:
                with connection.calls.add(current_or_none()):
                    return await question(connection)
            except LostError as error:
                lost = error
        assert lost is not None
        raise ServerUnavailableError("", server=self.name, reason=lost.reason, tail=lost.tail)

    def refuse_unaccepted(self, part: Part, name: str) -> None:
        """Raise ToolChangedError if it is pinned, and nobody has accepted this tool, prompt or view as it is now."""
        if self.memory.pinned and name in (changes := self.memory.changes(part)):
            prompt, view = (name if part == each else "" for each in ("prompts", "views"))
            raise ToolChangedError("", server=self.name, new=name in changes.added, prompt=prompt, view=view)

    def unavailable(self) -> ServerUnavailableError | SwitchedOffError:
        """Return the error for whoever needs it while it is not there."""
        if not self.settings.enabled:
            return SwitchedOffError("server", self.name, key=f"servers.{self.name}.enabled")
        return self._unavailable(self._last_reason())

    def _unavailable(self, reason: str) -> ServerUnavailableError:
        failure = self.last_failure
        tail, remedy = (failure.tail, failure.remedy) if failure is not None else ("", "")
        redact = self._host.redact  # here, since the registry hands this error out before any call is made
        return ServerUnavailableError("", server=self.name, reason=redact(reason), remedy=remedy, tail=redact(tail))

    def _last_reason(self) -> str:
        if self.last_failure is not None:
            return self.last_failure.reason
        return "is still connecting" if self.state == "connecting" else "is not connected"

    async def _end(self, connection: Connection) -> None:
        connection.closing.set()
        await connection.ended.wait()

    async def retire(self) -> None:
        """Take no more calls; finish those in flight, then close."""
        self._retired = True
        connection = self._connection
        while connection is not None and len(connection.calls):
            with anyio.move_on_after(0.05):
                await connection.closing.wait()
                break
        await self.close()

    async def close(self) -> None:
        """End the connection, or the attempt at one; its own task does the rest."""
        self._retired = True
        if self._connection is not None:
            await self._end(self._connection)
        elif self._scope is not None:
            self._scope.cancel()
