"""The one place where parts are built: each once, in order, and closed in reverse."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import dataclass
from ot.ai.access import ModelAccess
from ot.audit.log import AUDIT_FOLDER, AuditLog
from ot.clients.caller import NOBODY, Caller
from ot.clients.claims import KnownClients
from ot.config.loader import LoadedConfig
from ot.config.models import AiSettings, Config
from ot.config.paths import PackFolders, state_folder
from ot.config.personal import PEOPLE_FOLDER, folder_of
from ot.config.personal_secrets import PersonalSecrets
from ot.errors import PackLoadError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.validation import load_compiler
from ot.execution.wording import word_error
from ot.files.allowed_files import build_allowed_files
from ot.files.watches import FolderWatches
from ot.introspect import Finder, Health, Reload
from ot.isolate import IsolateHost
from ot.journal.equality import Equality
from ot.journal.journal import Journal
from ot.kernel.supply import KernelSupply
from ot.kernel.zygote_process import ZygoteProcess, launch_zygote
from ot.limits import PersonLimits
from ot.parts.known_tools import (
    find_built_in_packs,
    load_extensions,
    load_registry,
    load_skills,
    proxy_host,
    reads_of,
)
from ot.parts.live_config import LiveConfig, LiveParts, note_absent, run_settings
from ot.parts.person_overlay import PersonOverlay, open_own_things
from ot.parts.shared_parts import SharedBackend, SharedParts, open_shared_parts
from ot.processes.standby import Standby
from ot.proxy import Servers, open_servers
from ot.registry.built_in import BuiltInPacks
from ot.registry.definitions import Touches
from ot.registry.pack_module import module_reference
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader
from ot.registry.tool_threads import ToolThreads
from ot.results.kept_values import KeptValues
from ot.results.reader import ResultReader
from ot.results.store import RESULTS_FOLDER, ResultStore
from ot.run.keeping import Keeping
from ot.run.kept_answers import KeptAnswers
from ot.run.namespace import Namespace
from ot.run.runner import Runner
from ot.run.runs import Runs, open_runs
from ot.shapes.shapes import SHAPES_FOLDER, open_shapes
from ot.skills.skill_loader import SkillLoader
from ot.stats.recorder import STATS_FILE, Recorder
from ot.stats.statistics import Statistics
from ot.store.opening import Retention, Store, build_link, build_store
from ot.store.quotas import Quotas
from ot.store.stat_rows import TeamSums
from ot.workers.extension_loader import ExtensionLoader
from ot.workers.host import WorkerHost
from ot.workers.pool import WorkerPool, open_worker_pool

if TYPE_CHECKING:
    from ot.ai import ToolLoop
    from ot.store.postgres.link import PostgresLink
    from ot.telemetry.telemetry import Telemetry

QUESTIONS_FOLDER = "questions"
AFTER_START = 0.2  # seconds
SOON = 0.02  # seconds until lines are written for which no answer waits


@dataclass(frozen=True, slots=True)
class App:
    """Everything a front door needs."""

    config: Config
    registry: ToolRegistry
    executor: ToolExecutor
    supply: KernelSupply
    runner: Runner
    servers: Servers
    runs: Runs
    workers: WorkerPool
    reload: Reload
    own_secrets: PersonalSecrets | None  # of one of many people; None: their secrets are files of theirs

    @property
    def problems(self) -> list[PackLoadError]:
        """Packs that could not be loaded, and why."""
        return self.registry.problems


def launch(loaded: LoadedConfig) -> ZygoteProcess:
    """Start the zygote. Cheap, and worth doing before heavy imports: kernels are then warm when the first run comes."""
    return launch_zygote(loaded.config.execution)


@asynccontextmanager
async def open_app(  # noqa: PLR0913, PLR0915 - the one place where parts are built
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

    `packs` are folders of packs beside the built-in ones; workers get what they need of `environ`. `own_definition` is
    what a client is told of us, which the statistics set against what its tools would have told it. `offer_run` makes
    running code a tool like any other, `onetool.run`, which the assistant needs. Without `connect_ahead` no server is
    connected for code that does not ask for it: a command that is over in a moment would wait for one that hangs.
    `telemetry` hears of runs and calls. `reload_everywhere` is what `ot.reload` does for whoever looks after a server
    that many share. `backing` is what the process has opened before.
    """
    async with AsyncExitStack() as stack:
        if shared is None:
            shared = await stack.enter_async_context(open_shared_parts(loaded, launched, backing))
        supply, cache = shared.supply, shared.definitions
        store = stack.enter_context(closing(store_of(loaded, shared.link)))
        own = await open_own_things(loaded, shared.link)
        plain, loaded = loaded, await own.join(loaded)
        config = loaded.config
        workers = await stack.enter_async_context(open_worker_pool(config.workers, host=worker_host(loaded, environ)))
        isolates = await stack.enter_async_context(IsolateHost(find_python=workers.python_of))
        standby = await stack.enter_async_context(Standby())
        threads = ToolThreads()
        stack.callback(threads.close)
        folders = [*find_built_in_packs(), *packs]
        registry = load_registry(folders, isolates, threads, cache)
        registry.trust_reads(reads_of(config))
        note_absent(registry, loaded)
        recorder = await stack.enter_async_context(open_recorder(loaded, store))
        results = build_results(loaded, store)
        audit = stack.enter_context(open_audit_log(loaded, store))
        shapes = await stack.enter_async_context(open_shapes(own.store.shelf.below(SHAPES_FOLDER)))
        journal = build_journal(loaded, store)
        executor = ToolExecutor(
            registry,
            config=config,
            secrets=loaded.secrets,
            project=loaded.project,
            redactor=loaded.redactor,
            recorder=recorder,
            results=results,
            questions=state_folder(loaded.home) / QUESTIONS_FOLDER,
            audit=audit,
            shapes=shapes,
            journal=journal,
            limits=build_limits(loaded, shared.quotas),
            telemetry=telemetry,
        )
        executor.lend(
            isolates,
            standby,
            workers,
            PackFolders(state_folder(loaded.home)),
            shared.paces,
            shapes,
            journal,
        )
        built_in = BuiltInPacks(folders, ToolLoader(registry, isolate=isolates, threads=threads), registry)
        places = PackPlaces(registry, config.packs)
        extensions = load_extensions(registry, places, loaded, workers.function_of, forget=workers.forget)
        skills = load_skills(registry, places, loaded, own.store.shelf)
        servers = await stack.enter_async_context(
            open_servers(
                config.servers,
                registry=registry,
                places=places,
                host=proxy_host(loaded, environ, clients, personal=own.store, pending=shared.logins),
                ahead=connect_ahead,
            )
        )
        executor.lend(servers, stack.enter_context(closing(FolderWatches())), extensions, skills, Finder(registry))
        build_health = partial(Health, executor, supply, workers, servers, threads, settings=config.execution)

        def rebuild(fresh: LoadedConfig) -> None:
            """Lend what is built from the configuration."""
            statistics = build_statistics(fresh, recorder, registry, own_definition)
            access = ModelAccess(fresh.secrets, loaded.redactor, recorder, telemetry, executor.limits)
            executor.lend(build_allowed_files(fresh), statistics, build_health(fresh), access, fresh)

        rebuild(loaded)
        reader = build_result_reader(loaded, results, isolates)
        executor.lend(results, reader, KeptValues(results, reader, store.kept_values))
        namespace = Namespace(registry, config.aliases, config.projects, shapes=shapes, modest=loaded.untrusted.aliases)
        runner = Runner(
            registry,
            executor,
            supply,
            namespace,
            Keeping(results),
            catch_up=partial(catch_up, own, extensions, skills, servers),
            settings=run_settings(loaded),
        )
        runs = await stack.enter_async_context(
            open_runs(runner, build_kept_answers(loaded, store, results, reader), elsewhere=shared.elsewhere)
        )
        executor.lend(runs, loaded.redactor, own)

        live = LiveConfig(
            loaded,
            LiveParts(
                executor=executor,
                runner=runner,
                namespace=namespace,
                supply=supply,
                workers=workers,
                extensions=extensions,
                skills=skills,
                servers=servers,
                results=results,
                reader=reader,
                built_in=built_in,
                places=places,
                forget_helpers=lambda file: isolates.forget(module_reference(file)),
                rebuild=rebuild,
            ),
        )
        reload = Reload(plain, own.joining(live.follow), registry, everywhere=reload_everywhere)
        own.follow_again = reload.follow_again
        executor.lend(reload)
        stack.callback(cache.save)  # a command is over before it is idle
        for load in (load_compiler, cache.save):
            stack.callback(load_when_idle(load).cancel)
        if offer_run:
            from ot.run.run_tool import register_run  # only the assistant needs it

            register_run(registry, runner)
        yield App(config, registry, executor, supply, runner, servers, runs, workers, reload, own.secrets)


