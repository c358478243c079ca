"""The names of packs, tools and servers for completion: read as a listing reads them, so nothing is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypedDict

from onetool.completion.memory import Memory, Stamp, stamp_of
from ot.config.paths import CONFIG_FILE, FOLDER, Places, find_places, skill_folders, state_folder, tool_folders

_BUILT_IN = Path(__file__).parents[2] / "ot_tools"
_STATE = ("servers/definitions", "trust")


class Names(TypedDict):
    """All names there are, sorted; tools as `pack.tool`."""

    tools: list[str]
    packs: list[str]
    servers: list[str]


def recall_names(memory: Memory, read: Callable[[], Names], config: Path | None, *, cwd: Path, home: Path) -> Names:
    """Return the names for whoever types here, which `read` finds if they are not remembered; raises ConfigError."""
    places = find_places(cwd=cwd, home=home, named=config)
    return memory.recall(f"names {config or places.project}", _stamp(places, config, home), read)


def _stamp(places: Places, config: Path | None, home: Path) -> Stamp:
    folders = [*tool_folders(places.project, home), *skill_folders(places.project, home)]
    state = [state_folder(home) / name for name in _STATE]
    own = [folder / CONFIG_FILE for folder in (places.home_folder, places.project / FOLDER)]
    inside = [each for folder in (_BUILT_IN, *folders) for each in _inside(folder)]
    return stamp_of([_BUILT_IN, *own, *([config] if config else []), *state, *folders, *inside])


def _inside(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder of tools, and in the folders below it."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    for each in found:
        yield each
        yield from sorted(each.glob("*.py")) if each.is_dir() else ()
