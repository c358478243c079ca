"""From the command to its code: the prefix and the fences around it are taken off, and nothing else is changed.

All of it is text. A backtick is no part of Python outside strings and comments, so three of them are a fence unless
they stand in one; a command that is valid code therefore passes unchanged, whatever its strings hold. Of a fenced
command only what stands between the fences is code. Several fences are one program, in their order: the lines between
them become empty lines, so that line numbers count from the first line inside the first fence. Beside Python fences
those of another language are left out.

Hostile text costs linear time: loops are possessive, and the scan only ever goes forward.
"""

from __future__ import annotations

import re
import string
from functools import cache
from typing import NamedTuple

from ot.errors import CommandTooLargeError, LegacyPrefixError

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
    prompt = _PROMPT.match(command)
    if prompt is None:
        return command
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


MAX_COMMAND = 2 * 1024 * 1024  # bytes
_MOST_FENCES = 1000  # text with more is no program

_BLANK = string.whitespace + ODD_SPACES + INVISIBLE
_PYTHON = frozenset({"python", "py", "python3", "py3", "ipython", "pycon"})

_REST_OF_LINE = re.compile(r"[ \t]*+(?P<word>\w*+)[ \t\r]*+(?P<end>\n|\Z)?+")
_INFO_WORD = re.compile(r"[A-Za-z][\w+-]*+")
_ATTRIBUTES = re.compile(r"\{[^{}]*+\}")
_NAMED = "caption|file|file_?name|highlight|hl_lines|id|label|line_?nums?|name|path|src|start_?line|title"
_FLAGS = "copy|editable|line_?nos?|line_?numbers|live|no_?copy|number_?lines|show_?line_?numbers|wrap"


# Most commands need neither pattern, and compiling both takes longer than a short run.