@contextmanager
def open_own_store(loaded: LoadedConfig) -> Iterator[Store]:
    """Open the store of a configuration, with a link of its own if it needs one. Raises ConfigError."""
    with ExitStack() as stack:
        link = build_link(loaded.config.store)
        if link is not None:
            stack.callback(link.close)
        yield stack.enter_context(closing(store_of(loaded, link)))


def store_of(loaded: LoadedConfig, link: PostgresLink | None) -> Store:
    """Build the store of a configuration on the link that this process has, if any."""
    journal = loaded.config.journal
    if link is not None and link.password:
        loaded.redactor.learn(link.password)  # whether it came from a secret or stands in the address
    kept = Retention(journal.keep_for, journal.max_size)
    return build_store(state_folder(loaded.home), link, principal=loaded.principal, journal=kept)


def load_when_idle(load: Callable[[], None]) -> asyncio.TimerHandle:
    """Load something on a thread when the start is over, so that neither the start nor the first call waits for it."""
    loop = asyncio.get_running_loop()
    return loop.call_later(AFTER_START, loop.run_in_executor, None, load)


@asynccontextmanager
async def open_assistant(
    app: App,
    loaded: LoadedConfig,
    *,
    settings: AiSettings | None = None,
    caller: Caller = NOBODY,
) -> AsyncIterator[ToolLoop]:
    """A conversation with the model that is configured, or that other `settings` name.

    Raises MissingExtraError or ConfigError where it could never answer.
    """
    from ot.ai import build_client  # a server needs none of it

    client = build_client(app.executor, settings or app.config.ai, loaded.secrets, caller=caller)
    async with client:
        yield client


