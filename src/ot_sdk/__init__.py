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
    from logging import Logger

    from ot_kernel.values import Audio, Image, Resource
    from ot_sdk.asking import call, progress
    from ot_sdk.context import config, secret
    from ot_sdk.effects import idempotent, reads
    from ot_sdk.errors import CallCancelled, ToolError
    from ot_sdk.server import serve

    log: Logger

__all__ = [
    "Audio",
    "CallCancelled",
    "Image",
    "Resource",
    "ToolError",
    "call",
    "config",
    "idempotent",
    "log",
    "progress",
    "reads",
    "secret",
    "serve",
]

_HOMES = {
    "Audio": "ot_kernel.values",
    "Image": "ot_kernel.values",
    "Resource": "ot_kernel.values",
    "CallCancelled": "ot_sdk.errors",
    "ToolError": "ot_sdk.errors",
    "call": "ot_sdk.asking",
    "config": "ot_sdk.context",
    "idempotent": "ot_sdk.effects",
    "log": "ot_sdk.logs",
    "progress": "ot_sdk.asking",
    "reads": "ot_sdk.effects",
    "secret": "ot_sdk.context",
    "serve": "ot_sdk.server",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ot_sdk' has no attribute {name!r}; it has {', '.join(__all__)}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
