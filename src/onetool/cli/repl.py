"""`onetool repl`: the run tool for a person, with completion and history."""

from __future__ import annotations

import logging
import sys
from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.chat.commands import Leaving
from onetool.chat.desk import Question
from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, say
from onetool.cli.start import load
from onetool.repl.session import Session, open_session
from ot.app import launch
from ot.config.paths import state_folder
from ot.errors import MissingExtraError
from ot.execution.wording import word_error
from ot.run.answer import Answer

if TYPE_CHECKING:
    from onetool.chat.prompt import Prompt
    from onetool.repl.display import ReplDisplay

STOPPED = "Stopped."
LEAVE = ("exit", "exit()", "quit", "quit()")
EPILOG = "Tab completes packs, tools and arguments. Ctrl-C stops code that runs, Ctrl-D leaves."


def main(options: Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain("onetool repl: there is no terminal here; onetool run - runs the code on stdin")
        return USAGE
    loaded = load(options, tolerant=True)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # a person sees what went wrong in the answer
    try:
        from onetool.repl.prompt import open_prompt
    except ImportError:
        complain(f"onetool repl: {word_error(MissingExtraError('the prompt', 'repl'))}")
        return FAILED
    with open_session(loaded, launched=launch(loaded)) as session:
        prompt = open_prompt(state_folder(loaded.home), say=say, complete=session.complete)
        return _converse(session, prompt)


def _converse(session: Session, prompt: Prompt) -> int:
    from rich.console import Console

    from onetool.repl.display import ReplDisplay

    display = ReplDisplay(Console())
    say(greet(session.count_packs()))
    while True:
        try:
            code = prompt.ask()
            if code.strip() in LEAVE:
                return OK
            _show(session, code, display, prompt)
        except Leaving:
            return OK
        except KeyboardInterrupt:
            display.note(STOPPED)


def greet(packs: int) -> str:
    """Return the first lines: what there is, and what a person must know."""
    return (
        f"{packs} packs. Tab completes, Ctrl-C stops code, Ctrl-D leaves.\n"
        "Each input is a run of its own: its variables end with it; _ is the last value."
    )


def _show(session: Session, code: str, display: ReplDisplay, prompt: Prompt) -> None:
    """Show how code runs and its answer; whatever ends it early ends the run."""
    display.begin()
    with closing(session.run(code)) as happenings:
        for happening in happenings:
            match happening:
                case Question():
                    display.pause()
                    happening.answer(prompt.choose(happening.text, happening.choices))
                case Answer():
                    display.show(happening)
                case _:
                    display.tick(happening or "")
