"""The prefixes of a command: a trigger word, or the prompt of a Python session."""

from __future__ import annotations

import re

from ot.errors import LegacyPrefixError

# What chats and web pages put in place of spaces, and between characters.
ODD_SPACES = "\u00a0\u2007\u202f"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"

_LEGACY = "!onetool"
_TRIGGER = re.compile(
    r"(?P<before>\s*+)(?:mcp__onetool__run|__onetool__run|__onetool|__ot)(?=[\s`]|$)[ \t]*+"
    r"(?![-+*/%&|^<>@!]*+=)"  # `__ot = 5` is code: a program may use the name
)
_PROMPT = re.compile(r"\s*+>>>")


def strip_prefix(command: str) -> str:
    """Return the command without its prefix, on the same lines as before; raises LegacyPrefixError for `!onetool`.

    A session with prompts on several lines is read as doctest reads it: lines behind `>>>` and `...` are code, the
    others are what the session printed, and become empty lines.
    """
    command = command.lstrip(INVISIBLE)
    if command.lstrip().startswith(_LEGACY):
        raise LegacyPrefixError(_LEGACY)
    if trigger := _TRIGGER.match(command):
        command = trigger["before"] + command[trigger.end() :]
    if prompt := _PROMPT.match(command):
        return _strip_prompts(command, prompt)
    return command


def _strip_prompts(command: str, prompt: re.Match[str]) -> str:
    margin = prompt[0].rpartition("\n")[2].removesuffix(">>>")
    lines = command.split("\n")
    if sum(_is_prompt(line, margin) for line in lines) == 1:
        start = prompt.end() - len(">>>")
        return command[:start] + command[prompt.end() :].removeprefix(" ")
    behind = len(margin) + len(">>>")
    return "\n".join(line[behind:].removeprefix(" ") if _is_prompt(line, margin) else "" for line in lines)


def _is_prompt(line: str, margin: str) -> bool:
    text = line.removeprefix(margin).rstrip("\r")
    return line.startswith(margin) and (text.startswith((">>>", "... ")) or text == "...")
