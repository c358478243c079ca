"""The error in a worker's answer as a CallError; the traceback goes to the log, under an incident's number."""

from __future__ import annotations

import builtins
import logging
import os
from collections.abc import Mapping

from ot.errors import CallError, ServiceUnavailableError, ToolError, ToolFailedError, ToolStoppedError, UnknownToolError
from ot.logs import write_log
from ot_sdk import protocol

_LONGEST_PLACE = 300  # characters: an extension may say anything


def error_from(error: object, *, pack: str, tool: str) -> CallError:
    """Return the error that the caller of `pack.tool` gets for the `error` of an answer, which may hold anything."""
    facts = error if isinstance(error, Mapping) else {"message": str(error)}
    found = facts.get("data")
    data: Mapping[str, object] = found if isinstance(found, Mapping) else {}
    message = str(facts.get("message", ""))
    name = f"{pack}.{tool}"
    match facts.get("code"):
        case protocol.TOOL_ERROR:
            return _tool_error(message, name, data.get("kind"))
        case protocol.NO_VALUE:
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
            kind = _exception_type(data.get("kind")).__name__
            return ToolFailedError(name, kind, message, incident, place=str(data.get("place", ""))[:_LONGEST_PLACE])


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


def _traceback(data: Mapping[str, object]) -> str:
    return str(data.get("traceback", ""))


def _names(data: Mapping[str, object]) -> list[str]:
    names = data.get("tools")
    return [str(name) for name in names] if isinstance(names, list) else []
