"""The glossary knows the names of the code: each that it explains exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`([A-Z]\w+)`", PAGE.partition("## Names in the code")[2])
SOURCE = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_explained_is_a_name_of_the_code(name: str) -> None:
    assert re.search(rf"^(class {name}\b|    class {name}\b|{name}(: \w+)? = )", SOURCE, re.MULTILINE)
