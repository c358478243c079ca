"""Pages whose examples are commands are true: each block runs in its order, and prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page_shell import run_commands, write_programs

DOCS = Path(__file__).parents[2] / "docs"
INSTALL = "uv tool install ."  # tests/wheel runs it for real


@pytest.mark.parametrize("page", ["index.md", "reference/worker-protocol.md"])
def test_every_command_prints_what_the_page_shows(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    programs = write_programs(tmp_path / "programs")
    printed = ""
    for language, block in blocks:
        match language:
            case "sh" if not block.startswith(INSTALL):
                printed = run_commands(block, tmp_path, home=tmp_path, programs=programs)
            case "python":
                (tmp_path / "greet.py").write_text(block)
            case "text":
                pattern = ".*".join(map(re.escape, block.strip().split("…")))
                assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{printed}\n--- but the page shows\n{block}"

    assert text.count("```") == 2 * len(blocks)
    assert {language for language, _ in blocks} <= {"sh", "text", "python"}
