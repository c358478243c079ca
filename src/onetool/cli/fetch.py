"""`onetool fetch [PACK ...]`: install the libraries that packs need, so that no call waits for them."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping

import anyio
import anyio.to_thread

from mcp_core.nearest_names import nearest
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import add_json_argument, complain, say, say_json
from onetool.cli.start import load
from ot.isolate import IsolateHost
from ot.parts.known_tools import find_built_in_packs, load_registry, worker_host
from ot.registry.definitions import Libraries
from ot.registry.tool_threads import ToolThreads
from ot.workers.extension import WorkerHost
from ot.workers.pack_environment import (
    KEPT_DAYS,
    LibraryState,
    find_environment,
    make_environment,
    remove_unused,
    state_of,
)
from ot.workers.uv_program import PreparationError

EPILOG = (
    "Without PACK, lists the packs that need libraries. Each has its own environment in "
    "~/.onetool/state/pack_environments, created from a pinned list; `pip install onetool-run[PACK]`, or [all], "
    "installs the libraries beside OneTool instead. Exit status: 0 if all are ready, 1 if one could not be installed, "
    "2 if a PACK is unknown."
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
    host = worker_host(load(options, tolerant=True), os.environ)
    known = find_libraries()
    unknown = [pack for pack in options.packs if pack not in known]
    if unknown:
        for pack in unknown:
            complain(f"onetool: no pack {pack!r} needs libraries. Those that do: {', '.join(nearest(pack, known))}")
        return USAGE
    chosen = known.values() if options.everything else [known[pack] for pack in dict.fromkeys(options.packs)]
    if options.clean and not chosen:
        return _clean(host)
    if not chosen:
        return _show_json(known, host) if options.json else show(known, host)
    return anyio.run(fetch, list(chosen), host, options.again)


def find_libraries() -> dict[str, Libraries]:
    """Return the libraries of the built-in packs that need some, including those that are switched off."""
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    found = (pack.libraries for pack in registry.packs())
    return {libraries.pack: libraries for libraries in found if libraries is not None}


def show(known: Mapping[str, Libraries], host: WorkerHost) -> int:
    """List the packs, and whether their libraries are installed."""
    for libraries in known.values():
        state = state_of(host.state, libraries)
        size = f", {_size(libraries, host)}" if state is LibraryState.PREPARED else ""
        say(f"{libraries.pack}: {_WORDS[state]}{size} ({', '.join(libraries.requirements)})")
    return OK


def _show_json(known: Mapping[str, Libraries], host: WorkerHost) -> int:
    say_json(
        [
            {
                "pack": libraries.pack,
                "state": str(state := state_of(host.state, libraries)),
                "bytes": find_environment(host.state, libraries).size() if state is LibraryState.PREPARED else None,
                "requirements": list(libraries.requirements),
            }
            for libraries in known.values()
        ]
    )
    return OK


async def fetch(chosen: Iterable[Libraries], host: WorkerHost, again: bool) -> int:  # noqa: FBT001 - anyio.run passes no names
    """Create the environments that are missing; a failure does not stop the others."""
    failed = False
    for libraries in chosen:
        try:
            say(f"{libraries.pack}: {await _fetch_one(libraries, host, again=again)}")
        except PreparationError as error:
            complain(f"onetool: the libraries of {libraries.pack} could not be installed. uv says:\n{error}")
            failed = True
    await anyio.to_thread.run_sync(_clean, host)
    return FAILED if failed else OK


def _clean(host: WorkerHost) -> int:
    for folder in remove_unused(host.state):
        say(f"{folder.name}: removed, not used for {KEPT_DAYS} days")
    return OK


async def _fetch_one(libraries: Libraries, host: WorkerHost, *, again: bool) -> str:
    state = state_of(host.state, libraries)
    if state is LibraryState.INSTALLED:
        return _WORDS[state]
    begun = time.monotonic()
    made = await make_environment(
        find_environment(host.state, libraries), host, _ProgressPrinter(libraries.pack), patient=True, again=again
    )
    seconds = f" in {time.monotonic() - begun:.1f} s" if made else ""
    return f"ready{seconds}, {_size(libraries, host)}"


def _size(libraries: Libraries, host: WorkerHost) -> str:
    return f"{find_environment(host.state, libraries).size() / 1_000_000:.1f} MB"


class _ProgressPrinter:
    """Shows progress, without repeating a line."""

    def __init__(self, pack: str) -> None:
        self._pack = pack
        self._last = ""

    def __call__(self, line: str) -> None:
        if line != self._last:
            self._last = line
            complain(f"{self._pack}: {line}")
