"""Previews of calls of the pack `excel`: values of cells before, and the workbook that must stay as it is."""

from __future__ import annotations

from typing import Any

from anyio.to_thread import run_sync

from mcp_core.json_types import list_of, mapping_of
from ot.context import current
from ot.files.ahead import ForeseenChanges
from ot.files.allowed_files import allowed_files

_MOST_CELLS = 20


async def write(
    changes: ForeseenChanges,
    *,
    path: str,
    sheet: str | None = None,
    cells: dict[str, Any] | None = None,
    rows: list[Any] | None = None,
    **options: Any,
) -> None:
    """Show what the cells hold now, and what they would hold."""
    await _change(changes, path)
    for cell, value in list((cells or {}).items())[:_MOST_CELLS]:
        which = {"sheet": sheet} if sheet is not None else {}
        found: Any = await current().call("excel.read", path=path, range=f"{cell}:{cell}", **which)
        held = [item for row in list_of(mapping_of(found).get("rows")) for item in list_of(row)]
        changes.say(f"{cell}: {held[0] if held else None!r} -> {value!r}")
    if rows:
        changes.say(f"{len(rows)} rows are written")


async def format(changes: ForeseenChanges, *, path: str, **options: Any) -> None:  # noqa: A001 - the tool's name
    """Note the workbook that changes."""
    await _change(changes, path)


async def change_sheets(changes: ForeseenChanges, *, path: str, **options: Any) -> None:
    """Note the workbook that changes."""
    await _change(changes, path)


async def create(changes: ForeseenChanges, *, path: str, **options: Any) -> None:
    """Say whether a workbook is replaced."""
    place = await run_sync(lambda: allowed_files().locate(path, write=True))
    replaced = await run_sync(changes.read, place) is not None
    changes.say(f"{path}: {'replaced' if replaced else 'new file'}")
    changes.change_somehow(place)


async def _change(changes: ForeseenChanges, path: str) -> None:
    place = await run_sync(lambda: allowed_files().locate(path, write=True))
    await run_sync(changes.change_somehow, place)
