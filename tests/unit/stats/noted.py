"""Things to record, and the figures that come of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ot.registry.registry import ToolRegistry
from ot.stats.figures import Summary
from ot.stats.recorder import Recorder, RunNote
from ot.stats.summary import summarize
from ot.store.embedded_statistics import EmbeddedStatRows
from tests.opened_executor import define


@contextmanager
def open_recorder(
    folder: Path, *, patience: float | None = None, interval: float = 3600.0, keep_days: int = 365
) -> Iterator[Recorder]:
    """A recorder that writes when it is told to, and when it is closed."""
    rows = partial(EmbeddedStatRows, folder / "state" / "stats.db", patience=patience)
    recorder = Recorder(rows, interval=interval, keep_days=keep_days)
    try:
        yield recorder
    finally:
        recorder.close()


def file_of(recorder: Recorder) -> Path:
    return Path(recorder.place)


def open_for_reading(file: Path) -> AbstractContextManager[sqlite3.Connection]:
    return EmbeddedStatRows(file).look(0.0)


def note_call(
    recorder: Recorder, tool: str = "demo.upper", *, value: Any = "A", ago: float = 0.0, **fields: Any
) -> None:
    """One call as the executor notes it; `ago` seconds lie between its end and now."""
    sent = json.dumps({"op": "call", "id": 1, "tool": tool, "args": [], "kwargs": {"text": "a"}}).encode()
    received = b"" if fields.get("error") else json.dumps({"id": 1, "value": value}).encode()
    recorder.call(tool, **{"seconds": 0.001, "sent": sent, "received": received, **fields})
    if ago:
        noted = recorder._pending.pop()
        recorder._pending.append((noted[0] - ago, *noted[1:]))


def note_run(
    recorder: Recorder, *, client: str = "test", command: str = "1", answer: str = "1", ago: float = 0.0, **fields: Any
) -> int:
    """One run, whose number it gives; calls are noted with it."""
    number = fields.pop("number", None) or next(recorder.numbers)
    facts: dict[str, Any] = {"seconds": 0.01, "error": "", "attachments": 0} | fields
    recorder.run(number, client, facts["seconds"], facts["error"], command, answer, facts["attachments"])
    if ago:
        noted = recorder._pending.pop()
        recorder._pending.append(RunNote(noted[0] - ago, *noted[1:]))
    return int(number)


def read_summary(recorder: Recorder, *, period: str = "all", tool: str = "", own: str = "", tools: str = "") -> Summary:
    """The figures of what is noted so far, where these tools exist (`"demo.upper demo.echo"`)."""
    recorder.flush()
    registry = ToolRegistry()
    for name in tools.split():
        registry.register(define(name, description="A tool of a test. " * 20), _nothing)
    with open_for_reading(file_of(recorder)) as connection:
        return summarize(connection, period=period, tool=tool, registry=registry, own_definition=own)


async def _nothing(_: dict[str, Any]) -> None:
    return None
