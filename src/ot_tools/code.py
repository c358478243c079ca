"""Source code: search by words; find, list and rewrite by syntax."""

from __future__ import annotations

from typing import TypedDict

from anyio import to_thread

from ot.context import current
from ot.effects import best_first, reads
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot_packs.code.helper import Selection, apply_rewrite, collect, plan_rewrite, words_of
from ot_packs.code.index import split_humps
from ot_packs.code.languages import find_language
from ot_packs.code.patches import Batch
from ot_packs.code.search import Query
from ot_packs.code.search import search as search_tree
from ot_packs.code.source_files import find_tree
from ot_packs.full_text import read_query
from ot_packs.limits import checked_page

pack = "code"
needs = {"ast_grep_py": "ast-grep-py>=0.51"}


class MatchingLine(TypedDict):
    line: int
    text: str


class FoundFile(TypedDict):
    """A file with its best lines; a higher score is better."""

    path: str
    score: float
    lines: list[MatchingLine]


class SearchResult(TypedDict):
    """Files, best first; `total` of the `indexed` files contain the words."""

    files: list[FoundFile]
    total: int
    more: bool
    indexed: int


class Match(TypedDict):
    """Code that matches a pattern, and the text that each of its names captured."""

    path: str
    line: int
    column: int
    end_line: int
    text: str
    captures: dict[str, str]


class FindResult(TypedDict):
    """Matches in the order of the files; `unread` are files that could not be parsed."""

    matches: list[Match]
    total: int
    more: bool
    unread: list[str]


class Symbol(TypedDict):
    """A declaration; `inside` names the declaration it is part of."""

    path: str
    name: str
    kind: str
    line: int
    end_line: int
    inside: str


class SymbolsResult(TypedDict):
    symbols: list[Symbol]
    total: int
    more: bool
    unread: list[str]


class Reference(TypedDict):
    """An occurrence of a name; `declares` is true where it is declared."""

    path: str
    line: int
    column: int
    text: str
    declares: bool


class ReferencesResult(TypedDict):
    references: list[Reference]
    total: int
    more: bool
    unread: list[str]


class NotWritten(TypedDict):
    path: str
    reason: str


class RewriteResult(TypedDict):
    """The changes as one diff of `files` files; `written` is empty unless they were applied."""

    diff: str
    files: int
    matches: int
    written: list[str]
    not_written: list[NotWritten]
    unread: list[str]


@reads
@best_first
async def search(*, query: str, path: str = "", limit: int | None = 20, offset: int = 0) -> SearchResult:
    """Search the files of a folder for words, best files first; an identifier is found by each of its parts.

    The first search indexes the files, and later ones update the index; files that git ignores are left out.

    Args:
        query: Plain words or identifiers; finds files with all of them or, if there are none, with any of them.
        path: The folder to search, relative to the project; the whole project by default.
        limit: Maximum number of files to return; None for all.
        offset: Number of files to skip.

    Returns:
        files (path, score and up to three lines), total, more, and indexed (the number of files searched).

    Example:
        code.search(query="parse header", limit=5)
    """
    limit = checked_page(limit, offset)
    terms = read_query(query, split_humps)
    if not terms:
        raise ToolError("query has no words: give words or names to look for")
    tree = await to_thread.run_sync(find_tree, allowed_files(), path)
    found = await search_tree(current(), tree, Query(terms, limit, offset))
    more = found.total > offset + len(found.files)
    files: list[FoundFile] = [
        {"path": path, "score": score, "lines": [{"line": line, "text": text} for line, text in lines]}
        for path, score, lines in found.files
    ]
    return {"files": files, "total": found.total, "more": more, "indexed": found.indexed}


@reads
async def symbols(*, path: str, limit: int | None = 500, offset: int = 0) -> SymbolsResult:
    """List the classes, functions and other declarations in a file, or in all files of a folder.

    Args:
        path: A file or folder, relative to the project.
        limit: Maximum number of declarations to return; None for all.
        offset: Number of declarations to skip.

    Returns:
        symbols (path, name, kind, line, end_line, and inside: the declaration it is part of), total, more, unread.

    Example:
        [s["name"] for s in code.symbols(path="src/app.py")["symbols"]]
    """
    limit = checked_page(limit, offset)
    tree = await to_thread.run_sync(find_tree, allowed_files(), path)
    selection = Selection(tree, with_symbols=True)
    if tree.single and selection.language_of(path) is None:
        raise ToolError(f"declarations cannot be listed for files named like {path!r}; use code.find instead")
    found = await collect(current(), selection, "symbols_in", Batch[Symbol], offset + limit)
    total, more = found["total"], found["total"] > offset + limit
    return SymbolsResult(symbols=found["found"][offset:], total=total, more=more, unread=found["unread"])


