"""Checkers: code that is generated from a schema, once for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from mcp_core.json_types import JsonObject

Check = Callable[[object], object]
"""Raises ValueError, or one that holds all failures, for a value that does not fit its schema."""


def compile_check(schema: JsonObject, *, fast_fail: bool) -> Check:
    import fastjsonschema  # noqa: PLC0415 - start-up path: a server that was not called yet needs no schema compiler

    compiled: Check = fastjsonschema.compile(
        schema,
        handlers=_NoHandlers(),
        use_default=False,
        use_formats=False,
        detailed_exceptions=not fast_fail,
        fast_fail=fast_fail,
    )
    return compiled


class _NoHandlers(dict[str, Callable[[str], NoReturn]]):
    """A second lock on a closed door: the schema holds no reference, and none would be fetched."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], NoReturn]:
        def refuse(address: str) -> NoReturn:
            raise ValueError(f"a schema may not refer to {address}")

        return refuse
