"""`onetool fetch [PACK ...]` and `onetool lock [PACK]`: the libraries of packs, and the locked ones of extensions."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping

import anyio
import anyio.to_thread

from mcp_core.nearest_names import nearest
from onetool.cli import OK, USAGE
from onetool.cli.definitions import read_definitions
from onetool.cli.printing import add_json_argument, complain, fail, say, say_json
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.kernel.engine_choice import install_remedy
from ot.parts.known_tools import load_built_in, worker_host
from ot.registry.definitions import Libraries
from ot.workers.extension import Extension, WorkerHost
from ot.workers.installing import Installer
from ot.workers.pack_environments import (
    KEPT_DAYS,
    LibraryState,
    find_environment,
    find_unused,
    make_environment,
    state_of,
)
from ot.workers.uv_program import PreparationError
from ot_wasm.component import NoComponentError, find_or_compile

ENGINE = "wasm"
EPILOG = (
    "Without PACK, lists the packs that need libraries. Each has its own environment in "
    "~/.onetool/state/pack_environments, created from a pinned list; installing OneTool with the extra PACK, "
    "or `all`, puts the libraries beside it instead. Exit status: 0 if all are ready, 1 if one could not be installed, "
    "2 if a PACK is unknown. The engine `wasm`, where runs use it, is compiled by the first run, or now by naming wasm "
    "as a PACK."
)
EPILOG_LOCK = (
    "Without PACK, lists all extensions that have dependencies. The first call creates a lock in "
    "~/.onetool/state/locks, which is used until it is removed or the header changes. FILE.lock beside an extension, "
    "as written by `uv lock --script FILE`, takes precedence."
)
_WORDS = {
    LibraryState.INSTALLED: "ready, installed with OneTool",
    LibraryState.PREPARED: "ready",
    LibraryState.MISSING: "not installed; the first call installs it",
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("packs", nargs="*", metavar="PACK", help="a pack whose libraries are installed now")
    parser.add_argument("--all", action="store_true", dest="everything", help="install the libraries of all packs")
    parser.add_argument("--again", action="store_true", help="rebuild the environment even if it exists")
    parser.add_argument("--clean", action="store_true", help=f"remove environments not used for {KEPT_DAYS} days")
    add_json_argument(parser, "without PACK: print JSON")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    host = worker_host(loaded, os.environ)
    packs = [pack for pack in dict.fromkeys(options.packs) if pack != ENGINE]
    if ENGINE in options.packs:
        try:
            find_or_compile(str(host.state / ENGINE), lambda: complain(f"{ENGINE}: compiling it for this machine ..."))
        except NoComponentError as error:
            remedy = f": {install_remedy(error.install)}" if error.install else ""
            return fail(f"onetool: {ENGINE}: {error}{remedy}")
        say(f"{ENGINE}: ready")
        if not packs:
            return OK
    registry = load_built_in(loaded)
    known = {pack.libraries.pack: pack.libraries for pack in registry.packs() if pack.libraries is not None}
    unknown = [pack for pack in packs if pack not in known]
    if unknown:
        for pack in unknown:
            complain(f"onetool: no pack {pack!r} needs libraries. Those that do: {', '.join(nearest(pack, known))}")
        return USAGE
    chosen = known.values() if options.everything else [known[pack] for pack in packs]
    if options.clean and not chosen:
        return _clean(host)
    if not chosen:
        return show(known, host, as_json=options.json)
    return anyio.run(fetch, list(chosen), host, options.again)


def show(known: Mapping[str, Libraries], host: WorkerHost, *, as_json: bool = False) -> int:
    """List the packs, and whether their libraries are installed."""
    described: list[dict[str, object]] = []
    for pack, libraries in known.items():
        state, needs = state_of(host.state, libraries), list(libraries.requirements)
        size = find_environment(host.state, libraries).size() if state is LibraryState.PREPARED else None
        described.append({"pack": pack, "state": str(state), "bytes": size, "requirements": needs})
        if not as_json:
            shown = "" if size is None else f", {size / 1_000_000:.1f} MB"
            say(f"{pack}: {_WORDS[state]}{shown} ({', '.join(needs)})")
    if as_json:
        say_json(described)
    return OK


async def fetch(chosen: Iterable[Libraries], host: WorkerHost, again: bool) -> int:  # noqa: FBT001 - anyio.run passes no names
    """Create the environments that are missing; a failure does not stop the others."""
    status = OK
    for libraries in chosen:
        try:
            say(f"{libraries.pack}: {await _fetch_one(libraries, host, again=again)}")
        except PreparationError as error:
            status = fail(f"onetool: the libraries of {libraries.pack} could not be installed. uv says:\n{error}")
    await anyio.to_thread.run_sync(_clean, host)
    return status


async def _fetch_one(libraries: Libraries, host: WorkerHost, *, again: bool) -> str:
    state, last = state_of(host.state, libraries), ""
    if state is LibraryState.INSTALLED:
        return _WORDS[state]

    def tell(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            complain(f"{libraries.pack}: {line}")

    begun, environment = time.monotonic(), find_environment(host.state, libraries)
    made = await make_environment(environment, host, tell, patient=True, again=again)
    seconds = f" in {time.monotonic() - begun:.1f} s" if made else ""
    return f"ready{seconds}, {environment.size() / 1_000_000:.1f} MB"


def _clean(host: WorkerHost) -> int:
    for folder in find_unused(host.state, remove=True):
        say(f"{folder.name}: removed, not used for {KEPT_DAYS} days")
    return OK


def add_arguments_lock(parser: ArgumentParser) -> None:
    parser.add_argument("pack", nargs="?", metavar="PACK", help="the extension whose dependencies to lock now")
    parser.add_argument("--upgrade", action="store_true", help="upgrade to the newest versions that its header allows")
    add_json_argument(parser, "without PACK: print JSON")


def main_lock(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    installers = find_installers(loaded, read_definitions(loaded)[1])
    if options.pack is not None:
        if options.pack in installers:
            return anyio.run(_lock, options.pack, installers[options.pack], options.upgrade)
        names = ", ".join(installers) or "none"
        return fail(f"onetool: there is no extension {options.pack!r} with dependencies. Extensions: {names}", USAGE)
    if options.upgrade:
        return fail("onetool: --upgrade needs the name of a PACK", USAGE)
    return _list_locks(installers, as_json=options.json)


def _list_locks(installers: Mapping[str, Installer], *, as_json: bool) -> int:
    described = []
    for pack, installer in installers.items():
        lock, versions, error = installer.lock, {}, ""
        try:
            versions = installer.versions()
        except PreparationError as damaged:
            error = str(damaged)
        locked = lock.kind != "none" and lock.content() is not None
        described.append({"pack": pack, "locked": locked, "file": str(lock.file), "versions": versions, "error": error})
        if not as_json:
            listed = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
            text = f"{listed or 'nothing to install'} ({lock.file})"
            if lock.kind == "none":
                text = "not locked: a package comes from a local folder"
            elif not locked:
                text = "not locked yet; the first call locks it"
            say(f"{pack}: {error or text}")
    if as_json:
        say_json(described)
    elif not installers:
        say("No extension has dependencies.")
    return OK


def find_installers(loaded: LoadedConfig, extensions: Mapping[str, Extension]) -> dict[str, Installer]:
    """Return the installers of the extensions that have dependencies, by their packs."""
    host, found = worker_host(loaded, os.environ), {}
    for pack, each in sorted(extensions.items()):
        if each.header is not None and each.header.dependencies:
            found[pack] = Installer(each.source, each.header, host, lambda _: None)
    return found


async def _lock(pack: str, installer: Installer, upgrade: bool) -> int:  # noqa: FBT001 - anyio.run passes no names
    if installer.lock.kind != "kept":
        why = "has its own lock file" if installer.lock.kind == "shipped" else "uses a package from a local folder"
        return fail(f"onetool: {pack} {why}; `uv lock --script {installer.lock.script}` changes it")
    try:
        changes = await installer.resolve(upgrade=upgrade)
    except PreparationError as error:
        return fail(f"onetool: {pack}: {error}")
    for change in changes:
        say(change)
    say(f"Locked {pack} ({installer.lock.file})." if changes else f"Nothing has changed ({installer.lock.file}).")
    return OK
