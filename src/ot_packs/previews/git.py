"""Previews of calls of the pack `git`: the patch that is staged, committed, stashed or switched to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from mcp_core.json_types import mapping_of
from ot.context import current
from ot.files.ahead import ForeseenChanges
from ot.files.allowed_files import allowed_files

_MOST_LINES = 80


async def add(changes: ForeseenChanges, *, paths: list[str]) -> None:
    """Show what is staged; afterwards nobody can tell what is in the index."""
    for path in paths[:20]:
        await _show(changes, path=path)
    await _note_index(changes, paths[0] if paths else ".", changed=True)


async def commit(changes: ForeseenChanges, *, message: str, path: str = ".") -> None:
    """Show what is committed; the index must then be the same."""
    await _note_index(changes, path, changed=False)
    await _show(changes, path=path, staged=True)


async def switch(changes: ForeseenChanges, *, branch: str, create: bool = False, path: str = ".") -> None:
    """Show how the other branch differs."""
    if not create:
        await _show(changes, path=path, base="HEAD", head=branch)


async def stash(
    changes: ForeseenChanges, *, action: str = "push", message: str = "", number: int = 0, path: str = "."
) -> None:
    """Show what is put away."""
    if action == "push":
        await _show(changes, path=path, base="HEAD")


async def _show(changes: ForeseenChanges, **which: Any) -> None:
    found: Any = await current().call("git.diff", **which, limit=_MOST_LINES)
    if patch := str(mapping_of(found).get("patch", "")):
        changes.say(patch)


async def _note_index(changes: ForeseenChanges, path: str, *, changed: bool) -> None:
    files = allowed_files()

    def note() -> None:
        index = _find_index(files.locate(path))
        if index is not None:
            (changes.change_somehow if changed else changes.read)(index)

    await run_sync(note)


def _find_index(place: Path) -> Path | None:
    found = (folder / ".git" / "index" for folder in (place, *place.parents))
    return next((index for index in found if index.is_file()), None)
