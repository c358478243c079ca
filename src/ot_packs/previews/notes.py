"""Previews of calls of the pack `notes`."""

from __future__ import annotations

from typing import Any

from mcp_core.json_types import mapping_of
from ot.context import current
from ot.errors import CallError
from ot.files.ahead import ForeseenChanges
from ot_packs.previews import show_diff


async def write(
    changes: ForeseenChanges,
    *,
    title: str,
    content: Any = None,
    tags: list[str] | None = None,
    handle: str = "",
    replace: bool = False,
) -> None:
    """Show the difference to the note that is replaced."""
    before = await _read(title=title)
    if isinstance(content, str):
        changes.say(
            "new note" if before is None else "replaces the note" if replace else "there is such a note already"
        )
        show_diff(changes, before or "", content)


async def delete(changes: ForeseenChanges, **which: Any) -> None:
    """Show the note that goes."""
    before = await _read(**which)
    if before is not None:
        show_diff(changes, before, "")


async def _read(**which: Any) -> str | None:
    """Return the text of a note; None where there is none."""
    try:
        note: Any = await current().call("notes.read", **which)
    except CallError:
        return None
    return str(mapping_of(note).get("content", ""))
