"""Arguments that are too large for one call: an error of that call, and the run goes on; rows go by column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import answer_of, open_engine
from tests.packs.db.person import Person

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("value", "said"), [('"x" * 17_000_000', "have 17.0 MB"), ("[[1, 2]] * 300_000", "more than 500,000 values")]
)
async def test_arguments_that_are_too_large_are_an_error_of_their_call(tmp_path: Path, value: str, said: str) -> None:
    async with open_engine(tmp_path) as app:
        text = await answer_of(
            app,
            f"""
try:
    ot.help(query={value})
except ValueError as error:
    said = str(error)
(said, len(ot.packs()) > 0)
""",
        )

    assert said in text
    assert "call it once for each part of them" in text
    assert "true" in text


async def test_many_rows_go_into_a_table_as_they_are(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        answer = await app.runner.run(
            """
rows = [{"id": i, "name": f"näme {i}", "price": i / 7, "gap": None if i % 2 else "a\\nb", "doc": {"n": i}} for i in range(5_000)]
loaded = db.load(path="many.db", table="many", rows=rows)
kept = db.query(path="many.db", sql="SELECT * FROM many ORDER BY id", limit=None)["rows"]
(loaded["rows"], kept == rows)
""",
            caller=Person().caller,
        )

    assert answer.text == "[5000, true]"
