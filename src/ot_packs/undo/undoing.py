"""The undo of a run: planned, put to the person, and done, as a call like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import anyio.to_thread

from ot.config.models import Config
from ot.config.paths import FOLDER, SKILLS, TOOLS
from ot.context import CallContext
from ot.errors import CallError, ConsentError, PathError, RunNotResumableError, RunNotUndoableError
from ot.files.allowed_files import AllowedFiles
from ot.files.changes import KIND, MOVE, PATH
from ot.journal.journal import Journal
from ot.journal.recorded import RecordedRun
from ot.skills.skill_loader import SkillLoader
from ot.values import ToolValue
from ot.workers.extension_loader import ExtensionLoader
from ot_packs.db.addresses import configured_files
from ot_packs.git.undoing import GIT, GitUndoer
from ot_packs.notes.undoing import NOTE, NoteUndoer
from ot_packs.undo.calls import CALLED, CallUndoer, word_problem
from ot_packs.undo.paths import PathUndoer
from ot_packs.undo.plan import Plan, make_plan
from ot_packs.undo_steps import DAMAGED, IN_DAMAGED, Step, Undoer

_MOST_SHOWN = 200  # steps of a question
_ROOM = 8_000  # characters of it


class Undone(TypedDict):
    run: str
    cannot_be_taken_back: list[str]
    undone: list[str]
    left: dict[str, str]
    note: str


async def undo_run(context: CallContext, name: str) -> Undone:
    """Undo what a run has changed, if the person agrees; raises CallError."""
    await _take_over(context, name)
    plan, undoers = await plan_undo(context, name)
    await _ask(context, plan)
    async with context.part(Journal).undoing(name):
        undone, failed = await _do(plan, undoers)
    await context.part(ExtensionLoader).catch_up(at_once=True)  # their files may be among what was undone
    await context.part(SkillLoader).catch_up(at_once=True)
    return Undone(run=name, cannot_be_taken_back=plan.final, undone=undone, left=failed, note=_note(plan.run))


async def _do(plan: Plan, undoers: Mapping[str, Undoer]) -> tuple[list[str], dict[str, str]]:
    """Undo what can be; return that, and what is left with the reason."""
    failed = {step.words: step.problem for step in plan.blocked}
    undone = []
    for step in plan.doable:
        try:
            await undoers[str(step.change.facts[KIND])].undo(step)
            undone.append(step.words if not step.warning else f"{step.words} ({step.warning})")
        except CallError as error:
            failed[step.words] = error.reason if isinstance(error, PathError) else word_problem(error)
        except IN_DAMAGED:
            failed[step.words] = DAMAGED
    return undone, failed


async def plan_undo(context: CallContext, name: str) -> tuple[Plan, Mapping[str, Undoer]]:
    """Find out what an undo of a run would do, within its call; raises CallError."""
    journal, files = context.part(Journal), context.part(AllowedFiles)
    run = await find_run(journal, context.caller.principal, name)
    context.caller.memory.note(run.read)
    kept = await anyio.to_thread.run_sync(journal.changes_of, run)
    configured = await anyio.to_thread.run_sync(_find_configured, context.settings)
    own = [context.project / FOLDER / name for name in (SKILLS, TOOLS)]
    paths, calls = PathUndoer(files, kept, configured, own), CallUndoer(context, kept, journal.store.fetch)
    undoers: Mapping[str, Undoer] = {
        PATH: paths,
        MOVE: paths,
        GIT: GitUndoer(files, kept),
        NOTE: NoteUndoer(kept),
        CALLED: calls,
    }
    return await make_plan(run, kept, undoers, calls), undoers


def _find_configured(settings: Config) -> set[Path]:
    """Return the files that the configuration names for packs to write; blocking."""
    databases = settings.packs.get("db")
    named = {topic.file for topic in settings.topics}
    if databases is not None:
        named.update(configured_files(databases.options))
    return {Path(os.path.realpath(file.parent), file.name) for file in named}


async def _take_over(context: CallContext, name: str) -> None:
    """Let a run that was lost do nothing more: what it did after the undo would stay."""
    caller, take_over = context.caller, context.part(Journal).take_over
    try:
        await anyio.to_thread.run_sync(take_over, caller.principal, name, caller.run_id)
    except RunNotResumableError as error:
        raise RunNotUndoableError(name, error.reason) from error


async def find_run(journal: Journal, principal: str, name: str) -> RecordedRun:
    """Read a run that has ended; raises RunNotUndoableError or UnknownRunError."""
    try:
        return await anyio.to_thread.run_sync(journal.find, principal, name)
    except RunNotResumableError as error:
        raise RunNotUndoableError(name, error.reason) from error


async def _ask(context: CallContext, plan: Plan) -> None:
    """Put the plan to the person; raises RunNotUndoableError where there is nothing to do, or the answer is no."""
    require_doable(plan)
    name, doable, blocked = plan.run.id, plan.doable, plan.blocked
    shown: dict[str, ToolValue] = {}
    if plan.final:
        shown["cannot_be_taken_back"] = [*plan.final]
    if blocked:
        shown["left_as_it_is"] = [_word_blocked(step) for step in blocked[:_MOST_SHOWN]]
    shown["undone"] = [step.words for step in doable[:_MOST_SHOWN]]
    if len(doable) > _MOST_SHOWN:
        shown["and_more"] = len(doable) - _MOST_SHOWN
    rest = f" the rest of the run {name}" if blocked or plan.final else f" the run {name}"
    question = f"Undo{rest}? {len(doable)} of its changes are taken back"
    question += f", {len(blocked)} are left as they are." if blocked else "."
    try:
        agreed = await context.ask(question, shown, room=_ROOM, always=True)
    except ConsentError as error:
        reason = f"{error.reason}. A person can type: onetool undo {name}"
        raise RunNotUndoableError(name, reason) from error
    if not agreed:
        raise RunNotUndoableError(name, "the person said no")


def require_doable(plan: Plan) -> None:
    """Raise RunNotUndoableError where there is nothing to do."""
    if not plan.doable:
        raise RunNotUndoableError(plan.run.id, _word_nothing(plan))


def _word_blocked(step: Step) -> str:
    return "\n".join(filter(None, [f"{step.words}: {step.problem}", step.difference]))


def _word_nothing(plan: Plan) -> str:
    if plan.blocked:
        return "; ".join(f"{step.words}: {step.problem}" for step in plan.blocked[:_MOST_SHOWN])
    if plan.final:
        return f"its calls cannot be taken back: {', '.join(plan.final)}"
    return "everything is as it was" if plan.steps else "it changed nothing"


def _note(run: RecordedRun) -> str:
    if not run.resumed:
        return ""
    return f'Calls that it had answered from run {run.resumed} belong to that one: ot.undo(run="{run.resumed}").'
