"""Notes that outlive a run: write, search, read and delete them, from any project."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypedDict

from anyio import to_thread

from ot.context import current
from ot.effects import best_first, idempotent, reads
from ot.errors import ToolError
from ot.files.changes import alone
from ot.parts.person_overlay import PersonOverlay
from ot.results.reader import ResultReader
from ot.store.owner import Owner, shared_project
from ot_packs.full_text import read_query
from ot_packs.limits import checked_page
from ot_packs.notes.opening import with_notes
from ot_packs.notes.store import LONGEST_CONTENT, Draft, NoteFilter, Notes, Summary, write_content
from ot_packs.notes.undoing import note_deleted, note_written

pack = "notes"

_LONGEST_TITLE = 200  # characters
_LONGEST_TAG = 60
_MOST_TAGS = 20


class NoteHead(TypedDict):
    id: int
    title: str
    tags: builtins.list[str]
    project: str
    created: str
    changed: str


class NoteSummary(NoteHead):
    characters: int
    excerpt: str


class Note(NoteHead):
    content: Any


class NotePage(TypedDict):
    notes: builtins.list[NoteSummary]
    total: int
    more: bool


class WrittenNote(TypedDict):
    """The note that was written; `replaced` if it replaced an earlier one."""

    id: int
    title: str
    project: str
    replaced: bool


class DeletedNote(TypedDict):
    id: int
    title: str
    project: str


@idempotent
async def write(
    *, title: str, content: Any = None, tags: builtins.list[str] | None = None, handle: str = "", replace: bool = False
) -> WrittenNote:
    """Write a note for later runs, in this project and others.

    Args:
        title: A title that no other note of this project has.
        content: Text, or plain data: lists, dicts, numbers, dates, times, decimals.
        tags: Words to list notes by, such as ["decision", "billing"].
        handle: The handle of a stored result to use as the content instead.
        replace: Replace the note of this project that has this title.

    Returns:
        id, title, project, and replaced: whether there was a note with this title.

    Example:
        notes.write(title="How to deploy", content="make release, then tag", tags=["release"])
    """
    if (content is None) == (not handle):
        raise ToolError("a note needs content, or the handle of a stored result, and not both")
    if handle:
        content = await _load(handle)
    text = content if isinstance(content, str) else write_content(content)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"the note has an unpaired surrogate at {error.start}, which cannot be encoded") from error
    if len(text) > LONGEST_CONTENT:
        raise ToolError(f"the note has {len(text):,} characters, more than {LONGEST_CONTENT:,}: shorten or split it")
    if not title.strip() or len(title) > _LONGEST_TITLE or not title.isprintable():
        raise ToolError(f"a title has 1 to {_LONGEST_TITLE} characters on one line")
    labels = [*dict.fromkeys(tag.strip() for tag in tags or ())]
    if len(labels) > _MOST_TAGS or not all(tag.isprintable() and 1 <= len(tag) <= _LONGEST_TAG for tag in labels):
        raise ToolError(f"a note has at most {_MOST_TAGS} tags of 1 to {_LONGEST_TAG} characters")
    plain, read_before = isinstance(content, str), frozenset(current().caller.memory.read)
    draft = Draft(_project(), title.strip(), text, plain=plain, tags=labels, read_before=read_before)

    def keep(store: Notes) -> tuple[Summary, bool]:
        with alone():
            note_written(store, draft)
            return store.write(draft, replace=replace)

    note, replaced = await with_notes(keep)
    return WrittenNote(id=note.number, title=note.title, project=note.project, replaced=replaced)


@reads
@best_first
async def search(*, query: str, tag: str = "", here: bool = False, limit: int | None = 20, offset: int = 0) -> NotePage:
    """Search notes of all projects for words, best first.

    Args:
        query: Plain words; finds notes with all of them or, if there are none, with any of them.
        tag: Only notes with this tag.
        here: Only notes of this project.
        limit: Maximum number of notes to return; None for all.
        offset: Number of notes to skip.

    Returns:
        notes (id, title, tags, project, created, changed, characters, excerpt), total, more.

    Example:
        [note["title"] for note in notes.search(query="deploy release")["notes"]]
    """
    terms = read_query(query)
    if not terms:
        raise ToolError("query has no words; notes.list lists all notes")
    choice = _choice(tag=tag, here=here, limit=limit, offset=offset)
    return _page(choice, *await with_notes(lambda store: store.search_page(terms, choice)))


@reads
async def list(*, tag: str = "", here: bool = False, limit: int | None = 50, offset: int = 0) -> NotePage:
    """List notes of all projects, most recently changed first.

    Args:
        tag: Only notes with this tag.
        here: Only notes of this project.
        limit: Maximum number of notes to return; None for all.
        offset: Number of notes to skip.

    Returns:
        notes (id, title, tags, project, created, changed, characters), total, more.

    Example:
        notes.list(tag="release", here=True)
    """
    choice = _choice(tag=tag, here=here, limit=limit, offset=offset)
    return _page(choice, *await with_notes(lambda store: store.list_page(choice)))


@reads
async def read(*, title: str = "", id: int = 0) -> Note:
    """Read a note by its title, from this project or else from the only other one that has it; or by its id.

    Args:
        title: Its exact title.
        id: Its id instead, as returned by notes.search and notes.list.

    Returns:
        id, title, tags, project, created, changed, and the content as it was given.

    Example:
        notes.read(title="How to deploy")["content"]
    """
    project = _project()

    def find(store: Notes) -> tuple[Summary, object]:
        note = _only(store.find(number=id, title=title, project=project), title, id)
        return note, store.content_of(note)

    note, content = await with_notes(find)
    _mark([note])
    return {**_head(note), "content": content}


async def delete(*, title: str = "", id: int = 0) -> DeletedNote:
    """Delete a note permanently: one of this project by its title, or any by its id.

    Args:
        title: Its exact title.
        id: Its id instead, as returned by notes.search and notes.list.

    Returns:
        id, title and project of the note that was deleted.

    Example:
        notes.delete(title="How to deploy")
    """
    project = _project()

    def forget(store: Notes) -> Summary:
        note = _only(store.find(number=id, title=title, project=project), title, id)
        if not id and note.project != project:
            raise ToolError(f"the note {title!r} belongs to {note.project}; notes.delete(id={note.number}) deletes it")
        with alone():
            note_deleted(store, note.project, note.title)
            store.delete(note)
        return note

    note = await with_notes(forget)
    return DeletedNote(id=note.number, title=note.title, project=note.project)


def _project() -> str:
    """Return the project that new notes belong to; a person of a shared server has a single one."""
    own = current().part(PersonOverlay)
    owner = Owner(own.principal, current().project)
    return own.backend.pick(lambda: str(owner.project), lambda _: shared_project(owner))


async def _load(handle: str) -> object:
    """Load a stored result; its reader counts as having read what its writer had read."""
    stored = await current().part(ResultReader).load(handle)
    size = await to_thread.run_sync(stored.size)
    if size > 4 * LONGEST_CONTENT:
        raise ToolError(f"the stored result has {size:,} bytes, too many for a note: ot.load it and keep what matters")
    return await to_thread.run_sync(stored.read)


def _choice(*, tag: str, here: bool, limit: int | None, offset: int) -> NoteFilter:
    return NoteFilter(_project() if here else "", tag, checked_page(limit, offset), offset)


def _page(choice: NoteFilter, found: builtins.list[Summary], total: int) -> NotePage:
    _mark(found)
    notes: builtins.list[NoteSummary] = [
        {**_head(note), "characters": note.characters, "excerpt": note.excerpt} for note in found
    ]
    return NotePage(notes=notes, total=total, more=total > choice.offset + len(notes))


def _head(note: Summary) -> NoteHead:
    moments = (datetime.fromtimestamp(moment, UTC) for moment in (note.created, note.changed))
    created, changed = (moment.isoformat(timespec="seconds") for moment in moments)
    return NoteHead(
        id=note.number, title=note.title, tags=note.tags, project=note.project, created=created, changed=changed
    )


def _only(found: builtins.list[Summary], title: str, number: int) -> Summary:
    if not title and not number:
        raise ToolError("say which note: by its title, or by its id")
    if not found:
        raise ToolError(f"there is no note {number or repr(title)}; notes.search finds notes by words")
    if len(found) > 1:
        others = ", ".join(f"{note.number} ({note.project})" for note in found)
        raise ToolError(f"several projects have a note {title!r}; choose one by its id: {others}")
    return found[0]


def _mark(found: Iterable[Summary]) -> None:
    """Record that the reader of notes has read what their writers had read."""
    for note in found:
        current().caller.memory.note(note.read_before)