@reads
async def find(*, pattern: str, language: str, path: str = "", limit: int | None = 100) -> FindResult:
    """Find code by its syntax: $NAME in a pattern matches any one node, $$$NAME any number of them.

    Args:
        pattern: Code such as "print($$$ARGS)"; white space and comments do not matter.
        language: The language of the pattern, such as "python" or "typescript"; its files are searched.
        path: A file or folder, relative to the project; the whole project by default.
        limit: Maximum number of matches to return; None for all.

    Returns:
        matches (path, line, column, end_line, text, and captures by name), total, more, unread.

    Example:
        code.find(pattern="open($FILE, $$$REST)", language="python")["matches"]
    """
    limit = checked_page(limit)
    selection = await _select(path, language, pattern)
    arguments = {"pattern": pattern, "language": find_language(language).name}
    found = await collect(current(), selection, "find_in", Batch[Match], limit, **arguments)
    _doubt(pattern, language, incomplete=found["incomplete"] and not found["total"])
    more = found["total"] > len(found["found"])
    return FindResult(matches=found["found"], total=found["total"], more=more, unread=found["unread"])


@reads
async def references(*, name: str, path: str = "", limit: int | None = 200) -> ReferencesResult:
    """Find where an identifier is used in code, not in strings or comments; same-named things are not told apart.

    Args:
        name: The identifier, spelled exactly.
        path: A file or folder, relative to the project; the whole project by default.
        limit: Maximum number of places to return; None for all.

    Returns:
        references (path, line, column, text of the line, and declares: whether this is its declaration), total,
        more, unread.

    Example:
        code.references(name="parse_header", limit=50)
    """
    limit = checked_page(limit)
    if not name or any(sign.isspace() for sign in name):
        raise ToolError(f"name must be one identifier, not {name[:60]!r}; code.search finds words")
    selection = Selection(await to_thread.run_sync(find_tree, allowed_files(), path), words=(name,))
    found = await collect(current(), selection, "references_in", Batch[Reference], limit, name=name)
    more = found["total"] > len(found["found"])
    return ReferencesResult(references=found["found"], total=found["total"], more=more, unread=found["unread"])


async def rewrite(
    *, pattern: str, replacement: str, language: str, path: str = "", apply: bool = False
) -> RewriteResult:
    """Rewrite code by its syntax, in any number of files; files are changed only with `apply`.

    Args:
        pattern: Code such as "assertEqual($A, $B)", as for code.find.
        replacement: The code to put in its place, using the names in the pattern: "assert $A == $B".
        language: The language of both, such as "python" or "typescript".
        path: A file or folder, relative to the project; the whole project by default.
        apply: Write the files. A file that somebody else changes meanwhile is left as it is.

    Returns:
        diff (one unified diff of all files), files, matches, written, not_written (path and reason), unread.

    Example:
        code.rewrite(pattern="assertEqual($A, $B)", replacement="assert $A == $B", language="python")["diff"]
    """
    selection = await _select(path, language, pattern)
    plan = await plan_rewrite(current(), selection, pattern, replacement)
    _doubt(pattern, language, incomplete=plan.incomplete and not plan.changes)
    # On a thread, so that it is not interrupted in between.
    failed = await to_thread.run_sync(apply_rewrite, plan, selection.tree) if apply else {}
    return RewriteResult(
        diff="".join(plan.diffs),
        files=len(plan.changes),
        matches=plan.matches,
        written=[path for path, _, _ in plan.changes if path not in failed] if apply else [],
        not_written=[NotWritten(path=path, reason=reason) for path, reason in failed.items()],
        unread=plan.unread,
    )


async def _select(path: str, language: str, pattern: str) -> Selection:
    known = find_language(language)
    return Selection(await to_thread.run_sync(find_tree, allowed_files(), path), known, words_of(pattern))


def _doubt(pattern: str, language: str, *, incomplete: bool) -> None:
    if incomplete:
        reason = f"{pattern[:60]!r} is not complete {language} code by itself, so it may match nothing"
        current().note(f"{current().tool}: {reason}")
