"""`onetool fetch [PACK ...]`: the libraries that packs need, installed before a call waits for them."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping

import anyio
import anyio.to_thread

from mcp_core.nearest_names import nearest
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, say, say_json
from onetool.cli.start import load
from ot.app import worker_host
from ot.isolate import IsolateHost
from ot.parts.known_tools import find_built_in_packs, load_registry
from ot.registry.definitions import Libraries
from ot.registry.tool_threads import ToolThreads
from ot.workers.host import WorkerHost
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
    "Without PACK it lists the packs that need libraries. Each has an environment of its own in "
    "~/.onetool/state/pack_environments, made from a pinned list; `pip install onetool-run[PACK]`, or [all], puts the "
    "libraries beside OneTool instead. Exit status: 0 if all are ready, 1 if one could not be fetched, 2 if a PACK is "
    "unknown."
)
_WORDS = {
    LibraryState.INSTALLED: "ready, installed with OneTool",
    LibraryState.PREPARED: "ready",
    LibraryState.MISSING: "not fetched; its first call does that",
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("packs", nargs="*", metavar="PACK", help="a pack whose libraries are fetched now")
    parser.add_argument("--all", action="store_true", dest="everything", help="fetch those of all packs")
    parser.add_argument("--again", action="store_true", help="also if they are there: the environment is made anew")
    parser.add_argument("--clean", action="store_true", help=f"remove what nobody has used for {KEPT_DAYS} days")
    parser.add_argument("--json", action="store_true", help="without PACK: print JSON")


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
    """Return the libraries of the built-in packs that need some, also of those that are switched off."""
    registry = load_registry(find_built_in_packs(), IsolateHost(), ToolThreads())
    found = (pack.libraries for pack in registry.packs())
    return {libraries.pack: libraries for libraries in found if libraries is not None}


def show(known: Mapping[str, Libraries], host: WorkerHost) -> int:
    """List the packs, and what is there of them."""
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
    """Make the environments that are not there; a failure does not stop the others."""
    failed = False
    for libraries in chosen:
        try:
            say(f"{libraries.pack}: {await _fetch_one(libraries, host, again=again)}")
        except PreparationError as error:
            complain(f"onetool: {libraries.pack} cannot be fetched. uv says:\n{error}")
            failed = True
    await anyio.to_thread.run_sync(_clean, host)
    return FAILED if failed else OK


def _clean(host: WorkerHost) -> int:
    for folder in remove_unused(host.state):
        say(f"{folder.name}: removed, since nothing has used it for {KEPT_DAYS} days")
    return OK


async def _fetch_one(libraries: Libraries, host: WorkerHost, *, again: bool) -> str:
    state = state_of(host.state, libraries)
    if state is LibraryState.INSTALLED:
        return _WORDS[state]
    begun = time.monotonic()
    made = await make_environment(
        find_environment(host.state, libraries), host, _Teller(libraries.pack), patient=True, again=again
    )
    seconds = f" in {time.monotonic() - begun:.1f} s" if made else ""
    return f"ready{seconds}, {_size(libraries, host)}"


def _size(libraries: Libraries, host: WorkerHost) -> str:
    return f"{find_environment(host.state, libraries).size() / 1_000_000:.1f} MB"


class _Teller:
    """Tells a person at a terminal how it goes, each thing once."""

    def __init__(self, pack: str) -> None:
        self._pack = pack
        self._last = ""

    def __call__(self, line: str) -> None:
        if line != self._last:
            self._last = line
            complain(f"{self._pack}: {line}")
