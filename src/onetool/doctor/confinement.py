"""The confinement of runs and programs: as it is configured, mistakes in it, and each layer tried by a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio

from onetool.doctor import Finding, edit, green, red, yellow
from ot.config.loader import LoadedConfig
from ot.config.models import ExecutionSettings
from ot.config.server_settings import ConfineSettings
from ot.errors import RunError, SandboxError
from ot.execution.wording import word_error
from ot.kernel.groups import find_own_group
from ot.kernel.supply import open_supply
from ot.kernel.zygote_process import launch_zygote
from ot.processes.run_program import find_confinement_problem
from ot.registry.definitions import Cancellation
from ot.registry.registry import ToolRegistry
from ot.workers.header_options import HeaderMistakeError, read_confine
from ot.workers.pep723 import read_header
from ot_confinement.confine import Confine
from ot_confinement.namespaces import allows_own_mounts
from ot_confinement.program import CONFINES_ITSELF, MEANS

_WAYS_OUT = {
    "landlock": "cat /sys/kernel/security/lsm  # Linux 5.13 or newer, with landlock in this list",
    "seccomp": "grep -i seccomp /proc/self/status  # a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or aarch64",
}
_OTHERWISE = "uname -r  # a newer kernel, or a container that is allowed more"
_NAMESPACES = "sysctl user.max_user_namespaces kernel.unprivileged_userns_clone  # both must be above 0"
_APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
_CONTAINER = "grep Seccomp: /proc/self/status  # 2 is a filter, as of a container: it must allow unshare and mount"

_SEATBELT = "/usr/bin/sandbox-exec -p '(version 1) (allow default)' /usr/bin/true  # must say nothing"


def look_at_confinement(settings: ExecutionSettings, file: Path | None, state: Path) -> Iterator[Finding]:
    """Try every layer; `file` is where to change the setting, and `state` the server's folder."""
    if settings.sandbox == "off":
        yield yellow("confinement", "runs are not confined (execution.sandbox: off)", edit(file))
    else:
        yield from anyio.run(_try_layers, settings, state)
    for hosts, what in (((), "without network"), (("example.com",), "with chosen hosts")):
        if problem := find_confinement_problem(Confine(hosts=hosts)):
            text = f"servers and extensions with `confine` {what}: one {problem}"
            yield yellow("confinement", text, find_namespace_fix() if CONFINES_ITSELF else _SEATBELT)
        else:
            yield green("confinement", f"servers and extensions can be confined {what}, by {MEANS}")


def find_namespace_fix(proc: Path = Path("/proc")) -> str:
    """Return the command for where user namespaces are refused; Ubuntu lets only programs with a profile have one."""
    if _read(proc / "sys" / _APPARMOR.replace(".", "/")) == "1\n":
        return f"sudo sysctl {_APPARMOR}=0  # or an AppArmor profile with `userns` for {sys.executable}"
    return _CONTAINER if "\nSeccomp:\t2\n" in _read(proc / "self" / "status") else _NAMESPACES


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def _try_layers(settings: ExecutionSettings, state: Path) -> list[Finding]:
    """Let a process try its confinement as `strict` requires, whatever level is set."""
    strict = settings.model_copy(update={"sandbox": "strict", "warm": 1})
    async with open_supply(launch_zygote(strict, state=state), group=find_own_group()) as supply:
        try:
            async with supply.take():
                limited, watched = "have a file system of limited size", "are watched, but not limited by the system"
                own, none = "has its own control group", "has none (no cgroup is delegated); it is watched"
                texts = [f"{layer} confines runs" for layer in supply.layers]
                texts += [f"scratch files of runs {limited if supply.scratch_sized else watched}"]
                texts += [f"control groups: a run {own if supply.grouped else none}"]
                slower = "runs use the slower engine wasm: {} is missing"
                return [green("confinement", text) for text in texts] + [
                    yellow("confinement", slower.format(layer), _way_out(layer)) for layer in supply.not_held
                ]
        except SandboxError as error:
            found = [green("confinement", f"{layer} confines runs") for layer in supply.layers]
            for layer in error.layers:
                refused = red("confinement", f"{layer}; all runs are refused", _way_out(layer))
                others = yellow("confinement", f"{layer}; runs use the other layers", _way_out(layer))
                tried = layer.startswith("a ")  # a guard, or a view
                found.append(others if tried and settings.sandbox != "strict" else refused)
            return found
        except RunError as error:
            return [red("confinement", f"no run can start: {word_error(error)}", "onetool logs")]


