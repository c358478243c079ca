"""`onetool run`: one command, the way the server runs it, and its answer on stdout."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

import anyio

from onetool.cli import FAILED, OK, USAGE
from onetool.cli.printing import complain, print_answer, progress_for_person
from onetool.cli.start import load
from ot.app import launch, open_app
from ot.caller import Caller
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess
from ot.run.answer import Answer


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="Python code, or - to read it from stdin")


def main(options: Namespace) -> int:
    loaded = load(options, tolerant=True)
    launched = launch(loaded)
    try:
        command = sys.stdin.buffer.read().decode() if options.code == "-" else options.code
    except UnicodeDecodeError as error:
        complain(f"onetool run: the code on stdin is not UTF-8: {error}")
        return USAGE
    answer = anyio.run(_run, command, loaded, launched)
    print_answer(answer)
    return FAILED if answer.is_error else OK


async def _run(command: str, loaded: LoadedConfig, launched: ZygoteProcess) -> Answer:
    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        return await app.runner.run(command, caller=Caller(progress=progress_for_person()))
