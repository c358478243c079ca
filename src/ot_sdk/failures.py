"""Exceptions of foreign code, classified by their type: the nearest builtin, and network failures.

Every process that carries out tools reads their exceptions with it: the server, its helpers, and workers.
"""

from __future__ import annotations

import builtins
import errno
import sys

_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ETIMEDOUT, errno.ECONNREFUSED})
_HTTP_ERRORS = ("NetworkError", "TimeoutException", "ProxyError", "RemoteProtocolError")
_NETWORK_ERRORS = {
    "socket": ("gaierror", "herror"),
    "ssl": ("SSLError",),
    **dict.fromkeys(("httpx", "httpx2", "httpcore", "httpcore2"), _HTTP_ERRORS),
}
_MESSAGE_LIMIT = 2000
_GROUP: tuple[type, ...] = (builtins.BaseExceptionGroup,) if sys.version_info >= (3, 11) else ()


def innermost(error: BaseException) -> BaseException:
    """Return the exception inside groups that hold a single one: task groups wrap what they pass on."""
    while isinstance(error, _GROUP) and len(error.exceptions) == 1:  # type: ignore[attr-defined]
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return error


def builtin_name(error: BaseException) -> str:
    """Return the nearest builtin exception, such as ValueError for a JSONDecodeError.

    What would end a program (SystemExit and its like) is reported as a RuntimeError.
    """
    if not isinstance(error, Exception):
        return "RuntimeError"
    bases = [kind for kind in type(error).__mro__ if issubclass(kind, Exception) and kind.__module__ == "builtins"]
    return bases[0].__name__


def is_network_failure(error: BaseException) -> bool:
    """True if the network, or what stands behind it, is to blame."""
    if isinstance(error, ConnectionError):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return True
    # A library that is not loaded raises none of its errors, so none is imported here.
    loaded = [(sys.modules[name], errors) for name, errors in _NETWORK_ERRORS.items() if name in sys.modules]
    found = [getattr(module, kind, None) for module, kinds in loaded for kind in kinds]
    return isinstance(error, tuple(kind for kind in found if isinstance(kind, type)))


def message_of(error: BaseException) -> str:
    """Return its text, cut to a limit, whatever its own `__str__` does."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - foreign code, and there is nothing to tell but that
        text = f"<a {type(error).__name__} whose message cannot be shown>"
    return text if len(text) <= _MESSAGE_LIMIT else f"{text[:_MESSAGE_LIMIT]}..."
