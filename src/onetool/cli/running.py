"""What the running servers of this person tell of themselves, or else what can be seen from here, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from mcp_core.json_types import JsonObject
from onetool.chat.clean_text import one_line
from onetool.cli.printing import Style, paint, say, say_json, visible
from onetool.control.asking import ask_running
from ot.config.loader import LoadedConfig

_WIDEST = 200  # characters of a cell

Cells = Iterable[tuple[str, Style | None]]
Word = Callable[[JsonObject], Cells]


def show_running(what: str, loaded: LoadedConfig, here: Sequence[JsonObject], word: Word, *, as_json: bool) -> None:
    """Show what each running server answers to `what`; `here` is what this process knows, for where none runs.

    As JSON it is a list of servers: one with `pid` null is this process, which has started nothing.
    """
    told = ask_running(loaded.home, what)
    if as_json:
        found = [{**(facts := asdict(each)), what: facts.pop("answer")} for each in told]
        this = {"pid": None, "project": str(loaded.project), "over": "", "since": None, "error": "", what: list(here)}
        say_json(found or [this])
        return
    for each in told:
        say(f"{visible(str(each))}:")
        _show_table(each.answer or [], word, nothing=each.error or f"no {what}")
    if not told:
        say(f"No server of yours is running; seen from here, for {visible(str(loaded.project))}:")
        _show_table(here, word, nothing=f"no {what}")


def _show_table(items: Sequence[JsonObject], word: Word, *, nothing: str) -> None:
    rows = [[(one_line(text, _WIDEST), style) for text, style in _cells(item, word)] for item in items]
    widths = [max(len(text) for text, _ in column) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = [(f"{text:<{width}}", style) for (text, style), width in zip(row, widths, strict=True)]
        say("  " + "  ".join(paint(text, style) if style else text for text, style in padded).rstrip())
    if not rows:
        say(f"  {nothing}")


def _cells(item: JsonObject, word: Word) -> Cells:
    """Yield the cells of one row; where many people share a server, the first says whose it is."""
    if "person" in item:
        yield item["person"], None
    yield from word(item)
