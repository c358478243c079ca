"""`onetool repl`: run code as you type it, with completion and history."""

from __future__ import annotations

import logging
from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import at_terminal, complain, say
from onetool.cli.start import load
from onetool.console.engine_events import ExitRequested, Question
from onetool.repl.session import Session, open_session
from ot.app import launch
from ot.config.paths import state_folder
from ot.errors import MissingExtraError
from ot.execution.wording import word_error
from ot.run.answer import Answer

if TYPE_CHECKING:
    from onetool.console.prompt import Prompt
    from onetool.repl.display import ReplDisplay

STOPPED = "Stopped."
LEAVE = ("exit", "exit()", "quit", "quit()")
EPILOG = "Tab completes packs, tools and arguments. Ctrl-C stops running code, Ctrl-D exits."


def main(options: Namespace) -> int:
    if not at_terminal():
        complain("onetool repl: this is not a terminal; use onetool run - to run code from stdin")
        return USAGE
    loaded = load(options, tolerant=True)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # errors are shown in the answer
    try:
        from onetool.repl.prompt import open_prompt  # an extra
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
        except ExitRequested:
            return OK
        except KeyboardInterrupt:
            display.note(STOPPED)


def greet(packs: int) -> str:
    """Return the first lines: how many packs there are, and how to use the prompt."""
    return (
        f"{packs} packs. Tab completes, Ctrl-C stops code, Ctrl-D exits.\n"
        "Each input is its own run: variables are not kept; _ is the last value."
    )


def _show(session: Session, code: str, display: ReplDisplay, prompt: Prompt) -> None:
    """Show progress and the answer of a run; if it is interrupted, the run ends."""
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
