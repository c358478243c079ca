"""Files, folders and links, put back where they were: only where nothing else is by now, and only where tools write."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import anyio.to_thread

from mcp_core.atomic_write import open_folder
from mcp_core.json_types import Json, JsonObject, list_of
from ot.errors import ChangedFileError, MissingPathError, PathError
from ot.files.allowed_files import AllowedFiles, ResolvedPath, items_of, require_writable, word_path_error
from ot.files.changes import (
    BEFORE,
    FILE,
    FOLDER,
    LINK,
    MOVE,
    NAMES,
    NOW,
    OTHER,
    PATH,
    TO,
    WAS,
    Mark,
    alone,
    fits,
    give_back,
    mark_at,
    mark_of,
    put_content,
)
from ot.files.changes import KIND as KIND_OF_CHANGE
from ot.files.walk import begin, go, identity_of, version_of
from ot.journal.run_changes import KeptChange, KeptChanges
from ot_packs.file.changing import compare
from ot_packs.file.editing import MOST_BYTES, is_binary, split_lines
from ot_packs.undo_steps import CHANGED, UNKNOWN, Step
from ot_system.opening import READ_FILE

_NO_FOLDER = "its folder is gone"
_ELSEWHERE = "its folder has been replaced since"


class PathUndoer:
    """Looks at files as they will be once all that was planned is done: `_marks` and `_moves` say what differs then."""

    def __init__(
        self, files: AllowedFiles, kept: KeptChanges, configured: Collection[Path] = (), folders: Collection[Path] = ()
    ) -> None:
        """`configured` are files that packs write wherever they lie, `folders` those that only `scaffold` writes in."""
        self._files = files
        self._kept = kept
        self._configured = configured
        self._folders = folders
        self._first: dict[str, Mark] = {}  # what was there before the run, by path
        for change in kept.all:
            if change.facts[KIND_OF_CHANGE] == PATH:
                self._first.setdefault(str(change.facts.get(PATH)), change.facts.get(WAS))
        self._marks: dict[str, Mark] = {}  # by path
        self._new: set[str] = set()  # of these, what is there now says nothing about what will be in them
        self._moves: list[tuple[str, str]] = []  # where something will be, and where it is now

    async def look(self, change: KeptChange) -> Step:
        return await anyio.to_thread.run_sync(self._look, change)

    async def undo(self, step: Step) -> None:
        await anyio.to_thread.run_sync(self._undo, step)

    # -- looking

    def _look(self, change: KeptChange) -> Step:
        step = Step(change, self._word(change))
        try:
            if change.facts[KIND_OF_CHANGE] == MOVE:
                self._look_at_move(step)
            elif _is_as_before(change.facts):
                step.done = True
            else:
                self._look_at_path(step)
        except PathError as error:
            step.problem = error.reason
        except OSError as error:
            step.problem = error.strerror or str(error)
        return step

    def _look_at_path(self, step: Step) -> None:
        facts = step.change.facts
        path, was = str(facts[PATH]), facts[WAS]
        found = self._find(path)
        if fits(found, was):
            step.done = True
        elif not _is_as_left(found, facts):
            step.done = found is not None and fits(found, self._first[path])  # all of it is undone
            if not step.done:
                step.problem = CHANGED if NOW in facts else UNKNOWN
                step.difference = self._compare(step.change, path) if NOW in facts else ""
        elif step.change.lost:
            step.problem = f"what was there before is not kept: {step.change.lost}"
        elif list_of(was)[:1] == [OTHER]:
            step.problem = "it was neither a file, a folder nor a link"
        elif was is not None and found is None and not self._has_folder(path):
            step.problem = _NO_FOLDER
        elif list_of(found)[:1] == [FOLDER] != list_of(was)[:1] and (left := self._left_in(path)):
            step.problem = f"it is not empty: {left} is there"
        else:
            self._require_allowed(path)
            self._marks[path] = was
            if not list_of(found)[:1] == list_of(was)[:1] == [FOLDER]:  # that one only gets other permissions
                self._new.add(path)
            if isinstance(names := facts.get(NAMES), int):
                step.warning = f"it was one of {names} names of one file, and is a file of its own now"

    def _look_at_move(self, step: Step) -> None:
        facts = step.change.facts
        path, to, was = str(facts[PATH]), str(facts[TO]), facts[WAS]
        here, there = self._find(path), self._find(to)
        if fits(here, was) and not (fits(there, was) and self._is_same(path, to)):
            step.done = True
        elif not fits(there, was):
            step.problem = CHANGED if there is not None else "it is no longer there"
        elif here is not None and not self._is_same(path, to):
            step.problem = f"something else is at {path} by now"
        elif here is None and not self._has_folder(path):
            step.problem = _NO_FOLDER
        else:
            self._require_allowed(path)
            self._require_allowed(to)
            below = {each: mark for each, mark in self._marks.items() if _is_below(each, to)}
            new = {path + each.removeprefix(to) for each in self._new if _is_below(each, to)}
            for each in [each for each in self._marks if _is_below(each, to) or _is_below(each, path)]:
                del self._marks[each]  # nothing is left of what will have been there before
            self._new = new | {each for each in self._new if not _is_below(each, to) and not _is_below(each, path)}
            self._marks |= {path + each.removeprefix(to): mark for each, mark in below.items()}
            if here is None:
                self._moves.append((path, to))
            self._marks[to], self._marks[path] = None, was

    def _find(self, path: str) -> Mark:
        """Return the mark of what will be at a path."""
        if path in self._marks:
            return self._marks[path]
        at = self._actual(path)
        if at is None:
            return None
        try:
            with self._reach(at) as reached:
                return mark_at(reached.folder, reached.name)
        except MissingPathError:
            return None

    def _has_folder(self, path: str) -> bool:
        return list_of(self._find(str(Path(path).parent)))[:1] == [FOLDER]

    def _actual(self, path: str) -> str | None:
        """Return where that is now which will be at a path; None if nothing that is there now will be."""
        if any(str(above) in self._new for above in Path(path).parents):
            return None
        for will_be, now in reversed(self._moves):
            if _is_below(path, will_be):
                path = now + path.removeprefix(will_be)
            elif _is_below(path, now):
                return None
        return path

    def _left_in(self, path: str) -> str:
        """Return the name of something that will be in a folder, if there is something."""
        planned = {str(Path(each).name): mark for each, mark in self._marks.items() if str(Path(each).parent) == path}
        names = {name for name, mark in planned.items() if mark is not None}
        at = self._actual(path)
        with suppress(PathError, FileNotFoundError, NotADirectoryError), ExitStack() as stack:
            if at is not None and path not in self._new:
                reached = stack.enter_context(self._reach(at))
                folder = stack.enter_context(open_folder(reached.name, within=reached.folder))
                names |= {item.name for item in items_of(folder) if item.name not in planned}
        return min(names, default="")

    def _is_same(self, path: str, to: str) -> bool:
        """True if two paths name one file: the server was killed in the middle of a move."""
        with suppress(PathError), self._reach(path) as one, self._reach(to) as other:
            both = one.status, other.status
            return None not in both and len({identity_of(each) for each in both if each is not None}) == 1
        return False

    def _require_allowed(self, path: str) -> None:
        """Raise PathError where tools may not write."""
        at = self._actual(path)
        if at is not None:
            with suppress(MissingPathError), self._reach(at) as reached:
                if reached.status is not None and stat.S_ISREG(reached.status.st_mode):
                    require_writable(at, reached)

    @contextmanager
    def _reach(self, path: str) -> Iterator[ResolvedPath]:
        """Reach a path as it was noted; raises PathError where a link leads elsewhere by now."""
        with self._reach_allowed(path) as reached:
            if str(reached.place) != path:
                raise PathError(path, _ELSEWHERE)
            yield reached

    @contextmanager
    def _reach_allowed(self, path: str) -> Iterator[ResolvedPath]:
        own = any(Path(path).is_relative_to(each) or Path(path) == each.parent for each in self._folders)
        if own or any(each.is_relative_to(path) for each in self._configured):  # or one of its folders
            with closing(begin(path)) as way:
                try:
                    go(way, follow=False)
                except OSError as error:
                    raise word_path_error(path, error) from error
                yield ResolvedPath(way.folder, way.name, way.place, way.status)
        else:
            with self._files.reach(path, write=True, follow=False) as reached:
                yield reached

    def _compare(self, change: KeptChange, path: str) -> str:
        """Return the difference between a text that is there and the one that would be put back."""
        try:
            kept = b"".join(data for _, data in self._kept.content_of(change))
            with (
                self._reach(self._actual(path) or path) as reached,
                os.fdopen(os.open(reached.name, READ_FILE, dir_fd=reached.folder), "rb") as file,
            ):
                found = file.read(MOST_BYTES)
        except (OSError, PathError):
            return ""
        if is_binary(kept) or is_binary(found):
            return f"{len(found):,} bytes, not the {len(kept):,} that were there before"
        return compare(*(split_lines(each.decode(errors="replace")) for each in (found, kept))).text

    def _word(self, change: KeptChange) -> str:
        facts = change.facts
        path = self._files.short(Path(str(facts[PATH])))
        if facts[KIND_OF_CHANGE] == MOVE:
            return f"move {self._files.short(Path(str(facts[TO])))} back to {path}"
        kind = list_of(facts[WAS])[:1]
        if not kind:
            return f"remove {path}"
        return f"restore {path}" if facts.get(NOW) is not None else f"restore {path}, which was deleted"

    # -- undoing

    def _undo(self, step: Step) -> None:
        facts = step.change.facts
        path = str(facts[PATH])
        with alone():
            if facts[KIND_OF_CHANGE] == MOVE:
                self._move_back(path, str(facts[TO]), facts[WAS])
                return
            with self._reach(path) as reached:
                found = mark_at(reached.folder, reached.name)
                if fits(found, facts[WAS]):
                    return
                if not _is_as_left(found, facts):
                    if found is not None and fits(found, self._first[path]):
                        return  # another undo has been faster
                    raise ChangedFileError(path, CHANGED)
                try:
                    self._put_back(step, reached)
                except OSError as error:
                    raise PathError(path, error.strerror or str(error)) from error

    def _put_back(self, step: Step, reached: ResolvedPath) -> None:
        facts, path = step.change.facts, str(reached.place)
        was = list_of(facts[WAS])
        if reached.status is not None and _must_go(reached.status, was):
            self._files.remove(reached)
            reached = reached._replace(status=None)
        given = True
        match was:
            case []:
                pass
            case [str(kind), int(mode)] if kind == FOLDER:
                with self._files.make_folder(reached, mode) as folder:
                    given = give_back(folder, facts, mode)
            case [str(kind), str(target)] if kind == LINK:
                self._files.make_link(reached, target)
            case [str(kind), int(mode), int(size), str(digest)] if kind == FILE:
                expected = None if reached.status is None else version_of(reached.status)
                new = reached.status is None
                with self._files.replace_reached(reached, path, expected=expected, new=new, mode=mode) as file:
                    put_content(file.fileno(), size, self._kept.content_of(step.change))
                    if not digest.startswith("@") and list_of(mark_of(file.fileno()))[2:] != [size, digest]:
                        raise PathError(path, "what is kept of it is damaged")
                    given = give_back(file.fileno(), facts, mode)
                    if digest.startswith("@"):  # it is compared by this time
                        os.utime(file.fileno(), ns=(int(digest[1:]),) * 2)
            case _:
                raise PathError(path, f"no program of this version has written {was}")
        if not given:
            step.warning = _join(step.warning, "its owner or group could not be restored")

    def _move_back(self, path: str, to: str, was: Mark) -> None:
        with self._reach(to) as source, self._reach(path) as target:
            if not fits(mark_at(source.folder, source.name), was):
                raise ChangedFileError(to, CHANGED)
            try:
                if target.status is not None and source.status is not None:
                    if identity_of(target.status) != identity_of(source.status):
                        raise ChangedFileError(path, "something else is there by now")
                    self._files.remove(source)
                else:
                    self._files.rename(source, target, replace=False)
            except OSError as error:
                raise PathError(path, error.strerror or str(error)) from error


def _is_below(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}/")


def _is_as_before(facts: JsonObject) -> bool:
    """True if what was about to change did not."""
    return NOW in facts and facts[NOW] == facts[WAS] and BEFORE not in facts


def _is_as_left(found: Mark, facts: JsonObject) -> bool:
    """True if a file is as the run left it, or, where it was stopped in the middle of its last change, before that."""
    return any(fits(found, facts[each]) for each in (NOW, BEFORE) if each in facts)


def _must_go(status: os.stat_result, was: Sequence[Json]) -> bool:
    """True if what is there has to be removed first, and is not only given another content or other permissions."""
    same = stat.S_ISREG(status.st_mode) if was[:1] == [FILE] else was[:1] == [FOLDER] and stat.S_ISDIR(status.st_mode)
    return not same


def _join(one: str, other: str) -> str:
    return f"{one}; {other}" if one else other
