"""`onetool reload`: tell this person's running servers to read the configuration again, as `ot.reload()` does."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from mcp_core.visible_text import visible, visible_line
from onetool.cli import FAILED, OK
from onetool.cli.printing import add_json_argument, paint, say, say_json
from onetool.control.asking import ask_running

EPILOG = (
    "Reloads all your running servers, whichever client started them. Runs and calls in progress continue. Exit "
    "status: 0, even if no server is running; 1 if one did not reload."
)


def add_arguments(parser: ArgumentParser) -> None:
    add_json_argument(parser)


def main(options: Namespace) -> int:
    described = []
    for reply in ask_running(Path.home(), "reload"):
        answer = reply.answer if isinstance(reply.answer, dict) else {"reloaded": False, "text": reply.error}
        reloaded, text = bool(answer["reloaded"]), str(answer["text"])
        facts = {key: value for key, value in asdict(reply).items() if key != "answer"}
        described.append({**facts, "reloaded": reloaded, "text": text})
        if not options.json:
            first, *rest = text.splitlines()
            say(f"{visible(str(reply))}: {paint(visible(first), 'green' if reloaded else 'red')}")
            for line in rest:
                say(f"    {visible_line(line)}")
    if options.json:
        say_json(described)
    elif not described:
        say("None of your servers is running; the next one reads the configuration when it starts.")
    return OK if all(each["reloaded"] for each in described) else FAILED
