"""Rewriting of many files: first all of it is planned, then each file is replaced, unless somebody has changed it."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyio import to_thread

from ot.context import CallContext
from ot.errors import PathError, ToolError
from ot.execution.wording import word_error
from ot.files.version import Version
from ot_packs.code.answers import Rewritten
from ot_packs.code.helper import Selection, ask
from ot_packs.code.source_files import SourceTree

MOST_FILES = 5000
LARGEST_DIFF = 8 * 1024 * 1024  # characters
_NARROWER = "give a narrower path, or a pattern that matches less; nothing was changed"


@dataclass(frozen=True, slots=True)
class FileRewrite:
    """The new text of a file, and the version that it was made from."""

    path: str
    text: str
    version: Version


@dataclass(slots=True)
class RewritePlan:
    """The changes of one rewrite."""

    changes: list[FileRewrite] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)
    matches: int = 0
    unread: list[str] = field(default_factory=list)
    incomplete: bool = False

    @property
    def diff(self) -> str:
        """All changes as one unified diff."""
        return "".join(self.diffs)


async def plan_rewrite(context: CallContext, selection: Selection, pattern: str, replacement: str) -> RewritePlan:
    """Find out what a rewrite would change; raises ToolError, also where that is more than anybody reads."""
    plan, size = RewritePlan(), 0
    assert selection.language is not None
    arguments = {"pattern": pattern, "replacement": replacement, "language": selection.language.name}
    async for batch, answer in ask(context, selection, "rewrite_in", Rewritten, **arguments):
        for changed in answer["changed"]:
            path = changed["path"]
            plan.changes.append(FileRewrite(path, changed["text"], batch[path].version))
            plan.diffs.append(changed["diff"])
            plan.matches += changed["matches"]
            size += len(changed["diff"])
        plan.unread += answer["unread"]
        plan.incomplete = answer["incomplete"]
        if len(plan.changes) > MOST_FILES:
            raise ToolError(f"it would change more than {MOST_FILES:,} files: {_NARROWER}")
        if size > LARGEST_DIFF:
            raise ToolError(f"its diff has more than {LARGEST_DIFF // 1024**2} MB: {_NARROWER}")
    return plan


async def apply_rewrite(plan: RewritePlan, tree: SourceTree) -> dict[str, str]:
    """Replace the files; returns those that could not be, with the reason. It is not interrupted in between."""
    return await to_thread.run_sync(_write_all, plan, tree)


def _write_all(plan: RewritePlan, tree: SourceTree) -> dict[str, str]:
    failed: dict[str, str] = {}
    for change in plan.changes:
        try:
            with tree.files.replace(change.path, expected=change.version) as file:
                file.write(change.text.encode())
        except PathError as error:
            failed[change.path] = word_error(error)
    return failed
