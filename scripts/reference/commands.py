"""Every command with its arguments, as their parsers have them."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser, _HelpAction, _SubParsersAction
from collections.abc import Iterator

from onetool.cli import COMMANDS, load_command
from scripts.reference.tables import in_cell, render_table

_EVERYWHERE = ("--config",)  # described once, above


def render_commands() -> str:
    return "\n".join(_render(load_command(command)[1]) for command in COMMANDS)


def _render(parser: ArgumentParser, *, level: int = 2) -> str:
    actions = list(_actions(parser))
    parts = [
        f"{'#' * level} {parser.prog}\n",
        f"{parser.description}\n" if parser.description else "",
        f"```text\n{_usage(parser, actions)}\n```\n",
        render_table(("argument", "meaning"), map(_row, actions)) if actions else "",
        f"{parser.epilog}\n" if parser.epilog else "",
        *(_render(below, level=level + 1) for below in _subcommands(parser)),
    ]
    return "\n".join(part for part in parts if part)


def _actions(parser: ArgumentParser) -> Iterator[Action]:
    for action in parser._actions:
        wanted = not isinstance(action, (_HelpAction, _SubParsersAction)) and action.help != SUPPRESS
        if wanted and not set(_EVERYWHERE).intersection(action.option_strings):
            yield action


def _subcommands(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            about = {choice.dest: choice.help for choice in action._choices_actions}
            for name, below in action.choices.items():
                below.description = below.description or _sentence(about.get(name) or "")
                yield below


def _usage(parser: ArgumentParser, actions: list[Action]) -> str:
    positional = [_placeholder(action) for action in actions if not action.option_strings]
    options = ["[OPTIONS]"] if len(positional) < len(actions) else []
    below = ["[ACTION]"] if any(_subcommands(parser)) else []
    return " ".join([parser.prog, *options, *positional, *below])


def _placeholder(action: Action) -> str:
    name = _name(action)
    match action.nargs:
        case None:
            return name
        case "?":
            return f"[{name}]"
        case "+":
            return f"{name} ..."
        case _:
            return f"[{name} ...]"


def _name(action: Action) -> str:
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.metavar if isinstance(action.metavar, str) else action.dest.upper()


def _row(action: Action) -> tuple[str, str]:
    names = action.option_strings or [_name(action)]
    value = f" {_name(action)}" if action.option_strings and action.nargs != 0 else ""
    words = (action.help or "") % {**vars(action), "prog": "onetool"}
    return ", ".join(f"`{name}{value}`" for name in names), in_cell(words)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}." if words else ""
