"""A client that costs as little as possible: lines of JSON on a server's pipes, the same for every server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from bench.process_tree import descendants

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class CallFailedError(Exception):
    """The server answered a call with an error, so that its time means nothing."""


class StdioClient:
    """One server process; it is started on entry, and closed as a client does: by closing its stdin."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> None:
        self._command = command
        self._environment = environment
        self._folder = folder
        self._last_id = 0
        self._begun: set[int] = set()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            cwd=self._folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it ended before it had read everything
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """End the server at once, with what it has started; whoever waits for its answer is told of a closed output."""
        left = descendants(self._process.pid)
        self._process.kill()
        for pid in left:  # not every server takes code along that loops
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def initialize(self) -> dict[str, Any]:
        """Shake hands; returns what the server has answered."""
        answer = self.request("initialize", INITIALIZE)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def request(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the server, and return its result."""
        return self._receive(self._send(method, parameters))

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool, and return the text of its answer."""
        content = self.request("tools/call", {"name": tool, "arguments": arguments})["content"]
        return "".join(part.get("text", "") for part in content)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Call a tool and wait for its answer; the seconds it took."""
        start = time.perf_counter()
        self._receive(self._send("tools/call", {"name": tool, "arguments": arguments}))
        return time.perf_counter() - start

    def begin(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Call a tool without waiting for its answer, whatever that will be."""
        self._begun.add(self._send("tools/call", {"name": tool, "arguments": arguments}))

    def call_many(self, tool: str, arguments: Mapping[str, Any], *, count: int, in_flight: int) -> float:
        """Make many calls, never more than `in_flight` at once; the seconds until all are answered."""
        start = time.perf_counter()
        waiting = {self._send("tools/call", {"name": tool, "arguments": arguments}) for _ in range(in_flight)}
        sent = in_flight
        while waiting:
            waiting.discard(self._read_answer()[0])
            if sent < count:
                waiting.add(self._send("tools/call", {"name": tool, "arguments": arguments}))
                sent += 1
        return time.perf_counter() - start

    def _send(self, method: str, parameters: Mapping[str, Any]) -> int:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": parameters})
        return self._last_id

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self, expected: int) -> dict[str, Any]:
        while True:
            answered, result = self._read_answer()
            if answered == expected:
                return result

    def _read_answer(self) -> tuple[int, dict[str, Any]]:
        """Read the id and the result of the next answer; notifications are passed over."""
        assert self._process.stdout
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if "id" in message and "method" not in message and message["id"] not in self._begun:
                if "error" in message or message["result"].get("isError"):
                    raise CallFailedError(line.decode())
                return message["id"], message["result"]
        raise CallFailedError("the server closed its output")
