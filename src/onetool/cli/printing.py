"""Output and questions of the commands: results on stdout, errors on stderr. The server never uses this."""

from __future__ import annotations

import json
import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from mcp_core.line_log import enter_word
from mcp_core.visible_text import visible, visible_line
from onetool.cli import FAILED
from onetool.console.clean_text import clean, escape, one_line, write_encodable
from ot.errors import ConfigError

if TYPE_CHECKING:  # a command that calls nothing loads nothing of a call
    from ot.clients.caller import Notes, Progress
    from ot.run.answer import Answer

Style = Literal["bold", "dim", "red", "green", "yellow"]
_MOST_ALIKE = 3  # lines one after another
_CODES: dict[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}


def say(text: str) -> None:
    write_encodable(f"{text}\n", sys.stdout)


def say_visibly(*lines: str) -> None:
    """Write lines to stdout that quote others' files: nothing in them acts on the terminal, hides or scrolls away."""
    for _, group in groupby(map(visible_line, lines), str.rstrip):
        same = list(group)
        for line in same if len(same) <= _MOST_ALIKE else same[:1]:
            say(line)
        if len(same) > _MOST_ALIKE:
            say(f"⟨{len(same) - 1} more lines like this⟩")


def add_json_argument(parser: ArgumentParser, note: str = "print JSON") -> None:
    parser.add_argument("--json", action="store_true", help=note)


def say_json(value: object) -> None:
    """Write plain values to stdout as JSON: indented on a terminal, on one line for a program."""
    say(escape(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)))


def paint(text: str, style: Style) -> str:
    """Return a text in a style, if stdout is a terminal that shows it and NO_COLOR is not set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain or not text else f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def complain(text: str, *, level: int = logging.INFO) -> None:
    """Write a line to stderr; nothing in it acts on the terminal. Where stderr is a log of JSON, it is an entry."""
    if not enter_word(text, level):
        write_encodable(f"{clean(text)}\n", sys.stderr)


def fail(text: str, status: int = FAILED) -> int:
    """Complain, and return an exit status."""
    complain(text, level=logging.ERROR)
    return status


def say_table(rows: Iterable[Sequence[str]], most: Sequence[int], headings: Sequence[str] = ()) -> None:
    for number, line in enumerate(word_table([headings, *rows] if headings else rows, most)):
        say(paint(line, "bold") if headings and not number else line)


def word_table(rows: Iterable[Sequence[str]], most: Sequence[int]) -> Iterator[str]:
    """Yield rows in columns; `most` is the maximum width of each column, in characters."""
    shown = [[one_line(cell, width) for cell, width in zip(row, most, strict=True)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def at_terminal() -> bool:
    """True if a person can be asked: stdin and stdout are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str) -> bool:
    """Ask the person at the terminal; if stdin is not one, or the answer is not yes, return False."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except UnicodeDecodeError as error:
        raise ConfigError("the answer could not be read") from error


def progress_for_person() -> Progress | None:
    """Return a function that shows on stderr what a call is doing; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        return None
    told = ""

    async def tell(done: float, total: float | None, message: str) -> None:
        nonlocal told
        if message and message != told:
            told = message
            complain(visible(f"({message})"))

    return tell


def print_answer(answer: Answer, notes: Notes) -> None:
    """Write an answer to stdout, cleaned if that is a terminal; notes, and the names of attachments, go to stderr."""
    text = answer.text.removesuffix("\n")
    say(clean(text) if sys.stdout.isatty() else text)
    for line in (*(f"(not shown: {item!r})" for item in answer.attachments), *notes.lines):
        complain(line)
