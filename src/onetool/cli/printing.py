"""Output of the commands, and their questions: results on stdout, complaints on stderr. The server never uses this."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from mcp_core.json_types import Json
from onetool.chat.clean_text import clean, escape, one_line, write_encodable
from ot.errors import ConfigError

if TYPE_CHECKING:  # a command that calls nothing loads nothing of a call
    from ot.clients.caller import Progress
    from ot.run.answer import Answer

Style = Literal["bold", "dim", "red", "green", "yellow"]
_CODES: dict[Style, int] = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}


def say(text: str) -> None:
    """Write a line to stdout."""
    write_encodable(f"{text}\n", sys.stdout)


def add_json_argument(parser: ArgumentParser) -> None:
    """Let a command print what it lists as JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def say_json(value: Json) -> None:
    """Write a value to stdout as JSON: for a person indented, for a program on one line."""
    say(escape(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)))


def paint(text: str, style: Style) -> str:
    """Return a text in a colour, if stdout is a terminal that shows it and nobody wants none (NO_COLOR)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain or not text else f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def complain(text: str) -> None:
    """Write a line to stderr; what it quotes of others acts on no terminal."""
    write_encodable(f"{clean(text)}\n", sys.stderr)


def visible(text: str) -> str:
    """Return a line of a stranger's text that cannot move the cursor of this terminal, nor hide anything in it."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def word_table(rows: Iterable[Sequence[str]], most: Sequence[int]) -> Iterator[str]:
    """Write rows in columns, each cell as one line of at most so many characters."""
    shown = [[one_line(cell, width) for cell, width in zip(row, most, strict=True)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def confirm(question: str) -> bool:
    """Ask the person at the terminal; anything but a yes is a no, and so is the end of the input."""
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except UnicodeDecodeError as error:
        raise ConfigError("the answer could not be read") from error


def progress_for_person() -> Progress | None:
    """Return what tells the person at the terminal, on stderr, what a call is doing; None if nobody reads along."""
    if not sys.stderr.isatty():
        return None
    told = ""

    async def tell(done: float, total: float | None, message: str) -> None:
        nonlocal told
        if message and message != told:
            told = message
            complain(visible(f"({message})"))

    return tell


def print_answer(answer: Answer) -> None:
    """Write an answer to stdout, for a terminal without what acts on it; attachments are only named, on stderr."""
    text = answer.text.removesuffix("\n")
    say(clean(text) if sys.stdout.isatty() else text)
    for item in answer.attachments:
        complain(f"(not shown: {item!r})")
