"""Batches of JSON-RPC, which one revision of the protocol has: several messages as an array, answered as an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mcp_core.json_types import Json
from onetool.front.messages import (
    CANCELLED,
    INITIALIZE,
    INVALID_REQUEST,
    PARSE_ERROR,
    RequestId,
    is_encodable,
    read_json,
    write_error,
    write_message,
)

MOST = 100  # messages of one batch
_NO_MESSAGE = write_error(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")


class BatchError(Exception):
    """A batch that is refused as a whole; `answer` is what its sender gets."""

    def __init__(self, reason: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(reason)
        self.answer = write_error(None, code, reason)


class Member(NamedTuple):
    """A message of a batch; what is no request has no `id`."""

    line: bytes
    id: RequestId | None


class Batch(NamedTuple):
    """The messages of a batch in their order, and the answers to what is not a message."""

    members: list[Member]
    refusals: list[bytes]


def read_batch(text: bytes) -> Batch:
    """Take a batch apart; raises BatchError."""
    try:
        found = read_json(text)
    except (ValueError, RecursionError) as error:
        raise BatchError(f"not JSON: {type(error).__name__}", PARSE_ERROR) from None
    if not isinstance(found, list) or not found:
        raise BatchError("a batch has at least one message")
    if len(found) > MOST:
        raise BatchError(f"a batch has at most {MOST} messages, and this one has {len(found):,}")
    batch, known = Batch([], []), set[str]()
    for each in found:
        refusal = _refuse(each, known)
        if refusal is not None or not isinstance(each, dict):
            batch.refusals.append(refusal or _NO_MESSAGE)
            continue
        given = each.get("id") if "method" in each else None
        identifier = given if isinstance(given, int | str) else None
        batch.members.append(Member(write_message(each), identifier))
        known.add(str(identifier))
    return batch


def _refuse(message: Json, known: set[str]) -> bytes | None:
    """Return the answer to what cannot be taken as a message; None for what can be."""
    match message:
        case {"jsonrpc": "2.0", "method": str(method), **more} if isinstance(more.get("params", {}), dict):
            if "id" not in more:
                return None
            identifier = more["id"]
            if (
                isinstance(identifier, bool)
                or not isinstance(identifier, int | str)
                or not is_encodable(f"{identifier}")
            ):
                return write_error(None, INVALID_REQUEST, "the id of a request is a string or an integer")
            if method == INITIALIZE:
                return write_error(identifier, INVALID_REQUEST, "initialize cannot be part of a batch")
            if str(identifier) in known:
                return write_error(identifier, INVALID_REQUEST, "the batch has two requests with this id")
            return None
        case {"result": _, **more} | {"error": _, **more} if "method" not in more:
            return None
    return _NO_MESSAGE


def write_batch(answers: list[bytes]) -> bytes:
    """Return answers as one line."""
    return b"[%b]\n" % b",".join(answer.strip() for answer in answers)


class _Open:
    """A batch some of whose requests have no answer."""

    def __init__(self, batch: Batch) -> None:
        self.waits_for = {str(member.id) for member in batch.members if member.id is not None}
        self.answers = batch.refusals


class OpenBatches:
    """The batches of one client that are being answered; `write` writes a line to it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._open: list[_Open] = []

    def begin(self, batch: Batch) -> None:
        """Gather the answers to a batch whose messages are about to be taken."""
        opened = _Open(batch)
        self._open.append(opened)
        self._close_answered()

    def take(self, line: bytes) -> bool:
        """True if a line to the client is the answer to a request of a batch, and leaves with the others."""
        message = read_json(line) if self._open else None
        if not isinstance(message, dict) or "method" in message or message.get("id") is None:
            return False
        identifier = str(message["id"])
        for opened in self._open:
            if identifier in opened.waits_for:
                opened.waits_for.discard(identifier)
                opened.answers.append(line)
                self._close_answered()
                return True
        return False

    def hear(self, line: bytes) -> None:
        """Wait no longer for the answer to a request that the client has cancelled."""
        if not self._open or CANCELLED.encode() not in line:
            return
        try:
            message = read_json(line)
        except (ValueError, RecursionError):
            return
        match message:
            case {"method": str(method), "params": {"requestId": identifier}} if method == CANCELLED:
                for opened in self._open:
                    opened.waits_for.discard(str(identifier))
        self._close_answered()

    def end(self) -> None:
        """Write the answers that there are: no more will come."""
        for opened in self._open:
            opened.waits_for.clear()
        self._close_answered()

    def _close_answered(self) -> None:
        answered = [opened for opened in self._open if not opened.waits_for]
        self._open = [opened for opened in self._open if opened.waits_for]
        for opened in answered:
            if opened.answers:
                self._write(write_batch(opened.answers))
