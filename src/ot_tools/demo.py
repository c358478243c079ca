"""Harmless tools to try things out with: text, time, failure, a picture."""

from __future__ import annotations

import base64
import builtins
import time
from typing import Any

import anyio

from ot.context import current
from ot.effects import idempotent, reads
from ot.errors import ToolError
from ot.isolate import isolated
from ot.values import Image

pack = "demo"

# Eight by eight pixels, orange.
_PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAAA1BMVEX/mQC5YThkAAAAC0lEQVR42mNgQAUAABAAAaoZ+IIAAAAASUVORK5CYII="
)


@reads
async def upper(*, text: str) -> str:
    """Write a text in capital letters.

    Args:
        text: Any text.

    Returns:
        The text in upper case.

    Example:
        demo.upper(text="hello")
    """
    return text.upper()


@reads
def foo(*, text: str = "foo") -> str:
    """Return a text, "foo" by default.

    Args:
        text: The text to return.

    Returns:
        The text itself.

    Example:
        demo.foo()
    """
    return text


@reads
async def bar(*, text: str = "bar") -> str:
    """Return a text, "bar" by default.

    Args:
        text: The text to return.

    Returns:
        The text itself.

    Example:
        demo.bar(text="something else")
    """
    return text


@reads
async def echo(*, value: Any) -> Any:
    """Return a value unchanged.

    Args:
        value: Any value that can cross between code and tools.

    Returns:
        The same value.

    Example:
        demo.echo(value={"a": [1, 2, 3]})
    """
    return value


@reads
async def numbers(*, count: int) -> list[int]:
    """Count from zero.

    Args:
        count: How many numbers.

    Returns:
        The numbers 0 to count - 1.

    Example:
        sum(demo.numbers(count=10))
    """
    return list(range(count))


@reads
async def sleep(*, seconds: float) -> str:
    """Wait; stops at once when cancelled.

    Args:
        seconds: How long to wait.

    Returns:
        A sentence with the time waited.

    Example:
        ot.parallel(lambda: demo.sleep(seconds=0.1), lambda: demo.sleep(seconds=0.1))
    """
    await anyio.sleep(seconds)
    return f"slept {seconds:g} s"


@reads
def busy(*, seconds: float) -> str:
    """Wait on a thread, like any plain tool; it cannot be stopped.

    Args:
        seconds: How long to wait.

    Returns:
        A sentence with the time waited.

    Example:
        demo.busy(seconds=0.1)
    """
    time.sleep(seconds)
    return f"was busy for {seconds:g} s"


@isolated(outputs=["{path}"])
@idempotent
def block(*, seconds: float, path: str | None = None) -> str:
    """Wait in a separate process, which is killed when the call is cancelled.

    Args:
        seconds: How long to wait.
        path: A file to write when the time is up; none by default.

    Returns:
        A sentence with the time waited.

    Example:
        demo.block(seconds=0.1)
    """
    time.sleep(seconds)
    if path is not None:
        current().output("path").write_text("done\n", encoding="utf-8")
    return f"blocked for {seconds:g} s"


@reads
async def fail(*, message: str, kind: str = "ValueError") -> str:
    """Fail, to show what a failure looks like.

    Args:
        message: What the error says.
        kind: "ToolError", or the name of a builtin exception.

    Returns:
        Nothing: it always fails.

    Example:
        demo.fail(message="no such thing", kind="KeyError")
    """
    error = getattr(builtins, kind, None)
    if kind == "ToolError" or not (isinstance(error, type) and issubclass(error, Exception)):
        raise ToolError(message)
    raise error(message)


@reads
async def picture() -> Image:
    """Draw a small orange square.

    Returns:
        A PNG image.

    Example:
        demo.picture()
    """
    return Image(_PICTURE, "image/png")
