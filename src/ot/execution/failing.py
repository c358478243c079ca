"""From whatever a tool raised to one CallError; the details stay in the log, under an incident's number."""

from __future__ import annotations

import logging
import os
import traceback

from ot.errors import CallError, OneToolError, PackLoadError, ServiceUnavailableError, ToolFailedError
from ot.execution.wording import word_error
from ot.logs import write_log
from ot_sdk.failures import builtin_name, innermost, is_network_failure, message_of


def call_error_from(error: BaseException, tool: str) -> CallError:
    """The error that the caller of `tool` gets; a CallError stays what it is, and learns which tool it was."""
    whole, error = error, innermost(error)
    if isinstance(error, CallError):
        error.tool = error.tool or tool
        return error
    if is_network_failure(error):
        write_log(logging.WARNING, "executor.unavailable", tool=tool, detail=_traceback(whole))
        return ServiceUnavailableError(tool, message_of(error) or type(error).__name__)
    incident = os.urandom(4).hex()
    write_log(logging.ERROR, "executor.failure", tool=tool, incident=incident, detail=_traceback(whole))
    kind = "ImportError" if isinstance(error, PackLoadError) else builtin_name(error)
    return ToolFailedError(tool, kind, _message(error), incident)


def _message(error: BaseException) -> str:
    if isinstance(error, OneToolError):
        return word_error(error)
    return message_of(error) or type(error).__name__


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
