"""Programs run in the test's own process, by what runs them in a kernel."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from ot_kernel.program_run import ProgramRun
from ot_kernel.values import decode
from ot_kernel.wire import Channel, Message, frame, pack


def reply_to(
    source: str,
    *,
    values: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
    packs: Sequence[str] = ("demo", "ot"),
) -> Message:
    """The message that a kernel would send; its references are taken for good, and nobody answers calls."""
    ours, theirs = socket.socketpair()
    request: Message = {
        "code": source,
        "values": dict(values or {}),
        "aliases": dict(aliases or {}),
        "packs": list(packs),
    }
    with ours, theirs, _untouched_process():
        theirs.sendall(frame(pack({"op": "go"})))
        return ProgramRun(Channel(ours.fileno(), ""), request).reply()


@contextmanager
def _untouched_process() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        patch.setattr(sys, "meta_path", list(sys.meta_path))
        for name in ("gather", "create_task", "ensure_future", "wait_for"):
            patch.setattr(asyncio, name, getattr(asyncio, name))
        yield


def value_of(source: str, **request: Any) -> Any:
    """The value of a program that has one."""
    message = reply_to(source, **request)
    assert message["op"] == "value", message
    return decode(message["value"])


def failure_of(source: str, **request: Any) -> tuple[str, str, list[int]]:
    """Type and message of a program's error, and the author's lines on the way to it."""
    message = reply_to(source, **request)
    assert message["op"] == "error", message
    return message["type"], message["message"], [line for line, *_ in message["frames"]]
