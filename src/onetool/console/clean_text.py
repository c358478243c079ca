"""Text for a terminal. Nothing that a model or a tool wrote may move the cursor or hide anything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TextIO

from mcp_core.json_types import Json
from mcp_core.visible_text import visible, visible_output


def clean(text: str) -> str:
    """Write out each character that acts on the terminal or hides; lines, tabs and blanks stay."""
    return visible_output(text.replace("\r\n", "\n"))


def escape(text: str) -> str:
    """Return the same JSON with each character escaped that is not visible by itself."""

    def shown(found: re.Match[str]) -> str:
        return found[0] if visible(found[0]) == found[0] else json.dumps(found[0])[1:-1]

    return re.sub(r"[^ -~\n\t]", shown, text)


def write_encodable(text: str, stream: TextIO) -> None:
    """Write text now; characters that the stream cannot encode become escapes."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text, on one line of at most `width` characters."""
    line = " ".join(clean(text[: width * 8]).split())
    return line if len(line) <= width and len(text) <= width * 8 else f"{line[: max(width - 1, 0)]}…"


def show_call(name: str, arguments: Mapping[str, Json], width: int) -> str:
    shown = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in arguments.items())
    return one_line(f"{name}({shown})", width)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 tool" or "2 tools"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
