"""Helpers: the helper processes of a host; reuses idle ones, kills those whose call is cancelled."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from ot.context import current_or_none
from ot.errors import ServiceUnavailableError, ToolError, ToolFailedError
from ot.files.allowed_files import AllowedFiles, allowed_files
from ot.isolate.confined_call import ConfinedCall, confine_call
from ot.isolate.frames import CallRequest, ChildContext
from ot.isolate.helper import Helper, HelperEndedError
from ot.isolate.line import Line, LineLostError
from ot.isolate.outputs import Outputs
from ot.isolate.starting import HelperStarter
from ot.logs import write_log
from ot.registry.definitions import Libraries, Touches
from ot_confinement.confine import Confine

FindPython = Callable[[Libraries], Awaitable[Path | None]]
"""Finds the interpreter that has the libraries of a pack, None for the one that runs this; may take a while."""


class Helpers:
    """Made by the host with its first call. An idle helper is kept for the module whose call it carried out."""

    def __init__(
        self, tasks: TaskGroup, *, memory: int, idle_timeout: float, limit: int, find_python: FindPython | None
    ) -> None:
        self._tasks = tasks
        self._memory = memory
        self._starter = HelperStarter(memory=memory, idle_timeout=idle_timeout)
        self._most_idle = limit
        self._idle_timeout = idle_timeout
        self._find_python = find_python
        self._places = anyio.CapacityLimiter(limit)
        self._idle: dict[str, list[Helper]] = {}
        self._changes: dict[str, int] = {}  # how often a module was forgotten
        self._rested = anyio.Event()
        tasks.start_soon(self._close_idle_ones)

    async def close(self) -> None:
        """End all of them."""
        for helper in self._take_idle(older_than=float("inf")):
            await helper.kill()
        await self._starter.close()

    async def run(
        self,
        module: str,
        function: str,
        arguments: Mapping[str, object],
        *,
        touches: Touches | None,
        libraries: Libraries | None,
        line: Line | None,
        in_context: bool,
    ) -> Any:
        """Call a function in a helper process, as `IsolateHost.run` says."""
        checked = touches is not None and (touches.of_arguments or touches.of_project)
        files = allowed_files() if checked and current_or_none() else None
        python = await self._find_python(libraries) if libraries is not None and self._find_python else None
        bounds = None if touches is None else await _confine(touches, module, arguments, files, python)
        confine = None if bounds is None else bounds.confine
        outputs = Outputs(bounds.outputs if bounds is not None else {}, files)
        request: CallRequest = {
            "module": module,
            "function": function,
            "arguments": arguments if bounds is None else bounds.arguments,
            "context": _context_for_child(touches, outputs) if in_context else None,
        }
        async with self._places:
            while True:
                idle = self._take(module, confine, line)
                helper = idle or await self._starter.start(module, confine, python, line)
                learn = partial(self._starter.learn, module, python, libraries)
                try:
                    return await self._call(helper, module, request, outputs, learn)
                except HelperEndedError as error:
                    # One that died while it was idle has done nothing: the call goes to the next one, or to a new one.
                    if error.begun or idle is None:
                        raise await self._crashed(helper, error) from error

    def forget(self, module: str) -> None:
        """Let processes that have imported a module, which has changed, finish their call and take no more."""
        self._changes[module] = self._changes.get(module, 0) + 1
        for helper in self._idle.pop(module, []):
            self._tasks.start_soon(helper.kill)
        for standby in self._starter.forget(module):
            self._tasks.start_soon(standby.close)

    async def _call(
        self,
        helper: Helper,
        module: str,
        request: CallRequest,
        outputs: Outputs,
        learn: Callable[[object], None],
    ) -> Any:
        reusable = False
        changes = self._changes.get(module)
        try:
            answer = await helper.call(request)
            changed = self._changes.get(module) != changes
            spent = answer.get("kind") == "MemoryError" or _lost_line(helper, answer)
            fit = not (changed or helper.has_children or spent)
            if "error" not in answer:
                learn(answer.get("imported"))
                await outputs.move(helper.folder)
            reusable = fit
            return _value_of(answer, on_line=helper.line is not None)
        finally:
            if reusable:
                self._rest(module, helper)
            else:
                await helper.kill()

    def idle_pids(self) -> list[int]:
        """The processes that wait for their next call."""
        return [helper.pid for helpers in self._idle.values() for helper in helpers]

    def standby_pids(self) -> list[int]:
        """The processes that wait to fork helpers."""
        return self._starter.standby_pids()

    def _take(self, module: str, confine: Confine | None, line: Line | None) -> Helper | None:
        """Take one that is confined like this, on the same line; bounds can be narrowed and never changed."""
        helpers = self._idle.get(module, [])
        helpers[:] = [helper for helper in helpers if helper.alive]
        fitting = next((each for each in reversed(helpers) if (each.confine, each.line) == (confine, line)), None)
        if fitting is not None:
            helpers.remove(fitting)
        return fitting

    def _rest(self, module: str, helper: Helper) -> None:
        helper.idle_since = anyio.current_time()
        self._idle.setdefault(module, []).append(helper)
        since = sorted((each.idle_since for helpers in self._idle.values() for each in helpers), reverse=True)
        if len(since) > self._most_idle:
            for old in self._take_idle(older_than=since[self._most_idle]):
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
                await anyio.sleep_until(oldest + self._idle_timeout)
                for helper in self._take_idle(older_than=anyio.current_time() - self._idle_timeout):
                    await helper.kill()

    async def _crashed(self, helper: Helper, error: HelperEndedError) -> ToolFailedError:
        incident = os.urandom(4).hex()
        await helper.kill()
        write_log(
            logging.ERROR,
            "isolate.crash",
            incident=incident,
            status=helper.status,
            reason=str(error),
            detail=helper.tail,
        )
        message = f"its helper process {helper.explanation or self._ending(helper.status)}"
        return ToolFailedError("", "ChildProcessError", message, incident, status=helper.status, tail=helper.tail)

    def _ending(self, status: int | None) -> str:
        """Say how it ended; libraries in C++ and Rust end by these signals when they get no more memory."""
        out_of_memory = status is not None and status & 0x7F in (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
        bound = f", perhaps because it may hold no more than {self._memory >> 20} MB of memory" if out_of_memory else ""
        return f"ended in the middle of the call{bound}"


def _lost_line(helper: Helper, answer: Mapping[str, object]) -> bool:
    return helper.line is not None and answer.get("error") == "network"


async def _confine(
    touches: Touches,
    module: str,
    arguments: Mapping[str, object],
    files: AllowedFiles | None,
    python: Path | None,
) -> ConfinedCall:
    if files is None:
        return confine_call(touches, module, arguments, None, python)
    return await to_thread.run_sync(confine_call, touches, module, arguments, files, python)  # a disk may be slow


def _context_for_child(touches: Touches | None, outputs: Outputs) -> ChildContext | None:
    """Return what the call may use, as values: a helper gets the secrets that its pack declares and no others."""
    context = current_or_none()
    if context is None:
        return None
    secrets: dict[str, str] = {}
    for name in context.registry.get(context.tool).secrets:
        with suppress(ToolError):  # not set: the tool hears of it when it asks
            secrets[name] = context.secret(name)
    return {
        "tool": context.tool,
        "config": dict(context.config),
        "project": str(context.project),
        "state": str(context.state) if touches is not None and touches.needs_state else None,
        "outputs": outputs.made,
        "secrets": secrets,
    }


def _value_of(answer: Mapping[str, object], *, on_line: bool) -> object:
    match answer.get("error"):
        case None:
            return answer.get("value")
        case "tool":
            raise ToolError(str(answer.get("message")))
        case "network":
            raise (LineLostError if on_line else ServiceUnavailableError)("", str(answer.get("message")))
        case _:
            incident = os.urandom(4).hex()
            write_log(logging.ERROR, "isolate.failure", incident=incident, detail=str(answer.get("traceback")))
            raise ToolFailedError("", str(answer.get("kind")), str(answer.get("message")), incident)