@cache
def _token() -> re.Pattern[str]:
    return re.compile(
        rf"""
          (?P<literal>
              \\.                                        # outside a string too: an escaped quote opens nothing
            | \#[^\n]*+
            | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
            | '''(?:[^'\\]++|\\.|'(?!''))*+'''
            | "(?:[^"\\\n]++|\\.)*+"
            | '(?:[^'\\\n]++|\\.)*+'
          )
        | (?P<fence> ^[ \t]*+(?:`{{3,}}+|~{{3,}}+) | `{{3,}}+ )
        | (?P<odd> [{ODD_SPACES}{INVISIBLE}] )
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    )


@cache
def _description() -> re.Pattern[str]:
    """The rest of an opening line; code may stand there too, so an attribute is known by its name."""
    return re.compile(
        rf"""
        (?P<tag> [A-Za-z][\w+-]*+ ) (?P<file> :[^\s:=()]++ )?+                                # python:main.py
        (?: [ \t,]++ (?: (?:{_NAMED})=(?:"[^"\n]*+"|'[^'\n]*+'|[^\s"'()]++) | (?:{_FLAGS})\b(?![=(.\[])
            | [\w/-]++\.py\b(?![=(.\[]) | \{{[^{{}}]*+\}} ) )*+
        """,
        re.VERBOSE | re.IGNORECASE,
    )


class _Fence(NamedTuple):
    """One fenced block: its code begins on the line of character `start`; the scan goes on at `end`."""

    code: str
    tag: str
    start: int
    end: int


def read_command(command: str) -> str:
    """Return the code (or `$snippet`) of a command; raises CommandTooLargeError or LegacyPrefixError."""
    if len(command) * 4 > MAX_COMMAND:
        size = len(command.encode("utf-8", "surrogatepass"))
        if size > MAX_COMMAND:
            raise CommandTooLargeError(size, MAX_COMMAND)
    # The prefix may stand in front of the fence or inside it.
    text = strip_prefix(command)
    code = strip_fences(text) if "`" in text or "~~~" in text else text
    if code is not text:
        code = strip_prefix(code)
    if code.isascii() or code.lstrip().startswith("$"):
        return code
    # Odd spaces outside strings, where Python refuses them, become what they look like.
    ordinary = {odd: " " if odd in ODD_SPACES else "" for odd in ODD_SPACES + INVISIBLE}
    return _token().sub(lambda token: ordinary[token[0]] if token.lastgroup == "odd" else token[0], code)


def strip_fences(command: str) -> str:
    """Return the code inside the command's fences; a command without fences comes back unchanged."""
    if "```" in command or "~~~" in command:
        fences: list[_Fence] = []
        position = 0
        while len(fences) <= _MOST_FENCES and (opening := _next_fence(command, position)) is not None:
            fence = _read_fence(command, opening)
            if fence is None:  # tildes that are Python's operator; looking on would cost a scan for each of them
                break
            fences.append(fence)
            position = fence.end
        code = _join(command, fences)
        if len(fences) <= _MOST_FENCES and (code.strip() or (fences and command.lstrip().startswith(("```", "~~~")))):
            return code
    text = command.strip()  # single, or double, backticks that enclose the whole command
    marker = "``" if text.startswith("``") else "`"
    inner = text[len(marker) : -len(marker)]
    enclosed = text.startswith(marker) and text.endswith(marker) and inner.strip()
    return inner.strip() if enclosed and "`" not in _token().sub("", inner) else command


def _next_fence(text: str, position: int, marker: str = "") -> re.Match[str] | None:
    """Find the next fence outside strings and comments; with a marker, the next one that closes it."""
    for token in _token().finditer(text, position):
        if token.lastgroup == "fence" and token[0].lstrip().startswith(marker):
            rest = _REST_OF_LINE.match(text, token.end())
            bare = rest is not None and not rest["word"] and rest["end"] is not None
            if bare or not marker.startswith("~"):
                return token
    return None


def _read_fence(text: str, opening: re.Match[str]) -> _Fence | None:
    marker = opening[0].lstrip()
    margin = opening[0][: -len(marker)]
    if marker[0] == "~" and (one_line := _one_line_of_tildes(text, opening, marker)):
        return one_line
    closing = _next_fence(text, opening.end(), marker)
    stop = end = len(text)
    if closing is not None:  # one that names Python where an end was due opens the next block
        after = _REST_OF_LINE.match(text, closing.end())
        at_line_start = text[closing.start() - 1] == "\n"
        reopens = after is not None and after["end"] is not None and after["word"].lower() in _PYTHON
        stop, end = closing.start(), closing.start() if at_line_start and reopens else closing.end()
    first, newline, rest = text[opening.end() : stop].partition("\n")
    opens = first.strip(_BLANK).lower() in ("", *_PYTHON) and rest.strip()
    if marker[0] == "~" and closing is None and not opens:  # `~~~x` alone is an expression
        return None
    if not newline:
        return _Fence(*_split_language(first.strip(_BLANK)), opening.end(), end)
    tag, code = _read_opening_line(first.strip(_BLANK), rest)
    if code:
        return _Fence(_trim(f"{code}\n{_dedent(rest, margin)}"), tag, opening.end(), end)
    return _Fence(_trim(_dedent(rest, margin)), tag, opening.end() + len(first) + 1, end)


def _one_line_of_tildes(text: str, opening: re.Match[str], marker: str) -> _Fence | None:
    """Read `~~~ code ~~~`: tildes inside a line do not open a fence, because they are also an operator."""
    newline = text.find("\n", opening.end())
    stop = len(text) if newline < 0 else newline
    line = text[opening.end() : stop].strip()
    if not line.endswith(marker):
        return None
    return _Fence(*_split_language(line.removesuffix(marker).strip()), opening.end(), stop)


def _split_language(text: str) -> tuple[str, str]:
    """Return the code of a one-line fence, and its language if that is Python."""
    word, _, code = text.partition(" ")
    return (code.strip(), "python") if word.lower() in _PYTHON else (text, "")


def _read_opening_line(first: str, rest: str) -> tuple[str, str]:
    """Return the language that an opening fence names, and the code that already stands on its line."""
    if _ATTRIBUTES.fullmatch(first) and rest.strip():
        words = first.strip("{} .").split()
        return (words[0].lower() if words else ""), ""
    if _INFO_WORD.fullmatch(first) and (rest.strip() or first.lower() in _PYTHON):
        return first.lower(), ""
    described = _description().fullmatch(first)
    if described is not None and rest.strip():
        tag = described["tag"].lower()
        if tag in _PYTHON or not described["file"]:  # `x:int` is code
            return tag, ""
    code, tag = _split_language(first)
    return tag, "" if tag and _ATTRIBUTES.fullmatch(code) else code


def _trim(code: str) -> str:
    """Remove the line end in front of the closing fence."""
    return code.rstrip(" \t").removesuffix("\n").removesuffix("\r")


def _dedent(code: str, margin: str) -> str:
    """Remove the indentation of the fence itself from every line, and no more; code that has none keeps its own."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    if not margin or not first.startswith((" ", "\t")):
        return code
    return re.sub(rf"^[ \t]{{1,{len(margin)}}}+", "", code, flags=re.MULTILINE)


def _join(command: str, fences: list[_Fence]) -> str:
    chosen = [fence for fence in fences if fence.tag in _PYTHON or not fence.tag] or fences
    parts: list[str] = []
    line = position = 0
    for fence in chosen:
        gap = command.count("\n", position, fence.start) - line
        parts.append("\n" * max(gap, 1) if parts else "")
        parts.append(fence.code)
        line, position = fence.code.count("\n"), fence.start
    return "".join(parts)
