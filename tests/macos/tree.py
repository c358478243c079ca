"""A tree of the running interpreter that acts as one on macOS, made of links: only what differs is its own."""

from __future__ import annotations

import ast
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import mypy

_STUBS = Path(mypy.__file__).parent / "typeshed/stdlib"
_STUB_OF = {
    "posix": "os/__init__.pyi",
    "_socket": "_socket.pyi",
    "_signal": "signal.pyi",
    "errno": "errno.pyi",
    "fcntl": "fcntl.pyi",
    "mmap": "mmap.pyi",
    "resource": "resource.pyi",
    "select": "select.pyi",
    "time": "time.pyi",
}
_TAG = sys.implementation.cache_tag
_ALSO_GONE = {"_socket": {"MSG_NOSIGNAL"}}  # which later versions of macOS have


def make_tree(folder: Path, *, without: tuple[str, ...] = ()) -> Path:
    """Make the tree, with the packages of this environment but some, and return its interpreter.

    The program `onetool` is beside it.
    """
    library = Path(sysconfig.get_path("stdlib"))
    inner = folder / "lib" / library.name
    _link_all(library, inner, without=("encodings", "site-packages", "dist-packages"))
    _link_all(library / "encodings", inner / "encodings", without=("__init__.py",))
    (inner / "encodings/__init__.py").write_text(_prelude() + (library / "encodings/__init__.py").read_text())
    for data in library.glob("_sysconfigdata*.py"):
        text = f"{data.read_text()}\nbuild_time_vars['MACOSX_DEPLOYMENT_TARGET'] = '14.0'\n"
        (inner / data.name).unlink()
        for name in {data.name, data.name.replace("linux", "darwin", 1)}:  # Debian's name tells no platform
            (inner / name).write_text(text)
    for file in library.parent.glob("libpython*"):
        _link(file, folder / "lib" / file.name)
    _link_packages(Path(sysconfig.get_path("purelib")), inner / "site-packages", without)
    return _make_programs(folder / "bin")


def find_missing_names(stub: str) -> set[str]:
    """List what a module of the standard library has on Linux and not on macOS, by the stubs that mypy goes by."""
    body = ast.parse((_STUBS / stub).read_text()).body
    return set(_names(body, "linux")) - set(_names(body, "darwin"))


def _names(body: list[ast.stmt], system: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.If(test, inside, otherwise):
                yield from _names(inside if _holds(test, system) else otherwise, system)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case _:
                pass


def _holds(test: ast.expr, system: str) -> bool:
    facts = type("sys", (), {"platform": system, "version_info": sys.version_info})
    return bool(eval(compile(ast.Expression(test), _STUBS, "eval"), {"sys": facts}))


def _prelude() -> str:
    gone = {
        module: sorted(find_missing_names(stub) | _ALSO_GONE.get(module, set())) for module, stub in _STUB_OF.items()
    }
    text = (Path(__file__).parents[1] / "programs/macos_prelude.py").read_text()
    assert "_GONE: dict = {}" in text
    return text.replace("_GONE: dict = {}", f"_GONE = {gone!r}")


def _link_packages(packages: Path, folder: Path, without: tuple[str, ...]) -> None:
    """Link every package; `wasmtime` finds the library of Linux where it looks for that of macOS."""
    left_out = (entry.name for entry in packages.iterdir() if entry.name.partition("-")[0] in without)
    _link_all(packages, folder, without=("wasmtime", *left_out))
    if (packages / "wasmtime").is_dir() and "wasmtime" not in without:
        theirs, ours = packages / "wasmtime", folder / "wasmtime"
        _link_all(theirs, ours)
        machine = platform.machine()
        (ours / f"darwin-{machine}").mkdir()
        _link(theirs / f"linux-{machine}/_libwasmtime.so", ours / f"darwin-{machine}/_libwasmtime.dylib")


def _make_programs(folder: Path) -> Path:
    folder.mkdir()
    python = folder / "python3"
    shutil.copy2(os.path.realpath(sys.executable), python)
    program = folder / "onetool"
    program.write_text(f"#!{python}\nimport sys\nfrom onetool.__main__ import main\nsys.exit(main())\n")
    program.chmod(0o755)
    for name in ("uv", "rg"):
        if (beside := Path(sys.executable).parent / name).exists():
            _link(beside, folder / name)
    return python


def _link_all(source: Path, folder: Path, *, without: tuple[str, ...] = ()) -> None:
    """Link what is in a folder; its bytecode file by file, so that what is written here stays here."""
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name == "__pycache__":
            _link_all(entry, folder / entry.name, without=tuple(f"{Path(name).stem}.{_TAG}.pyc" for name in without))
        elif entry.name not in without:
            _link(entry, folder / entry.name)


def _link(source: Path, target: Path) -> None:
    target.symlink_to(source)
