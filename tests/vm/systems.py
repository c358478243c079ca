"""The systems that are booted: Debian's packages for amd64, unpacked on this machine, and this checkout on a disk beside them."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "vm"
FILES = Path(__file__).parent / "files"
CPU = "Nehalem"  # the processor of the machine
_ARCHIVE = "deb http://deb.debian.org/debian"
_PACKAGES = (
    "busybox-static,ca-certificates,dbus,git,iproute2,kmod,libpam-systemd,login,mawk,passwd,procps,python3,systemd,"
    "systemd-sysv,udev,util-linux"
)
_MODULES = ("crc32c_generic", "virtio_pci", "virtio_blk", "ext4", "9p", "9pnet_virtio")  # until the root is there
_PROJECT = ("src", "tests/__init__.py", "tests/abuse", "tests/confine", "tests/programs", "tests/vm")
_EMULATOR = "qemu-x86_64-static"
_AT_HOME = os.uname().machine == "x86_64"  # then this machine runs programs of the guest as they are
# The emulator of programs cannot start others, so the component is compiled in the process that asks for it: for any
# processor of this kind, and where it is emulated without optimising, which takes half the time.
_COMPILE = """
import ctypes, subprocess, sys
sys.path[:0] = ["/srv/onetool/src", sys.argv[1]]
import wasmtime
from wasmtime import _bindings
from ot_wasm import component, host
def run_here(command, **_):
    exec(command[-1])
    return subprocess.CompletedProcess(command, 0)
def configure():
    config = wasmtime.Config()
    config.cranelift_opt_level = sys.argv[2]
    target = ctypes.create_string_buffer(b"x86_64-unknown-linux-gnu")
    assert not _bindings.wasmtime_config_target_set(config.ptr(), target)
    return config
