"""Keeps one result after the other, and says each handle as soon as it has it: to be killed in the middle."""

import sys
from pathlib import Path

import anyio

from ot.config.models import ResultSettings
from ot.text.redaction import Redactor
from ot.results.store import ResultStore


async def main() -> None:
    rows = None
    if len(sys.argv) > 2:
        from ot.store.postgres.link import PostgresLink
        from ot.store.postgres.results import PostgresResults

        rows = PostgresResults(PostgresLink(sys.argv[2]), "local")
    store = ResultStore(Path(sys.argv[1]) / "state" / "results", ResultSettings(), redactor=Redactor(), rows=rows)
    while True:
        stored = await store.keep_value(["x" * 1000] * 500)
        print(stored.handle, flush=True)


anyio.run(main)
