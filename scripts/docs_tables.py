"""Writes what the docs derive from the source: `make docs`, or `python -m scripts.docs_tables`.

A page has `<!-- derived: NAME -->` and `<!-- end of NAME -->` around what the function of that name gives; what people
wrote around it stays. The pages of packs have a section of their own (`scripts.pack_pages`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scripts.pack_extras import ROOT
from scripts.pack_pages import render_pack_pages
from scripts.reference.commands import render_commands
from scripts.reference.keys import render_keys

REFERENCE = ROOT / "docs" / "reference"
DERIVED: dict[str, Callable[[], str]] = {
    "commands": render_commands,
    "keys": render_keys,
}


def render_pages() -> dict[Path, str]:
    """Return every page that has something derived, as it should be."""
    pages = {page: _with_derived(page.read_text(encoding="utf-8")) for page in sorted(REFERENCE.glob("*.md"))}
    return pages | render_pack_pages()


def _with_derived(text: str) -> str:
    for name, render in DERIVED.items():
        begin, end = f"<!-- derived: {name} -->\n", f"<!-- end of {name} -->\n"
        if begin in text:
            head, _, rest = text.partition(begin)
            text = f"{head}{begin}\n{render()}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    for file, content in render_pages().items():
        file.write_text(content, encoding="utf-8")
