"""Large messages cross in both directions, and several at once find their own way."""

from __future__ import annotations

from typing import Any

import pytest

from ot.kernel.supply import KernelSupply
from ot_kernel.values import Image, decode
from ot_kernel.wire import MAX_FRAME, Message
from tests.unit.kernel.kernels import kernels, run

LARGE = 2 * MAX_FRAME


def echo(message: Message) -> Any:
    return message["kwargs"].get("value")


async def test_calls_are_answered_with_their_own_values(supply: KernelSupply) -> None:
    code = "ot.parallel([lambda n=n: demo.echo(value=n) for n in range(100)])"

    assert (await run(supply, code, answer=echo)).value == list(range(100))


async def test_code_too_large_for_a_frame_runs(supply: KernelSupply) -> None:
    assert (await run(supply, f"text = '{'x' * LARGE}'\nlen(text)")).value == LARGE


async def test_arguments_and_answers_too_large_for_a_frame_cross(supply: KernelSupply) -> None:
    code = f"len(demo.echo(value='x' * {LARGE}))"

    assert (await run(supply, code, answer=echo)).value == LARGE


async def test_large_answers_of_one_size_to_several_threads_do_not_get_into_each_others_way(
    supply: KernelSupply,
) -> None:
    code = f"[a[0] for a in ot.parallel([lambda n=n: demo.echo(value=n * {LARGE}) for n in 'abcdef'])]"

    assert (await run(supply, code, answer=echo)).value == list("abcdef")


async def test_large_messages_leave_no_files_in_the_scratch_folder(supply: KernelSupply) -> None:
    code = f"import os\ndemo.echo(value='x' * {LARGE})\nos.listdir('.')"

    assert (await run(supply, code, answer=echo)).value == []


async def test_a_large_result_comes_as_its_head_with_the_size_of_the_whole(supply: KernelSupply) -> None:
    ended = await run(supply, "list(range(1_000_000))")

    head: Any = decode(ended.message["head"])
    assert ended.message["op"] == "large"
    assert ended.message["total"] == 1_000_000
    assert head == list(range(len(head)))


async def test_a_large_image_comes_whole(supply: KernelSupply) -> None:
    ended = await run(supply, f"from ot_kernel.values import Image\nImage(b'x' * {LARGE})")

    assert ended.value == Image(b"x" * LARGE)


@pytest.mark.parametrize(
    "value", ["'\\ud800'", "float('nan')", "10**5000", "b'\\x00'", "{1: (2, {3})}", "print", "None"]
)
async def test_odd_values_come_back(supply: KernelSupply, value: str) -> None:
    assert (await run(supply, value)).message["op"] == "value"


async def test_a_failed_call_can_be_caught_as_what_it_was(supply: KernelSupply) -> None:
    code = "try:\n    demo.echo(value=lambda: 0)\nexcept TypeError as error:\n    said = str(error)\nsaid"

    assert (await run(supply, code)).value.startswith("argument value of demo.echo(): a value of type function")


async def test_calls_work_in_little_memory() -> None:
    async with kernels(warm=1, memory=32 * 1024**2) as small:
        code = "ot.parallel([lambda n=n: demo.echo(value=n) for n in range(40)])"

        assert (await run(small, code, answer=echo)).value == list(range(40))
