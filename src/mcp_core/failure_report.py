"""Failures in words: a sentence, a word that code can decide by, and what an agent can do next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeVar

from mcp_core.result import Result

T = TypeVar("T")

_SHOWN = 100  # characters of a name


@dataclass(frozen=True, slots=True)
class Report:
    """An error in words."""

    text: str
    kind: str
    instruction: str | None = None

    def to_result(self) -> Result[T]:
        """Return it as the failure of a tool."""
        return Result.failure(self.text, self.kind, instruction=self.instruction)


def quote_name(name: str) -> str:
    """Put a name of any content on one line, cut where it is long."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
