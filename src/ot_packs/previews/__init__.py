"""Previews of calls of built-in packs: a module for each pack, a function for each of its tools that can tell.

A function gets what it fills in (`ForeseenChanges`) and the arguments of the call. It only reads. The engine finds it
by the names of the pack and the tool.
"""

from __future__ import annotations

from pathlib import Path

from ot.files.ahead import ForeseenChanges
from ot_packs.file.changing import compare
from ot_packs.file.editing import is_binary, split_lines


def show_change(changes: ForeseenChanges, name: str, place: Path, data: bytes | None) -> None:
    """Note what a file would be, and say it as a diff; blocking."""
    before = changes.read(place)
    changes.change(place, data)
    kind = "new file" if before is None else "removed" if data is None else "changed"
    changes.say(f"{name}: {kind}{'' if before != data else ', with the same content'}")
    if not is_binary(before or b"") and not is_binary(data or b""):
        show_diff(changes, _text(before), _text(data))


def show_diff(changes: ForeseenChanges, before: str, after: str) -> None:
    diff = compare(split_lines(before), split_lines(after))
    if diff.text:
        changes.say(diff.text)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