@asynccontextmanager
async def open_recorder(loaded: LoadedConfig, store: Store) -> AsyncIterator[Recorder | None]:
    """Open the recorder of runs and calls, unless the configuration wants nothing counted. Its file is opened late."""
    recorder = build_recorder(loaded, store)
    if recorder is None:
        yield None
        return
    try:
        yield recorder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(recorder.close)


def build_recorder(loaded: LoadedConfig, store: Store) -> Recorder | None:
    """Build a recorder, which writes nothing before something is noted; None if nothing is to be counted."""
    settings, file = loaded.config.stats, state_folder(loaded.home) / STATS_FILE
    return Recorder(file, rows=store.statistics, keep_days=settings.keep_days) if settings.enabled else None


@contextmanager
def open_audit_log(loaded: LoadedConfig, store: Store) -> Iterator[AuditLog | None]:
    """Open the log of calls with effect, unless the configuration wants none. Its file is made late."""
    if not loaded.config.audit.enabled:
        yield None
        return
    folder = state_folder(loaded.home) / AUDIT_FOLDER
    later = partial(asyncio.get_running_loop().call_later, SOON)
    log = AuditLog(
        folder,
        loaded.config.audit,
        project=loaded.project,
        redactor=loaded.redactor,
        person=loaded.principal,
        rows=store.audit,
        later=later,
    )
    with closing(log):
        yield log


def build_results(loaded: LoadedConfig, store: Store) -> ResultStore:
    """Build the store of results; nothing is read or made before it is used."""
    folder = state_folder(loaded.home) / RESULTS_FOLDER
    return ResultStore(folder, loaded.config.results, redactor=loaded.redactor, rows=store.results)


def build_result_reader(loaded: LoadedConfig, results: ResultStore, isolates: IsolateHost) -> ResultReader:
    """Build the reader of stored results; what may take long is done in a helper that can read nothing else."""
    touches = Touches(reads=(str(state_folder(loaded.home) / RESULTS_FOLDER),))
    return ResultReader(results, loaded.config.results, apart=partial(isolates.run, touches=touches))


