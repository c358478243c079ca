"""The files that a program is made of: what it must be able to read in order to run at all.

Beside the system's own (`ot_confinement.program.SYSTEM_FILES`): its file, the installation that belongs to, the
interpreter that its first line names, and the folder of the script that it is given. Nothing follows from a file that
the program may write: it could name whatever it wants to read at its next start.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from ot_confinement.confine import leave_out_led, lies_within

_SCRIPT = re.compile(r".+\.(?:py|pyz|[cm]?js|ts|rb|pl|php|sh|lua|jar)")
_LIBRARIES = ("bin", "lib", "lib32", "lib64", "libexec")
_MODULES = "node_modules"
_HOME_IN_CFG = re.compile(r"^home\s*=\s*(.+)$", re.MULTILINE)
_DEPTH = 4  # interpreters of interpreters
_ELF = struct.Struct("<4sB27xQ14xHH")  # magic, class, where the program headers begin, their size and number
_ELF_64 = 2
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # for one processor, and for several
_STARTS_XCODE = (
    b"/usr/lib/libxcselect.dylib"  # /usr/bin/git is a small program that starts the one of the developer tools
)
_SMALL = 1 << 20  # bytes, of which that one has fewer
_HEADER = struct.Struct("<I4xQ16xQ")  # kind, where it lies, its length
_LOADER = 3  # the kind of header that names the loader


def files_of_command(
    command: str, args: Sequence[str], *, path: str, folder: Path, writable: Sequence[Path] = ()
) -> tuple[str, ...]:
    """Return the files and folders of a command that starts in `folder` with this PATH; none if it is not found."""
    program = shutil.which(str(folder / command)) if "/" in command else shutil.which(command, path=path)
    found = [] if program is None else [*_files_of(Path(program), path, _DEPTH, writable)]
    script = next((folder / word for word in args if _SCRIPT.fullmatch(word) and (folder / word).is_file()), None)
    if script is not None and not _is_led(script, writable):
        found += _files_of_script(script, folder)
    return tuple(dict.fromkeys(map(str, found)))


def files_of_python(python: Path, *, writable: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the files and folders of an interpreter, with the packages of its environment."""
    return tuple(dict.fromkeys(map(str, _files_of(python, "", 1, writable))))


def files_of_this_python() -> tuple[str, ...]:
    """Return the files and folders of the interpreter that runs this, with its packages."""
    packages = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(dict.fromkeys((*files_of_python(Path(sys.executable)), *packages)))


def executables_of(program: Path) -> tuple[str, ...] | None:
    """Return all that must be executed to start a program: its file and its loader; None where that is not known.

    The interpreter of a script, for one, would run anything else as well. On macOS the loader is part of the system.
    """
    try:
        with program.open("rb") as stream:
            if stream.read(4) in _MACH_O:
                return None if _STARTS_XCODE in stream.read(_SMALL) else (str(program),)
            stream.seek(0)
            magic, kind, start, size, count = _ELF.unpack(stream.read(_ELF.size))
            if magic != b"\x7fELF" or kind != _ELF_64:
                return None
            stream.seek(start)
            headers = [_HEADER.unpack_from(stream.read(size)) for _ in range(count)]
            loaders = [(offset, length) for kind, offset, length in headers if kind == _LOADER]
            names = [os.fsdecode(os.pread(stream.fileno(), length, offset)).rstrip("\0") for offset, length in loaders]
    except (OSError, struct.error):
        return None
    return (str(program), *map(os.path.realpath, names))


def _is_led(path: Path, writable: Sequence[Path]) -> bool:
    """True if the program could have changed what is there, or what the name leads to."""
    places = [os.path.realpath(place) for place in writable]
    return lies_within(os.path.realpath(path), places) or not leave_out_led([str(path)], places)


def _files_of(program: Path, path: str, depth: int, writable: Sequence[Path]) -> Iterator[Path]:
    if _is_led(program, writable):
        return
    real = program.resolve()
    yield real
    if (program.parent.parent / "pyvenv.cfg").is_file():
        yield from _environment(program.parent.parent)
    yield from _installation(real)
    interpreter = _interpreter(real, path) if depth else None
    if interpreter is not None:
        yield from _files_of(interpreter, path, depth - 1, writable)


def _files_of_script(script: Path, folder: Path) -> Iterator[Path]:
    """Return its folder, from which it may import; only the file itself where that folder has other uses."""
    real = script.resolve()
    yield real
    home = Path.home().resolve()
    if _MODULES in real.parts:
        yield from _installation(real)
    elif real.parent != folder.resolve() and real.parent not in (home, *home.parents):
        yield real.parent


def _environment(prefix: Path) -> Iterator[Path]:
    """A Python environment, and the interpreter that it was made from."""
    yield prefix
    match = _HOME_IN_CFG.search((prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace"))
    if match is not None:
        base = Path(match[1].strip()).resolve()
        yield from (base.parent / name for name in _LIBRARIES)


def _installation(file: Path) -> Iterator[Path]:
    """Return the package folder that a file is installed in, or the folders beside its `bin`."""
    if _MODULES in file.parts:
        yield Path(*file.parts[: file.parts.index(_MODULES) + 1])
    elif (file.parent.parent / "pyvenv.cfg").is_file():
        yield from _environment(file.parent.parent)
    elif file.parent.name == "bin":
        yield from (file.parent.parent / name for name in _LIBRARIES)


def _interpreter(file: Path, path: str) -> Path | None:
    """The program that the first line of a script names."""
    try:
        with file.open("rb") as stream:
            line = stream.read(2) == b"#!" and os.fsdecode(stream.readline(512))
    except OSError:
        return None
    words = line.split() if line else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0], path=path) if words else None
    return Path(found) if found else None
