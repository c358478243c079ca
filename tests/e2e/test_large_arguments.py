"""Arguments that are too large for one call: an error of that call, and the run goes on; rows go by column."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import answer_of, open_engine
from tests.packs.db.person import Person

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("value", "said"), [('"x" * 17_000_000', "have 17.0 MB"), ("[(1, 2)] * 300_000", "more than 500,000 values")]
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


@pytest.mark.long
async def test_many_rows_go_into_tables_and_sheets_and_come_back_as_they_are(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        answer = await app.runner.run(
            """
rows = [{"id": i, "name": f"näme {i}", "price": i / 8, "gap": None if i % 2 else "a\\nb"} for i in range(1_500)]
odd = [{**row, "doc": {"n": row["id"]}} for row in rows]
mixed = [{**row, "mix": [True, 1, "x"][row["id"] % 3]} for row in rows]
kept = []
for path in ("many.db", "many.duckdb"):
    assert db.load(path=path, table="many", rows=odd)["rows"] == 1_500
    kept.append(db.query(path=path, sql="SELECT * FROM many ORDER BY id", limit=None)["rows"] == odd)
    db.load(path=path, table="mixed", rows=mixed)
    found = db.query(path=path, sql="SELECT mix FROM mixed ORDER BY id LIMIT 3")["rows"]
    kept.append([row["mix"] for row in found])
excel.create(path="many.xlsx", sheets=[{"name": "many", "rows": [list(rows[0])]}])
kept.append(excel.write(path="many.xlsx", rows=[list(row.values()) for row in rows])["cells"])
kept.append(excel.read(path="many.xlsx", limit=None, header=True)["rows"] == rows)
kept.append(excel.read(path="many.xlsx", limit=None, offset=1)["rows"] == [list(row.values()) for row in rows])
kept
""",
            caller=Person().caller,
        )

    assert not answer.is_error, answer.text
    assert answer.text.replace("\n", " ") == "[true, ['1', '1', x], true, ['true', '1', x], 6000, true, true]"
