"""The conversation of the repl: read, run, print. Importing this loads prompt_toolkit and rich."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from rich.console import Console

from onetool.console.engine_events import ExitRequested, Question
from onetool.console.prompt import Prompt
from onetool.repl.display import ReplDisplay
from onetool.repl.prompt import open_prompt
from onetool.repl.session import Session
from ot.run.answer import Answer

STOPPED = "Stopped."
LEAVE = ("exit", "exit()", "quit", "quit()")


def converse(session: Session, state: Path, say: Callable[[str], None]) -> None:
    """Run what the person types until they exit; the history is a file in the `state` folder."""
    prompt = open_prompt(state, say=say, complete=session.complete)
    display = ReplDisplay(Console())
    say(greet(session.count_packs()))
    while True:
        try:
            code = prompt.ask()
            if code.strip() in LEAVE:
                return
            _show(session, code, display, prompt)
        except ExitRequested:
            return
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
