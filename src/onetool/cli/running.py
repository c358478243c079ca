"""Tables of what a person's running servers report, or of what is known here if none is running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

from mcp_core.json_types import Json
from onetool.cli.printing import Style, paint, say, say_json, say_visibly, visible
from onetool.console.clean_text import one_line
from onetool.control.asking import ask_running
from ot.config.loader import LoadedConfig

_WIDEST = 200  # characters of a cell

Cells = Iterable[tuple[str, Style | None]]
Row = Mapping[str, Json]
Word = Callable[[Row], Cells]


def show_running(what: str, loaded: LoadedConfig, here: Sequence[Row], word: Word, *, as_json: bool) -> None:
    """Show what each running server answers to `what`; `here` is what this process knows, in case none is running.

    As JSON it is a list of servers: one with `pid` null is this process, which has started nothing.
    """
    replies = ask_running(loaded.home, what)
    if as_json:
        found = [{**(facts := asdict(each)), what: facts.pop("answer")} for each in replies]
        this = {"pid": None, "project": str(loaded.project), "over": "", "since": None, "error": "", what: list(here)}
        say_json(found or [this])
        return
    for each in replies:
        say_visibly(f"{each}:")
        listed = each.answer if isinstance(each.answer, list) else []
        rows = [row for row in listed if isinstance(row, dict)]
        _show_table(rows, word, nothing=each.error or f"no {what}")
    if not replies:
        say(f"None of your servers is running; as seen from here, for {visible(str(loaded.project))}:")
        _show_table(here, word, nothing=f"no {what}")


def _show_table(items: Sequence[Row], word: Word, *, nothing: str) -> None:
    rows = [[(one_line(text, _WIDEST), style) for text, style in _cells(item, word)] for item in items]
    widths = [max(len(text) for text, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [(f"{text:<{width}}", style) for (text, style), width in zip(row, widths, strict=True)]
        say("  " + "  ".join(paint(text, style) if style else text for text, style in padded).rstrip())
    if not rows:
        say(f"  {nothing}")


def _cells(item: Row, word: Word) -> Cells:
    """Yield the cells of one row; where many people share a server, the first names the person."""
    if "person" in item:
        yield text_of(item, "person"), None
    yield from word(item)


def text_of(row: Row, key: str) -> str:
    """Return a value as text; empty if there is none."""
    value = row.get(key)
    return "" if value is None else str(value)
