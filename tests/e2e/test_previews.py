"""Previews by real clients, over stdio and HTTP in both eras of the protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.test_look import CLIENTS, LOOK, call, text_of

pytestmark = pytest.mark.anyio

CODE = """
ot.preview()
old = file.read(path="a.txt")
made = file.write(path="b.txt", content="two")
file.write(path="c.txt", content="three")
"""


@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_preview_is_shown_and_applied(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    async with CLIENTS[kind](tmp_path, LOOK) as client:
        shown = await call(client, "look", CODE)
        before = sorted(file.name for file in tmp_path.glob("*.txt"))
        found = re.search(r"ot\.apply\(.*\)", text_of(shown))
        assert found is not None, text_of(shown)
        refused = await call(client, "look", found[0])
        applied = await call(client, "run", found[0])
        again = await call(client, "run", found[0])

    assert before == ["a.txt"]
    assert "1. file.write" in text_of(shown)
    assert refused.is_error
    assert not applied.is_error, text_of(applied)
    assert again.is_error
    assert [(tmp_path / name).read_text() for name in ("b.txt", "c.txt")] == ["two", "three"]
