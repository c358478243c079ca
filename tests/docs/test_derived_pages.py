"""What pages derive from the source is what the source has now."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.docs_tables import render_pages

PAGES = render_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_what_the_source_has_now(page: Path) -> None:
    assert page.exists(), "make docs writes it"
    assert page.read_text(encoding="utf-8") == PAGES[page], "make docs writes it"
