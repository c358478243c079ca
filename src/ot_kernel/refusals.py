"""Sentences for what the sandbox refuses, at the place where the code asks for it.

The barrier is seccomp; this only replaces a bare "Operation not permitted" by the way out.
"""

from __future__ import annotations

import sys

_PROCESSES = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}
)
_UNIX_FAMILY = 1


def explain_refusals() -> None:
    """Raise PermissionError with a sentence from now on; audit hooks cannot be removed."""
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event in _PROCESSES:
        raise PermissionError("a run cannot start processes")
    if (event == "socket.__new__" and args[1] != _UNIX_FAMILY) or event == "socket.getaddrinfo":
        raise PermissionError("a run cannot open network connections")
