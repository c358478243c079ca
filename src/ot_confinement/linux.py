"""Confinement on Linux: Landlock, seccomp, no capabilities, and limits."""

from __future__ import annotations

import ctypes
import os

from ot_confinement import landlock, namespaces, privileges, seccomp
from ot_confinement.confine import Allowance
from ot_confinement.limits import Confinement

_FIRST = b"1000"


class OomPriority:
    """Forks processes that ask to be killed before everybody else.

    They inherit it from their parent, which asks for itself until they are there: asking by its own name takes each
    of them as long as all its other layers.
    """

    def __init__(self) -> None:
        self._own = b""
        try:
            self._file = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            self._file = -1  # it is only advice, and containers may refuse it
        else:
            self._own = os.pread(self._file, 16, 0)

    def fork(self) -> int:
        """Fork as `os.fork` does."""
        if self._file < 0:
            return os.fork()
        self._ask(_FIRST)
        try:
            pid = os.fork()
        except BaseException:
            self._ask(self._own)
            raise
        if pid:
            self._ask(self._own)
        return pid

    def _ask(self, score: bytes) -> None:
        try:
            os.pwrite(self._file, score, 0)
        except OSError:
            pass


class LinuxConfinement(Confinement):
    """With `off`, neither files nor system calls are restricted; rights and limits are."""

    def __init__(self, allowance: Allowance, *, off: bool, landlock_version: int | None = None) -> None:
        super().__init__(allowance)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._rules: landlock.PathRules | None = None
        self._shared_filter: seccomp.Filter | None = None
        self._own_filter: seccomp.Filter | None = None
        self._oom_priority: OomPriority | None = None
        self._sizes_folders = bool(allowance.scratch) and not off
        self._folder_options = namespaces.size_options(size=allowance.scratch, files=allowance.scratch_files)
        if not off:
            found = landlock.version(self._libc)
            self._build_layers(allowance, found if landlock_version is None else landlock_version)

    def _build_layers(self, allowance: Allowance, version: int) -> None:
        guards_truncation = version >= landlock.GUARDS_TRUNCATION
        if version:
            self._rules = landlock.PathRules(self._libc, allowance, version)
        else:
            self.missing.append("landlock")
        machine = os.uname().machine
        if seccomp.supports(machine):
            network = allowance.network
            shared = seccomp.build_shared_filter(machine, network=network, guards_truncation=guards_truncation)
            self._shared_filter = seccomp.Filter(self._libc, shared)
            self._own_filter = seccomp.Filter(self._libc, seccomp.build_own_filter(machine, network=network))
            self.guards_calls = True
        else:
            self.missing.append("seccomp")

    def share(self) -> None:
        """Done before the fork, it costs no page of those that are forked."""
        self._oom_priority = OomPriority()  # while its own facts are open to it
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
        try:
            namespaces.mount_memory(self._libc, folder, self._folder_options)
        except OSError:
            return False
        return True

    def release_folder(self, folder: str) -> None:
        try:
            namespaces.unmount(self._libc, folder)
        except OSError:
            pass  # it was none, or is one no longer

    def build_rules(self, folder: str) -> int:
        """Done before the fork, as one folder may serve many that are forked."""
        try:
            return -1 if self._rules is None else self._rules.build_ruleset(folder)
        except OSError as error:
            self.failed.append(f"landlock: {error.strerror}")
            return -1

    def apply(self, rules: int, parent: int) -> None:
        privileges.give_up_capabilities(self._libc)
        privileges.end_with_parent(self._libc, parent)
        # The watch of an ordinary user sees what it holds; it dumps no core.
        privileges.prctl(self._libc, privileges.PR_SET_DUMPABLE, 1)
        try:
            if self._rules is not None and rules >= 0:
                self._rules.restrict(rules)
                self.layers.append("landlock")
        except OSError as error:
            self.failed.append(f"landlock: {error.strerror}")
        if self._own_filter is not None:
            self.layers.append("seccomp")

    def seal(self) -> None:
        try:
            if self._own_filter is not None:
                self._own_filter.load(os.getpid())
        except OSError as error:
            self.layers.remove("seccomp")
            self.failed.append(f"seccomp: {error.strerror}")

    def fork(self) -> int:
        return super().fork() if self._oom_priority is None else self._oom_priority.fork()
