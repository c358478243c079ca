"""One helper process, seen from the server: a call at a time, killed with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from ot.isolate.frames import BEGUN, HEADER, MAX_FRAME, write_frame
from ot_kernel import values

_TAIL = 4000
_DECODE_ON_THREAD = 256 * 1024  # bytes above which decoding would keep the event loop from others


class HelperEndedError(Exception):
    """The process ended, or said something that is no answer; `begun` tells whether the call had begun."""

    def __init__(self, reason: str, *, begun: bool = True) -> None:
        super().__init__(reason)
        self.begun = begun


class Helper:
    """A process that imports packs and calls their functions."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._requests: ByteSendStream = process.stdin
        self._replies = BufferedByteReceiveStream(process.stdout)
        self._stderr: ByteReceiveStream = process.stderr
        self._tail = b""
        self.idle_since = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Asked of the system: the event loop hears of an end only later."""
        if self._process.returncode is not None or sys.platform == "win32":
            return self._process.returncode is None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:  # somebody has seen its end already
            return False

    @property
    def tail(self) -> str:
        """The end of what it wrote to stderr."""
        return self._tail.decode(errors="replace")

    async def call(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one call and wait for its answer; raises HelperEndedError. Cancelled, it leaves the process unusable."""
        frame = write_frame(dict(request))
        begun = False
        try:
            await self._requests.send(frame)
            begun = await self._replies.receive_exactly(len(BEGUN)) == BEGUN
            size = HEADER.unpack(await self._replies.receive_exactly(HEADER.size))[0]
            if size > MAX_FRAME:
                raise HelperEndedError(f"it announced an answer of {size} bytes")
            payload = await self._replies.receive_exactly(size)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead) as error:
            raise HelperEndedError("it closed its pipe", begun=begun) from error
        answer = await to_thread.run_sync(values.loads, payload) if size > _DECODE_ON_THREAD else values.loads(payload)
        if not isinstance(answer, dict):
            raise HelperEndedError("its answer was no object")
        return answer

    async def drain(self) -> None:
        """Read its stderr until it ends, so that it never blocks on writing there."""
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                self._tail = (self._tail + await self._stderr.receive())[-_TAIL:]

    async def kill(self) -> int:
        """End it and what it started, and give its status; it has ended when this returns, cancelled or not."""
        with suppress(ProcessLookupError):
            if self._process.returncode is not None:
                pass  # its number may be another's by now
            elif sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        status = 0
        with anyio.CancelScope(shield=True):
            status = await self._process.wait()
            for stream in (self._requests, self._replies, self._stderr):
                with suppress(anyio.BrokenResourceError, OSError):
                    await stream.aclose()
        return status


async def start_helper(memory: int) -> Helper:
    """Start a process of its own session, which lives until it is killed or this one ends."""
    # -P: the current folder must not decide what `import json` means in there.
    command = [sys.executable, "-P", "-m", "ot.isolate.child", str(memory), str(os.getpid())]
    return Helper(
        await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    )
