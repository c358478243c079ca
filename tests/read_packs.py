"""What the built-in packs define, read once for all homes of a worker of the tests: parsing them is most of a start."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from ot.config.paths import state_folder
from ot.parts.known_tools import find_built_in_packs
from ot.registry.definition_cache import DEFINITIONS_FILE, DefinitionCache
from ot.registry.definitions import ToolDefinition
from ot.registry.tool_loader import ToolLoader
from scripts.pack_extras import list_files, read_once


def list_tools(folder: Path) -> list[ToolDefinition]:
    """All tools of the built-in packs in a folder."""
    return [tool for file in list_files(folder) for tool in read_once(file).tools.values()]


def give_definitions(home: Path) -> None:
    """Leave in a home what an earlier start would have left there."""
    file = state_folder(home) / DEFINITIONS_FILE
    if not file.exists():
        with suppress(FileExistsError, NotADirectoryError):  # a test wants it so that nothing can be kept
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)
            file.write_text(_definitions())  # without waiting for the disk


@cache
def _definitions() -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / DEFINITIONS_FILE
        definitions = DefinitionCache(file)
        for packs in find_built_in_packs():
            for pack in ToolLoader.pack_files(packs):
                definitions.read(pack)
        definitions.save()
        return file.read_text()
