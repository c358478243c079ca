"""The architecture page is short and names real files, and every decision is in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DECISIONS = ROOT / "docs" / "decisions"


def test_the_page_is_read_in_one_sitting() -> None:
    assert len(PAGE.splitlines()) <= 200


@pytest.mark.parametrize(("folder", "files"), re.findall(r"`(\w+(?:/\w+)*)`, (`\w+\.py`(?: and `\w+\.py`)?)", PAGE))
def test_what_to_read_next_exists(folder: str, files: str) -> None:
    for file in re.findall(r"\w+\.py", files):
        assert (ROOT / "src" / folder / file).exists(), f"{folder}/{file}"


@pytest.mark.parametrize("name", re.findall(r"`((?:ot|onetool|mcp_core)\.[a-z_.]+)`", PAGE))
def test_modules_that_are_named_exist(name: str) -> None:
    place = ROOT.joinpath("src", *name.split("."))
    names = place.parent.with_suffix(".py")

    assert (
        place.is_dir() or place.with_suffix(".py").exists() or f"def {place.name}(" in names.read_text(encoding="utf-8")
    )


def test_every_decision_is_in_the_index_and_fits_a_page() -> None:
    index = (DECISIONS / "index.md").read_text(encoding="utf-8")
    records = sorted(DECISIONS.glob("[0-9]*.md"))

    assert re.findall(r"\]\((\d[^)]+)\)", index) == [record.name for record in records]
    assert [record.name for record in records if len(record.read_text(encoding="utf-8").split()) > 450] == []
