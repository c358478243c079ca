"""A crowd of clients that costs as little as possible: sessionless requests over open connections to several ports."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "crowd", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Tally:
    """What a crowd has seen: the seconds that each run took, and whatever was no right answer."""

    took: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Runs a second."""
        return len(self.took) / self.seconds

    def percentile(self, share: float) -> float:
        return sorted(self.took)[int(len(self.took) * share)]


def build_request(command: str, token: str | None, *, host: str) -> bytes:
    """Build the bytes of a request that runs a command."""
    params = {"name": "run", "arguments": {"command": command}, "_meta": _META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Host": host,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "run",
        "Content-Length": str(len(body)),
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    head = "\r\n".join(["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())])
    return head.encode() + b"\r\n\r\n" + body


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """Send a request and return the whole body of the answer, which has a length."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return await reader.readexactly(int(length.partition(b":")[2]))


async def _client(number: int, ports: Sequence[int], token: str | None, host: str, until: float, tally: Tally) -> None:
    connections = [await asyncio.open_connection("127.0.0.1", port) for port in ports]
    turn = number
    try:
        while (began := time.perf_counter()) < until:
            reader, writer = connections[turn % len(connections)]
            body = await ask(reader, writer, build_request(f"{turn} + 1", token, host=host))
            tally.took.append(time.perf_counter() - began)
            if f'"text":"{turn + 1}"'.encode() not in body:
                tally.errors.append(body.decode(errors="replace")[:300])
            turn += 1
    except (OSError, asyncio.IncompleteReadError, StopIteration) as error:
        tally.errors.append(repr(error))
    finally:
        for _, writer in connections:
            writer.close()


async def run_crowd(
    ports: Sequence[int], tokens: Sequence[str | None], *, clients: int, seconds: float, host: str
) -> Tally:
    """Have clients run small commands at each port in turn, one after the other, for a while."""
    tally = Tally()
    began = time.perf_counter()
    until = began + seconds
    await asyncio.gather(*(_client(n, ports, tokens[n % len(tokens)], host, until, tally) for n in range(clients)))
    tally.seconds = time.perf_counter() - began
    return tally
