"""Rights that a process gives up about itself: new privileges, capabilities, a life without its parent."""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # its enumerations take as long to build as an interpreter to start

_PR_SET_PDEATHSIG, PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
MOUNTING = 1 << 21  # CAP_SYS_ADMIN

# Made once: a type and its values take a forked process longer than the call itself.
_HEADER = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
_Capabilities = ctypes.c_uint32 * 6  # effective, permitted, inheritable; then those above 31
_NONE = _Capabilities()


def give_up_privileges(libc: ctypes.CDLL, *, but: int = 0) -> None:
    """Give up all capabilities `but` these, even as root; no program started from here gains any. Raises OSError."""
    prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # EPERM for whoever has none to drop
    give_up_capabilities(libc, but=but)


def give_up_capabilities(libc: ctypes.CDLL, *, but: int = 0) -> None:
    """Keep no capabilities `but` these. Raises OSError."""
    kept = _Capabilities(but, but, 0, 0, 0, 0) if but else _NONE
    if libc.capset(_HEADER, kept) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def end_with_parent(libc: ctypes.CDLL, parent: int) -> None:
    """Have this process killed when its parent ends; a change of credentials undoes that. Raises OSError."""
    prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before that signal was asked for


def prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    """Set an option of the calling process; raises OSError."""
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} failed")
