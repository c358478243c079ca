"""Commands and tools that pages name exist, or are made by the page itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onetool.cli import COMMANDS
from scripts.pack_pages import read_packs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOOLS = {pack.name: set(pack.tools) for pack in read_packs()}
MISTAKES = {"file.lst", "file.wrte", "scaffold.extention"}  # what pages show the answer to
SERVERS = {"servers.md": {"notes"}}  # a server of the page, in place of the pack of that name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_tool_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:`|^)onetool ([a-z][a-z-]*)", text, re.MULTILINE)
    calls = re.findall(r"(?:`|\b)([a-z]\w*)\.([a-z]\w*)\(", "\n".join(_code(text)))

    assert [command for command in commands if command not in COMMANDS] == []
    packs = TOOLS.keys() - SERVERS.get(page.name, set())
    assert {f"{pack}.{tool}" for pack, tool in calls if pack in packs and tool not in TOOLS[pack]} <= MISTAKES


def _code(text: str) -> list[str]:
    return re.findall(r"`[^`\n]+`|^```.*?^```", text, re.MULTILINE | re.DOTALL)
