"""`onetool check --import`: every mistake in an extension's file that its author can fix, with line and fix."""

from __future__ import annotations

import os

import anyio

from onetool.cli.definitions import read_extensions
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import worker_host
from ot.workers.examining import examine
from ot.workers.extension import Extension


def find_extension_mistakes(loaded: LoadedConfig) -> list[str]:
    """Examine all extensions at the same time; blocking, and uses the network if packages need it."""
    return anyio.run(_examine_all, loaded)


async def _examine_all(loaded: LoadedConfig) -> list[str]:
    host = worker_host(loaded, os.environ)
    found: dict[str, list[str]] = {}

    async def look(pack: str, extension: Extension) -> None:
        found[pack] = [f"{each.file}:{each.line}: {each.text}" for each in await examine(extension, host)]

    async with anyio.create_task_group() as tasks:
        for pack, extension in read_extensions(loaded).items():
            tasks.start_soon(look, pack, extension)
    return [line for pack in sorted(found) for line in found[pack]]
