"""Writes the tables of the docs that are derived from the source: `make docs`, or `python -m scripts.docs_tables`."""

from __future__ import annotations

import re
from pathlib import Path

from ot.config.keys import INCLUDE, INCLUDE_WORDS, Key, known_keys
from ot.config.settings import AT_ONCE
from ot.config.value_words import with_range, word_value
from scripts.pack_pages import render_pack_pages

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
_TABLE = re.compile(r"^\| key \|.*?\n(?=\n)", re.MULTILINE | re.DOTALL)


def render_page(text: str) -> str:
    """The page about the configuration with its table as the models have it."""
    page, count = _TABLE.subn(lambda _: _render_keys(), text)
    if count != 1:
        raise LookupError(f"{PAGE.name} has {count} tables of keys")
    return page


def _render_keys() -> str:
    keys = known_keys()
    last_of_packs = max(index for index, key in enumerate(keys) if key.path[0] == "packs")
    rows = [_row(key) for key in keys]
    rows.insert(last_of_packs + 1, ("`packs.*.<key>`", "none", "whatever else the pack itself reads", AT_ONCE))
    rows.insert(0, (f"`{INCLUDE}`", "`[]`", INCLUDE_WORDS, AT_ONCE))
    head = "| key | default | meaning | takes effect |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(key: Key) -> tuple[str, str, str, str]:
    return f"`{'.'.join(key.path)}`", _word_default(key), with_range(key.words, key.field), str(key.when)


def _word_default(key: Key) -> str:
    if key.field.is_required():
        return "required"
    return "none" if key.default is None else f"`{word_value(key.default, key.field)}`"


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text()))
    for page, text in render_pack_pages().items():
        page.write_text(text, encoding="utf-8")
