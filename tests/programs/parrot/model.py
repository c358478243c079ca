"""A parrot as a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ot.ai.messages import Text
from ot.ai.messages import Piece, Request, Spent, Stopped


def open_model(settings, *, api_key: str, timeout: float) -> ParrotModel:
    return ParrotModel(settings, api_key)


class ParrotModel:
    provider = "parrot"

    def __init__(self, settings, api_key: str) -> None:
        self.name = settings.model
        self._told = f"{settings.model}, {settings.volume}, fed {api_key}"

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        yield Text(f"{request.messages[-1].text} ({self._told})")
        yield Spent(3, 4)
        yield Stopped()

    async def close(self) -> None:
        pass
