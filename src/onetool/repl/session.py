"""The engine as the repl's main thread sees it; see `onetool.console.engine_events`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from anyio.from_thread import BlockingPortal, start_blocking_portal

from onetool.console.caller import make_caller
from onetool.console.engine_events import EngineEvents, Question
from onetool.repl.completion import LAST, CodeCompleter, Completion, uses_last, with_last
from ot.app import App, open_app
from ot.clients.caller import Caller
from ot.config.loader import LoadedConfig
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.kernel.zygote_process import ZygoteProcess
from ot.run.answer import Answer
from ot.run.kernel_session import RunView
from ot.run.outcome import Value

PREVIEW = ":preview"  # before code that is to be shown, and not done
CLIENT = "onetool repl"

Happening = Answer | str
"""The answer of a run, at its end; before that, messages about what a call is doing."""


class Session:
    """Runs one piece of code after another; `_` is the last value."""

    def __init__(self, portal: BlockingPortal, app: App, events: EngineEvents[Happening], caller: Caller) -> None:
        self._portal = portal
        self._app = app
        self._events = events
        self._caller = caller
        self._last: Value | None = None

    def run(self, code: str) -> Generator[Happening | Question | None]:
        """Yield events while code runs, as `EngineEvents.follow` does, and its answer last."""
        return self._events.follow(self._portal, partial(self._run, code))

    def complete(self, code: str) -> list[Completion]:
        return self._portal.call(lambda: self._names().complete(code))

    def count_packs(self) -> int:
        return len(self._portal.call(lambda: self._names().packs()))

    def _names(self) -> CodeCompleter:
        settings = self._app.executor.settings  # as they are since the last reload
        return CodeCompleter(self._app.registry, settings.aliases, settings.projects)

    async def _run(self, code: str, tell: Callable[[Happening], None]) -> None:
        async def progress(_done: float, _total: float | None, message: str) -> None:
            if message:
                tell(message)

        caller, view = replace(self._caller, progress=progress), RunView()
        preview = code.startswith(PREVIEW)
        code = code.removeprefix(PREVIEW).lstrip(" ") if preview else code
        try:
            if self._last is not None and uses_last(code):  # kernels share nothing: it comes from the result store
                if self._last.stored is not None:
                    found = f"ot.load(handle={self._last.stored.handle!r})"
                else:
                    kept = {"name": LAST, "value": self._last.value}
                    await self._app.executor.call("ot.keep", kept, caller=caller)
                    found = f"ot.kept(name={LAST!r})"
                code = with_last(code, found)
        except CallError as error:
            tell(Answer(word_error(error), is_error=True))
            return
        answer = await self._app.runner.run(code, caller=caller, view=view, preview=preview)
        if not preview and isinstance(view.outcome, Value) and view.outcome.value is not None:
            self._last = view.outcome
        tell(answer)


@contextmanager
def open_session(loaded: LoadedConfig, *, launched: ZygoteProcess) -> Iterator[Session]:
    """Start the engine; questions to the person come among the events."""
    events: EngineEvents[Happening] = EngineEvents()
    caller = make_caller(CLIENT, ask=events.ask)
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(open_app(loaded, launched=launched)) as app,
    ):
        yield Session(portal, app, events, caller)