component.subprocess.run = run_here
host.Config = configure
component.find_or_compile("/srv/onetool/compiled", lambda: None)
"""


@dataclass(frozen=True)
class System:
    """One kernel and one userland of Debian."""

    name: str
    suite: str
    python: str
    kernel: str = "linux-image-amd64"
    sources: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def packages(self) -> Path:
        """The folder of the libraries, in the root."""
        return self.root / f"opt/onetool/lib/python{self.python}/site-packages"


BOOKWORM = System("bookworm", "bookworm", "3.11")
TRIXIE = System("trixie", "trixie", "3.13")
BACKPORTS = System(
    "backports", "trixie", "3.13", "linux-image-amd64/trixie-backports", (f"{_ARCHIVE} trixie-backports main",)
)


def build(system: System, *, component: bool) -> None:
    """Make what a machine boots from, unless it was made from the same things: `disk`, `project`, `vmlinuz`, `initrd`."""
    system.folder.mkdir(parents=True, exist_ok=True)
    mine = [Path(__file__), *sorted(FILES.iterdir()), ROOT / "requirements.txt"]
    with _unless_made(system.folder / "disk", mine, repr(system)) as wanted:
        if wanted:
            _build_root(system)
    sources = [path for name in _PROJECT for path in _list_files(ROOT / name)]
    with _unless_made(system.folder / "project", sources, str(component)) as wanted:
        if wanted:
            _build_project(system, sources, component=component)


@contextmanager
def _unless_made(disk: Path, sources: Iterable[Path], words: str) -> Iterator[bool]:
    digest = hashlib.sha256(words.encode())
    for path in sources:
        digest.update(f"{path} {path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    made = disk.with_suffix(".made")
    wanted = not made.exists() or made.read_text() != digest.hexdigest()
    if wanted:
        made.unlink(missing_ok=True)
        sys.stderr.write(f"Making {disk.relative_to(ROOT)} ...\n")
    yield wanted
    made.write_text(digest.hexdigest())


def _list_files(path: Path) -> list[Path]:
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


# -- the root


def _build_root(system: System) -> None:
    root = system.root
    shutil.rmtree(root, ignore_errors=True)
    source = f"{_ARCHIVE} {system.suite} main"
    _run(
        *("mmdebstrap", "--quiet", "--arch=amd64", "--mode=root", "--variant=extract", "--include=?essential"),
        *(f"--include={_PACKAGES},{system.kernel}", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"),
        *(system.suite, root, source, *system.sources),
    )
    _install_libraries(system)
    _run("sh", FILES / "configure-root", root)
    for name in ("guest-init", "attempts"):
        shutil.copy(FILES / name, root / "usr/sbin")
    shutil.copy(FILES / "attempts.service", root / "etc/systemd/system")
    for program in ("/sbin/ldconfig", "/usr/bin/systemd-sysusers"):
        _run_inside(root, program)
    _compile_python(system, root / f"usr/lib/python{system.python}", system.packages)
    [modules] = (root / "usr/lib/modules").iterdir()
    before = root / "boot" / f"vmlinuz-{modules.name}"  # where older packages have it
    shutil.copyfile(before if before.exists() else modules / "vmlinuz", system.folder / "vmlinuz")
    _build_initrd(system, modules.name)
    _write_disk(root, system.folder / "disk", "4G")


def _install_libraries(system: System) -> None:
    """Install what a user has, and the engine wasm; nothing of it is run here."""
    requirements = system.folder / "requirements.txt"
    requirements.write_text(re.sub(r"(?m)^(wasmtime==\S+) ;.*? \\$", r"\1 \\", (ROOT / "requirements.txt").read_text()))
    _run(
        *(ROOT / ".venv/bin/uv", "pip", "install", "--quiet", "--python", ROOT / ".venv/bin/python"),
        *("--target", system.packages, "--python-platform", "x86_64-manylinux_2_36", "--python-version", system.python),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirements", requirements),
    )
    (system.packages / "onetool.pth").write_text("/srv/onetool/src\n/srv/onetool\n")
    programs = system.root / "opt/onetool/bin"
    programs.mkdir()
    (programs / "python").symlink_to(f"/usr/bin/python{system.python}")
    (system.root / "opt/onetool/pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")


def _compile_python(system: System, *folders: Path) -> None:
    """Write bytecode, by an interpreter of the same version if there is one here: the guest would take minutes."""
    python = _find_python(system.python)
    if python is not None:
        words = ["-m", "compileall", "-q", "-s", system.root, "-p", "/", "-x", "/(test|tests|idlelib|lib2to3)/"]
        _run(python, *words, *folders, may_fail=True)


def _find_python(version: str) -> str | None:
    found = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for path in found:
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    return None


def _build_initrd(system: System, release: str) -> None:
    """Pack what finds the root: modules of the kernel in their order, and a shell."""
    folder = system.folder / "initrd.files"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "modules", "proc", "sys", "dev", "new"):
        (folder / name).mkdir(parents=True)
    shutil.copy(system.root / "usr/bin/busybox", folder / "bin")
    (folder / "bin/sh").symlink_to("busybox")
    shutil.copy(FILES / "initrd-init", folder / "init")
    _run("depmod", "-b", system.root, release)
    order: list[str] = []
    for module in _MODULES:
        show = ["modprobe", "-d", str(system.root), "-S", release, "--show-depends", module]
        found = subprocess.run(show, capture_output=True, text=True, check=False).stdout
        for path in map(Path, re.findall(r"(?m)^insmod (\S+)", found)):
            name = path.name.removesuffix(".xz")
            if name not in order:
                order.append(name)
                data = path.read_bytes()
                (folder / "modules" / name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
    (folder / "modules/order").write_text("".join(f"{name}\n" for name in order))
    names = "\n".join(str(path.relative_to(folder)) for path in folder.rglob("*"))
    packed = subprocess.run(
        ["cpio", "--create", "--format=newc", "--quiet"],
        input=names.encode(),
        capture_output=True,
        check=True,
        cwd=folder,
    ).stdout
    (system.folder / "initrd").write_bytes(gzip.compress(packed, 1))


# -- the project


def _build_project(system: System, sources: Iterable[Path], *, component: bool) -> None:
    """Make a disk of the sources, with their bytecode and, if it is wanted, the component as this machine would compile it."""
    place = system.root / "srv/onetool"
    for name in ("src", "tests"):
        shutil.rmtree(place / name, ignore_errors=True)
    for source in sources:
        target = place / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        seconds = int(source.stat().st_mtime)  # a disk that is made from files has no more of it
        os.utime(target, (seconds, seconds))
    _compile_python(system, place / "src", place / "tests")
    if component:
        packages = f"/{system.packages.relative_to(system.root)}"
        words = ("-I", "-c", _COMPILE, packages, "speed" if _AT_HOME else "none")
        _run_inside(system.root, f"/usr/bin/python{system.python}", *words)
    _write_disk(place, system.folder / "project", "512M")


def _write_disk(folder: Path, disk: Path, size: str) -> None:
    disk.unlink(missing_ok=True)
    _run("mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=1", "-d", folder, disk, size)


def _run_inside(root: Path, *command: object) -> None:
    """Run a program of the guest on this machine, where that is possible without an emulator."""
    if _AT_HOME:
        _run("chroot", root, *command)
        return
    emulator = Path(shutil.copy(f"/usr/bin/{_EMULATOR}", root / "usr/bin"))
    _run("chroot", root, f"/usr/bin/{_EMULATOR}", "-cpu", CPU, *command)
    emulator.unlink()


def _run(*command: object, may_fail: bool = False) -> None:
    subprocess.run([*map(str, command)], check=not may_fail)
