"""Lines over real pipes, sockets and files."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core.line_pipes import LinePipes, LineSplitter, LineTooLongError

pytestmark = pytest.mark.anyio

PIPE_SIZE = 65536


@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b" ")), max_size=8), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_however_they_arrive(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    buffer = LineSplitter()
    found = []

    for start in range(0, len(data), size):
        buffer.feed(data[start : start + size])
        while (line := buffer.take()) is not None:
            found.append(line)

    assert found == lines
    assert buffer.take_rest() == b""


def test_a_line_past_the_limit_is_refused_and_the_next_one_is_read() -> None:
    buffer = LineSplitter(limit=10)
    for _ in range(5):
        buffer.feed(b"x" * 8)
        assert buffer.take() is None
    buffer.feed(b"x\nnext\n")

    with pytest.raises(LineTooLongError, match="41 bytes; at most 10"):
        buffer.take()

    assert buffer.take() == b"next"


class Taken:
    """The lines that came, and the end."""

    def __init__(self) -> None:
        self.lines: list[bytes | LineTooLongError] = []
        self.ended = asyncio.Event()

    def open(self, source: int, sink: int) -> LinePipes:
        return LinePipes(source, sink, self.lines.append, self.ended.set)


class Drain:
    """Reads a descriptor to its end on a thread."""

    def __init__(self, descriptor: int) -> None:
        self._data = b""
        self._descriptor = descriptor
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with os.fdopen(self._descriptor, "rb") as stream:
            self._data = stream.read()

    def lines(self) -> list[bytes]:
        self._thread.join()
        return self._data.splitlines()


def null() -> int:
    return os.open(os.devnull, os.O_RDWR)


async def test_lines_come_whole_and_the_last_one_without_its_end() -> None:
    source, client = os.pipe()
    taken = Taken()
    pipes = taken.open(source, null())

    os.write(client, b"first\nsec")
    os.write(client, b"ond\nlast")
    os.close(client)
    with anyio.fail_after(60):
        await taken.ended.wait()
        await pipes.close()

    assert taken.lines == [b"first", b"second", b"last"]


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "requests"
    file.write_bytes(b"x" * 100_000 + b"\nb\n")
    taken = Taken()
    pipes = taken.open(os.open(file, os.O_RDONLY), null())

    with anyio.fail_after(60):
        await taken.ended.wait()
        await pipes.close()

    assert taken.lines == [b"x" * 100_000, b"b"]


async def test_one_socket_carries_both_directions() -> None:
    ours, theirs = socket.socketpair()
    taken = Taken()
    pipes = taken.open(os.dup(ours.fileno()), os.dup(ours.fileno()))
    ours.close()

    theirs.sendall(b"hello\n")
    pipes.write(b"welcome\n")
    with anyio.fail_after(60):
        theirs.shutdown(socket.SHUT_WR)
        await taken.ended.wait()
        await pipes.close()

    assert (taken.lines, theirs.recv(100)) == ([b"hello"], b"welcome\n")
    theirs.close()


async def test_what_is_written_leaves_in_its_order_as_it_is_read() -> None:
    out, sink = os.pipe()
    pipes = Taken().open(null(), sink)
    lines = [letter * 3 * PIPE_SIZE for letter in (b"a", b"b", b"c")]
    for line in lines:
        pipes.write(line + b"\n")
    drain = Drain(out)

    with anyio.fail_after(60):
        await pipes.drained()
        await pipes.close()

    assert drain.lines() == lines


async def test_a_client_that_does_not_read_is_not_read_until_it_does() -> None:
    source, client = os.pipe()
    out, sink = os.pipe()
    taken = Taken()
    pipes = taken.open(source, sink)
    pipes.write(b"x" * 2 * 2**20 + b"\n")

    os.write(client, b"line\n")
    await anyio.wait_all_tasks_blocked()
    unread = list(taken.lines)
    drain = Drain(out)
    with anyio.fail_after(60):
        while not taken.lines:
            await anyio.lowlevel.checkpoint()
        await pipes.close()

    assert (unread, taken.lines) == ([], [b"line"])
    assert len(drain.lines()) == 1
    os.close(client)


async def test_a_client_that_has_gone_is_broken_and_nothing_more_is_written() -> None:
    out, sink = os.pipe()
    os.close(out)
    pipes = Taken().open(null(), sink)

    pipes.write(b"x\n")
    pipes.write(b"y\n")

    assert pipes.broken
    await pipes.close()


async def test_lines_wait_while_whoever_takes_them_holds() -> None:
    source, client = os.pipe()
    taken = Taken()
    pipes = taken.open(source, null())
    pipes.hold()

    os.write(client, b"line\n")
    await anyio.wait_all_tasks_blocked()
    held = list(taken.lines)
    pipes.go_on()
    os.close(client)
    with anyio.fail_after(60):
        await taken.ended.wait()
        await pipes.close()

    assert (held, taken.lines) == ([], [b"line"])
