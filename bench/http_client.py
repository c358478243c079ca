"""A client of a server over HTTP that costs as little as possible: sessionless requests on one connection."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from bench.stdio_client import CallFailedError

_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ADDRESS = re.compile(rb"http://([\d.]+):(\d+)(/\w+)")


class HttpClient:
    """One server process, which says its address on stderr; it is started on entry, and ended by a signal."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, key: str = "") -> None:
        """With `key` it says who it is."""
        self._command = command
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._environment = environment
        self._folder = folder

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, env=self._environment, cwd=self._folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert self._process.stderr
        found = next((match for line in self._process.stderr if (match := _ADDRESS.search(line))), None)
        if found is None:
            raise CallFailedError("the server ended before it said its address")
        self._connection = http.client.HTTPConnection(found[1].decode(), int(found[2]), timeout=30)
        self._path = found[3].decode()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.communicate()

    def call(self, tool: str, arguments: Mapping[str, str]) -> float:
        """Call a tool and wait for its answer; the seconds it took."""
        params = {"name": tool, "arguments": arguments, "_meta": _META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            **self._authorization,
        }
        start = time.perf_counter()
        self._connection.request("POST", self._path, body, headers)
        answer = json.loads(self._connection.getresponse().read())
        took = time.perf_counter() - start
        if "error" in answer or answer["result"].get("isError"):
            raise CallFailedError(str(answer))
        return took
