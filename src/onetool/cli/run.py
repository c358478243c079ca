"""`onetool run`: run one command the way the server does, and print its answer."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial

from onetool.cli import FAILED, OK, USAGE, importing
from onetool.cli.printing import fail, print_answer
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.kernel.zygote_process import end_zygote, launch_zygote


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="Python code, or - to read it from stdin")
    parser.add_argument("--preview", action="store_true", help="show what the code would do, without doing it")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    try:
        command = sys.stdin.buffer.read().decode() if options.code == "-" else options.code
    except UnicodeDecodeError as error:
        return fail(f"onetool run: the code on stdin is not UTF-8: {error}", USAGE)
    return run_command(command, loaded, preview=options.preview)


def run_command(command: str, loaded: LoadedConfig, *, preview: bool = False) -> int:
    """Run a command, or preview it, and return the exit status."""
    # There is only one run, and no kernel is used twice: no spare ones.
    execution = loaded.config.execution.model_copy(update={"warm": 0})
    loaded = replace(loaded, config=loaded.config.model_copy(update={"execution": execution}))
    launched = launch_zygote(loaded.config.execution, state=state_folder(loaded.machine_home), warm=1)
    try:
        with importing():  # start-up path: the kernel starts in its own process while this one loads the engine
            import anyio

            from onetool.cli.call import run_once

        answer, notes = anyio.run(partial(run_once, command, loaded, launched, preview=preview))
    finally:
        end_zygote(launched)  # in case the engine, which would own it, could not be opened
    print_answer(answer, notes)
    return FAILED if answer.is_error else OK