def build_kept_answers(loaded: LoadedConfig, store: Store, results: ResultStore, reader: ResultReader) -> KeptAnswers:
    """Build the memory of answers that nobody has fetched yet."""
    return KeptAnswers(results, reader, store.kept_answers, project=loaded.project)


@contextmanager
def open_audit_folder(loaded: LoadedConfig) -> Iterator[Path]:
    """Give the folder of the audit log, or a copy of what all replicas have written. Raises ConfigError or OSError."""
    with open_own_store(loaded) as store:
        if store.audit is None:
            yield state_folder(loaded.home) / AUDIT_FOLDER
            return
        with store.audit.copied() as folder:
            yield folder


@contextmanager
def open_everybodys_audit(
    loaded: LoadedConfig, *, since: float = 0.0, until: float = float("inf"), person: str = ""
) -> Iterator[list[Path]]:
    """Give folders that hold the audit logs of all people of a team, at least from this time and of this person.

    Raises ConfigError or OSError.
    """
    with open_own_store(loaded) as store:
        if store.link is None:
            state = state_folder(loaded.machine_home)
            theirs = (state / PEOPLE_FOLDER).glob(str(state_folder(Path("*")) / AUDIT_FOLDER))
            yield [state / AUDIT_FOLDER, *theirs]
            return
        from ot.store.postgres.audit import copy_of_everybody  # its library is loaded where it is used

        with copy_of_everybody(store.link, since=since, until=until, person=person) as folders:
            yield folders


def sum_everybody(loaded: LoadedConfig, people: Iterable[str], since: float) -> TeamSums:
    """Add up what everybody at a team's server has used since a moment; blocking. Raises CallError or OSError.

    Files do not say whose they are: `people` are the principals that are known, the others are shown by their folder.
    """
    with open_own_store(loaded) as store:
        if store.link is not None:
            from ot.store.postgres.statistics import sum_everybody as sum_rows  # as above

            return sum_rows(store.link, since)
    known = {folder_of(principal): principal for principal in people}
    folder = state_folder(loaded.machine_home) / PEOPLE_FOLDER
    files = [(home.name, state_folder(home) / STATS_FILE) for home in folder.glob("*")]
    from ot.stats.everybody import read_files  # the library of the database is needed by those who look

    return read_files([(known.get(name, name), file) for name, file in files if file.exists()], since)


@contextmanager
def open_journal(loaded: LoadedConfig) -> Iterator[Journal]:
    """Open the journal of a configuration for reading. Raises ConfigError."""
    with open_own_store(loaded) as store:
        yield build_journal(loaded, store)


def build_journal(loaded: LoadedConfig, store: Store) -> Journal:
    """Build the journal of runs; nothing is written where the configuration wants none."""
    return Journal(
        store.journal,
        loaded.config.journal,
        project=loaded.project,
        equality=Equality(store.journal.load_key),
        redactor=loaded.redactor,
        later=lambda flush: asyncio.get_running_loop().call_later(SOON, flush),  # who only reads has no loop
    )


def build_limits(loaded: LoadedConfig, quotas: Quotas) -> PersonLimits | None:
    """Build the limits of one of the people who share a server; whoever has one of their own has none."""
    return None if loaded.administrator is None else PersonLimits(loaded.principal, loaded.config.limits, quotas)


def build_statistics(
    loaded: LoadedConfig, recorder: Recorder | None, registry: ToolRegistry, own_definition: Callable[[], str]
) -> Statistics:
    """Build the reader of statistics; reports may also be written to where runs may write."""
    files = build_allowed_files(loaded, also=loaded.config.execution.writable)
    return Statistics(recorder, registry, files=files, own_definition=own_definition)


def worker_host(loaded: LoadedConfig, environ: Mapping[str, str]) -> WorkerHost:
    """Build the surroundings that the workers of a configuration live in."""
    home = loaded.machine_home
    always = loaded.administrator is not None
    return WorkerHost(loaded.project, home, state_folder(home), environ, word=word_error, always_confined=always)


async def catch_up(
    own: PersonOverlay, extensions: ExtensionLoader, skills: SkillLoader, servers: Servers, code: str
) -> None:
    """Let the registry see what has changed since the last run, and what this one needs."""
    await own.catch_up()
    await extensions.catch_up()
    await skills.catch_up()
    await servers.catch_up(code)
