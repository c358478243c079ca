"""What code writes to its own socket is hostile: it can end its own run, and nothing else."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.errors import RunRefusedError
from ot.kernel.supply import KernelSupply
from ot_kernel.wire import MAX_FRAME, MAX_MESSAGE, Message
from tests.engines import FORGE
from tests.unit.kernel.kernels import LIMIT, run, run_in, scratch_of, until

only_as_frames = pytest.mark.only_as_process("code has no socket to the server there; it hands over whole messages")


@pytest.mark.parametrize(
    ("forgery", "reason"),
    [
        pytest.param("os.write(4, b'\\xff\\xff\\xff\\xff')", "a frame of 4294967295 bytes", marks=only_as_frames),
        (f"forge(b'x' * {MAX_FRAME + 1})", f"a frame of {MAX_FRAME + 1} bytes"),
        ("forge(b'not json')", "not a message: Expecting value: line 1 column 1 (char 0)"),
        ("forge(b'')", "not a message: Expecting value: line 1 column 1 (char 0)"),
        ("forge(b'[1]')", "not a message: not a JSON object"),
        ("forge(b'null')", "not a message: not a JSON object"),
        ("forge(b'[' * 100_000)", "not a message: nested too deeply"),
        ("forge(b'{\"a\":' * 100_000)", "not a message: nested too deeply"),
        ("forge(b'\\xff' * 100)", "not a message: "),
        ("forge(b'{\"op\": \"value\", \"value\": ' + b'9' * 5000 + b'}')", "not a message: Exceeds the limit"),
    ],
)
async def test_what_is_no_frame_ends_the_run_at_once(supply: KernelSupply, forgery: str, reason: str) -> None:
    ended = await run(supply, f"{FORGE}{forgery}\nwhile True: pass")

    assert ended.lost is not None
    assert ended.lost.startswith(reason)
    assert (await run(supply, "1 + 1")).value == 2


@pytest.mark.parametrize(
    "message", [{}, {"op": "nosuch"}, {"op": ["list"]}, {"op": None, "id": {}}, {"op": "ready"}], ids=str
)
async def test_an_object_that_makes_no_sense_reaches_whoever_judges_it(supply: KernelSupply, message: Any) -> None:
    heard: list[Message] = []

    async with supply.take() as kernel:
        kernel.on_message = heard.append
        kernel.send(
            {
                "code": f"{FORGE}import json\nforge(json.dumps({message!r}).encode())",
                "values": {},
                "packs": [],
                "aliases": {},
            }
        )
        await until(lambda: len(heard) == 2)

    assert heard == [message, {"op": "value", "value": None}]


@only_as_frames
async def test_a_frame_that_never_ends_waits_for_nobody_but_its_own_run(supply: KernelSupply) -> None:
    async with supply.take() as kernel, anyio.create_task_group() as tasks:
        tasks.start_soon(
            run_in, kernel, "import os\nos.write(4, b'\\0\\0\\0\\x10abc')\nprint('sent')\nwhile True: pass"
        )
        await until(lambda: kernel.printed()[0] == "sent\n")

        assert (await run(supply, "1 + 1")).value == 2
        tasks.cancel_scope.cancel()


async def test_a_flood_of_messages_is_read_in_turns_with_everything_else(supply: KernelSupply) -> None:
    heard = 0

    def count(_: object) -> None:
        nonlocal heard
        heard += 1

    async with supply.take() as kernel:
        kernel.on_message = count
        flood = f"{FORGE}while True:\n    forge(b'{{}}')"
        kernel.send({"code": flood, "values": {}, "packs": [], "aliases": {}})
        await until(lambda: heard > 1000)

        assert (await run(supply, "1 + 1")).value == 2
        assert heard > 1000


async def test_a_kernel_that_does_not_read_holds_up_nobody(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        kernel.send({"code": "while True: pass", "values": {}, "packs": [], "aliases": {}})
        for _ in range(20):
            kernel.send({"text": "x" * 500_000})

        assert (await run(supply, "1 + 1")).value == 2


@only_as_frames
async def test_closing_its_socket_ends_the_run(supply: KernelSupply) -> None:
    ended = await run(supply, "import os\nos.close(4)\n1/0")

    assert ended.lost == "the kernel closed its connection"
    assert (await run(supply, "1 + 1")).value == 2


async def test_what_is_sent_after_the_kernel_was_lost_says_so_again(supply: KernelSupply) -> None:
    lost: list[str] = []

    async with supply.take() as kernel:
        await run_in(kernel, "import os; os._exit(1)")
        kernel.on_lost = lost.append
        kernel.send({"op": "go"})
        kernel.send_payload(b"x" * (MAX_FRAME + 1))

    assert lost == ["the kernel closed its connection"] * 2


def _as_link(file: Path) -> None:
    file.symlink_to("/etc/hostname")


def _as_folder(file: Path) -> None:
    file.mkdir()


def _as_pipe(file: Path) -> None:
    os.mkfifo(file)


def _too_large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(MAX_MESSAGE + 1)


def _no_json(file: Path) -> None:
    file.write_bytes(b"{")


def _no_object(file: Path) -> None:
    file.write_bytes(b"[]")


def _nothing(_: Path) -> None:
    """The file that was announced does not exist."""


@pytest.mark.parametrize("plant", [_as_link, _as_folder, _as_pipe, _too_large, _no_json, _no_object, _nothing])
async def test_a_file_that_is_no_message_is_refused(supply: KernelSupply, plant: Callable[[Path], None]) -> None:
    async with supply.take() as kernel:
        plant(scratch_of(kernel) / ".message-1")
        message: Message = {"op": "file", "name": ".message-1"}

        with pytest.raises(RunRefusedError), anyio.fail_after(LIMIT):
            await anyio.to_thread.run_sync(kernel.read_spilled, message)


@pytest.mark.parametrize(
    "name", ["../1/x", ".message-/../../x", "/etc/passwd", "x", "", None, 5, [".message-1"]], ids=repr
)
async def test_a_file_outside_the_scratch_folder_is_no_message(supply: KernelSupply, name: Any) -> None:
    async with supply.take() as kernel:
        with pytest.raises(RunRefusedError, match="not one of its messages"):
            kernel.read_spilled({"op": "file", "name": name})


async def test_a_name_that_the_file_system_refuses_is_refused(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        for name in (".message-" + "x" * 300, ".message-\0", ".message-\ud800"):
            with pytest.raises(RunRefusedError):
                kernel.read_spilled({"op": "file", "name": name})


async def test_a_file_in_the_way_of_our_own_message_ends_the_run_that_put_it_there(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        lost: list[str] = []
        kernel.on_lost = lost.append
        (scratch_of(kernel) / ".message-s1").symlink_to("/etc/passwd")
        kernel.send({"text": "x" * 2 * MAX_FRAME})

    assert lost == ["the kernel cannot be written to: File exists"]


@pytest.mark.parametrize(
    "text",
    [
        b'File "<run>", line ' + b"9" * 5000,
        b"\xff" * 500,
        b'File "<run>", line -5',
        b"",
        struct.pack("64d", *range(64)),
    ],
)
async def test_what_code_writes_where_crashes_are_dumped_does_no_harm(supply: KernelSupply, text: bytes) -> None:
    async with supply.take() as kernel:
        await run_in(kernel, f"import os\nos.write(3, {text!r})")

        assert kernel.dumped_line() is None
