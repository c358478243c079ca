"""`onetool repl`: run code as you type it, with completion and history."""

from __future__ import annotations

import logging
from argparse import Namespace

from onetool.cli import OK, USAGE
from onetool.cli.printing import at_terminal, fail, say
from onetool.cli.start import load
from onetool.repl.session import open_session
from ot.app import launch
from ot.config.paths import state_folder
from ot.errors import MissingExtraError
from ot.execution.wording import word_error

EPILOG = "Tab completes packs, tools and arguments. Ctrl-C stops running code, Ctrl-D exits."


def main(options: Namespace) -> int:
    if not at_terminal():
        return fail("onetool repl: this is not a terminal; use onetool run - to run code from stdin", USAGE)
    loaded = load(options, tolerant=True)
    if loaded.config.log.file is None:
        logging.disable(logging.ERROR)  # errors are shown in the answer
    try:
        from onetool.repl.console import converse  # loads prompt_toolkit, an extra
    except ImportError:
        return fail(f"onetool repl: {word_error(MissingExtraError('the prompt', 'repl'))}")
    with open_session(loaded, launched=launch(loaded)) as session:
        converse(session, state_folder(loaded.home), say)
    return OK
