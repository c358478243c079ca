"""Ranked search for words in the files of a folder: the index is brought up to date, asked, and shown by lines."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio import to_thread

from ot.context import CallContext
from ot.errors import DatabaseDamagedError
from ot.files.folder_watch import FolderWatch, FolderWatches
from ot_packs.code.index import Hit, Index, discard_index, open_index, stems_of
from ot_packs.code.source_files import SourceTree, read_below
from ot_packs.full_text import Term, expression_of

Lines = list[tuple[int, str]]  # lines of a file by their numbers


@dataclass(frozen=True, slots=True)
class Query:
    """A search: words, and which of the files that have them are wanted."""

    terms: Sequence[Term]
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The best files, with their scores and the lines that have most of the words; `total` counts all."""

    files: list[tuple[str, float, Lines]]
    total: int
    indexed: int


async def search(context: CallContext, tree: SourceTree, query: Query) -> FoundFiles:
    """Search a tree; raises DatabaseUnavailableError. An index that is damaged is made again."""
    folder = await to_thread.run_sync(lambda: context.state)
    find = partial(_find, folder, tree, query, context.part(FolderWatches))
    try:
        return await _finish(context, find())
    except DatabaseDamagedError:
        await to_thread.run_sync(discard_index, folder, tree.root)
        return await _finish(context, find())


Finding = Generator[int, None, FoundFiles]


async def _finish(context: CallContext, finding: Finding) -> FoundFiles:
    """Take one step after the other on a thread. The clocks stand still while files are indexed for the first time."""
    try:
        step = await to_thread.run_sync(_advance, finding)
        if isinstance(step, FoundFiles):
            return step
        with context.held():
            while isinstance(step, int):
                await context.progress(step, None, f"{step} files indexed")
                step = await to_thread.run_sync(_advance, finding)
        return step
    finally:
        finding.close()


def _advance(finding: Finding) -> int | FoundFiles:
    try:
        return next(finding)
    except StopIteration as end:
        found: FoundFiles = end.value
        return found


def _find(folder: Path, tree: SourceTree, query: Query, watches: FolderWatches) -> Finding:
    with open_index(folder, tree.root) as index:
        if not index.count() or not watches.is_quiet(tree.root):
            watch = FolderWatch()
            try:
                yield from index.follow(SourceTree(tree.root, (), tree.files), watch)
            except BaseException:
                watch.close()
                raise
            watches.keep(tree.root, watch)
        hits, total = _ask(index, tree, query)
        words = stems_of(query.terms)
        with tree.opened() as root:  # the lines are those of the files as they are now
            files = [(tree.shown(path), score, _best_lines(read_below(root, path), words)) for path, score in hits]
        return FoundFiles(files, total, index.count())


def _ask(index: Index, tree: SourceTree, query: Query) -> tuple[list[Hit], int]:
    """Find the files that have all words; only where there are none, those that have any of them."""
    terms = [expression_of(term) for term in query.terms]
    if len(terms) > 1:  # those that most files have are left out, unless that leaves none
        terms = [term for term in terms if not index.is_common(term)] or terms
    find = partial(index.search, below="/".join(tree.below), limit=query.limit, offset=query.offset)
    found = find(" AND ".join(terms))
    return found if found[1] or len(terms) == 1 else find(" OR ".join(terms))


def _best_lines(text: str, words: Collection[str]) -> Lines:
    """Return the first of the lines that have most of the words, in their order."""
    small = text.lower()
    if len(small) != len(text):  # some letters become two
        text = small
    counts = Counter(line for word in words for line in _lines_with(small, word))
    found: Lines = []
    for line in sorted(heapq.nsmallest(3, counts, key=lambda line: (-counts[line], line))):  # of one file
        end = text.find("\n", line)
        shown = text[line : end if end >= 0 else None].strip()[:200]
        found.append((text.count("\n", 0, line) + 1, shown))
    return found


def _lines_with(text: str, word: str) -> Iterator[int]:
    """Yield the lines that have a word, by the number of their first character; a pattern for all takes ten times."""
    found = text.find(word)
    while found >= 0:
        yield text.rfind("\n", 0, found) + 1
        end = text.find("\n", found)
        found = text.find(word, end) if end >= 0 else -1
