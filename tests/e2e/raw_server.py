"""The real server as a subprocess, spoken to in raw lines: for bytes that no client library would send."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from ot.kernel.zygote_process import COMPILED
from tests.demo_pack import with_demo
from tests.measured import MEASURED
from tests.preloaded import preloaded_command
from tests.read_packs import give_definitions

WAIT = 60.0  # seconds: a bound for a machine that is busy, never the time that something should take

Message = dict[str, Any]
Found = TypeVar("Found")


def environment_of(folder: Path) -> dict[str, str]:
    """The surroundings of a server that must find no configuration but the test's own."""
    system = {name: os.environ.get(name, "") for name in ("PATH", COMPILED)}
    return {"HOME": str(folder), "LANG": "C.UTF-8", **system, **MEASURED}


class RawServer:
    """`onetool serve` and its pipes. Every line that it writes is kept, in the order in which it came."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        command: tuple[str, ...] = ("serve",),
        hears: int | None = None,
        preloaded: bool = False,
        started_by: tuple[str, ...] = (),
        program: tuple[str, ...] = (),
    ) -> None:
        """With `hears`, so many lines of stdout are read and then no more: a client that has stopped reading.

        `started_by` is a program that starts the server in its own place, `program` another one than the server.
        """
        give_definitions(folder)
        usual = preloaded_command("onetool") if preloaded else [sys.executable, "-m", "onetool"]
        self.process = subprocess.Popen(
            [*started_by, *(program or (*usual, *command)), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment_of(folder),
        )
        self.lines: list[bytes] = []
        self.log: list[str] = []
        self._arrived: queue.Queue[None] = queue.Queue()
        self._next_id = 0
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines.append, hears), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self._keep_log, None), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[bytes], keep: Callable[[bytes], None], limit: int | None) -> None:
        for line in itertools.islice(stream, limit):
            keep(line)
            self._arrived.put(None)
        self._arrived.put(None)

    def _keep_log(self, line: bytes) -> None:
        self.log.append(line.decode(errors="replace"))

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start_request(self, method: str, params: Message | None = None) -> int:
        """Send a request and give its id, without waiting for the answer."""
        self._next_id += 1
        self.send({"id": self._next_id, "method": method, "params": params or {}})
        return self._next_id

    def request(self, method: str, params: Message | None = None) -> Message:
        """Send a request and wait for its answer: the whole message."""
        return self.wait_for_answer(self.start_request(method, params))

    def start_run(self, command: str, **meta: Any) -> int:
        return self.start_request("tools/call", {"name": "run", "arguments": {"command": command}, "_meta": meta})

    def run(self, command: str) -> Message:
        """Run a command and give the result."""
        result: Message = self.wait_for_answer(self.start_run(command))["result"]
        return result

    def initialize(self, able: Message | None = None) -> Message:
        """Shake hands in the era of 2025; gives the server's side of it."""
        client = {"name": "raw", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": able or {}, "clientInfo": client}
        result: Message = self.request("initialize", params)["result"]
        self.send({"method": "notifications/initialized"})
        return result

    def messages(self) -> list[Message]:
        """Everything it has said so far; fails where a line is not JSON."""
        return [json.loads(line) for line in list(self.lines)]

    def wait_for_answer(self, identifier: int | str) -> Message:
        def find() -> Message | None:
            return next((m for m in self.messages() if m.get("id") == identifier and "method" not in m), None)

        return self._wait(find, f"an answer to request {identifier}")

    def agree(self) -> None:
        """Agree to a question, once there is one."""
        self.send({"id": self.wait_for_question()["id"], "result": {"action": "accept", "content": {"agree": True}}})

    def wait_for_question(self) -> Message:
        def find() -> Message | None:
            return next((m for m in self.messages() if m.get("method") == "elicitation/create"), None)

        return self._wait(find, "question")

    def wait_for_log(self, text: str, *, times: int = 1, after: int = 0) -> None:
        """Wait until this text stands in so many lines of the log, those before line `after` not counted."""

        def find() -> bool | None:
            return True if sum(text in line for line in self.log[after:]) >= times else None

        self._wait(find, f"{text!r} in the log")

    def _wait(self, find: Callable[[], Found | None], what: str) -> Found:
        deadline = time.monotonic() + WAIT
        while (found := find()) is None:
            try:
                self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {what}; lines: {self.lines[-5:]}; log: {''.join(self.log[-20:])}") from None
        return found

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait_for_exit(self) -> int:
        """Give the exit status, after all that it wrote has been read."""
        status = self.process.wait(WAIT)
        for reader in self._readers:
            reader.join(WAIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        return status

    def end(self) -> None:
        self.process.kill()
        self.wait_for_exit()


@contextmanager
def start_raw_server(
    folder: Path,
    *arguments: str,
    config: str = "",
    preloaded: bool = True,
    introduced: bool = True,
    able: Message | None = None,
) -> Iterator[RawServer]:
    """A server on this configuration, after the handshake; its process is the server's own if it is not preloaded."""
    file = folder / "onetool.yaml"
    file.write_text(with_demo(config))
    server = RawServer(folder, "--config", str(file), *arguments, preloaded=preloaded)
    try:
        if introduced:
            server.initialize(able)
        yield server
    finally:
        server.end()
