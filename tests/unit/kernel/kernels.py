"""Programs run in real kernels, by a server that knows two tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from ot.config.models import ExecutionSettings
from ot.kernel.kernel import Kernel
from ot.kernel.supply import KernelSupply, open_supply
from ot.kernel.zygote_process import launch_zygote
from ot_kernel.values import decode
from ot_kernel.wire import Message

LIMIT = 60  # seconds for anything at all; nothing here takes one on an idle machine

Answer = Callable[[Message], Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its last message, or why its kernel was lost and with which status."""

    message: Message
    printed: str
    lost: str | None = None
    status: int | None = None

    @property
    def value(self) -> Any:
        assert self.message.get("op") == "value", self
        return decode(self.message["value"])

    @property
    def error(self) -> str:
        assert self.message.get("op") == "error", self
        return f"{self.message['type']}: {self.message['message']}"


@asynccontextmanager
async def kernels(
    *, group: Path | None = None, sized_scratch: bool = True, patience: float = LIMIT, **settings: Any
) -> AsyncIterator[KernelSupply]:
    """A supply of kernels with these execution settings, and groups below this one."""
    zygote = launch_zygote(ExecutionSettings(**settings), sized_scratch=sized_scratch)
    async with open_supply(zygote, group=group, patience=patience) as supply:
        yield supply


def scratch_of(kernel: Kernel) -> Path:
    """The scratch folder of a living kernel, wherever it is mounted."""
    return Path(f"/proc/self/fd/{kernel.scratch._descriptor}")


async def run(supply: KernelSupply, code: str, *, answer: Answer | None = None) -> Ended:
    """Run a program in a kernel of its own, to its end."""
    with anyio.fail_after(LIMIT):
        async with supply.take() as kernel:
            return await run_in(kernel, code, answer=answer)


async def run_in(kernel: Kernel, code: str, *, answer: Answer | None = None) -> Ended:
    """Run a program in this kernel; `answer` gives the values of its calls, and without it they wait."""
    ending: asyncio.Future[tuple[Message, str | None]] = asyncio.get_running_loop().create_future()

    def end(message: Message, lost: str | None = None) -> None:
        if not ending.done():
            ending.set_result((message, lost))

    def hear(message: Message) -> None:
        if message["op"] == "file":
            message, _ = kernel.read_spilled(message)
        if message["op"] == "references":
            kernel.send({"op": "go"})
        elif message["op"] == "attribute":
            kernel.send({"id": message["id"], "value": None})  # every name is a tool
        elif message["op"] == "call":
            if answer is not None:
                kernel.send({"id": message["id"], "value": answer(message)})
        else:
            end(message)

    kernel.on_message = hear
    kernel.on_lost = lambda reason: end({}, reason)
    kernel.send({"code": code, "values": {}, "packs": ["demo", "ot"], "aliases": {}})
    with anyio.fail_after(LIMIT):
        message, lost = await ending
        if lost == "the kernel closed its connection":
            await kernel.ended.wait()
    return Ended(message, kernel.printed()[0], lost, kernel.status)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does in its own time."""
    with anyio.fail_after(LIMIT):
        while not condition():
            await anyio.sleep(0.002)
