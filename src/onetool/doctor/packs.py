"""Servers and extensions, each started once; the engine that runs extensions, and the libraries of packs."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from functools import partial

import anyio

from mcp_core.json_types import JsonObject
from onetool.console.clean_text import count_of, show_seconds
from onetool.doctor import Finding, edit, green, red, yellow
from onetool.doctor.trial_starts import Trial, Watcher, try_starts
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.execution.wording import word_error
from ot.parts.known_tools import proxy_host, worker_host
from ot.proxy import Acceptance, find_mistake
from ot.proxy.definitions.acceptance import Difference
from ot.registry.registry import ToolRegistry
from ot.workers.pack_environments import LibraryState, state_of
from ot.workers.pool import open_worker_pool
from ot.workers.uv_program import PreparationError

_LONGEST = 300  # characters of what a program said last


def look_at_packs(loaded: LoadedConfig, registry: ToolRegistry, *, offline: bool) -> Iterator[Finding]:
    """Report what can be loaded and started; `offline` starts nothing."""
    startable = find_startable_servers(loaded)
    if not offline and loaded.config.log.file is None:
        logging.getLogger("ot").setLevel(logging.CRITICAL)  # failures are reported here
    try_all = partial(try_starts, loaded, servers=startable, extensions=True, watcher=Watcher())
    for trial in () if offline else anyio.run(try_all):
        yield _word_trial(trial, loaded)
    if offline and startable:
        yield green("servers", f"not started: {', '.join(startable)}")
    if not any(server.enabled for server in loaded.config.servers.values()):
        yield green("servers", "none are configured, or all are switched off")
    for name, differences in find_changed_servers(loaded).items():
        text = f"{name} has changed since you accepted it ({count_of(len(differences), 'change')})"
        yield yellow("servers", text, f"onetool accept {shlex.quote(name)}")
    for problem in registry.problems:
        yield red("extensions", f"{problem.file.parent}{os.sep}{word_error(problem)}", edit(problem.file))
    missing = find_missing_libraries(loaded, registry)
    if missing:
        yield green("packs", f"libraries installed by the first call: {', '.join(missing)}", "onetool fetch --all")
    else:
        yield green("packs", f"{len(registry.packs())} packs; all libraries are installed")


def _word_trial(trial: Trial, loaded: LoadedConfig) -> Finding:
    name, area = trial.start.name, f"{trial.start.kind}s"
    if not trial.failure:
        return green(area, f"{name}: {count_of(trial.tools, 'tool')} after {show_seconds(trial.seconds)}")
    words = " ".join(trial.last_words)[-_LONGEST:]
    text = f"{name}: {' '.join(trial.failure.split())}{f' Last output: {words}' if words else ''}"
    return red(area, text, _way_out(trial, loaded))


def _way_out(trial: Trial, loaded: LoadedConfig) -> str:
    """Return the command that shows most of what is wrong."""
    if trial.start.kind == "extension":
        return "onetool check --import"
    server = loaded.config.servers[trial.start.name]
    if server.command is not None:
        return shlex.join([server.command, *server.args])
    login = f"onetool login {shlex.quote(trial.start.name)}"
    return login if "log" in trial.failure else f"curl -i {shlex.quote(str(server.url))}"


def find_startable_servers(loaded: LoadedConfig) -> list[str]:
    """Return the servers that are switched on and not known to be broken without starting them."""
    servers = ((name, server) for name, server in loaded.config.servers.items() if server.enabled)
    return [name for name, each in servers if not find_mistake(each, environ=os.environ, project=loaded.project)]


def find_changed_servers(loaded: LoadedConfig) -> dict[str, Sequence[Difference]]:
    """Return the servers that have changed since they were accepted, with their differences."""
    records = proxy_host(loaded, os.environ).records
    servers = ((name, settings) for name, settings in loaded.config.servers.items() if settings.enabled)
    found = {name: Acceptance(name, settings, records).differences() for name, settings in servers}
    now = {name: [each for each in differences if each.offered] for name, differences in found.items()}
    return {name: differences for name, differences in now.items() if differences}


def find_missing_libraries(loaded: LoadedConfig, registry: ToolRegistry) -> list[str]:
    state = state_folder(loaded.home)
    needed = ((pack.name, pack.libraries) for pack in registry.packs())
    return [name for name, each in needed if each is not None and state_of(state, each) is LibraryState.MISSING]


def look_at_engine(loaded: LoadedConfig, *, offline: bool) -> Iterator[Finding]:
    """Report where extensions run; `offline` does not try the cluster."""
    if loaded.config.workers.engine == "local":
        yield green("workers", "extensions run on this machine (workers.engine: local)")
        return
    address = loaded.config.workers.ray_address
    if offline:
        yield green("workers", f"extensions may run on Ray, which was not tried (workers.ray_address: {address})")
        return

    async def connect() -> JsonObject:
        async with open_worker_pool(loaded.config.workers, host=worker_host(loaded, os.environ)) as pool:
            return await pool.ray.connect()

    try:
        facts = anyio.run(connect)
    except PreparationError as error:
        yield red("workers", str(error), edit(loaded.files[0] if loaded.files else None))
    else:
        yield green("workers", f"Ray {facts['ray']} at {address} answers, with {facts['nodes']} nodes")
