"""Notes of a call, of a run, and of a request to a model, kept until they are written."""

from __future__ import annotations

from typing import NamedTuple


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
    """One request of an AI client to its model."""

    ended: float
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float


Note = RunNote | ModelNote | tuple[float, int, int, str, float, str, int, bytes, int, bytes]
