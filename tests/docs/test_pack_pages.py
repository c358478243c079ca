"""The pages about packs are true: the tables in them are those of the packs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.pack_pages import render_pack_pages

PAGES = render_pack_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_table_of_a_page_is_that_of_its_pack(page: Path) -> None:
    assert page.exists(), "make docs writes it"
    assert page.read_text(encoding="utf-8") == PAGES[page], "make docs writes it"
