"""The choice of the engine: code runs as a process where a process can be confined, otherwise as a component."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from mcp_core.distribution import DISTRIBUTION
from mcp_core.installation import install_command
from ot.errors import KernelStartError, OneToolError, SandboxError
from ot.kernel.kernel import Kernel
from ot.kernel.watch import KernelWatch, Probe
from ot.kernel.zygote_process import KernelSettings
from ot.logs import write_log

WASM_LACKS = (
    "threads (`ot.parallel` and pools work one after the other)",
    "libraries with native code",
    "modes and links of files",
    "deep recursion",
    "memory beyond 4 GB, and objects beyond 2 GB",
)
"""The features that code on the engine wasm does without."""


def install_remedy(requirement: str) -> str:
    """Return the command that installs what a component lacks: an extra of ours, or a package that is broken."""
    if requirement.startswith("["):
        return install_command(DISTRIBUTION + requirement)
    return install_command(requirement, "--force-reinstall", "--no-deps")


class EngineChoice:
    """Judges what kernels and the probe report about this system.

    Each report is answered with the error that refuses all runs, or with None. Where the settings allow another engine,
    that becomes `due` instead.
    """

    def __init__(
        self, settings: KernelSettings, engine: str, watch: KernelWatch, *, ask_probe: Callable[[], None]
    ) -> None:
        self.engine = engine
        self.due = False
        """True while runs wait for the other engine, since this one does not hold them."""
        self.not_held: tuple[str, ...] = ()
        """Why code runs as a component, where `auto` would rather have it run as a process."""
        self._settings = settings
        self._watch = watch
        self._ask_probe = ask_probe
        self.probe = self._prepare_probe()
        self.settled = self.probe.proven
        """True if runs may have the kernels that are ready."""

    def _settle(self) -> None:
        self.settled = self.probe.proven and not self.due

    def _prepare_probe(self) -> Probe:
        return Probe(self._settings.sandbox, self._watch, ask=self._ask_probe)

    def hear_failed(self, failed: Sequence[str]) -> OneToolError | None:
        """Judge that a kernel could not confine itself."""
        if not self._may_change():
            return SandboxError(failed)
        self.probe.miss(failed)
        self.due = True
        self._settle()
        return None

    def hear_missing(self, missing: Sequence[str]) -> OneToolError | None:
        """Judge which layers this system lacks; a component is held without them."""
        if self.engine != "process":
            return None
        self.probe.miss(missing)
        self.probe.holds = not missing
        needed = [layer for layer in missing if layer not in self._settings.without]
        if needed and not self._may_change():
            return SandboxError([f"{layer}: not on this system" for layer in needed])
        self.due = self.due or bool(needed)
        self._settle()
        return None

    def hear_probe(self, kernel: Kernel, broken: Sequence[str]) -> OneToolError | None:
        """Judge what a confined process could do all the same."""
        lacking = self.probe.hear(kernel, broken)
        may_change = bool(broken) and self._may_change()
        self.due = self.due or may_change
        self._settle()
        if not may_change and lacking and self._settings.sandbox == "strict":
            return SandboxError([f"{each}: tried" for each in lacking])
        return None

    def hear_refused(self, reason: str, install: str) -> OneToolError:
        """Say why there is no component, what it is needed for, and how to get it."""
        needed = f"this system cannot confine a process ({', '.join(self.not_held)}), and " if self.not_held else ""
        remedy = f"; `{install_remedy(install)}` installs it" if install else ""
        return KernelStartError(f"{needed}the engine wasm cannot be used: {reason}{remedy}")

    def _may_change(self) -> bool:
        return self._settings.engine == "auto" and self.engine == "process"

    def change(self) -> None:
        """Run code as a component from now on."""
        write_log(logging.WARNING, "kernel.engine", engine="wasm", missing=self.probe.missing)
        self.engine, self.due = "wasm", False
        self.not_held = self.probe.missing
        self.probe.close()
        self.probe = self._prepare_probe()
        self._settle()
