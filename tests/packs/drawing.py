"""An engine that several tests draw with, and what they look at in pictures."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ot.app import App
from tests.engine import open_engine


@dataclass(frozen=True, slots=True)
class Studio:
    """An engine and the folder of its project."""

    app: App
    folder: Path

    async def draw(self, command: str) -> bytes:
        """The PNG that a command answers with."""
        answer = await self.app.runner.run(command)
        assert not answer.is_error, answer.text
        (picture,) = answer.attachments
        assert picture.data is not None
        assert picture.data[:8] == b"\x89PNG\r\n\x1a\n"
        return picture.data

    async def mistake(self, command: str) -> str:
        """The error that a command answers with."""
        answer = await self.app.runner.run(command)
        assert answer.is_error, answer.text
        return answer.text


@pytest.fixture(scope="module")
async def studio(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Studio]:
    folder = tmp_path_factory.mktemp("studio")
    async with open_engine(folder) as app:
        yield Studio(app, folder)


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height of a PNG."""
    width, height = struct.unpack(">II", picture[16:24])
    return width, height
