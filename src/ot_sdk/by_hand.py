"""An extension on the command line: `uv run --script file.py TOOL name=value` calls one tool and shows its value."""

from __future__ import annotations

import asyncio
import inspect
import json
import pprint
import sys
from collections.abc import Iterator
from types import ModuleType

from ot_sdk import ToolError
from ot_sdk.calls import call_by_name, drain, list_tools, needs_loop
from ot_sdk.event_loop import value_of
from ot_sdk.protocol import NoValueError, encode, is_plain


def run_command(module: ModuleType, words: list[str]) -> int:
    """Call the tool that the words name, or list all tools if there are no words; return the exit status."""
    tools = list_tools(module)
    if not words or words[0] in {"-h", "--help"}:
        print("Tools in this file; call one with TOOL name=value, where a value is JSON or plain text:")
        for name in tools:
            function = getattr(module, name)
            summary = (inspect.getdoc(function) or "").partition("\n")[0]
            print(f"  {name}{inspect.signature(function)}  {summary}")
        return 0
    tool, *pairs = words
    if tool not in tools:
        print(f"there is no tool {tool}; the tools are {', '.join(tools)}", file=sys.stderr)
        return 2
    try:
        arguments = dict(map(_read_argument, pairs))
        value = call_by_name(getattr(module, tool), arguments)
        if needs_loop(value):
            value = asyncio.run(value_of(value))
        if isinstance(value, Iterator):
            value = drain(value)
        encode(value)
    except (ToolError, NoValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if not isinstance(value, str):
        value = json.dumps(value, indent=2, ensure_ascii=False) if is_plain(value) else pprint.pformat(value)
    print(value)
    return 0


def _read_argument(word: str) -> tuple[str, object]:
    name, given, text = word.partition("=")
    if not given or not name.isidentifier():
        raise ToolError(f"{word!r} is not of the form name=value")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text
