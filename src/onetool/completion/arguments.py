"""The arguments of a command, for completion: its options, their values, and its words."""

from __future__ import annotations

import argparse
from typing import TypedDict


class Arguments(TypedDict):
    """`options` are names with their help, `values` the choices of those that take one (empty if it may be anything),
    `words` the choices of a plain argument, `actions` the arguments behind each action of a command.
    """

    options: dict[str, str]
    values: dict[str, list[str]]
    words: list[str]
    actions: dict[str, Arguments]


def describe_arguments(parser: argparse.ArgumentParser) -> Arguments:
    """Read them from the parser of a command."""
    found = Arguments(options={}, values={}, words=[], actions={})
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to list them
        choices = [str(choice) for choice in action.choices or ()]
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found["actions"] = {name: describe_arguments(each) for name, each in action.choices.items()}
        elif not action.option_strings:
            found["words"] += choices
        elif action.help != argparse.SUPPRESS:
            found["options"] |= dict.fromkeys(action.option_strings, str(action.help or ""))
            if action.nargs != 0:
                found["values"] |= dict.fromkeys(action.option_strings, choices)
    return found
