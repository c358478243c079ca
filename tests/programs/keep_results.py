"""Keeps one result after the other, and says each handle as soon as it has it: to be killed in the middle."""

import sys
from pathlib import Path

import anyio

from ot.config.models import ResultSettings
from ot.text.redaction import Redactor
from ot.results.store import ResultStore
from ot.store.opening import Retention, build_backend


async def main() -> None:
    backend = build_backend(sys.argv[2] if len(sys.argv) > 2 else "files")
    files = backend.build_store(
        Path(sys.argv[1]) / "state", principal="local", journal=Retention(3600, 10**8, 10**8)
    ).results
    store = ResultStore(files, ResultSettings(), redactor=Redactor())
    while True:
        stored = await store.keep_value(["x" * 1000] * 500)
        print(stored.handle, flush=True)


anyio.run(main)
