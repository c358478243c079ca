"""Messages between a kernel and the server: framed, answered each to its own asker, and large ones through files."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ot_kernel import wire
from ot_kernel.wire import HEADER, MAX_FRAME, SPILL_PREFIX, Channel, WireError, frame, pack, unpack

LARGE = "x" * (MAX_FRAME + 1)


class Server:
    """The other end of a channel, on a thread of its own."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def receive(self) -> Any:
        size = HEADER.unpack(self._read(HEADER.size))[0]
        assert size <= MAX_FRAME
        return unpack(self._read(size))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.end.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def send(self, message: Any) -> None:
        self.end.sendall(frame(pack(message)))

    def serve(self, answer: Callable[[list[Any]], None], *, at_once: int) -> None:
        """Collect so many questions before they are answered, until the channel closes."""

        def work() -> None:
            try:
                while True:
                    answer([self.receive() for _ in range(at_once)])
            except (EOFError, OSError):
                pass

        threading.Thread(target=work, daemon=True).start()


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[Any, Server]]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    with ours, theirs:
        yield Channel(ours.fileno(), str(tmp_path)), Server(theirs)


def test_a_message_is_its_length_and_one_json_object(ends: tuple[Any, Server]) -> None:
    channel, server = ends

    channel.send({"op": "hello", "text": "\ud800é"})

    assert server.receive() == {"op": "hello", "text": "\ud800é"}


def test_whoever_looks_for_answers_in_vain_looks_for_fewer(
    ends: tuple[Any, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, server = ends
    monkeypatch.setattr(wire, "_SPIN_TIME", 0.0)
    looks = []

    class Poll:
        def poll(self, _: int) -> list[tuple[int, int]]:
            looks.append(True)
            return []

    monkeypatch.setattr(channel, "_poll", Poll())
    server.serve(lambda asked: server.send({"id": asked[0]["id"]}), at_once=1)

    for _ in range(200):
        channel.ask({})

    assert 0 < len(looks) < 20


def test_messages_arrive_in_order_however_they_are_cut_up(ends: tuple[Any, Server]) -> None:
    channel, server = ends
    stream = b"".join(frame(pack({"n": n, "text": "y" * n})) for n in range(50))

    def trickle() -> None:
        dice, rest = random.Random(5), stream
        while rest:
            size = dice.randint(1, 40)
            server.end.sendall(rest[:size])
            rest = rest[size:]

    thread = threading.Thread(target=trickle)
    thread.start()

    assert [channel.receive()["n"] for _ in range(50)] == list(range(50))
    thread.join()


def test_many_threads_asking_at_once_each_get_their_own_answer(ends: tuple[Any, Server]) -> None:
    channel, server = ends
    dice = random.Random(7)

    def answer_in_any_order(questions: list[Any]) -> None:
        dice.shuffle(questions)
        for question in questions:
            server.send({"id": question["id"], "value": question["value"] * 2})

    server.serve(answer_in_any_order, at_once=16)
    meeting = threading.Barrier(16)

    def ask(number: int) -> list[int]:
        answers = []
        for round_number in range(20):
            meeting.wait(60)
            answers.append(channel.ask({"value": number * 1000 + round_number})["value"])
        return answers

    with ThreadPoolExecutor(16) as threads:
        results = list(threads.map(ask, range(16)))

    assert results == [[2 * (number * 1000 + n) for n in range(20)] for number in range(16)]


def test_an_answer_does_not_wait_for_one_that_was_asked_for_earlier(ends: tuple[Any, Server]) -> None:
    channel, server = ends

    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(channel.ask, {"q": "slow"})
        question = server.receive()
        quick = threads.submit(channel.ask, {"q": "quick"})
        server.send({"id": server.receive()["id"], "value": "quick"})

        assert quick.result(10)["value"] == "quick"
        assert not slow.done()
        server.send({"id": question["id"], "value": "slow"})
        assert slow.result(10)["value"] == "slow"


def test_everybody_who_waits_hears_that_the_server_went_away(ends: tuple[Any, Server]) -> None:
    channel, server = ends

    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(channel.ask, {"n": n}) for n in range(4)]
        for _ in range(4):
            server.receive()
        server.end.close()

        for future in waiting:
            assert isinstance(future.exception(10), WireError)


def test_a_message_too_large_for_a_frame_goes_through_a_file(ends: tuple[Any, Server], tmp_path: Path) -> None:
    channel, server = ends

    channel.send({"op": "value", "value": LARGE})

    announced = server.receive()
    assert announced["op"] == "file"
    assert announced["name"].startswith(SPILL_PREFIX)
    assert json.loads((tmp_path / announced["name"]).read_bytes()) == {"op": "value", "value": LARGE}


def test_the_largest_frame_needs_no_file(ends: tuple[Any, Server], tmp_path: Path) -> None:
    channel, server = ends
    text = "x" * (MAX_FRAME - len(pack({"t": ""})))
    received: list[Any] = []
    reader = threading.Thread(target=lambda: received.append(server.receive()))
    reader.start()

    channel.send({"t": text})

    reader.join(60)
    assert received == [{"t": text}]
    assert list(tmp_path.iterdir()) == []


def test_a_large_answer_is_read_from_its_file_and_the_file_is_removed(ends: tuple[Any, Server], tmp_path: Path) -> None:
    channel, server = ends
    (tmp_path / ".message-s1").write_bytes(pack({"id": 1, "value": LARGE}))
    server.send({"op": "file", "name": ".message-s1"})

    assert channel.ask({"q": 1})["value"] == LARGE
    assert list(tmp_path.iterdir()) == []


def test_threads_may_send_large_messages_at_once(ends: tuple[Any, Server], tmp_path: Path) -> None:
    channel, server = ends

    def answer(questions: list[Any]) -> None:
        for question in questions:
            asked: Any = unpack((tmp_path / question["name"]).read_bytes())
            server.send({"id": asked["id"], "value": asked["value"][0]})

    server.serve(answer, at_once=4)
    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda letter: channel.ask({"value": letter * len(LARGE)})["value"], "abcd")

        assert list(answers) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"5", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000],
    ids=lambda payload: repr(payload[:10]),
)
def test_anything_but_a_json_object_is_no_message(payload: bytes) -> None:
    with pytest.raises(WireError, match="not a message"):
        unpack(payload)


def test_a_connection_that_ends_inside_a_message_is_an_error(ends: tuple[Any, Server]) -> None:
    channel, server = ends
    server.end.sendall(HEADER.pack(10) + b"{}")
    server.end.close()

    with pytest.raises(WireError, match="went away"):
        channel.receive()


def test_what_was_read_of_others_answers_is_kept_for_them(ends: tuple[Any, Server]) -> None:
    channel, server = ends

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(channel.ask, {"q": 1})
        one = server.receive()["id"]
        server.send({"id": one + 1, "value": "second"})
        server.send({"id": one, "value": "first"})
        assert first.result(10)["value"] == "first"

    assert channel.ask({"q": 2})["value"] == "second"
