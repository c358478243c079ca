"""Undo for the tools of git: branch, index, stashes and files are noted before a change, and put back.

Each aspect of a repository is noted with its value before and after: `head` (the branch that is checked out, or a
commit), the commit of each branch by its name, `index` and `stash`. The index is compared by the files in it, since git
rewrites its file whenever it looks; what is put back is the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio.to_thread

from mcp_core.json_types import Json, JsonObject, list_of
from ot.context import current
from ot.errors import CallError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles, allowed_files
from ot.files.changes import KIND, NOW, WAS
from ot.files.noted_files import note_files, note_results
from ot.journal.run_changes import KeptChange, KeptChanges, pieces_of
from ot.processes.standby import Standby
from ot_packs.git.program import Git, open_git
from ot_packs.git.repository import find_subject
from ot_packs.undo_steps import CHANGED, UNKNOWN, Step

GIT, REPOSITORY, ASPECT, COMMITS = "git", "repository", "aspect", "commits"
HEAD, INDEX, STASH, BRANCHES = "head", "index", "stash", "refs/heads/"
_NEW_INDEX = os.O_WRONLY | os.O_CREAT | os.O_EXCL

Value: TypeAlias = Json
"""An aspect as it is: text, the digest of the index, or a list of stashes."""


@asynccontextmanager
async def noted(git: Git, *aspects: str, files: Sequence[str] = (), commits: bool = False) -> AsyncIterator[None]:
    """Note aspects and files of a repository before the block changes them, and what they are after it.

    `commits` if the block makes a commit, which is not taken back once a remote has it.
    """
    changes = current().changes
    if changes is None:
        yield
        return
    numbers: list[tuple[int, str]] = []
    for aspect in aspects:
        facts: JsonObject = {KIND: GIT, REPOSITORY: str(git.repository.top), ASPECT: aspect, COMMITS: commits}
        facts[WAS] = await read_aspect(git, aspect)
        content = await anyio.to_thread.run_sync(_read_index, git) if aspect == INDEX else b""
        number, lost = await anyio.to_thread.run_sync(changes.note, facts, pieces_of(content), len(content))
        if lost:
            current().note(f"The change of {aspect} of {git.repository.top} cannot be undone: {lost}.")
        numbers.append((number, aspect))
    notes = await anyio.to_thread.run_sync(note_files, allowed_files(), git.repository.top, files)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(note_results, allowed_files(), git.repository.top, notes)
            for number, aspect in numbers:
                changes.add(number, {NOW: await read_aspect(git, aspect)})


async def read_aspect(git: Git, aspect: str) -> Value:
    """Return an aspect as it is; empty where there is nothing."""
    if aspect == INDEX:
        return hashlib.sha256(await git.read("ls-files", "--stage", "-z")).hexdigest()
    if aspect == STASH:
        output = await _try(git, "stash", "list", "--format=%H%x00%gs")
        return [[*line.split("\0", 1)] for line in output.splitlines()]
    if aspect == HEAD:
        return await _try(git, "symbolic-ref", "--quiet", "HEAD") or await _try(git, "rev-parse", "--verify", "HEAD")
    return await _try(git, "rev-parse", "--verify", "--quiet", aspect)


async def _try(git: Git, *words: str) -> str:
    try:
        return os.fsdecode(await git.read(*words)).strip("\n")
    except ToolError:
        return ""


def _read_index(git: Git) -> bytes:
    try:
        return (git.repository.git_dir / "index").read_bytes()
    except FileNotFoundError:
        return b""


class GitUndoer:
    """Puts aspects of repositories back; `_values` are what they will be once all that was planned is done."""

    def __init__(self, files: AllowedFiles, kept: KeptChanges) -> None:
        self._files = files
        self._kept = kept
        self._values: dict[tuple[str, str], Value] = {}
        self._opened: dict[str, Git] = {}

    async def look(self, change: KeptChange) -> Step:
        facts = change.facts
        top, aspect = str(facts[REPOSITORY]), str(facts[ASPECT])
        step = Step(change, f"git: restore {_word(aspect)} of {self._files.short(Path(top))}")
        try:
            git = await self._open(top)
            key = top, aspect
            found = self._values[key] if key in self._values else await read_aspect(git, aspect)
            if found == facts[WAS]:
                step.done = True
            elif NOW not in facts:
                step.problem = UNKNOWN
            elif found != facts[NOW]:
                step.problem = CHANGED
            elif change.lost:
                step.problem = f"what was there before is not kept: {change.lost}"
            elif facts.get(COMMITS) and (remote := await _find_remote(git, str(facts[NOW]))):
                step.problem = f"the commit is in {remote} already"
            else:
                self._values[key] = facts[WAS]
        except CallError as error:
            step.problem = getattr(error, "message", "") or str(error)
        return step

    async def undo(self, step: Step) -> None:
        facts = step.change.facts
        top, aspect, was, now = str(facts[REPOSITORY]), str(facts[ASPECT]), facts[WAS], facts[NOW]
        git = await self._open(top)
        found = await read_aspect(git, aspect)
        if found == was:
            return
        if found != now:
            raise ToolError(CHANGED)
        if aspect == HEAD:  # the index and the files have notes of their own
            async with noted(git, HEAD):
                branch = str(was).startswith(BRANCHES)
                verb = ["symbolic-ref"] if branch else ["update-ref", "--no-deref"]
                await git.change(*verb, "-m", "undo", "HEAD", str(was))
        elif aspect == INDEX:
            async with noted(git, INDEX):
                data = b"".join(data for _, data in self._kept.content_of(step.change))
                await anyio.to_thread.run_sync(partial(_write_index, self._files, git, data))
        elif aspect == STASH:
            async with noted(git, STASH):
                await _restore_stashes(git, list_of(was), list_of(now))
        else:
            async with noted(git, aspect):
                words = ["-m", "undo", aspect, str(was), str(now)] if was else ["-d", aspect, str(now)]
                await git.change("update-ref", *words)

    async def _open(self, top: str) -> Git:
        if top not in self._opened:
            subject = await anyio.to_thread.run_sync(find_subject, self._files, top)
            if str(subject.repository.top) != top:
                raise ToolError("there is no repository here any more")
            self._opened[top] = await open_git(subject.repository, files=True, standby=current().part(Standby))
        return self._opened[top]


def _word(aspect: str) -> str:
    return {HEAD: "the branch that is checked out", INDEX: "the staged files", STASH: "the stashes"}.get(
        aspect, f"branch {aspect.removeprefix(BRANCHES)}"
    )


async def _find_remote(git: Git, commit: str) -> str:
    """Return the name of a remote branch that has a commit."""
    words = ("--format=%(refname:short)", "--count=1", "refs/remotes")
    return os.fsdecode(await git.read("for-each-ref", "--contains", commit, *words)).strip()


async def _restore_stashes(git: Git, was: Sequence[Json], now: Sequence[Json]) -> None:
    """Make the list of stashes what it was: those at its end that are the same stay."""
    same = 0
    while same < min(len(was), len(now)) and list_of(was[-1 - same])[0] == list_of(now[-1 - same])[0]:
        same += 1
    for _ in range(len(now) - same):
        await git.change("stash", "drop", "--quiet", "stash@{0}")
    for each in reversed(was[: len(was) - same]):
        commit, message = (str(part) for part in list_of(each))
        await git.change("stash", "store", "--quiet", f"--message={message}", commit)


def _write_index(files: AllowedFiles, git: Git, data: bytes) -> None:
    """Replace the file of the index as git does: under its lock. Blocking."""
    place = git.repository.git_dir
    lock = place / "index.lock"
    try:
        descriptor = files.open(lock, _NEW_INDEX)
    except PathError as error:
        raise ToolError(f"another git holds {lock}: {error.reason}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if data:
            lock.rename(place / "index")
            return
        (place / "index").unlink(missing_ok=True)
    except OSError as error:
        lock.unlink(missing_ok=True)
        raise ToolError(f"the index cannot be written: {error.strerror}") from error
    lock.unlink()
