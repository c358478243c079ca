"""The error of a worker's answer as one of ours; the traceback stays in the log, under an incident's number."""

from __future__ import annotations

import builtins
import logging
import os
from collections.abc import Mapping
from typing import Any

from ot.errors import CallError, ServiceUnavailableError, ToolError, ToolFailedError, ToolStoppedError, UnknownToolError
from ot.logs import write_log
from ot_sdk import protocol


def error_from(error: Any, *, pack: str, tool: str) -> CallError:
    """What the caller of `pack.tool` gets for the `error` of an answer, which may hold anything."""
    if not isinstance(error, Mapping):
        error = {"message": str(error)}
    data = error.get("data") if isinstance(error.get("data"), Mapping) else {}
    message = str(error.get("message", ""))
    name = f"{pack}.{tool}"
    match error.get("code"):
        case protocol.TOOL_ERROR:
            return _tool_error(message, name, data.get("kind"))
        case protocol.NOT_JSON:
            return _tool_error(message, name, "TypeError")
        case protocol.UNAVAILABLE:
            write_log(logging.WARNING, "worker.unavailable", tool=name, detail=_traceback(data))
            return ServiceUnavailableError(name, message)
        case protocol.CANCELLED:
            return ToolStoppedError(name)
        case protocol.NO_SUCH_TOOL:
            return UnknownToolError(name, pack=pack, available=_names(data))
        case _:
            incident = os.urandom(4).hex()
            write_log(logging.ERROR, "worker.failure", tool=name, incident=incident, detail=_traceback(data))
            return ToolFailedError(name, _exception_type(data.get("kind")).__name__, message, incident)


def _tool_error(message: str, tool: str, kind: object) -> ToolError:
    error = ToolError(message)
    error.tool = tool
    if kind:
        # Code may catch it as the builtin that the extension turned into a ToolError.
        found = _exception_type(kind)
        error.__cause__ = found.__new__(found)
    return error


def _exception_type(name: object) -> type[Exception]:
    found = getattr(builtins, str(name), None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


def _traceback(data: Mapping[str, Any]) -> str:
    return str(data.get("traceback", ""))


def _names(data: Mapping[str, Any]) -> list[str]:
    names = data.get("tools")
    return [str(name) for name in names] if isinstance(names, list) else []
