"""The keychain of the person's system, of which we use the entries of one service, `onetool`.

The library asks it over D-Bus or by the system's own interface, and may show the person a prompt that nobody answers.
So it works in a daemon thread, with a limit; whoever must not wait that long asks from a thread of their own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot.config.keys import printable
from ot.errors import KeychainError

SERVICE = "onetool"
_LONGEST_WAIT = 30.0  # seconds, for a person who unlocks it
_INSTEAD = "or put the value itself into ~/.onetool/secrets.yaml"
_UNLOCK = f"unlock it, for example by logging in to your desktop, {_INSTEAD}"
_START = f"start one (on Linux a Secret Service such as gnome-keyring), {_INSTEAD}"

T = TypeVar("T")


def read_entry(name: str) -> str:
    """Return an entry; raises KeychainError. It blocks."""
    value = _ask(lambda library: library.get_password(SERVICE, name))
    if not value:
        raise KeychainError(f"the keychain has no {name}", fix=f"run `onetool secrets set {name} --keyring`")
    return str(value)


def write_entry(name: str, value: str) -> None:
    """Put an entry in, and make sure that it is there; raises KeychainError. It blocks."""
    _ask(lambda library: library.set_password(SERVICE, name, value))
    if read_entry(name) != value:
        raise KeychainError(f"the keychain did not keep {name}", fix=_START)


def remove_entry(name: str) -> None:
    """Take an entry out, if it is there; raises KeychainError. It blocks."""

    def remove(library: ModuleType) -> None:
        if library.get_password(SERVICE, name) is not None:
            library.delete_password(SERVICE, name)

    _ask(remove)


def _ask(question: Callable[[ModuleType], T]) -> T:
    """Return what the library answers in time; raises KeychainError."""
    answers: queue.SimpleQueue[tuple[T] | KeychainError] = queue.SimpleQueue()
    threading.Thread(target=lambda: answers.put(_answer_of(question)), name="ot keychain", daemon=True).start()
    try:
        answer = answers.get(timeout=_LONGEST_WAIT)
    except queue.Empty:
        raise KeychainError(f"the keychain did not answer within {_LONGEST_WAIT:g} s", fix=_UNLOCK) from None
    if isinstance(answer, KeychainError):
        raise answer
    return answer[0]


def _answer_of(question: Callable[[ModuleType], T]) -> tuple[T] | KeychainError:
    try:
        import keyring  # noqa: PLC0415 - an extra, and slow: it looks for every keychain that there may be
        from keyring.errors import KeyringLocked, NoKeyringError  # noqa: PLC0415
    except ImportError:
        command = install_command(with_extra("keyring"))
        return KeychainError("the library that reads the keychain is not installed", fix=command)
    try:
        return (question(keyring),)
    except NoKeyringError:
        return KeychainError("this machine has no keychain that is running", fix=_START)
    except KeyringLocked:
        return KeychainError("the keychain is locked", fix=_UNLOCK)
    except Exception as error:  # noqa: BLE001 - each system has errors of its own; none quotes what is kept
        reason = f"the keychain cannot be used: {type(error).__name__}: {error}"
        return KeychainError(printable(reason), fix=_UNLOCK)
