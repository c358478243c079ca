"""The zygote's process: started before the server imports anything heavy, so that it is ready in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import ot_kernel
from mcp_core.quick_dataclass import dataclass
from ot.errors import KernelStartError
from ot.kernel import limits
from ot.processes.fork_server import launch_fork_server
from ot_confinement import NoConfinementError, require_confinement
from ot_guardian import clear_folder
from ot_kernel.wire import pack
from ot_system import MEMORY_FOLDER, wait_for_end

if TYPE_CHECKING:
    from ot_kernel.message_types import ZygoteSettings
    from ot_system.sockets import MessageSocket

# Modules that most programs import; each was measured to be cheaper in the zygote than in every run that wants it.
PRELOAD = (
    "re",
    "json",
    "math",
    "datetime",
    "collections",
    "itertools",
    "functools",
    "random",
    "ot_kernel.project_path",
)

_START = (
    "import sys; sys.path.insert(0, {root!r}); from {engine} import zygote; {guardian}sys.path.pop(0); "
    "zygote.main({fd}, {settings!r})"
)

_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_ZONES = "/usr/share/zoneinfo"
# What the standard library opens wherever it finds it. None of it is anybody's secret; refused, it would raise where
# no program expects it.
SYSTEM_FACTS = (
    _ZONES,
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/dev/urandom",
    "/etc/mime.types",
    "/etc/httpd/mime.types",
    "/etc/httpd/conf/mime.types",
    "/etc/apache/mime.types",
    "/etc/apache2/mime.types",
    "/usr/local/etc/httpd/conf/mime.types",
    "/usr/local/lib/netscape/mime.types",
    "/usr/local/etc/mime.types",
)
_SINK = "/dev/null"
_PLENTY = 2**30

PIN_PAGES = "OT_PIN_PAGES"
"""The environment variable with which the benchmark switches pinned pages off."""

COMPILED = "OT_WASM_COMPILED"
"""The environment variable with which tests share one folder of compiled components."""

END_LIMIT = 2.0  # seconds for a zygote whose control socket was closed


class KernelSettings(Protocol):
    """The settings of kernels; the section `execution` of a configuration is one."""

    @property
    def sandbox(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def without(self) -> Sequence[str]: ...
    @property
    def memory(self) -> int: ...
    @property
    def warm(self) -> int: ...
    @property
    def readable(self) -> Sequence[Path]: ...
    @property
    def writable(self) -> Sequence[Path]: ...


@dataclass(slots=True)
class ZygoteProcess:
    """A started zygote: its process, the server's end of its control socket, and the folder of all scratch folders."""

    process: subprocess.Popen[bytes]
    control: MessageSocket
    scratch_root: Path
    settings: KernelSettings
    asked: int = 0  # kernels that it was asked for when it was launched
    engine: str = "process"
    state: Path | None = None  # the folder for what is made once for this machine


