"""The recorder: every run and every call is noted in memory, and written in batches by a thread of its own.

Noting appends one tuple, because it stands on the way of every call. The database is opened, and its library loaded,
by the thread, about a second after the first note. Noting never fails and never waits; what cannot be written is
reported in the log once and in `problem`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from ot.config.loader import LoadedConfig
from ot.errors import DatabaseBusyError, DatabaseUnavailableError
from ot.logs import write_log
from ot.stats.tokens import SAMPLE, classify_text, classify_wire, take_sample
from ot.store.parts import Row, StatBatch, StatRows, Store

if TYPE_CHECKING:
    import sqlite3

INTERVAL = 1.0  # seconds between two batches
MOST_PENDING = 50_000  # notes; further ones are dropped until the database can be written again
UNKNOWN_TOOL = "(unknown)"  # under which calls are counted that name no tool
_HOUR = 3600.0  # seconds
_LONGEST_NAME = 120
_TURN = 32  # notes after which the thread lets others go on


class CallNote(NamedTuple):
    """One call; the samples are thrown away once they have told the kind of its arguments and of its result."""

    ended: float
    run: int
    depth: int
    tool: str
    seconds: float
    error: str
    sent: int
    sent_sample: bytes
    received: int
    received_sample: bytes


class RunNote(NamedTuple):
    ended: float
    run: int
    client: str
    seconds: float
    error: str
    command_bytes: int
    command: str
    answer_bytes: int
    answer: str
    attachments: int


class ModelNote(NamedTuple):
    ended: float
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float


Note = RunNote | ModelNote | tuple[float, int, int, str, float, str, int, bytes, int, bytes]


def make_rows(server: int, batch: Sequence[Note]) -> StatBatch:
    """Turn notes into rows. The samples are classified here, and go no further."""
    runs: list[Row] = []
    calls: list[Row] = []
    models: list[Row] = []
    kind_of = lru_cache(None)(classify_wire)  # a loop makes many calls that are alike
    for place, note in enumerate(batch, 1):
        match note:
            case RunNote():
                command = note.command_bytes, classify_text(note.command)
                answer = note.answer_bytes, classify_text(note.answer)
                names = _name(note.client), note.ended, note.seconds, _name(note.error)
                runs.append((note.run, server, *names, *command, *answer, note.attachments))
            case ModelNote():
                models.append((None, _name(note.provider), _name(note.model), note.ended, *note[3:]))
            case _:
                call = CallNote._make(note)
                sent, received = (call.sent, kind_of(call.sent_sample)), (call.received, kind_of(call.received_sample))
                names = _name(call.tool), call.ended, call.seconds, _name(call.error)
                calls.append((None, call.run, call.depth, *names, *sent, *received))
        if place % _TURN == 0:
            time.sleep(0)  # whoever answers a client meanwhile goes first
    return StatBatch(runs, calls, models)


def _name(text: str) -> str:
    """A name as others gave it, short and in characters that can be stored."""
    if len(text) <= _LONGEST_NAME and text.isascii():
        return text
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode()


class Recorder:
    """Notes what happens; closing it writes what is left."""

    def __init__(self, open_rows: Callable[[], StatRows], *, keep_days: int = 365, interval: float = INTERVAL) -> None:
        """`open_rows` gives the rows of the store, and loads what that needs."""
        self._open_rows = open_rows
        self._opened: StatRows | None = None
        self._prune_at = 0.0
        self.problem = ""  # why nothing is being written, if so
        self.dropped = 0
        self.server = int.from_bytes(os.urandom(4)) >> 1
        self._keep_days = keep_days
        self._interval = interval
        self.numbers = count((self.server << 31) + 1)
        """Yields a number for each run, which no other run of any server has."""
        self._pending: deque[Note] = deque()
        self._noted = threading.Event()
        self._closing = threading.Event()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(
        self,
        tool: str,
        seconds: float,
        error: str = "",
        run: int = 0,
        depth: int = 0,
        sent: bytes = b"",
        received: bytes = b"",
    ) -> None:
        """Note one call that has ended: the kind of its error, its arguments and its result as they crossed."""
        # On the way of every call: a plain tuple in the order of CallNote, and small content is its own sample.
        asked, answered = len(sent), len(received)
        if asked > SAMPLE:
            sent = take_sample(sent)
        if answered > SAMPLE:
            received = take_sample(received)
        self._note((time.time(), run, depth, tool, seconds, error, asked, sent, answered, received))

    def run(
        self, number: int, client: str, seconds: float, error: str, command: str, answer: str, attachments: int
    ) -> None:
        """Note one run that has ended: the kind of its error, and what its caller said and was told."""
        asked, told = _utf8_size(command), _utf8_size(answer)
        command, answer = take_sample(command), take_sample(answer)
        self._note(RunNote(time.time(), number, client, seconds, error, asked, command, told, answer, attachments))

    def model(
        self, provider: str, model: str, input_tokens: int, output_tokens: int, cost: float | None, seconds: float
    ) -> None:
        """Note one request to a model: tokens as the provider counted them, and US dollars where they are known."""
        self._note(ModelNote(time.time(), provider, model, input_tokens, output_tokens, cost, seconds))

    def _note(self, note: Note) -> None:
        if len(self._pending) >= MOST_PENDING:
            self.dropped += 1
            return
        self._pending.append(note)
        if not self._noted.is_set():
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._work, name="ot-stats", daemon=True)
                self._thread.start()
            self._noted.set()

    def _work(self) -> None:
        while not self._closing.is_set():
            self._noted.wait()
            self._closing.wait(self._interval)  # let a batch gather
            self._noted.clear()
            self.flush()

    def flush(self) -> None:
        """Write everything noted so far. Blocking: call it on a thread."""
        with self._writing:
            batch = [self._pending.popleft() for _ in range(len(self._pending))]
            if batch and not self._write(batch):
                self._pending.extendleft(reversed(batch))

    def _write(self, batch: list[Note]) -> bool:
        """Return True if the batch is done with; one that met another server's long transaction is tried again."""
        try:
            self._rows.add(make_rows(self.server, batch))
        except DatabaseBusyError:
            return False
        except OSError as error:  # of a shared store that is gone; it comes back
            self.problem = error.strerror or str(error)
            return False
        except DatabaseUnavailableError as error:
            if self.problem != error.reason:
                write_log(logging.WARNING, "stats.write", file=self.place, error=error.reason)
            self.problem = error.reason
            self.dropped += len(batch)
        else:
            self.problem = ""
            if (now := time.monotonic()) >= self._prune_at:
                self._prune_at = now + _HOUR
                with suppress(DatabaseUnavailableError, OSError):  # the next time will do
                    self._rows.prune(time.time() - self._keep_days * 24 * _HOUR)
        return True

    @property
    def _rows(self) -> StatRows:
        if self._opened is None:
            self._opened = self._open_rows()
        return self._opened

    @property
    def place(self) -> str:
        return self._rows.place

    def look(self, since: float) -> AbstractContextManager[sqlite3.Connection]:
        """Give a database with everything that was written since a moment. Blocking; raises CallError."""
        self.flush()
        return self._rows.look(since)

    def close(self) -> None:
        """Write what is left and let go of the database. Blocking: call it on a thread."""
        self._closing.set()
        self._noted.set()
        if self._thread is not None:
            self._thread.join(10)
        self.flush()
        if self._opened is not None:
            self._opened.close()


@asynccontextmanager
async def open_recorder(loaded: LoadedConfig, store: Store) -> AsyncIterator[Recorder | None]:
    """Open the recorder of runs and calls, unless the configuration switches statistics off."""
    recorder = build_recorder(loaded, store)
    try:
        yield recorder
    finally:
        if recorder is not None:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(recorder.close)


def build_recorder(loaded: LoadedConfig, store: Store) -> Recorder | None:
    """Build a recorder, which opens nothing before something is noted; None where statistics are switched off."""
    settings = loaded.config.stats
    return Recorder(store.open_statistics, keep_days=settings.keep_days) if settings.enabled else None


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
