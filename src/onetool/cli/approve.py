"""`onetool approve`: answer the questions of runs whose clients have no forms, at a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TextIO

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import at_terminal, fail, say
from onetool.console.caller import read_choice, word_choices
from onetool.console.clean_text import one_line, write_encodable
from onetool.control.asking import find_questions, settle_question
from ot.run.client_requests import OpenQuestion
from ot.stats.wording import duration

EPILOG = (
    "Shows each open question in full, the oldest first, and reads your answer from the terminal. A question is for a "
    "person, so this refuses to work where stdin or stdout is not a terminal. Ctrl-D leaves a question open. Exit "
    "status: 0 if every question was answered, 1 if one was not."
)
_TERMINAL = Path("/dev/tty")
_NO_TERMINAL = "onetool approve: a person has to answer, so stdin and stdout must be a terminal"
_NONE_OF_RUN = (
    "onetool approve: run {0} has no open question: it was answered, its time was over, or the run or its server ended"
)
_GONE = "The run or its server has ended, so your answer had no effect."
_WIDEST = 60  # characters of a client's name


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", nargs="?", help="only the questions of this run, such as r7k2m9xqd")


def main(options: Namespace) -> int:
    try:
        terminal = _TERMINAL.open(encoding="utf-8", errors="replace") if at_terminal() else None
    except OSError:  # this process belongs to no terminal, whatever stdin is
        terminal = None
    if terminal is None:
        return fail(_NO_TERMINAL, USAGE)
    with terminal:
        home = Path.home()
        questions = [each for each in find_questions(home) if options.run in (None, each.run)]
        if not questions and options.run is not None:
            return fail(_NONE_OF_RUN.format(options.run))
        answered = [_put(home, each, terminal) for each in questions]
    if not answered:
        say("No run waits for your answer.")
    return OK if all(answered) else FAILED


def _put(home: Path, question: OpenQuestion, terminal: TextIO) -> bool:
    """Show a question, and pass the answer on; False if it stays open, or the answer came too late."""
    import termios  # not on Windows

    now = time.time()
    waits, left = (duration(max(seconds, 0) * 1000) for seconds in (now - question.since, question.until - now))
    client = one_line(question.client, _WIDEST)
    say(f"{client} asks in run {question.run}, for {waits}; without an answer it is a no in {left}.\n")
    worded, prompt = word_choices(question.text, question.offered)
    termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before the question is no answer to it
    write_encodable(f"{worded}\n{prompt}", sys.stdout)
    line = terminal.readline()
    if not line:
        say("\nIt stays open.")
        return False
    choice = read_choice(line, question.offered)
    settled = settle_question(home, question.run, question.name, choice, place="terminal")
    say(_GONE if settled is None else settled.text)
    return settled is not None and settled.counts
