"""Notes of calls, runs and requests to models, kept until they are written, and the rows that are made of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from ot.stats.tokens import Kind, classify_text, classify_wire
from ot.store.parts import Row, StatBatch

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


class _Kinds(dict[bytes, Kind]):
    """Kinds by sample: a loop makes many calls that are alike."""

    def __missing__(self, sample: bytes) -> Kind:
        self[sample] = kind = classify_wire(sample)
        return kind


def make_rows(server: int, batch: Sequence[Note]) -> StatBatch:
    """Turn notes into rows. The samples are classified here, and go no further."""
    runs: list[Row] = []
    calls: list[Row] = []
    models: list[Row] = []
    kinds = _Kinds()
    for place, note in enumerate(batch, 1):
        match note:
            case RunNote():
                runs.append(_run_row(server, note))
            case ModelNote():
                models.append((None, _name(note.provider), _name(note.model), note.ended, *note[3:]))
            case _:
                calls.append(_call_row(CallNote._make(note), kinds))
        if place % _TURN == 0:
            time.sleep(0)  # whoever answers a client meanwhile goes first
    return StatBatch(runs, calls, models)


def _run_row(server: int, note: RunNote) -> Row:
    command = (note.command_bytes, classify_text(note.command))
    answer = (note.answer_bytes, classify_text(note.answer))
    names = (_name(note.client), note.ended, note.seconds, _name(note.error))
    return note.run, server, *names, *command, *answer, note.attachments


def _call_row(note: CallNote, kinds: _Kinds) -> Row:
    sent = (note.sent, kinds[note.sent_sample])
    received = (note.received, kinds[note.received_sample])
    return None, note.run, note.depth, _name(note.tool), note.ended, note.seconds, _name(note.error), *sent, *received


def _name(text: str) -> str:
    """A name as others gave it, short and in characters that can be stored."""
    if len(text) <= _LONGEST_NAME and text.isascii():
        return text
    return text[:_LONGEST_NAME].encode("utf-8", "replace").decode()
