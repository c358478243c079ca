"""Source code: ranked search for words."""

from __future__ import annotations

from typing import TypedDict

from anyio import to_thread

from ot.context import current
from ot.effects import reads
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot_packs.code.search import Query
from ot_packs.code.search import search as search_tree
from ot_packs.code.source_files import find_tree
from ot_packs.code.words import read_query

pack = "code"


class Line(TypedDict):
    """A line of a file."""

    line: int
    text: str


class FoundFile(TypedDict):
    """A file with its best lines; a higher score is better."""

    path: str
    score: float
    lines: list[Line]


class SearchResult(TypedDict):
    """Files, best first; `total` of them have the words, among the `indexed` ones."""

    files: list[FoundFile]
    total: int
    more: bool
    indexed: int


@reads
async def search(*, query: str, path: str = "", limit: int = 20, offset: int = 0) -> SearchResult:
    """Search the files of a folder for words, best files first; an identifier is found by each of its parts.

    The files are indexed by the first search and followed from then on; what git ignores is left out.

    Args:
        query: Plain words or identifiers; files that have all of them, or else any.
        path: The folder to search, relative to the project; all of the project by default.
        limit: The most files to return.
        offset: How many of the best files to skip.

    Returns:
        files (path, score, and up to three lines), total, more, and indexed (how many files were searched).

    Example:
        code.search(query="parse header", limit=5)
    """
    _check_limit(limit, offset)
    terms = read_query(query)
    if not terms:
        raise ToolError("query has no words: give words or names to look for")
    tree = await to_thread.run_sync(find_tree, allowed_files(), path)
    found = await search_tree(current(), tree, Query(terms, limit, offset))
    files = [
        FoundFile(path=each.path, score=each.score, lines=[Line(line=n, text=text) for n, text in each.lines])
        for each in found.files
    ]
    more = found.total > offset + len(files)
    return SearchResult(files=files, total=found.total, more=more, indexed=found.indexed)


def _check_limit(limit: int, offset: int = 0) -> None:
    if not 1 <= limit <= 1000:
        raise ToolError(f"limit must be between 1 and 1000, not {limit}")
    if offset < 0:
        raise ToolError(f"offset must not be negative, not {offset}")
