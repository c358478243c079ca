"""The glossary knows the names of the code: each that it explains exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`([A-Z]\w+)`", PAGE.partition("## Names in the code")[2])
DEFINED = re.compile(r"^(?:(?:    )?class (\w+)\b|(\w+)(?:: \w+)? = )", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_explained_is_a_name_of_the_code(name: str) -> None:
    assert name in defined()


@cache
def defined() -> set[str]:
    """The classes of the code, and what its modules assign to a name."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py")]
    return {name for text in texts for found in DEFINED.findall(text) for name in found}
