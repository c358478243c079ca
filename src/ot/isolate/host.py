"""IsolateHost: owns the helper processes, and what they need is loaded by the first call."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ot.tasks.owned_tasks import open_background_tasks

if TYPE_CHECKING:  # every engine has a host, and most runs call nothing in a helper
    from ot.isolate.helpers import FindPython, Helpers
    from ot.isolate.line import Line
    from ot.registry.definitions import Libraries, Touches


class IsolateHost:
    """`async with IsolateHost() as host: await host.run("ot_tools.demo", "block", {"seconds": 1})`.

    An idle helper is kept for the module whose call it carried out, because its imports are paid for.
    """

    def __init__(
        self,
        *,
        memory: int = 1024**3,  # bytes of data that one helper may hold
        idle_timeout: float = 60.0,  # seconds
        limit: int = 8,
        find_python: FindPython | None = None,
    ) -> None:
        self._memory = memory
        self._idle_timeout = idle_timeout
        self._limit = limit
        self._find_python = find_python
        self._helpers: Helpers | None = None

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._tasks = await self._stack.enter_async_context(open_background_tasks())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if self._helpers is not None:
            await self._helpers.close()
        return await self._stack.__aexit__(kind, error, traceback)

    async def run(
        self,
        module: str,
        function: str,
        arguments: Mapping[str, object],
        *,
        touches: Touches | None = None,
        libraries: Libraries | None = None,
        line: Line | None = None,
        in_context: bool = True,
    ) -> Any:
        """Call a function in a helper process; `module` is a dotted name or the path of a file.

        The process is confined to what the call touches; without `touches` it is not confined. Files that it makes are
        in place when this returns. It runs on an interpreter that has `libraries`. With a `line` it is given that one
        open connection; a call that fails because of the network is the last one on it. Without `in_context` it learns
        nothing of the pack's configuration and secrets.

        No process that the call started is left when this returns; cancelled, the helper has ended too.
        Raises ToolError, ToolFailedError or ServiceUnavailableError without the name of the tool, which the executor
        knows.
        """
        return await self._load().run(
            module, function, arguments, touches=touches, libraries=libraries, line=line, in_context=in_context
        )

    def forget(self, module: str) -> None:
        """Let processes that have imported a module, which has changed, finish their call and take no more."""
        if self._helpers is not None:
            self._helpers.forget(module)

    def idle_pids(self) -> list[int]:
        """The processes that wait for their next call."""
        return self._helpers.idle_pids() if self._helpers is not None else []

    def standby_pids(self) -> list[int]:
        """The processes that wait to fork helpers."""
        return self._helpers.standby_pids() if self._helpers is not None else []

    def _load(self) -> Helpers:
        if self._helpers is None:
            from ot.isolate.helpers import Helpers  # noqa: PLC0415 - as above

            self._helpers = Helpers(
                self._tasks,
                memory=self._memory,
                idle_timeout=self._idle_timeout,
                limit=self._limit,
                find_python=self._find_python,
            )
        return self._helpers
