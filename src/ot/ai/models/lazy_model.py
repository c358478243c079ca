"""A model whose library is loaded on its first request, off the event loop, since that takes a second."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import anyio.to_thread

from ot.ai.models.model import Model, Piece, Request
from ot.config.providers import Provider
from ot.errors import MissingExtraError


class LazyModel:
    """Stands for a model until it is needed; `build` imports what it needs. The extra has the provider's name."""

    def __init__(self, provider: Provider, name: str, build: Callable[[], Model]) -> None:
        if importlib.util.find_spec(provider.library) is None:
            raise MissingExtraError(provider.name, provider.name)
        self.provider = provider.name
        self.name = name
        self._build = build
        self._model: Model | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        if self._model is None:
            self._model = await anyio.to_thread.run_sync(self._build)
        async with aclosing(self._model.stream(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
