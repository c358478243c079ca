"""The demo pack."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from ot.errors import ToolError, ToolFailedError
from ot_kernel.values import Image
from tests.opened_executor import open_executor


@pytest.mark.parametrize(
    ("call", "arguments", "value"),
    [
        ("upper", {"text": "straße"}, "STRASSE"),
        ("foo", {}, "foo"),
        ("foo", {"text": "x"}, "x"),
        ("bar", {}, "bar"),
        ("echo", {"value": [1, {"a": None}]}, [1, {"a": None}]),
        ("numbers", {"count": 3}, [0, 1, 2]),
        ("sleep", {"seconds": 0}, "slept 0 s"),
        ("busy", {"seconds": 0}, "was busy for 0 s"),
        ("block", {"seconds": 0}, "blocked for 0 s"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_harmless_tools_give_harmless_values(call: str, arguments: dict[str, Any], value: object) -> None:
    async with open_executor() as opened:
        assert await opened.executor.call(f"demo.{call}", arguments) == value


async def test_block_writes_its_marker_when_the_time_is_over(tmp_path: Path) -> None:
    async with open_executor(project=tmp_path) as opened:
        await opened.executor.call("demo.block", {"seconds": 0, "path": "marker"})

    assert (tmp_path / "marker").read_text() == "done\n"


async def test_fail_fails_as_it_is_told() -> None:
    async with open_executor() as opened:
        with pytest.raises(ToolFailedError) as failed:
            await opened.executor.call("demo.fail", {"message": "x", "kind": "KeyError"})
        for kind in ("ToolError", "SystemExit", "print", "nothing"):
            with pytest.raises(ToolError, match="x"):
                await opened.executor.call("demo.fail", {"message": "x", "kind": kind})

    assert failed.value.kind == "KeyError"


async def test_the_picture_is_a_real_png() -> None:
    async with open_executor() as opened:
        image = await opened.executor.call("demo.picture", {})

    assert isinstance(image, Image)
    assert (image.mime_type, image.data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    for kind, body, checksum in chunks(image.data):
        assert zlib.crc32(kind + body) == checksum
    [pixels] = [zlib.decompress(body) for kind, body, _ in chunks(image.data) if kind == b"IDAT"]
    assert len(pixels) == 8 * 2


def chunks(data: bytes) -> list[tuple[bytes, bytes, int]]:
    """Kind, content and checksum of each part of a PNG file."""
    found = []
    position = 8
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        kind, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + size]
        found.append((kind, body, int.from_bytes(data[position + 8 + size : position + 12 + size], "big")))
        position += 12 + size
    return found
