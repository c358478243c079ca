"""A kernel that asks more than can be answered, or that does not read what it is told, waits; nobody else does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial

import anyio
import pytest

from ot.errors import RunRefusedError
from ot.kernel import messages
from ot.kernel.kernel import MAX_OUTGOING
from ot.kernel.messages import read_large
from ot.kernel.supply import KernelSupply
from ot.run.kernel_calls import MAX_STANDING, MAX_WAITING, Backlog
from ot_kernel.wire import MAX_ITEMS, Message, WireError, count_items
from tests.engines import FORGE
from tests.unit.kernel.kernels import LIMIT, run, until

FLOOD = f"""{FORGE}
message = b'{{"op": "call", "padding": "' + b'x' * 60_000 + b'"}}'
while True:
    forge(message)
    print("sent")
"""


def is_long(items: list[Message], length: int) -> bool:
    return len(items) == length


async def stops(number: Callable[[], int]) -> int:
    """Wait until a number that grows does so no longer."""
    with anyio.fail_after(LIMIT):
        while True:
            before = number()
            await anyio.sleep(0.3)
            if before and number() == before:
                return before


async def test_a_kernel_that_is_held_is_not_read_until_it_is_let_go(supply: KernelSupply) -> None:
    heard: list[Message] = []
    async with supply.take() as kernel:

        def hear(message: Message) -> None:
            heard.append(message)
            if len(heard) == 10:
                kernel.hold(held=True)

        kernel.on_message = hear
        kernel.send({"code": FLOOD, "values": {}, "packs": [], "aliases": {}})
        await stops(lambda: len(kernel.printed()[0]))

        assert len(heard) == 10
        assert (await run(supply, "1 + 1")).value == 2
        kernel.hold(held=False)
        await until(lambda: len(heard) > 20)


async def test_what_came_with_the_last_message_is_heard_when_a_kernel_is_let_go(supply: KernelSupply) -> None:
    heard: list[Message] = []
    several = f'{FORGE}forge(*(b\'{{"op": "n%d"}}\' % n for n in range(5)))\n'
    async with supply.take() as kernel:

        def hear(message: Message) -> None:
            heard.append(message)
            kernel.hold(held=True)

        kernel.on_message = hear
        kernel.send({"code": f"{several}while True: pass", "values": {}, "packs": [], "aliases": {}})
        for count in range(1, 6):
            await until(partial(is_long, heard, count))
            kernel.hold(held=False)

    assert [message["op"] for message in heard] == [f"n{n}" for n in range(5)]


async def test_a_kernel_that_asks_without_reading_the_answers_is_not_read_either(supply: KernelSupply) -> None:
    answered = 0
    async with supply.take() as kernel:

        def answer(_: Message) -> None:
            nonlocal answered
            answered += 1
            kernel.send({"text": "x" * 900_000})

        kernel.on_message = answer
        kernel.send({"code": FLOOD, "values": {}, "packs": [], "aliases": {}})
        await stops(lambda: answered)

        assert MAX_OUTGOING < answered * 900_000 < 2 * MAX_OUTGOING
        with anyio.move_on_after(0.05) as waited:
            await kernel.room()
        assert waited.cancelled_caught
        assert (await run(supply, "1 + 1")).value == 2
        kernel.close()
        await kernel.room()  # nobody waits for one that has ended


async def test_the_death_of_a_kernel_that_nobody_reads_is_noticed(supply: KernelSupply) -> None:
    lost: list[str] = []
    async with supply.take() as kernel:
        kernel.on_lost = lost.append
        kernel.hold(held=True)
        kernel.send({"code": "import os\nos._exit(3)", "values": {}, "packs": [], "aliases": {}})
        await until(lambda: bool(lost))

    assert (lost, kernel.status) == (["the kernel closed its connection"], 3 << 8)


async def test_whoever_sends_one_message_after_the_other_is_heard_in_turns(supply: KernelSupply) -> None:
    """Each message takes longer than a turn: other callbacks run between any two of them."""
    heard, others = 0, 0
    many = f"{FORGE}forge(*[b'{{}}'] * 50)\nwhile True: pass"
    async with supply.take() as kernel:
        loop = kernel._loop

        def count() -> None:
            nonlocal others
            others += 1
            loop.call_soon(count) if heard < 50 else None

        def hear(_: Message) -> None:
            nonlocal heard
            heard += 1
            end = loop.time() + 0.006
            while loop.time() < end:
                pass

        kernel.on_message = hear
        kernel.send({"code": many, "values": {}, "packs": [], "aliases": {}})
        count()
        await until(lambda: heard == 50)

    assert others >= 50


async def test_messages_that_are_still_to_be_read_do_not_wait_for_themselves(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        backlog = Backlog(kernel)
        backlog.count_unread(1, MAX_STANDING + 1)
        held = kernel._held
        with anyio.fail_after(LIMIT):
            await backlog.room()
        backlog.add(MAX_STANDING + 1)
        backlog.count_unread(-1, MAX_STANDING + 1)
        with anyio.move_on_after(0.05) as waited:
            await backlog.room()
        backlog.remove(MAX_STANDING + 1)
        await backlog.room()

        assert (held, waited.cancelled_caught, kernel._held) == (True, True, False)


async def test_more_questions_than_can_be_answered_hold_their_kernel(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        backlog = Backlog(kernel)
        held = []
        for _ in range(MAX_WAITING + 1):
            backlog.add(1)
            held.append(kernel._held)
        backlog.remove(1)

        assert held == [False] * MAX_WAITING + [True]
        assert not kernel._held


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ([], 1),
        ([1, 2, 3], 3),
        ({"a": [1, {}], "b": "x,y"}, 6),
        ("," * (MAX_ITEMS + 10), 0),
        (['"\\",[' * MAX_ITEMS, 1], 2),
        ([0] * (MAX_ITEMS + 1), MAX_ITEMS + 1),
        ([""] * (MAX_ITEMS + 1), MAX_ITEMS + 1),
    ],
    ids=["none", "list", "object", "text", "escaped text", "numbers", "strings"],
)
def test_the_values_of_a_message_are_counted_before_it_is_read(value: object, count: int) -> None:
    payload = json.dumps(value).encode()

    assert count_items(payload) == count


def test_a_message_of_too_many_values_is_not_read() -> None:
    with pytest.raises(WireError, match="a message of more than 500,000 values"):
        read_large(json.dumps({"a": [[]] * MAX_ITEMS}).encode())
    assert read_large(json.dumps({"a": "," * 3 * MAX_ITEMS}).encode()) == {"a": "," * 3 * MAX_ITEMS}


def test_an_integer_that_takes_long_to_read_is_refused() -> None:
    numbers = {"a": [-(10**63 - 1), 1.5, 10**63]}

    assert read_large(json.dumps(numbers).encode()) == numbers
    with pytest.raises(WireError, match="an integer of more than 64 digits"):
        read_large(b'{"a":[' + b"7" * 65 + b"]}")


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":{' + b",".join(b'"%d":""' % number for number in range(3_000)) + b"}}",
        b'{"a":{' + b",".join(b'"%d" :""' % number for number in range(3_000)) + b"}}",
        b'{"a":{' + b",".join(b'"%d\\"v":""' % number for number in range(3_000)) + b"}}",
        b'{"a":[' + b",".join([b"1.33333333333333333333333333333"] * 4_000) + b"]}",
    ],
    ids=["names", "names before blanks", "names that end as a tag's", "floats"],
)
def test_others_go_on_while_a_message_is_read(payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """C code keeps every other thread from its next step; whenever Python code is called, others may have a turn."""
    monkeypatch.setattr(messages, "MANY_NAMES", 2_000)
    turns = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal turns
        turns += event == "call"

    sys.setprofile(count)
    try:
        read = read_large(payload)
    finally:
        sys.setprofile(None)

    assert read == json.loads(payload)
    assert turns >= 3_000


async def test_a_file_of_too_many_values_is_not_read(supply: KernelSupply) -> None:
    code = "import json, time\nopen('.message-1', 'w').write('[' + '[],' * 1_000_000 + '0]')\nprint('written')"
    async with supply.take() as kernel:
        kernel.send({"code": code, "values": {}, "packs": [], "aliases": {}})
        await until(lambda: kernel.printed()[0] == "written\n")

        with pytest.raises(RunRefusedError, match="more than 500,000 values"):
            kernel.read_spilled({"op": "file", "name": ".message-1"})
