"""ot.reload: read the configuration from disk again, and let every part follow it unless it is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import anyio
import anyio.to_thread

from mcp_core.quick_dataclass import dataclass, field
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.errors import CallError
from ot.execution.wording import word_error, word_mistakes
from ot.logs import LogSpan
from ot.registry.registry import ToolRegistry

RELOADED = "OK: Configuration reloaded"


@dataclass(eq=False)
class Reload:
    """One reload at a time, lent to the ot pack; `waiting` are keys that take effect at the next start."""

    _loaded: LoadedConfig
    _follow: Callable[[LoadedConfig], Awaitable[list[str]]]
    _registry: ToolRegistry
    everywhere: Callable[[], Awaitable[None]] | None = None
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    waiting: list[str] = field(default_factory=list)

    async def reload(self) -> str:
        """Read and follow what is on disk now; if that raises ConfigError, nothing has changed.

        For whoever looks after a server that many share, everybody's app follows it.
        """
        if self.everywhere is not None:
            await self.everywhere()
        else:
            async with self._turn:
                with LogSpan("config.reload") as span:
                    await self._apply(await anyio.to_thread.run_sync(self._loaded.read_again))
                    span.add(files=[str(file) for file in self._loaded.files], waiting=self.waiting)
        loaded = self._loaded
        lines = [RELOADED, *word_mistakes(loaded.mistakes), *find_alias_problems(loaded.config, self._registry)]
        if self.waiting:
            lines.append(f"Takes effect at the next start of the server: {', '.join(self.waiting)}")
        return "\n".join(lines)

    async def follow(self, loaded: LoadedConfig) -> None:
        """Follow a configuration that somebody else has read."""
        async with self._turn:
            await self._apply(loaded)

    async def follow_again(self) -> None:
        """Follow the same configuration once more: what it is joined with, a person's own secrets, has changed."""
        async with self._turn:
            await self._apply(self._loaded)

    async def _apply(self, loaded: LoadedConfig) -> None:
        self.waiting = await self._follow(loaded)
        self._loaded = loaded


def find_alias_problems(config: Config, registry: ToolRegistry) -> Iterator[str]:
    """Yield a line for each alias that stands for no tool, with the reason."""
    for alias, target in config.aliases.items():
        if "." not in target or target.partition(".")[0] in config.servers:
            continue  # another alias, or a tool that only its server knows
        try:
            registry.get(target)
        except CallError as error:
            yield f"aliases.{alias}: {word_error(error)}"
