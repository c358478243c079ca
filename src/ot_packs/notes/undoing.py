"""Notes as they were before a call changed them: noted before the change, and put back."""

from __future__ import annotations

import hashlib
import json
from functools import partial

from mcp_core.json_types import Json, JsonObject, mapping_of
from ot.context import current
from ot.errors import CallError, ToolError
from ot.files.changes import KIND, NOW, WAS
from ot.journal.run_changes import KeptChange, KeptChanges, pieces_of
from ot_packs.notes.opening import with_notes
from ot_packs.notes.store import Draft, NoteRow, Notes, read_content, write_content
from ot_packs.undo_steps import CHANGED, Step

NOTE, PROJECT, TITLE, ROW = "note", "project", "title", "row"


def note_written(store: Notes, draft: Draft) -> None:
    """Note that a note is about to be written; blocking."""
    _note(store, draft.project, draft.title, _mark(draft.content, draft.plain, [*draft.tags]))


def note_deleted(store: Notes, project: str, title: str) -> None:
    """Note that a note is about to be deleted; blocking."""
    _note(store, project, title, None)


def _note(store: Notes, project: str, title: str, now: Json) -> None:
    changes = current().changes
    if changes is None:
        return
    row = store.row_of(project, title)
    facts: JsonObject = {KIND: NOTE, PROJECT: project, TITLE: title, WAS: _mark_of(row), NOW: now}
    if row is not None:
        facts[ROW] = {**row.facts}
    content = b"" if row is None else row.content.encode()
    _, lost = changes.note(facts, pieces_of(content), len(content))
    if lost:
        current().note(f"The change of the note {title!r} cannot be undone: {lost}.")


def _mark_of(row: NoteRow | None) -> Json:
    return None if row is None else _mark(row.content, bool(row.facts["plain"]), row.facts["tags"])


def _mark(content: str, plain: bool, tags: Json) -> str:  # noqa: FBT001 - as it is stored
    value = content if plain else read_content(content)
    return hashlib.sha256(f"{write_content(value)}\n{json.dumps(tags)}".encode()).hexdigest()


class NoteUndoer:
    """Puts notes back; `_marks` are those that will be there once all that was planned is done."""

    def __init__(self, kept: KeptChanges) -> None:
        self._kept = kept
        self._marks: dict[tuple[str, str], Json] = {}

    async def look(self, change: KeptChange) -> Step:
        facts = change.facts
        key = project, title = str(facts[PROJECT]), str(facts[TITLE])
        verb = "remove" if facts[WAS] is None else "restore"
        step = Step(change, f"{verb} the note {title!r}")
        try:
            found = await with_notes(lambda store: _mark_of(store.row_of(project, title)))
        except CallError as error:
            step.problem = str(error)
            return step
        found = self._marks.get(key, found)
        if found == facts[WAS]:
            step.done = True
        elif found != facts[NOW]:
            step.problem = CHANGED
        elif change.lost:
            step.problem = f"what was there before is not kept: {change.lost}"
        else:
            self._marks[key] = facts[WAS]
        return step

    async def undo(self, step: Step) -> None:
        await with_notes(partial(self._undo, step.change))

    def _undo(self, change: KeptChange, store: Notes) -> None:
        facts = change.facts
        project, title = str(facts[PROJECT]), str(facts[TITLE])
        found = store.row_of(project, title)
        if _mark_of(found) == facts[WAS]:
            return
        if _mark_of(found) != facts[NOW]:
            raise ToolError(CHANGED)
        if facts[WAS] is None:
            note_deleted(store, project, title)
            for note in store.find(number=0, title=title, project=project):
                if note.project == project:
                    store.delete(note)
            return
        content = b"".join(data for _, data in self._kept.content_of(change)).decode()
        row = NoteRow(project, title, content, dict(mapping_of(facts[ROW])))
        _note(store, project, title, facts[WAS])
        store.put_back(row)
