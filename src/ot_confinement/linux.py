"""Confinement on Linux: Landlock, seccomp, no capabilities, and limits."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from ot_confinement import landlock, namespaces, privileges, seccomp
from ot_confinement.allowance import Allowance
from ot_confinement.limits import Limits


class LinuxConfinement(Limits):
    """With `off`, neither files nor system calls are restricted; rights and limits are."""

    def __init__(self, allowance: Allowance, *, off: bool, landlock_version: int | None = None) -> None:
        super().__init__(allowance)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._rules: landlock.PathRules | None = None
        self._shared_filter: seccomp.Filter | None = None
        self._own_filter: seccomp.Filter | None = None
        self._sizes_folders = bool(allowance.scratch) and not off
        if not off:
            found = landlock.version(self._libc)
            self._build_layers(allowance, found if landlock_version is None else landlock_version)

    def _build_layers(self, allowance: Allowance, version: int) -> None:
        guards_truncation = version >= landlock.GUARDS_TRUNCATION
        if version:
            self._rules = landlock.PathRules(self._libc, allowance, version)
        else:
            self.missing.append("landlock")
        if version and not guards_truncation:
            self.missing.append("landlock: its guard of truncate")
        machine = os.uname().machine
        if seccomp.supports(machine):
            shared = seccomp.build_shared_filter(
                machine, network=allowance.network, guards_truncation=guards_truncation
            )
            self._shared_filter = seccomp.Filter(self._libc, shared)
            self._own_filter = seccomp.Filter(self._libc, seccomp.build_own_filter(machine, network=allowance.network))
        else:
            self.missing.append("seccomp")

    def share(self) -> None:
        """Done before the fork, it costs no page of those that are forked."""
        self._sizes_folders = self._sizes_folders and namespaces.enter_mount_namespace(self._libc)
        privileges.give_up_privileges(self._libc, but=privileges.MOUNTING if self._sizes_folders else 0)
        privileges.prctl(self._libc, privileges.PR_SET_DUMPABLE, 0)
        super().share()
        try:
            if self._shared_filter is not None:
                self._shared_filter.load(os.getpid())
        except OSError as error:
            self.failed.append(f"seccomp: {error.strerror}")

    def size_folder(self, folder: str) -> bool:
        if not self._sizes_folders:
            return False
        size, files = self._allowance.scratch, self._allowance.scratch_files
        try:
            namespaces.mount_memory(self._libc, folder, size=size, files=files)
        except OSError:
            return False
        return True

    def release_folder(self, folder: str) -> None:
        try:
            namespaces.unmount(self._libc, folder)
        except OSError:
            pass  # it was none, or is one no longer

    def prepare(self, folder: str) -> int | None:
        return None if self._rules is None else self._rules.build_ruleset(folder)

    def apply(self, prepared: int | None, parent: int) -> None:
        privileges.give_up_capabilities(self._libc)
        privileges.end_with_parent(self._libc, parent)
        # The watch of an ordinary user sees what it holds; it dumps no core.
        privileges.prctl(self._libc, privileges.PR_SET_DUMPABLE, 1)
        _be_killed_first()
        rules, own_filter = self._rules, self._own_filter
        if rules is not None and prepared is not None:
            self._try("landlock", lambda: rules.restrict(prepared))
        if own_filter is not None:
            self._try("seccomp", lambda: own_filter.load(os.getpid()))

    def _try(self, layer: str, step: Callable[[], None]) -> None:
        try:
            step()
        except OSError as error:
            self.failed.append(f"{layer}: {error.strerror}")
        else:
            self.layers.append(layer)


def _be_killed_first() -> None:
    """Ask to go before everybody else when memory runs out; the zygote stays, without which there are no runs."""
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return  # it is only advice, and containers may refuse it
    try:
        os.write(file, b"1000")
    except OSError:
        pass
    finally:
        os.close(file)
