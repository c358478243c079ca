"""Tools that raise."""

import json
import urllib.error

import ot_sdk


def tool_error(*, text: str) -> None:
    raise ot_sdk.ToolError(text)


def translated() -> None:
    try:
        json.loads("{")
    except ValueError as error:
        raise ot_sdk.ToolError("not JSON") from error


def key_error() -> None:
    {}["absent"]


def refused() -> None:
    raise ConnectionRefusedError("nobody listens")


def leave() -> None:
    raise SystemExit(3)


async def group() -> None:
    raise ExceptionGroup("several", [ValueError("one")])


def words(*parts: str, end: str = "!") -> str:
    """All of them."""
    return " ".join(parts) + end
