"""The page about troubles quotes what OneTool says: every message on it is in the source, with `…` where it differs."""

from __future__ import annotations

import ast
import re
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
PACKAGES = ("onetool", "ot", "ot_kernel")
MESSAGES = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_quoted_message_is_one_of_ours() -> None:
    sources = [
        file.read_text(encoding="utf-8") for package in PACKAGES for file in (ROOT / "src" / package).rglob("*.py")
    ]
    unknown = [message for message in MESSAGES if not any(map(partial(_says, message), sources))]

    assert unknown == []


def _says(message: str, source: str) -> bool:
    """True if one of the texts in the source has these words; a file that has not even their beginning is not parsed."""
    longest = max(message.split("…"), key=len)
    if longest.strip()[:12] not in source:
        return False
    wanted = _joined(message)
    return any(wanted in _joined(text) for node in ast.walk(ast.parse(source)) if (text := _text(node)))


def _joined(text: str) -> str:
    return re.sub("…+", "…", text)


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{error\.[^{}]*\}", "…", text)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or "…" for part in parts)
    return ""


def test_messages_are_all_that_is_quoted() -> None:
    assert PAGE.count("```") == 2 * len(MESSAGES) > 0
