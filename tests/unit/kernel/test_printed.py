"""What code writes is captured, by whatever way it writes, and its value arrives beside it."""

from __future__ import annotations

import pytest

from ot.kernel.kernel import PRINTED_HEAD, PRINTED_TAIL
from ot.kernel.supply import KernelSupply
from tests.engines import on_wasm
from tests.unit.kernel.kernels import run, run_in


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print('a')", "a\n"),
        ("print('a', end='')", "a"),
        ("import sys\nprint('1')\nprint('2', file=sys.stderr)\nprint('3')", "1\n2\n3\n"),
        ("import os\nos.write(1, b'raw')\nos.write(2, b'err')", "rawerr"),
        ("import sys\nsys.__stdout__.write('x')\nsys.__stderr__.write('y')", "xy"),
        ("import sys\nsys.stdout.buffer.write(b'bytes')", "bytes"),
        ("import os\nos.write(1, b'\\xff\\xfe')", "\ufffd\ufffd"),
        ("print('\\ud800é')", "\\ud800é\n"),
        ("import warnings\nwarnings.warn('careful')", "<run>:2: UserWarning: careful\n  warnings.warn('careful')\n"),
        pytest.param(
            "import threading\nt = threading.Thread(target=print, args=('t',))\nt.start()\nt.join()", "t\n",
            marks=pytest.mark.only_as_process("a run has one thread there"),
        ),
        ("import sys\nprint('a', end='')\nsys.stdout = None", "a"),
        ("import sys, io\nprint('a', end='')\nsys.stdout = io.StringIO()\nprint('b')", "a"),
        ("import sys\nclass W:\n    def write(self, text): ...\nsys.stdout = W()\nprint('b')", ""),
        ("import sys\nclass W:\n    def flush(self): 1/0\nsys.stdout = sys.stderr = W()", ""),
        ("import sys\nprint('a')\nsys.stdout.close()", "a\n"),
        ("import os\nprint('a')\nos.close(1)\nos.close(2)", "a\n"),
        pytest.param(
            "import os\nos.dup2(0, 1)\nprint('lost')", "",
            marks=pytest.mark.only_as_process("there is no os.dup2 there"),
        ),
        ("import sys\ndel sys.stdout\ndel sys.stderr", ""),
    ],
)  # fmt: skip
async def test_everything_written_is_captured_and_the_value_arrives(
    supply: KernelSupply, code: str, printed: str
) -> None:
    ended = await run(supply, f"{code}\n'the value'")

    assert ended.value == "the value"
    assert ended.printed == printed


async def test_what_was_written_before_an_error_is_kept(supply: KernelSupply) -> None:
    ended = await run(supply, "print('before', end='')\n1/0")

    assert (ended.printed, ended.error) == ("before", "ZeroDivisionError: division by zero")


async def test_of_too_much_output_head_and_tail_are_kept(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        await run_in(kernel, "print('first')\nprint('x' * 2_000_000)\nprint('last')")
        text, dropped = kernel.printed()

    assert text.startswith("first\nxxx")
    assert text.endswith("xxx\nlast\n")
    assert dropped == 2_000_012 - PRINTED_HEAD - PRINTED_TAIL


async def test_output_past_its_limit_is_an_error_of_the_code(supply: KernelSupply) -> None:
    ended = await run(supply, "text = 'x' * 10_000_000\nfor _ in range(8):\n    print(text)")

    assert ended.error == f"OSError: [Errno {22 if on_wasm() else 27}] File too large"
