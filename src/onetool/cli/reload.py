"""`onetool reload`: the running servers of this person read the configuration again, as `ot.reload()` does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from mcp_core.json_types import JsonObject
from onetool.cli import FAILED, OK
from onetool.cli.printing import add_json_argument, paint, say, say_json, visible
from onetool.control.asking import ControlReply, ask_running

EPILOG = (
    "Every server of yours that is running is told, whichever client started it. Runs and calls in progress go on. "
    "Exit status: 0, also where no server runs; 1 if one did not reload."
)


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    told = ask_running(Path.home(), "reload")
    if options.json:
        say_json([_describe(each) for each in told])
    elif not told:
        say("No server of yours is running; the next one reads the configuration when it starts.")
    for each in () if options.json else told:
        first, *rest = (each.error or each.answer["text"]).splitlines()
        say(f"{visible(str(each))}: {paint(visible(first), 'green' if _reloaded(each) else 'red')}")
        for line in rest:
            say(f"    {visible(line)}")
    return OK if all(map(_reloaded, told)) else FAILED


def _describe(told: ControlReply) -> JsonObject:
    facts = asdict(told)
    answer = facts.pop("answer") or {"reloaded": False, "text": facts["error"]}
    return {**facts, **answer}


def _reloaded(told: ControlReply) -> bool:
    return not told.error and bool(told.answer["reloaded"])
