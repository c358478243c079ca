"""Questions to a stored result. What takes long is written so that it can run in a process that may be killed."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError
from ot.results.lines import TooHeavyError, all_lines, item_lines, read_value, text_line
from ot.results.page import Page, Query
from ot.results.selection import select
from ot.results.stored_file import StoredFile
from ot.store.forms import read_record
from ot.text.output import render_lines
from ot.values import ToolValue
from ot_kernel.stored_form import TEXT

FUZZY_LEAST = 60  # of 100: how alike a line must be
_FUZZY_LENGTH = 20_000  # characters of a line that are compared


def read_light_page(file: Path, query: Query) -> JsonObject | None:
    """The page, if finding it takes little work; else None."""
    if query.search or query.path:
        return None
    try:
        with StoredFile(file) as stored:
            return _plain_page(stored, query, light=True)
    except TooHeavyError:
        return None


def read_page(file: str, query: JsonObject) -> JsonObject:
    """Read any page; blocking, and possibly for long: called in a helper process."""
    with StoredFile(Path(file)) as stored:
        asked = read_record(Query, query)
        if asked.path:
            found = select(_structure(stored), asked.path)
            lines = list(render_lines(found.value))
            return _page_of(lines, len(lines), asked).report(len(lines), skipped=found.skipped)
        if asked.search:
            return _page_of(all_lines(stored), stored.facts.lines, asked).report(stored.facts.lines)
        return _plain_page(stored, asked, light=False)


def _plain_page(stored: StoredFile, query: Query, *, light: bool) -> JsonObject:
    total = stored.facts.lines
    page = Page(query, alone=total == 1)
    if stored.facts.kind != TEXT:
        _fill(page, item_lines(stored, query.offset - 1, light=light), query.offset)
        return page.report(total)
    for number, (start, size) in enumerate(stored.lines_from(query.offset - 1), query.offset):
        if not page.wants_more:
            break
        text, length = text_line(stored, start, size, column=query.column, width=page.width)
        page.offer(number, text, length=length)
    return page.report(total)


def _fill(page: Page, lines: Iterable[str], first: int) -> None:
    for number, line in enumerate(lines, first):
        page.offer(number, line)
        if not page.wants_more:
            return


def _page_of(lines: Iterable[str], total: int, query: Query) -> Page:
    page = Page(query, alone=total == 1)
    if not query.search:
        _fill(page, list(lines)[query.offset - 1 :], query.offset)
    elif query.fuzzy:
        for number, line, score in _rank(lines, query.search):
            page.offer(number, line, score=score)
    else:
        for number, line, start in _find(lines, query.search):
            page.offer(number, line, match=start)
    return page


def _find(lines: Iterable[str], search: str) -> Iterator[tuple[int, str, int]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about patterns that may mean something else in a later Python
            pattern = re.compile(search)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(
            f"search: {search[:200]!r} is not a regular expression: {error}; put \\ in front of characters "
            "that are meant literally, or use fuzzy=True"
        ) from error
    for number, line in enumerate(lines, 1):
        found = pattern.search(line)
        if found is not None:
            yield number, line, found.start()


def _rank(lines: Iterable[str], search: str) -> Iterator[tuple[int, str, float]]:
    """Lines like the text searched for, the best first; lines much shorter than it are like nothing."""
    from rapidfuzz import fuzz, process, utils  # noqa: PLC0415 - loaded by the first search, in a process of its own

    everything = list(lines)
    wanted = utils.default_process(search)
    shortest = len(wanted) * 0.7
    numbers = [number for number, line in enumerate(everything) if len(line) >= shortest]
    candidates = [everything[number][:_FUZZY_LENGTH] for number in numbers]
    scorer, processor = fuzz.partial_ratio, utils.default_process
    ranked = process.extract(
        wanted, candidates, scorer=scorer, processor=processor, limit=None, score_cutoff=FUZZY_LEAST
    )
    for _, score, index in ranked:
        yield numbers[index] + 1, everything[numbers[index]], score


def _structure(stored: StoredFile) -> ToolValue:
    """The value that a path leads into; a text that is JSON counts as one."""
    value = read_value(stored)
    if stored.facts.kind != TEXT:
        return value
    try:
        assert isinstance(value, str)
        found: Json = json.loads(value)
        return found
    except (ValueError, RecursionError):
        raise ToolError("path: this result is text, and not JSON, so there is nothing to select; use search") from None