def _way_out(layer: str) -> str:
    return next((fix for name, fix in _WAYS_OUT.items() if layer.startswith(name)), _OTHERWISE)


_NOT = "not confined"


def describe_confinement(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[str]:
    """One line for runs, each server that is a process, each extension, and tools of a pack that are isolated alike."""
    sandbox = loaded.config.execution.sandbox
    if sandbox == "off":
        yield f"runs: {_NOT}"
    else:
        kept = "on a file system of their own size (tmpfs)" if allows_own_mounts() else "in a folder that is watched"
        yield f"runs: confined ({sandbox}); scratch files {kept}"
    for name, server in loaded.config.servers.items():
        if server.enabled and server.command is not None:
            yield f"servers.{name}: {_words(server.confine)}"
    for name, confine in _extensions(loaded, registry):
        yield f"extension {name}: {confine if isinstance(confine, str) else _words(confine)}"
    alike: dict[tuple[str, str], list[str]] = {}
    for tool in registry.definitions():
        if tool.cancellation is Cancellation.ISOLATED:
            touches = tool.touches
            shown = ConfineSettings.model_construct(
                read=touches.reads, write=(*touches.writes, *touches.outputs), hosts=touches.hosts
            )  # a placeholder for an argument is not a path
            pack = loaded.config.packs.get(tool.pack)
            words = _words(shown) if pack is None or pack.confine else f"{_NOT} (packs.{tool.pack}.confine: off)"
            alike.setdefault((tool.pack, words), []).append(tool.name)
    for (_, words), tools in alike.items():
        yield f"tool{'s' if len(tools) > 1 else ''} {', '.join(tools)}: {words}"


def find_confinement_mistakes(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[str]:
    """Yield headers that cannot be read, paths that do not exist, and limits that this system cannot enforce."""
    servers = ((name, server.confine) for name, server in loaded.config.servers.items() if server.enabled)
    confined = {f"servers.{name}.confine": confine for name, confine in servers if confine is not None}
    for name, confine in _extensions(loaded, registry):
        if isinstance(confine, str):
            yield f"extension {name}: {confine}"
        elif confine is not None:
            confined[f"extension {name}"] = confine
    for name, settings in confined.items():
        missing = (path for path in (*settings.read, *settings.write) if not path.exists())
        yield from (f"{name}: {path} does not exist, so it has no effect" for path in missing)
    for hosts in sorted({bool(settings.hosts) for settings in confined.values()}):
        problem = find_confinement_problem(Confine(hosts=("example.com",) if hosts else ()))
        if problem:
            names = ", ".join(name for name, settings in confined.items() if bool(settings.hosts) is hosts)
            yield f"{names}: a program like this {problem}"


def _extensions(loaded: LoadedConfig, registry: ToolRegistry) -> Iterator[tuple[str, ConfineSettings | str | None]]:
    """Yield the limits of each extension, or the mistake in them."""
    tools = (tool for tool in registry.definitions() if tool.cancellation is Cancellation.WORKER)
    for pack, file in {tool.pack: tool.file for tool in tools if tool.file is not None}.items():
        header, _ = read_header(file)
        try:
            yield pack, None if header is None else read_confine(header, file, project=loaded.project)
        except HeaderMistakeError as error:
            yield pack, str(error)


def _words(confine: ConfineSettings | None) -> str:
    return _NOT if confine is None else f"confined to {confine.describe()}"
