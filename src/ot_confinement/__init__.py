"""Confinement: holds a process to what it may touch. Standard library only.

`Allowance` says what a process may touch; `build_confinement` is the one place that decides how this system enforces
it. A confinement is built by a process that forks others: it takes on what all of them share, and each of them the
rest after its fork. Nothing is loaded here that a fork would have to pay for. The layers of a kernel (`linux`):

- Landlock: reads the interpreter, its libraries and a few system files, writes the scratch folder; no TCP.
- seccomp: an allow-list (`syscalls`). The zygote carries it; a kernel adds only a short filter, because loading time
  grows with length. `sendmsg`, which could pass descriptors, is refused.
- All capabilities dropped, `no_new_privs`, rlimits: data, file size 64 MB, 256 descriptors, no core files.
- Where mount namespaces are allowed, a tmpfs of 256 MB for each scratch folder.

Programs (servers, workers, helpers) can be anything, so they have other layers (`program`), taken on between the fork
and the program; the bounds are a `Confine`, which crosses to the guardian as one word of its command line. Mounts make
everything outside of `write` read-only, since Landlock does not cover modes, owners and times. With `hosts`, a network
namespace has a loopback device and `host_proxy` as its only way out. seccomp is a deny-list here (`refused_calls`). A
name inside `write` opens nothing by itself: the program could have made it a link.

What a system says of itself proves nothing: `probe` tries to open, connect, map, fork and signal. `strict` waits for
the result and refuses runs if anything worked; `standard` reports it in `ot.health()`. What is not prevented: `stat`
tells whether a path exists, and processors can be kept busy until the time limit.
"""

from __future__ import annotations

import sys

from ot_confinement.confine import Allowance

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from ot_confinement.limits import Confinement

__all__ = ["Allowance", "NoConfinementError", "build_confinement", "require_confinement"]


class NoConfinementError(Exception):
    """This system has no confinement, and nobody has explicitly asked to do without."""

    def __init__(self, system: str) -> None:
        super().__init__(system)
        self.system = system


def require_confinement(*, off: bool, system: str = sys.platform) -> None:
    """Raise NoConfinementError where a process would be confined by nothing and that was not asked for."""
    if system != "linux" and not off:
        raise NoConfinementError(system)


def build_confinement(
    allowance: Allowance, *, off: bool, needed: bool = True, system: str = sys.platform
) -> Confinement:
    """The confinement of this system; `off` leaves only limits. Raises NoConfinementError.

    It is not needed where something else holds the code: a system that has none then sets limits.
    """
    require_confinement(off=off or not needed, system=system)
    if system == "linux":
        from ot_confinement.linux import LinuxConfinement  # noqa: PLC0415 - only where it applies

        return LinuxConfinement(allowance, off=off)
    from ot_confinement.limits import Confinement  # noqa: PLC0415

    return Confinement(allowance)
