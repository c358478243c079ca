"""The imports of an extension file: `serve`, `ToolError`, `config`, `secret`, `call`, `Image` and the like.

Standard library only, Python 3.9 or newer: it runs on whatever interpreter the extension asks for. Each name is loaded
when it is first used, so a worker starts with what it needs and no more.

A worker speaks JSON-RPC, one message per line (`protocol`, and docs/reference/worker-protocol.md). A line without
`"$"` is plain JSON and is looked at no further; any other may hold tagged values. Several calls run at once, on
threads that take turns to read (`turns`). Dataclasses cross as objects: the server checks them against the source, and
`fitting` builds them from the file's own classes.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing itself takes longer to import than all of a worker
if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger
    from typing import TypeVar

    from ot_kernel.values import Audio, Image, Resource
    from ot_sdk.host import call, config, progress, secret
    from ot_sdk.server import serve

    Function = TypeVar("Function")
    log: Logger

__all__ = [
    "Audio", "CallCancelled", "Image", "Resource", "ToolError", "best_first", "call", "config", "idempotent", "log",
    "progress", "reads", "secret", "serve", "undone_by",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("Audio", "Image", "Resource"), "ot_kernel.values"),
    **dict.fromkeys(("call", "config", "progress", "secret"), "ot_sdk.host"),
    "log": "ot_sdk.logs",
    "serve": "ot_sdk.server",
}


class ToolError(Exception):
    """A message for the caller: `raise ToolError("no such city: Atlantis")`. The caller sees only its text."""


class CallCancelled(BaseException):
    """Raised inside a call that has been cancelled; let it pass.

    Not an Exception, so that `except Exception` does not go on with a call that nobody waits for.
    """


def reads(function: Function) -> Function:
    """Declare that a tool changes nothing. OneTool reads this from the source; at run time it does nothing."""
    return function


def idempotent(function: Function) -> Function:
    """Declare that calling a tool twice with the same arguments changes no more than calling it once."""
    return function


def best_first(function: Function) -> Function:
    """Declare that a tool gives what fits best first, so that code which takes the first few misses nothing."""
    return function


def undone_by(tool: str, /, **arguments: str) -> Callable[[Function], Function]:
    """Declare the tool that undoes a call, such as `@undone_by("delete_event", id="result.id")`.

    Its arguments name a part of what the call returned (`result.id`) or was given (`arguments.calendar`). OneTool reads
    this from the source; at run time it does nothing.
    """
    return lambda function: function


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ot_sdk' has no attribute {name!r}; it has {', '.join(__all__)}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
