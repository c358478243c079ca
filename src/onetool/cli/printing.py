"""Output of the commands: results on stdout, complaints on stderr. The server itself never uses this."""

from __future__ import annotations

import sys
from typing import TextIO

from ot.run.answer import Answer


def say(text: str) -> None:
    """Write a line to stdout."""
    _write(text, sys.stdout)


def complain(text: str) -> None:
    """Write a line to stderr."""
    _write(text, sys.stderr)


def print_answer(answer: Answer) -> None:
    """Write an answer to stdout; attachments that are not text are only named, on stderr."""
    say(answer.text.removesuffix("\n"))
    for item in answer.attachments:
        complain(f"(not shown: {item!r})")


def _write(text: str, stream: TextIO) -> None:
    # Whatever characters an answer has, and whatever the terminal can show: nothing here may fail for them.
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
