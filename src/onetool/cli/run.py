"""`onetool run`: one command, the way the server runs it, and its answer on stdout."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from onetool.cli import FAILED, OK, USAGE, importing
from onetool.cli.printing import complain, print_answer, progress_for_person
from onetool.cli.start import load
from ot.config.loader import LoadedConfig
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote

if TYPE_CHECKING:
    from ot.run.answer import Answer


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="Python code, or - to read it from stdin")


def main(options: Namespace) -> int:
    loaded = _without_spares(load(options, tolerant=True))
    try:
        command = sys.stdin.buffer.read().decode() if options.code == "-" else options.code
    except UnicodeDecodeError as error:
        complain(f"onetool run: the code on stdin is not UTF-8: {error}")
        return USAGE
    launched = launch_zygote(loaded.config.execution, warm=1)
    try:
        with importing():  # start-up path: the kernel is made in its own process while this one loads the engine
            import anyio

            import ot.app  # noqa: F401

        answer = anyio.run(_run, command, loaded, launched)
    finally:
        end_zygote(launched)  # for an engine that could not be opened, which would own it
    print_answer(answer)
    return FAILED if answer.is_error else OK


def _without_spares(loaded: LoadedConfig) -> LoadedConfig:
    """Keep no kernels ready: there is one run, and no kernel is used twice."""
    execution = loaded.config.execution.model_copy(update={"warm": 0})
    return replace(loaded, config=loaded.config.model_copy(update={"execution": execution}))


async def _run(command: str, loaded: LoadedConfig, launched: ZygoteProcess) -> Answer:
    from ot.app import open_app
    from ot.clients.caller import Caller

    async with open_app(loaded, launched=launched, connect_ahead=False) as app:
        answer = await app.runner.run(command, caller=Caller(progress=progress_for_person()))
        app.supply.retire()  # the kernels' process ends while the rest is closed
        return answer
