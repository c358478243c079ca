"""IsolateHost: owns the helper processes; reuses idle ones, kills those whose call is cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio

from mcp_core.quick_dataclass import dataclass, field
from ot.tasks.owned_tasks import open_background_tasks

if TYPE_CHECKING:  # every engine has a host, and most runs call nothing in a helper
    from ot.isolate.connection import ConnectionTarget
    from ot.isolate.helper import Helper, HelperStarter
    from ot.isolate.helper_calls import FindPython, HelperCall
    from ot.registry.definitions import Libraries, Touches
    from ot_confinement.confine import Confine


@dataclass(eq=False)
class IsolateHost:
    """`async with IsolateHost() as host: await host.run("ot_tools.demo", "block", {"seconds": 1})`.

    An idle helper is kept for the module whose call it carried out, because its imports are paid for.
    """

    memory: int = 1024**3  # bytes of data that one helper may hold
    idle_timeout: float = 60.0  # seconds
    limit: int = 8
    find_python: FindPython | None = None
    _starter: HelperStarter | None = None  # made with the first call
    _idle: dict[str, list[Helper]] = field(default_factory=dict)  # by module
    _changes: dict[str, int] = field(default_factory=dict)  # how often a module was forgotten

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._tasks = await self._stack.enter_async_context(open_background_tasks())
        self._slots = anyio.CapacityLimiter(self.limit)
        self._rested = anyio.Event()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        for helper in self._take_idle(older_than=float("inf")):
            await helper.kill()
        if self._starter is not None:
            await self._starter.close()
        return await self._stack.__aexit__(kind, error, traceback)

    async def run(
        self,
        module: str,
        function: str,
        arguments: Mapping[str, object],
        *,
        touches: Touches | None = None,
        libraries: Libraries | None = None,
        connection: ConnectionTarget | None = None,
        in_context: bool = True,
    ) -> Any:
        """Call a function in a helper process; `module` is a dotted name or the path of a file.

        The process is confined to what the call touches; without `touches` it is not confined. Files that it makes are
        in place when this returns. It runs on an interpreter that has `libraries`. With a `connection` it is given that
        one, open; a call that fails because of the network is the last one on it. Without `in_context` it learns
        nothing of the pack's configuration and secrets.

        No process that the call started is left when this returns; cancelled, the helper has ended too.
        Raises ToolError, ToolFailedError or ServiceUnavailableError without the name of the tool, which the executor
        knows.
        """
        from ot.isolate.helper_calls import HelperEndedError, crashed, prepare_call  # noqa: PLC0415 - as above

        python = await self.find_python(libraries) if libraries is not None and self.find_python else None
        call = await prepare_call(module, function, arguments, touches, python, in_context=in_context)
        async with self._slots:
            while True:
                idle = self._take(module, call.confine, connection)
                helper = idle or await self._load().start(module, call.confine, python, connection)
                try:
                    answer = await self._send(helper, call)
                except HelperEndedError as error:
                    # One that died while it was idle has done nothing: the call goes to the next one, or to a new one.
                    if error.begun or idle is None:
                        raise await crashed(helper, error, self.memory) from error
                else:
                    self._load().learn(module, python, libraries, answer.get("imported"))
                    return answer.get("value")

    async def _send(self, helper: Helper, call: HelperCall) -> Mapping[str, object]:
        """Have a helper carry out a call; it is kept for the next one, unless something about it has gone wrong."""
        reusable = False
        changes = self._changes.get(call.module)
        try:
            answer = await helper.call(call.request)
            lost = helper.connection is not None and answer.get("error") == "network"
            spoilt = helper.has_children or lost or answer.get("kind") == "MemoryError"
            fit = self._changes.get(call.module) == changes and not spoilt
            if "error" not in answer:
                await call.outputs.move(helper.folder)
            reusable = fit
            call.raise_error(helper, answer)
            return answer
        finally:
            if reusable:
                self._rest(call.module, helper)
            else:
                await helper.kill()

    def forget(self, module: str) -> None:
        """Let processes that have imported a module, which has changed, finish their call and take no more."""
        self._changes[module] = self._changes.get(module, 0) + 1
        for helper in self._idle.pop(module, []):
            self._tasks.start_soon(helper.kill)
        if self._starter is not None:
            for standby in self._starter.forget(module):
                self._tasks.start_soon(standby.close)

    def idle_pids(self) -> list[int]:
        return [helper.process.pid for helpers in self._idle.values() for helper in helpers]

    def standby_pids(self) -> list[int]:
        return self._starter.standby_pids() if self._starter is not None else []

    def _load(self) -> HelperStarter:
        if self._starter is None:
            from ot.isolate.helper import HelperStarter  # noqa: PLC0415 - as above

            self._starter = HelperStarter(memory=self.memory, idle_timeout=self.idle_timeout)
            self._tasks.start_soon(self._close_idle_ones)
        return self._starter

    def _take(self, module: str, confine: Confine | None, connection: ConnectionTarget | None) -> Helper | None:
        """Take one that is confined like this, on the same connection; bounds can be narrowed and never changed."""
        helpers = self._idle.get(module, [])
        helpers[:] = [helper for helper in helpers if not helper.process.ended.is_set()]
        wanted = (confine, connection)
        fitting = next((each for each in reversed(helpers) if (each.confine, each.connection) == wanted), None)
        if fitting is not None:
            helpers.remove(fitting)
        return fitting

    def _rest(self, module: str, helper: Helper) -> None:
        helper.idle_since = anyio.current_time()
        self._idle.setdefault(module, []).append(helper)
        since = sorted((each.idle_since for helpers in self._idle.values() for each in helpers), reverse=True)
        if len(since) > self.limit:
            for old in self._take_idle(older_than=since[self.limit]):
                self._tasks.start_soon(old.kill)
        self._rested.set()

    def _take_idle(self, *, older_than: float) -> list[Helper]:
        old = [h for helpers in self._idle.values() for h in helpers if h.idle_since <= older_than]
        for helpers in self._idle.values():
            helpers[:] = [helper for helper in helpers if helper not in old]
        return old

    async def _close_idle_ones(self) -> None:
        while True:
            await self._rested.wait()
            self._rested = anyio.Event()
            while self.idle_pids():
                oldest = min(helper.idle_since for helpers in self._idle.values() for helper in helpers)
                await anyio.sleep_until(oldest + self.idle_timeout)
                for helper in self._take_idle(older_than=anyio.current_time() - self.idle_timeout):
                    await helper.kill()
