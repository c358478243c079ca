"""What an exception of foreign code was, decided by its type: the nearest builtin, and whether the network failed.

Standard library only: a helper process reads its own exceptions with it.
"""

from __future__ import annotations

import errno
import socket
import ssl
import sys

_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ETIMEDOUT, errno.ECONNREFUSED})
_HTTP_LIBRARIES = ("httpx", "httpx2", "httpcore", "httpcore2")
_HTTP_ERRORS = ("NetworkError", "TimeoutException", "ProxyError", "RemoteProtocolError")
_MESSAGE_LIMIT = 2000


def innermost(error: BaseException) -> BaseException:
    """The one exception inside groups that hold a single one: task groups wrap what they pass on."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def builtin_name(error: BaseException) -> str:
    """The nearest builtin exception that it is, such as ValueError for a JSONDecodeError.

    What would end a program (SystemExit and its like) is told as a RuntimeError.
    """
    if not isinstance(error, Exception):
        return "RuntimeError"
    bases = [kind for kind in type(error).__mro__ if issubclass(kind, Exception) and kind.__module__ == "builtins"]
    return bases[0].__name__


def is_network_failure(error: BaseException) -> bool:
    """Whether the network, or what stands behind it, is to blame."""
    if isinstance(error, (ConnectionError, socket.gaierror, socket.herror, ssl.SSLError)):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return True
    return isinstance(error, tuple(_loaded_http_errors()))


def message_of(error: BaseException) -> str:
    """Its text, bounded, whatever its own `__str__` does."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - foreign code, and there is nothing to tell but that
        text = f"<a {type(error).__name__} that cannot be written>"
    return text if len(text) <= _MESSAGE_LIMIT else f"{text[:_MESSAGE_LIMIT]}..."


def _loaded_http_errors() -> list[type[BaseException]]:
    """The transport errors of the HTTP libraries that somebody has imported; ours imports none for this."""
    modules = [sys.modules[name] for name in _HTTP_LIBRARIES if name in sys.modules]
    found = [getattr(module, name, None) for module in modules for name in _HTTP_ERRORS]
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException)]
