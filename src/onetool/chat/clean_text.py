"""Text that is safe to print: nothing that a model or a tool wrote may move the cursor or hide anything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TextIO

from mcp_core.json_types import Json


@cache
def _harmful() -> re.Pattern[str]:
    """Control characters except tab and newline, and those that change the direction of what stands around them."""
    return re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace each character that acts on the terminal by a visible mark."""
    if text.replace("\n", "").isprintable():
        return text  # none of these is printable, and compiling the pattern takes longer than printing
    return _harmful().sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def escape(text: str) -> str:
    """Return JSON that says the same, with each character that acts on the terminal as an escape."""
    return _harmful().sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_encodable(text: str, stream: TextIO) -> None:
    """Write text now, whatever characters it has and the stream can take: the others become escapes."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text, on one line of at most `width` characters."""
    line = " ".join(clean(text[: width * 8]).split())
    return line if len(line) <= width and len(text) <= width * 8 else f"{line[: max(width - 1, 0)]}…"


def show_call(name: str, arguments: Mapping[str, Json], width: int) -> str:
    """Return a call as one line of code."""
    shown = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in arguments.items())
    return one_line(f"{name}({shown})", width)


def show_seconds(seconds: float) -> str:
    """Return a duration in a unit that fits."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
