"""`onetool stubs`: write type stubs of every pack, so that editors complete run code and type checkers check it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

import anyio

from onetool.cli import OK
from onetool.cli.definitions import open_definitions
from onetool.cli.printing import add_json_argument, complain, say, say_json
from onetool.cli.start import load
from onetool.stubs.pack_stub import KnownResults
from onetool.stubs.stub_files import PACKAGE, StubWriter, write_stubs
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.proxy.status import ServerStatus
from ot.shapes.shapes import SHAPES_FOLDER, Shapes
from ot.store.shelf import Shelf

STUBS = "onetool_stubs"  # outside .onetool, which needs a person's trust
EPILOG = (
    f"Pyright and Pylance read the folder in their setting stubPath, and know packs without an import. mypy reads the "
    f"folder in MYPYPATH; import packs in the code that it checks, as code in a run may, or from {PACKAGE}."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="FOLDER", help=f"where to write (default: {STUBS} in the project)"
    )
    parser.add_argument("--offline", action="store_true", help="start no server; describe them as they were last seen")
    add_json_argument(parser)


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    folder: Path = options.folder or loaded.project / STUBS
    files, servers = anyio.run(partial(_read, loaded, offline=options.offline))
    changes = write_stubs(folder, files)
    missing = [server for server in servers if not server.tool_count and server.state != "disabled"]
    if options.json:
        unseen = {server.name: server.error for server in missing}
        say_json({"folder": str(folder), "written": changes.written, "removed": changes.removed, "missing": unseen})
        return OK
    packs = sum(path.startswith(f"{PACKAGE}/") and not Path(path).stem.startswith("__") for path in files)
    say(f"{folder}: {packs} packs; {len(changes.written)} files written, {len(changes.removed)} removed.")
    for server in missing:
        complain(f"{server.name} has no stubs, because its tools are not known: {server.error or server.state}")
    shown = os.path.relpath(folder)
    say(f'Editor (Pyright, Pylance): "stubPath": "{shown}". mypy: MYPYPATH={shown} mypy FILE.')
    return OK


async def _read(loaded: LoadedConfig, *, offline: bool) -> tuple[dict[str, str], list[ServerStatus]]:
    async with open_definitions(loaded) as (registry, servers):
        if not offline:
            await servers.probe(max((each.start_timeout for each in loaded.config.servers.values()), default=0))
        shapes = Shapes(Shelf(state_folder(loaded.home) / SHAPES_FOLDER))
        return StubWriter(registry, shapes, KnownResults(servers, shapes), loaded.config).files(), servers.status()