def launch_zygote(
    settings: KernelSettings,
    *,
    state: Path | None = None,
    engine: str | None = None,
    warm: int | None = None,
    system: str = sys.platform,
    sized_scratch: bool = True,
    pinned_pages: bool = True,
    start: Callable[..., tuple[subprocess.Popen[bytes], MessageSocket]] = launch_fork_server,
) -> ZygoteProcess:
    """Start a zygote, which makes its first kernels at once; raises KernelStartError where none can run at all.

    It makes as many as the settings say, unless `warm` says otherwise. `engine` is for a system on which `auto` turned
    out to be another than the usual one.

    A scratch folder is a file system of its own size, unless that is not wanted, or the system refuses it. `start`
    starts the process.
    """
    engine = engine or _choose_engine(settings, system)
    wasm = engine == "wasm"
    scratch_root = Path(find_scratch_parent(), f"onetool-{os.urandom(8).hex()}")
    scratch_root.mkdir(0o700)
    packages = list(dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")))
    described: ZygoteSettings = {
        "scratch": str(scratch_root),
        "path": packages,
        "preload": list(PRELOAD),
        "sandbox": settings.sandbox,
        "system": system,
        "memory": settings.memory,
        "file_size": limits.FILE_SIZE,
        "scratch_size": limits.SCRATCH if sized_scratch else 0,
        "scratch_files": limits.SCRATCH_FILES,
        "readable": _without_nested([*_readable(packages), *map(str, (*settings.readable, *settings.writable))]),
        "writable": (_SINK, *map(str, settings.writable)),
        "opened": {
            **dict.fromkeys((*packages, _ZONES, *map(str, settings.readable)), False),
            **dict.fromkeys(map(str, settings.writable), True),
        },
        "compiled": os.environ.get(COMPILED) or str(Path(state or scratch_root, "wasm")),
        "pin_pages": pinned_pages and not wasm and os.environ.get(PIN_PAGES) != "off",
    }
    root = str(Path(ot_kernel.__file__).parent.parent)
    guardian = "import ot_guardian; " if settings.sandbox == "off" else ""  # confined kernels start no processes

    def command(fd: int) -> list[str]:
        program = _START.format(
            root=root, engine="ot_wasm" if wasm else "ot_kernel", guardian=guardian, fd=fd, settings=described
        )
        return [sys.executable, "-I", "-S", "-X", "utf8", "-c", program]

    process, control = start(command, environ={}, output=subprocess.PIPE, cwd="/")
    asked = settings.warm if warm is None else warm
    zygote = ZygoteProcess(process, control, scratch_root, settings, asked, engine, state)
    if zygote.asked:
        request_kernels(zygote, zygote.asked)
    return zygote


def _choose_engine(settings: KernelSettings, system: str) -> str:
    """Return the engine of the settings; `auto` is a process wherever one can be confined, or need not be."""
    if system == "win32":
        raise KernelStartError("runs need Linux or macOS; on Windows, use OneTool in WSL2")
    if settings.engine == "wasm":
        return "wasm"
    try:
        require_confinement(off=settings.sandbox == "off", system=system)
    except NoConfinementError:
        if settings.engine == "auto":
            return "wasm"
        raise KernelStartError(
            f"a process cannot be confined on {system}; `execution.engine: wasm` runs code as a component"
        ) from None
    return "process"


def end_zygote(zygote: ZygoteProcess) -> None:
    """End it with its kernels, and clear what they wrote; it may have ended already."""
    zygote.control.close()
    if zygote.process.stdout is not None:
        zygote.process.stdout.close()
    if not wait_for_end(zygote.process, END_LIMIT):  # it ends its kernels first, and clears what they wrote
        zygote.process.kill()
    zygote.process.wait()
    clear_folder(zygote.scratch_root)


def _readable(packages: list[str]) -> Iterator[str]:
    """List the interpreter, its libraries, and facts about the system that code expects to find."""
    yield from (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *packages)
    yield str(Path(ot_kernel.__file__).parent)
    yield os.path.join(sys.base_prefix, "lib")
    yield os.path.realpath(sys.executable)
    yield from _SYSTEM_LIBRARIES
    yield from SYSTEM_FACTS


def _without_nested(paths: Iterable[str]) -> tuple[str, ...]:
    """Keep each place once, by its real name, and none inside another: every fork makes a rule for each."""
    real = sorted({os.path.realpath(path) for path in paths})
    return tuple(path for path in real if not any(path.startswith(f"{other}/") for other in real))


def find_scratch_parent() -> str:
    """Choose memory where there is plenty: every run makes and removes a folder, which is slow on a disk."""
    if MEMORY_FOLDER and _is_roomy(MEMORY_FOLDER):
        return MEMORY_FOLDER
    from tempfile import gettempdir  # noqa: PLC0415 - with what it needs itself, 4 ms of every start

    return gettempdir()


def _is_roomy(folder: str) -> bool:
    try:
        facts = os.statvfs(folder)
    except OSError:
        return False
    return facts.f_bavail * facts.f_frsize >= _PLENTY and os.access(folder, os.W_OK)


def request_kernels(zygote: ZygoteProcess, count: int, *, again: Sequence[str] = ()) -> None:
    """Ask for kernels; they are announced on the control socket as they are forked.

    `again` are unused scratch folders of kernels that have ended, of which the server has let go.
    """
    zygote.control.send_message(pack({"fork": count, "again": again}) if again else b'{"fork": %d}' % count)


def request_probe(zygote: ZygoteProcess) -> None:
    """Ask for a kernel that tries what it must not be able to do, also with a file that it may not touch."""
    outside = zygote.scratch_root / "outside"
    outside.touch(0o600)
    open_to_all = any(outside.is_relative_to(path) for path in (*zygote.settings.readable, *zygote.settings.writable))
    zygote.control.send_message(json.dumps({"probe": None if open_to_all else str(outside)}).encode())
