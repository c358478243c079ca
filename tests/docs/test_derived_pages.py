"""What pages derive from the source is what the source has now."""

from __future__ import annotations

from scripts.docs_tables import render_pages


def test_pages_have_what_the_source_has_now() -> None:
    stale = [page for page, text in render_pages().items() if not page.exists() or page.read_text("utf-8") != text]

    assert stale == [], "make docs writes them"
