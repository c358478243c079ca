"""`onetool reload`: tell this person's running servers to read the configuration again, as `ot.reload()` does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from onetool.cli import FAILED, OK
from onetool.cli.printing import add_json_argument, paint, say, say_json, visible
from onetool.control.asking import ControlReply, ask_running

EPILOG = (
    "Reloads all your running servers, whichever client started them. Runs and calls in progress continue. Exit "
    "status: 0, even if no server is running; 1 if one did not reload."
)


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    replies = ask_running(Path.home(), "reload")
    if options.json:
        say_json([_describe(reply) for reply in replies])
    elif not replies:
        say("None of your servers is running; the next one reads the configuration when it starts.")
    for reply in () if options.json else replies:
        reloaded, text = _outcome(reply)
        first, *rest = text.splitlines()
        say(f"{visible(str(reply))}: {paint(visible(first), 'green' if reloaded else 'red')}")
        for line in rest:
            say(f"    {visible(line)}")
    return OK if all(_outcome(reply)[0] for reply in replies) else FAILED


def _outcome(reply: ControlReply) -> tuple[bool, str]:
    """Return whether a server has reloaded, and what it says about that."""
    answer = reply.answer if isinstance(reply.answer, dict) else {"reloaded": False, "text": reply.error}
    return bool(answer["reloaded"]), str(answer["text"])


def _describe(reply: ControlReply) -> dict[str, object]:
    facts = asdict(reply)
    del facts["answer"]
    reloaded, text = _outcome(reply)
    return {**facts, "reloaded": reloaded, "text": text}
