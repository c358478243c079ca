"""The confinement of runs and programs: a process tries every layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio

from onetool.doctor.finding import Finding, edit, green, red, yellow
from ot.config.models import ExecutionSettings
from ot.errors import RunError, SandboxError
from ot.execution.wording import word_error
from ot.kernel.groups import find_own_group
from ot.kernel.supply import KernelSupply, open_supply
from ot.kernel.zygote_process import launch_zygote
from ot.processes.confinement_probe import find_confinement_problem
from ot_confinement.confine import Confine

_WAYS_OUT = {
    "landlock": "cat /sys/kernel/security/lsm  # Linux 5.13 or newer, with landlock in this list",
    "seccomp": "grep -i seccomp /proc/self/status  # a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or aarch64",
}
_OTHERWISE = "uname -r  # a newer kernel, or a container that is allowed more"
_NAMESPACES = "sysctl user.max_user_namespaces kernel.unprivileged_userns_clone  # both must be above 0"


def look_at_confinement(settings: ExecutionSettings, file: Path | None) -> Iterator[Finding]:
    """Try every layer; `file` is where to change the setting."""
    if settings.sandbox == "off":
        yield yellow("confinement", "runs are not confined (execution.sandbox: off)", edit(file))
    else:
        yield from anyio.run(_try_layers, settings)
    for hosts, what in (((), "without network"), (("example.com",), "with chosen hosts")):
        problem = find_confinement_problem(Confine(hosts=hosts))
        if problem:
            yield yellow("confinement", f"servers and extensions with `confine` {what}: one {problem}", _NAMESPACES)
        else:
            yield green("confinement", f"servers and extensions can be confined {what}")


async def _try_layers(settings: ExecutionSettings) -> list[Finding]:
    """Let a process try its confinement as `strict` requires, whatever level is set."""
    strict = settings.model_copy(update={"sandbox": "strict", "warm": 1})
    async with open_supply(launch_zygote(strict), group=find_own_group()) as supply:
        try:
            async with supply.take():
                return [green("confinement", f"{layer} confines runs") for layer in supply.layers] + _extras(supply)
        except SandboxError as error:
            lacking = [_lacking(layer, settings) for layer in error.layers]
            return [*(green("confinement", f"{layer} confines runs") for layer in supply.layers), *lacking]
        except RunError as error:
            return [red("confinement", f"no run can start: {word_error(error)}", "onetool logs")]


def _lacking(layer: str, settings: ExecutionSettings) -> Finding:
    fix = next((fix for name, fix in _WAYS_OUT.items() if layer.startswith(name)), _OTHERWISE)
    if settings.sandbox == "strict":
        return red("confinement", f"{layer}; execution.sandbox: strict refuses all runs", fix)
    return yellow("confinement", f"{layer}; runs use the other layers", fix)


def _extras(supply: KernelSupply) -> list[Finding]:
    scratch = (
        "have a file system of limited size" if supply.scratch_sized else "are watched, but not limited by the system"
    )
    groups = "has its own control group" if supply.grouped else "has none (no cgroup is delegated); it is watched"
    return [
        green("confinement", f"scratch files of runs {scratch}"),
        green("confinement", f"control groups: a run {groups}"),
    ]
