"""Changes of files as calls of a run make them, and their undo, with a journal of its own and no kernel."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mcp_core.json_types import JsonObject
from ot.clients.caller import Caller, Notes
from ot.config.models import JournalSettings
from ot.context import CallContext, reset_current, set_current
from ot.effects import Effect
from ot.errors import CallError
from ot.files.allowed_files import AllowedFiles
from ot.files.changes import MOVE, PATH
from ot.files.noted_files import note_files, note_results
from ot.journal.journal import Journal
from ot.store.opening import Backend
from ot.store.parts import Retention
from ot.text.redaction import Redactor
from ot_packs.file import changing, moving
from ot_packs.undo.calls import CallUndoer
from ot_packs.undo.paths import PathUndoer
from ot_packs.undo.plan import Plan, make_plan
from ot_packs.undo_steps import DAMAGED, IN_DAMAGED

_GIVEN = b'"tool":"file.write","effect":"unknown","source":"","sent":{"kwargs":{}}'


def no_check() -> None:
    """Nobody stops this."""


class Workbench:
    """A project, and runs that change it; `undo_size` is what is kept of them."""

    def __init__(self, folder: Path, *, undo_size: int = 16 * 1024**2) -> None:
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.files = AllowedFiles([self.project], project=self.project, home=folder / "home")
        kept = Retention(3600, 16 * 1024**2, undo_size)
        store = Backend().build_store(folder / "state", principal="local", journal=kept)
        settings = JournalSettings.model_validate({}).model_copy(update={"undo_size": undo_size})
        self._journal = Journal(
            store.journal, settings, project=self.project, redactor=Redactor(()), open_changes=store.open_changes
        )
        self.notes = Notes()

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """A run whose one call makes all changes of the block."""
        with self.killed(name) as end:
            yield
            end()

    @contextmanager
    def killed(self, name: str) -> Iterator[Callable[[], None]]:
        """A run that never ends, unless it is told to."""
        journal = self._journal.begin("command", Caller(run_id=name))
        assert journal is not None
        entry = journal.begin("file.write", Effect.UNKNOWN, _GIVEN)
        context = CallContext("file.write", None, caller=Caller(notes=self.notes), changes=entry)  # type: ignore[arg-type]
        token = set_current(context)
        try:
            yield partial(self._journal.end, journal, "value")
        finally:
            reset_current(token)
            self._journal.open_runs.pop(name, None)

    def plan(self, name: str) -> tuple[Plan, PathUndoer]:
        run = self._journal.find("local", name, ended=False)
        own = [self.project / ".onetool" / name for name in ("skills", "tools")]
        undoer = PathUndoer(self.files, self._journal.changes_of(run), folders=own)
        kept = self._journal.changes_of(run)
        calls = CallUndoer(CallContext("ot.undo", None), kept, self._journal.store.fetch)  # type: ignore[arg-type]
        return asyncio.run(make_plan(run, kept, {PATH: undoer, MOVE: undoer}, calls)), undoer

    def undo(self, name: str, by: str) -> dict[str, str]:
        """Undo a run in another one; return what could not be, with the reason."""
        plan, undoer = self.plan(name)
        left = {step.words: step.problem for step in plan.blocked}
        with self.run(by):
            for step in plan.doable:
                try:
                    undoer._undo(step)
                except CallError as error:
                    left[step.words] = str(error)
                except IN_DAMAGED:
                    left[step.words] = DAMAGED
        return left

    def forge(self, name: str, facts: JsonObject) -> None:
        """Add an entry to what a run has noted; raises RunNotUndoableError or ValueError where that is damaged now."""
        self._journal.changes_of(self._journal.find("local", name, ended=False)).add(1, facts)

    # -- what the pack does

    def write(self, path: str, content: str, *, overwrite: bool = True) -> None:
        changing.write(self.files, path, content, overwrite=overwrite)

    def move(self, path: str, output: str, *, overwrite: bool = False) -> None:
        moving.move(self.files, path, output, overwrite=overwrite, check=no_check)

    def copy(self, path: str, output: str, *, overwrite: bool = False) -> None:
        moving.copy(self.files, path, output, overwrite=overwrite, recursive=True, check=no_check)

    def delete(self, path: str) -> None:
        moving.delete(self.files, path, recursive=True, check=no_check)

    def make_folders(self, path: str) -> None:
        self.files.make_folders(self.project / path)

    def become(self, path: str, kind: str, mode: int) -> None:
        """Put something in the place of all that is there, as git does."""
        place = self.project / path
        if not place.parent.is_dir() or place.parent.resolve() != place.parent:  # git follows no link
            return
        below = [*place.rglob("*")] if place.is_dir() and not place.is_symlink() else []
        made = [place / "g"] if kind == "folder" else []
        names = [str(each.relative_to(self.project)) for each in (place, *below, *made)]
        notes = note_files(self.files, self.project, names)
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        put_there(place, kind, mode)
        note_results(self.files, self.project, notes)

    def tree(self) -> dict[str, tuple[object, ...]]:
        return tree_of(self.project)


def put_there(place: Path, kind: str, mode: int) -> None:
    match kind:
        case "file":
            place.write_text(f"file {mode:o}")
            place.chmod(mode)
        case "link":
            place.symlink_to("d/e" if mode == 0o700 else "nowhere")
        case "folder" | "empty folder":
            place.mkdir()
            place.chmod(mode)
            if kind == "folder":
                (place / "g").write_text("g")


def tree_of(top: Path) -> dict[str, tuple[object, ...]]:
    """Return all that there is, byte for byte and with its permissions; of git only the files that it looks after."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        status, name = path.lstat(), str(path.relative_to(top))
        if name.startswith(".git"):
            continue
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", os.readlink(path))  # noqa: PTH115 - as it is written
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", stat.S_IMODE(status.st_mode))
        else:
            found[name] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
    return found
