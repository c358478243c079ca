"""Questions about the syntax of files, put to the helper process a batch at a time.

The server reads the files and sends their text: the helper needs no files of its own, so that one serves every folder.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import to_thread

from ot.context import CallContext
from ot.errors import PathError, ToolError
from ot.execution.wording import word_error
from ot.files.walk import Version
from ot_packs.code.languages import Language, language_of
from ot_packs.code.patches import Batch, Item, Rewritten
from ot_packs.code.source_files import Sources, SourceTree
from ot_packs.helper_results import call_helper

Result = TypeVar("Result")
MOST_FILES = 5000
LARGEST_DIFF = 8 * 1024 * 1024  # characters
_NARROWER = "give a narrower path, or a pattern that matches less; nothing was changed"


@dataclass(frozen=True, slots=True)
class Selection:
    """The files to be asked about: those of one language, or of all, whose text has certain words."""

    tree: SourceTree
    language: Language | None = None
    words: tuple[str, ...] = ()
    with_symbols: bool = False  # only languages whose declarations are known

    def language_of(self, name: str) -> str | None:
        """Return the language to read a file in; a single file is read in the one that was asked for."""
        if self.language is None:
            found = language_of(name)
            return found.name if found is not None and (found.symbols or not self.with_symbols) else None
        fits = self.tree.single or name.lower().endswith(self.language.endings)
        return self.language.name if fits else None


def words_of(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern: a text without one of them cannot match."""
    return tuple(dict.fromkeys(re.findall(r"\w{2,}", re.sub(r"\$+\w*", " ", pattern))))


async def ask(
    context: CallContext, selection: Selection, function: str, result: type[Result], **arguments: object
) -> AsyncIterator[tuple[dict[str, Version], Result]]:
    """Call a function of `matching`, which returns a `result`, with all sources; yields the answer for each batch.

    With it come the versions of the sources, by path. The function is called at least once, so that mistakes in its
    arguments show. Raises ToolError.
    """
    pack = context.registry.get(context.tool).pack
    walk = selection.tree.walk(lambda name: selection.language_of(name) is not None, whole=True)
    done, last = 0, False
    try:
        while not last:
            sources, versions, last = await to_thread.run_sync(_read_batch, walk, selection)
            call = {**arguments, "sources": sources}
            yield versions, await call_helper(pack, "ot_packs.code.matching", function, call, result)
            done += len(sources)
            await context.progress(done, None, f"{done} files read")
    finally:
        walk.close()


def _read_batch(walk: Sources, selection: Selection) -> tuple[list[tuple[str, str, str]], dict[str, Version], bool]:
    """Read some of the files: path, text and language of each, their versions, and True with the last of them."""
    batch: list[tuple[str, str, str]] = []
    versions: dict[str, Version] = {}
    size = 0
    for found in walk:
        read = found.read()
        if read is None or not all(word in read[0] for word in selection.words):
            continue
        language = selection.language_of(found.path.rpartition("/")[2])
        path = selection.tree.shown(found.path)
        batch.append((path, read[0], language or ""))
        versions[path] = read[1]
        size += len(read[0])
        if size > 512 * 1024:  # characters: a message that does not keep others waiting
            return batch, versions, False
    return batch, versions, True


async def collect(
    context: CallContext, selection: Selection, function: str, batch: type[Batch[Item]], limit: int, **arguments: object
) -> Batch[Item]:
    """Ask for a list of items, of which at most `limit` are wanted; the answers for all batches are added up."""
    found: Batch[Item] = {"found": [], "total": 0, "unread": [], "incomplete": False}
    async for _, answer in ask(context, selection, function, batch, limit=limit, **arguments):
        found["found"] += answer["found"][: limit - len(found["found"])]
        found["unread"] += answer["unread"]
        found["total"] += answer["total"]
        found["incomplete"] = answer["incomplete"]
    return found


@dataclass(slots=True)
class RewritePlan:
    changes: list[tuple[str, str, Version]] = field(default_factory=list)  # path, new text, and what it was made from
    diffs: list[str] = field(default_factory=list)
    matches: int = 0
    unread: list[str] = field(default_factory=list)
    incomplete: bool = False


async def plan_rewrite(context: CallContext, selection: Selection, pattern: str, replacement: str) -> RewritePlan:
    """Find out what a rewrite would change; raises ToolError, also where that is more than anybody reads."""
    plan, size = RewritePlan(), 0
    assert selection.language is not None
    arguments = {"pattern": pattern, "replacement": replacement, "language": selection.language.name}
    async for versions, answer in ask(context, selection, "rewrite_in", Rewritten, **arguments):
        for changed in answer["changed"]:
            path = changed["path"]
            plan.changes.append((path, changed["text"], versions[path]))
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


def apply_rewrite(plan: RewritePlan, tree: SourceTree) -> dict[str, str]:
    """Replace the files; returns those that could not be, with the reason. Blocking."""
    failed: dict[str, str] = {}
    for path, text, version in plan.changes:
        try:
            with tree.files.replace(path, expected=version) as file:
                file.write(text.encode())
        except PathError as error:
            failed[path] = word_error(error)
    return failed
