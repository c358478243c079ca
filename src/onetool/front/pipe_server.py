"""The server at stdin and stdout, from the first line to the end of the client."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import anyio

from mcp_core.line_pipes import LinePipes
from onetool.front.definition import instruct
from onetool.front.late_app import LateApp
from onetool.front.offer import open_offer
from onetool.front.pipes import PipeFront
from onetool.front.rendering import PlainResults
from onetool.front.sdk_session import SdkSession
from ot.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from onetool.front.server import OneToolServer

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve_pipes(app: LateApp, telemetry: Telemetry, source: int, sink: int) -> None:
    """Serve the client at these descriptors until it leaves, or a signal asks this process to end.

    Calls that are still going are cancelled in both cases. A second signal ends the process at once.
    """
    loop, signalled = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal signalled
        signalled = True
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        front.left.set()

    def build_server() -> OneToolServer:
        from onetool.front.server import OneToolServer  # noqa: PLC0415 - the SDK, which was loaded a moment ago

        return OneToolServer(app, offer, telemetry, first_client=front.memory)

    async with open_offer(app) as offer, anyio.create_task_group() as tasks:
        front = PipeFront(app, offer, PlainResults(instruct(app.mistakes, look=app.look)), telemetry)
        sdk = SdkSession(build_server, front.introduction)
        pipes = LinePipes(source, sink, front.take, front.end)
        front.connect(pipes, sdk)
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop)
        tasks.start_soon(sdk.serve, pipes)
        await front.left.wait()
        await front.close()
        if sdk.loaded and not signalled:
            await sdk.ended.wait()
        tasks.cancel_scope.cancel()
    front.write_rest()
    await pipes.close()
