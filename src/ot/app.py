"""The one place where parts are built: each once, in order, and closed in reverse."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING

from ot.audit.log import open_audit
from ot.clients.caller import NOBODY, Caller
from ot.clients.front import KnownClients
from ot.config.assistant import AiSettings
from ot.config.loader import LoadedConfig
from ot.config.paths import PackFolders, state_folder
from ot.execution.tool_executor import ToolExecutor
from ot.execution.validation import load_compiler
from ot.files.folder_watch import FolderWatches
from ot.introspect import Finder, Reload
from ot.journal.journal import open_journal
from ot.kernel.zygote_process import ZygoteProcess, launch_zygote
from ot.limits import PersonLimits
from ot.parts.app_parts import App, run_settings
from ot.parts.person_overlay import PersonOverlay, open_overlay
from ot.parts.shared_parts import SharedBackend, SharedParts, open_shared_parts
from ot.parts.stores import build_result_reader, build_results, store_of
from ot.parts.tools import Tools, open_tools
from ot.results.kept_values import KeptValues
from ot.run.kept_answers import KeptAnswers
from ot.run.namespace import Namespace
from ot.run.outcome import Keeping
from ot.run.runner import Runner
from ot.run.runs import Runs
from ot.run.task_names import TaskNames
from ot.run.view_handles import ViewHandles
from ot.shapes.shapes import SHAPES_FOLDER, Shapes
from ot.stats.recorder import open_recorder
from ot.store.parts import Store

if TYPE_CHECKING:
    from ot.ai import ToolLoop
    from ot.telemetry.telemetry import Telemetry

__all__ = ["App", "launch", "open_app", "open_assistant"]

QUESTIONS_FOLDER = "questions"
FLOWS_FOLDER = "flows"
AFTER_START = 0.2  # seconds


def launch(loaded: LoadedConfig) -> ZygoteProcess:
    """Start the zygote. Cheap, and worth doing before heavy imports: kernels are then warm when the first run comes."""
    return launch_zygote(loaded.config.execution, state=state_folder(loaded.machine_home))


@asynccontextmanager
async def open_app(  # noqa: PLR0913 - the one place where parts are built
    loaded: LoadedConfig,
    *,
    launched: ZygoteProcess | None = None,
    backing: SharedBackend | None = None,
    shared: SharedParts | None = None,
    packs: Sequence[Path] = (),
    environ: Mapping[str, str] = os.environ,
    own_definition: Callable[[], str] = str,
    offer_run: bool = False,
    connect_ahead: bool = True,
    clients: KnownClients | None = None,
    telemetry: Telemetry | None = None,
    reload_everywhere: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[App]:
    """Build the engine on a loaded configuration: all of it, or what is a person's own beside the `shared` parts.

    `packs` are folders of packs beside the built-in ones; workers get what they need of `environ`. `own_definition`
    gives the definition that a client gets of us, which the statistics compare with those of its tools. `offer_run`
    makes running code a tool like any other, `onetool.run`, which the assistant needs. Without `connect_ahead` no
    server is connected for code that does not ask for it: a command that is over in a moment would wait for one that
    hangs. `telemetry` is told of runs and calls. `reload_everywhere` replaces `ot.reload` for the administrators of a
    server that many share. `backing` is a store that the process has opened already.
    """
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        if shared is None:
            shared = await enter(open_shared_parts(loaded, launched, backing))
        store = stack.enter_context(closing(store_of(loaded, shared.store)))
        own = await open_overlay(loaded, shared.store)
        plain, loaded = loaded, await own.join(loaded)
        tools = await enter(open_tools(loaded, shared, own.store, packs, environ, clients, ahead=connect_ahead))
        app = await _open_parts(stack, loaded, shared, store, own, tools, telemetry, own_definition)

        async def follow(fresh: LoadedConfig) -> list[str]:
            return await app.follow(await own.join(fresh))

        app.reload = Reload(plain, follow, tools.registry, everywhere=reload_everywhere)
        own.follow_again = app.reload.follow_again
        app.lend_all()
        stack.callback(shared.definitions.save)  # a command is over before it is idle
        loop = asyncio.get_running_loop()
        for load in (load_compiler, shared.definitions.save):  # on a thread: neither the start nor the first call waits
            stack.callback(loop.call_later(AFTER_START, loop.run_in_executor, None, load).cancel)
        if offer_run:
            from ot.run.run_tool import register_run  # only the assistant needs it

            register_run(tools.registry, app.runner)
        yield app


async def _open_parts(
    stack: AsyncExitStack,
    loaded: LoadedConfig,
    shared: SharedParts,
    store: Store,
    own: PersonOverlay,
    tools: Tools,
    telemetry: Telemetry | None,
    own_definition: Callable[[], str],
) -> App:
    """Open what stands on the tools and the store; the stack closes it."""
    recorder = await stack.enter_async_context(open_recorder(loaded, store))
    audit = stack.enter_context(open_audit(loaded, store))
    shapes = await stack.enter_async_context(Shapes(own.store.shelf.below(SHAPES_FOLDER)))
    results, journal = build_results(loaded, store), open_journal(loaded, store)
    if telemetry is not None and telemetry.meters is not None:
        journal.heard_takeover = telemetry.meters.takeovers.add
    for_many, config = loaded.administrator is not None, loaded.config
    questions = state_folder(loaded.home) / QUESTIONS_FOLDER
    executor = ToolExecutor(
        tools.registry,
        config=config,
        secrets=loaded.secrets,
        project=loaded.project,
        redactor=loaded.redactor,
        recorder=recorder,
        results=results,
        questions=questions,
        audit=audit,
        shapes=shapes,
        journal=journal,
        limits=PersonLimits(loaded.principal, config.limits, shared.quotas) if for_many else None,
        quotas=shared.quotas,
        telemetry=telemetry,
        flow_memories=own.store.shelf.below(FLOWS_FOLDER),
    )
    reader = build_result_reader(loaded, results, tools.isolates)
    modest = loaded.untrusted.aliases  # which give way to packs
    namespace = Namespace(tools.registry, config.aliases, config.projects, shapes=shapes, modest=modest)

    async def catch_up(code: str) -> None:
        await own.catch_up()
        await tools.catch_up(code)

    parts = tools.registry, executor, shared.supply, namespace, Keeping(results)
    runner = Runner(*parts, tools.catch_up if own.alone else catch_up, run_settings(loaded))
    runner.handles = ViewHandles(journal.store.load_key, config.results.keep_for)
    answers = KeptAnswers(results, reader, store.kept_answers, project=loaded.project)
    names = TaskNames(journal.store.load_key, config.results.keep_for)
    runs = Runs(runner, answers, elsewhere=shared.elsewhere, beside=questions, task_names=names)
    return App(
        started=loaded,
        loaded=loaded,
        tools=tools,
        executor=executor,
        supply=shared.supply,
        namespace=namespace,
        runner=runner,
        runs=await stack.enter_async_context(runs),
        finder=Finder(tools.registry, state_folder(loaded.home)),
        shapes=shapes,
        journal=journal,
        rate_limits=shared.rate_limits,
        redactor=loaded.redactor,
        folders=PackFolders(state_folder(loaded.home)),
        watches=stack.enter_context(closing(FolderWatches())),
        results=results,
        reader=reader,
        kept_values=KeptValues(results, reader, store.kept_values),
        own=own,
        own_definition=own_definition,
    )


@asynccontextmanager
async def open_assistant(
    app: App, loaded: LoadedConfig, *, settings: AiSettings | None = None, caller: Caller = NOBODY
) -> AsyncIterator[ToolLoop]:
    """A conversation with the model that is configured, or that other `settings` name.

    Raises MissingExtraError or ConfigError where it could never answer.
    """
    from ot.ai import build_client  # a server needs none of it

    async with build_client(app.executor, settings or app.config.ai, loaded.secrets, caller=caller) as client:
        yield client
