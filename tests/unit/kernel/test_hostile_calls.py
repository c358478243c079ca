"""What code in a component calls the functions of the host with is hostile: it can end its own run, and nothing else."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator

import anyio
import pytest

from ot.kernel.kernel import INTERRUPT
from ot.kernel.supply import KernelSupply
from ot_kernel.wire import MAX_FRAME, Message
from tests.availability import require_component
from tests.unit.kernel.kernels import kernels, run, run_in, until


@pytest.fixture(scope="module")
async def supply(anyio_backend: str) -> AsyncIterator[KernelSupply]:
    require_component()
    async with kernels(warm=2, engine="wasm") as supply:
        yield supply


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("tell('not json')", "not a message: Expecting value"),
        ("tell('')", "not a message: Expecting value"),
        ("tell('[]')", "not a message: not a JSON object"),
        ("tell('\\N{SNOWMAN}')", "not a message: Expecting value"),
        (f"tell('x' * {MAX_FRAME + 1})", f"a frame of {MAX_FRAME + 1} bytes"),
        ("tell('x' * 2**27)", f"a frame of {2**27} bytes"),
        ("tell('\\ud800')", "the kernel closed its connection"),
        ("tell(5)", "the kernel closed its connection"),
        ("at_line(-1)", "the kernel closed its connection"),
        ("pause('x')", "the kernel closed its connection"),
    ],
)
async def test_what_no_function_takes_ends_the_run(supply: KernelSupply, call: str, reason: str) -> None:
    ended = await run(supply, f"import wit_world\nwit_world.{call}\nwhile True: pass")

    assert ended.lost is not None
    assert ended.lost.startswith(reason)
    assert ended.status in {None, signal.SIGABRT}
    assert (await run(supply, "1 + 1")).value == 2


@pytest.mark.parametrize("status", [0, 3, -1, 256 + 7, 2**31 - 1])
async def test_a_run_ends_with_any_status(supply: KernelSupply, status: int) -> None:
    ended = await run(supply, f"import wit_world\nwit_world.exit({status})")

    assert (ended.lost, ended.status) == ("the kernel closed its connection", (status & 0xFF) << 8)


async def test_functions_that_are_called_at_odd_moments_do_no_harm(supply: KernelSupply) -> None:
    code = """
import wit_world
for seconds in (float("nan"), float("-inf"), -1, 0, 1e-9):
    wit_world.pause(seconds)
wit_world.at_line(2**32 - 1)
wit_world.pending()
"""

    assert (await run(supply, code)).value == 0


async def test_text_that_is_not_ascii_is_a_message_like_any_other(supply: KernelSupply) -> None:
    heard: list[Message] = []
    async with supply.take() as kernel:
        kernel.on_message = heard.append
        code = 'import wit_world\nwit_world.tell(\'{"op": "\\N{SNOWMAN}"}\')'
        kernel.send({"code": code, "values": {}, "packs": [], "aliases": {}})
        await until(lambda: len(heard) == 2)

    assert heard == [{"op": "\N{SNOWMAN}"}, {"op": "value", "value": None}]


@pytest.mark.parametrize(
    "wait",
    ["wit_world.hear()", "while True: wit_world.hear()", "while True: wit_world.pause(60)"],
    ids=["once", "for ever", "in pauses"],
)
async def test_code_that_hears_what_was_not_said_to_it_can_be_interrupted(supply: KernelSupply, wait: str) -> None:
    async with supply.take() as kernel, anyio.create_task_group() as tasks:
        tasks.start_soon(run_in, kernel, f"import wit_world\nprint('go')\n{wait}\nwhile True: pass")
        await until(lambda: kernel.printed()[0] == "go\n")
        assert (await run(supply, "1 + 1")).value == 2
        kernel.signal(INTERRUPT)
        kernel.signal(signal.SIGKILL)
        await kernel.ended.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "code",
    [
        "x = []\nfor _ in range(10**6): x = [x]\ndel x",
        "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
        "import sys\nsys.setrecursionlimit(10**5)\ndef f(): f()\nf()",
    ],
    ids=["freed", "shown", "called"],
)
async def test_what_is_too_deep_is_an_error(supply: KernelSupply, code: str) -> None:
    assert (await run(supply, code)).error.startswith("RecursionError: ")
