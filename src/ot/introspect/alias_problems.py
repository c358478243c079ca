"""Aliases held against the packs that are there: the check of `onetool check` and of `ot.reload`."""

from __future__ import annotations

from collections.abc import Iterator

from ot.config.models import Config
from ot.errors import CallError
from ot.execution.wording import word_error
from ot.registry.registry import ToolRegistry


def find_alias_problems(config: Config, registry: ToolRegistry) -> Iterator[str]:
    """Yield a line for each alias that stands for no tool, with the reason."""
    for alias, target in config.aliases.items():
        if "." not in target or target.partition(".")[0] in config.servers:
            continue  # another alias, or a tool that only its server knows
        try:
            registry.get(target)
        except CallError as error:
            yield f"aliases.{alias}: {word_error(error)}"
