"""Sockets that keep messages apart, with descriptors: by packets, and by frames in a stream."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from ot_system.sockets import FramedSocket, PacketSocket, user_as_on_macos, user_of_peer

Pair = tuple[FramedSocket, FramedSocket] | tuple[PacketSocket, PacketSocket]


@pytest.fixture(
    params=[(PacketSocket, socket.SOCK_SEQPACKET), (FramedSocket, socket.SOCK_STREAM)], ids=["packets", "frames"]
)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    kind, how = request.param
    ours, theirs = (kind(fileno=end.detach()) for end in socket.socketpair(socket.AF_UNIX, how))
    with ours, theirs:
        yield ours, theirs


def test_messages_are_kept_apart_and_have_their_descriptors(pair: Pair) -> None:
    ours, theirs = pair
    read, write = os.pipe()
    ours.send_message(b"first")
    ours.send_message(b"second", [read, write])
    ours.send_message(b"third", [read])

    assert theirs.receive_message(4096, 5) == (b"first", [])
    second, handed = theirs.receive_message(4096, 5)
    third, again = theirs.receive_message(4096, 5)

    assert (second, third, len(handed), len(again)) == (b"second", b"third", 2, 1)
    assert not any(os.get_inheritable(descriptor) for descriptor in (*handed, *again))
    os.write(handed[1], b"through")
    assert os.read(again[0], 100) == b"through"
    for descriptor in (read, write, *handed, *again):
        os.close(descriptor)


def test_the_end_is_an_empty_message(pair: Pair) -> None:
    ours, theirs = pair
    ours.send_message(b"last")
    ours.close()

    assert theirs.receive_message(4096)[0] == b"last"
    assert theirs.receive_message(4096) == (b"", [])


def test_nothing_is_waited_for_where_nobody_should_wait(pair: Pair) -> None:
    ours, theirs = pair
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.receive_message(4096)

    ours.send_message(b"text")
    assert theirs.receive_message(4096) == (b"text", [])


def test_several_processes_send_at_one_end(pair: Pair) -> None:
    ours, theirs = pair
    sent = {bytes([65 + number]) * 3000 for number in range(8)}
    for text in sent:
        if os.fork() == 0:
            for _ in range(20):
                ours.send_message(text, [0])
            os._exit(0)

    received = []
    for _ in range(160):
        message, handed = theirs.receive_message(4096, 5)
        received.append(message)
        assert len(handed) == 1
        os.close(handed[0])
    for _ in sent:
        os.wait()

    assert sorted(received) == sorted(20 * list(sent))


def test_a_frame_that_comes_in_pieces_is_one_message() -> None:
    plain, end = socket.socketpair()
    with plain, FramedSocket(fileno=end.detach()) as framed:
        framed.setblocking(False)
        whole = b"\x05\x00\x00\x00\x01hello"
        socket.send_fds(plain, [whole[:1]], [0])
        for byte in whole[1:-1]:
            with pytest.raises(BlockingIOError):
                framed.receive_message(4096, 5)
            plain.send(bytes([byte]))
        plain.send(whole[-1:] + whole[:3])

        message, handed = framed.receive_message(4096, 5)
        with pytest.raises(BlockingIOError):
            framed.receive_message(4096, 5)

    assert (message, len(handed)) == (b"hello", 1)
    os.close(handed[0])


def test_a_frame_larger_than_the_buffer_is_sent_as_a_whole() -> None:
    ours, theirs = (FramedSocket(fileno=end.detach()) for end in socket.socketpair())
    text = os.urandom(1024) * 2048
    with ours, theirs:
        ours.setblocking(False)
        if (pid := os.fork()) == 0:
            ours.send_message(text)
            os._exit(0)
        received = theirs.receive_message(4096)[0]
        os.waitpid(pid, 0)

    assert received == text


def test_the_user_at_the_other_end_is_known_or_unknown() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert user_of_peer(one) == os.geteuid()
        assert user_as_on_macos(one) is None  # that is how macOS is asked
