"""Make Ollama's streams safe for its SDK: one JSON object per line, and nothing else that looks like the end of a line.

The SDK splits the stream where Python's `splitlines` does, which is also at three characters that may stand in a JSON
string as they are. Written as escapes they mean the same, and the text arrives whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

_BREAKING = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\x85\u2028\u2029"}
_LONGEST = max(map(len, _BREAKING))


async def without_breaks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same JSON without such characters; the chunks may end inside one."""
    held = b""
    async for chunk in chunks:
        data = held + chunk
        cut = len(data) - _unfinished(data)
        data, held = data[:cut], data[cut:]
        for raw, escape in _BREAKING.items():
            data = data.replace(raw, escape)
        if data:
            yield data
    if held:
        yield held


def _unfinished(data: bytes) -> int:
    """Return how many bytes at the end may be the beginning of such a character."""
    for count in range(_LONGEST - 1, 0, -1):
        tail = data[-count:]
        if len(tail) == count and any(raw.startswith(tail) and raw != tail for raw in _BREAKING):
            return count
    return 0
