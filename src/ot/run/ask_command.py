"""`policy.ask_command`: a program of the person's that hears of a question, to tell them that somebody waits."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import anyio

from ot.logs import write_log
from ot.processes.run_program import run_program
from ot.run.client_requests import OpenQuestion

LIMIT = 30.0  # seconds
_MOST_OUTPUT = 64 * 1024  # bytes
_MOST_TAIL = 300  # characters of its stderr in the log
_FAILED = "ask.command"


async def tell_program(
    command: Sequence[str], question: OpenQuestion, answered: str, folder: Path, *, limit: float = LIMIT
) -> None:
    """Give a program the question on stdin; if that fails, the log says so, and the question waits all the same."""
    text = f"{question.client} asks in run {question.run}. Answer {answered}.\n\n{question.text}\n"
    try:
        with anyio.fail_after(limit):
            finished = await run_program(
                command,
                stdin=text.encode("utf-8", "backslashreplace"),
                environ={**os.environ, "ONETOOL_RUN": question.run, "ONETOOL_CLIENT": question.client},
                cwd=folder,
                output_limit=_MOST_OUTPUT,
            )
    except TimeoutError:
        write_log(logging.WARNING, _FAILED, run=question.run, reason=f"it was ended after {limit:g} s")
    except (OSError, ValueError) as error:
        write_log(logging.WARNING, _FAILED, run=question.run, reason=str(error))
    else:
        if finished.status:
            tail = finished.tail[-_MOST_TAIL:]
            write_log(logging.WARNING, _FAILED, run=question.run, status=finished.status, stderr=tail)
