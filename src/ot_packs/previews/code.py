"""Previews of calls of the pack `code`."""

from __future__ import annotations

from anyio.to_thread import run_sync

from ot.context import current
from ot.files.ahead import ForeseenChanges
from ot.files.allowed_files import allowed_files
from ot_packs.code.helper import Selection, plan_rewrite, words_of
from ot_packs.code.languages import find_language
from ot_packs.code.source_files import find_tree


async def rewrite(
    changes: ForeseenChanges, *, pattern: str, replacement: str, language: str, path: str = "", apply: bool = False
) -> None:
    """Show the diff of a rewrite that is applied."""
    if not apply:
        return
    files, known = allowed_files(), find_language(language)
    selection = Selection(await run_sync(find_tree, files, path), known, words_of(pattern))
    plan = await plan_rewrite(current(), selection, pattern, replacement)

    def note() -> None:
        for name, text, _ in plan.changes:
            changes.change(files.locate(name, write=True), text.encode())

    await run_sync(note)
    changes.say("".join(plan.diffs))
