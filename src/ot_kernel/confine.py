"""Confinement of a kernel: what every one shares is taken on by the zygote, the rest after the fork."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable, Sequence

from ot_kernel import landlock, seccomp

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_SET_DUMPABLE = 1, 38, 24, 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

FILE_SIZE_LIMIT = 64 * 1024 * 1024
OPEN_FILES_LIMIT = 256  # of a kernel; the zygote, which has one for each kernel alive, gets by with it


class Confinement:
    """Built in the zygote, applied in each kernel; `layers` says what is in force, `missing` what this system lacks."""

    def __init__(self, *, enabled: bool, readable: Sequence[str], writable: Sequence[str], memory: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._memory = memory
        self._machine = os.uname().machine
        self.layers: list[str] = []
        self.missing: list[str] = []
        self.failed: list[str] = []
        self._rules: landlock.PathRules | None = None
        self._shared_filter: seccomp.Filter | None = None
        self._own_filter: seccomp.Filter | None = None
        if enabled:
            self._prepare(readable, writable)

    def _prepare(self, readable: Sequence[str], writable: Sequence[str]) -> None:
        if landlock.version(self._libc):
            self._rules = landlock.PathRules(self._libc, readable, writable)
        else:
            self.missing.append("landlock")
        if seccomp.supports(self._machine):
            self._shared_filter = seccomp.Filter(self._libc, seccomp.build_shared_filter(self._machine))
            self._own_filter = seccomp.Filter(self._libc, seccomp.build_own_filter(self._machine))
        else:
            self.missing.append("seccomp")

    def share(self) -> None:
        """What the zygote takes on for all kernels: what is done before the fork costs no page of the kernel's."""
        _write_text("/proc/self/oom_score_adj", "1000")
        self._prctl(_PR_SET_NO_NEW_PRIVS, 1)
        self._drop_capabilities()
        self._prctl(_PR_SET_DUMPABLE, 0)
        for kind, value in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_DATA, self._memory),
            (resource.RLIMIT_FSIZE, FILE_SIZE_LIMIT),
            (resource.RLIMIT_NOFILE, OPEN_FILES_LIMIT),
        ):
            _limit(kind, value)
        try:
            if self._shared_filter is not None:
                self._shared_filter.load(os.getpid())
        except OSError as error:
            self.failed.append(f"seccomp: {error.strerror}")

    def prepare(self, scratch: str) -> int | None:
        """What the next kernel may touch, as a descriptor that it inherits. Raises OSError."""
        return None if self._rules is None else self._rules.build_ruleset(scratch)

    def apply(self, ruleset: int | None, parent: int) -> None:
        """Confine the calling kernel for good; what exists but could not be applied is in `failed`."""
        self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # the zygote died between the fork and this line, so the signal will not come
        rules, own_filter = self._rules, self._own_filter
        if rules is not None and ruleset is not None:
            self._try("landlock", lambda: rules.restrict(ruleset))
        if own_filter is not None:
            self._try("seccomp", lambda: own_filter.load(os.getpid()))

    def _try(self, layer: str, step: Callable[[], None]) -> None:
        try:
            step()
        except OSError as error:
            self.failed.append(f"{layer}: {error.strerror}")
        else:
            self.layers.append(layer)

    def _prctl(self, option: int, value: int) -> None:
        if self._libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl {option} failed")

    def _drop_capabilities(self) -> None:
        for capability in range(_LAST_CAPABILITY + 1):
            self._libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # EPERM for whoever has none to drop
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if self._libc.capset(header, nothing) != 0:
            raise OSError(ctypes.get_errno(), "capset failed")


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _write_text(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        pass  # an advice to the kernel's memory killer; containers may refuse it
