"""Failures in words: a sentence, a word that code can decide by, and what an agent can do next."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

from mcp_core.result import Result

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=Exception)
Work: TypeAlias = Callable[P, Awaitable[Result[T]]]

_SHOWN = 100  # characters of a name


class Report(NamedTuple):
    """An error in words."""

    text: str
    kind: str
    instruction: str | None = None


def answer_in_words(
    errors: type[E] | tuple[type[E], ...], word: Callable[[E], Report]
) -> Callable[[Work[P, T]], Work[P, T]]:
    """Build a decorator for the tools of a server: these errors, when raised, become failures in words."""

    def decorate(work: Work[P, T]) -> Work[P, T]:
        @wraps(work)
        async def answer(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
            try:
                return await work(*args, **kwargs)
            except errors as error:
                report = word(error)
                return Result.failure(report.text, report.kind, instruction=report.instruction)

        return answer

    return decorate


def quote_name(name: str) -> str:
    """Put any name on one line, cut if it is long."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
