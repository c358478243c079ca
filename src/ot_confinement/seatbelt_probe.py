"""The probe of Seatbelt: a process inside a profile tries what it must not be able to do, before a program is started.

`sandbox-exec -p PROFILE python seatbelt_probe.py OUTSIDE CLOSED PROCESS PORT` is that process.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Last on the path: the folder may hold other packages, and none of them may hide the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import shutil
import socket
import stat
import subprocess
import tempfile

from ot_confinement.confine import Confine, RefusedError
from ot_confinement.probe import find_broken_promises
from ot_confinement.seatbelt import BASE, write_profile

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LIMIT = 30.0  # seconds
_DARWIN_USER_TEMP_DIR = 65537  # of confstr: a folder that belongs to this user, whatever the environment says
_STAMP = "onetool-seatbelt"
_FREE = frozenset({"connect", "fork", "map shared memory"})
"""Attempts of the probe of a run that a program may make: to connect means only to have a socket there."""


def require_seatbelt(program: str, *, stamps: str | None = None) -> None:
    """Raise RefusedError unless `program` holds a process to its profile; the answer is kept until the system changes.

    It is kept in `stamps`, a folder of this user's alone; where there is none, the probe runs every time.
    """
    if not os.access(program, os.X_OK):
        raise RefusedError(f"this system has no {program}")
    known = _Stamp(program, stamps or _own_folder())
    if known.is_there():
        return
    answer = _probe(program)
    if answer.stdout != "held\n":
        could = answer.stdout.strip()
        said = (answer.stderr.strip().splitlines() or [f"it ended with status {answer.returncode}"])[-1]
        broken = f"Seatbelt does not hold here: a process inside it could {could}"
        raise RefusedError(broken if could else f"sandbox-exec fails: {said.removeprefix('sandbox-exec: ')}")
    known.leave()


def _probe(program: str) -> subprocess.CompletedProcess[str]:
    try:
        place = os.path.realpath(tempfile.mkdtemp(prefix="onetool-", dir="/tmp"))  # the path of a socket must be short
    except OSError as error:
        raise RefusedError(f"the probe of Seatbelt fails: {error}") from error
    own, outside, opened = f"{place}/own", f"{place}/outside", f"{place}/open"
    closed = f"{opened}/held/closed"
    python, ours = os.path.realpath(sys.executable), os.path.abspath(__file__)
    # A framework's interpreter starts a second one, which lies there.
    programs = (python, f"{sys.base_prefix}/Resources")
    readable = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(ours)))
    confine = Confine(readable, (opened,), programs=programs, closed=(closed,))
    try:
        os.mkdir(own)
        for folder in (outside, closed):
            os.makedirs(folder)
            with open(f"{folder}/file", "xb"):
                pass
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as beside:
            beside.bind(f"{outside}/socket")
            beside.listen()
            words = [f"{outside}/file", f"{closed}/file", str(os.getpid()), str(listener.getsockname()[1])]
            return subprocess.run(
                [program, "-p", write_profile(confine, own), "--", sys.executable, "-I", "-S", ours, *words],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_LIMIT, check=False,
                env={"TMPDIR": own}, cwd="/",
            )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RefusedError(f"the probe of Seatbelt fails: {error}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _own_folder() -> str | None:
    try:
        return os.confstr(_DARWIN_USER_TEMP_DIR)
    except (OSError, ValueError):
        return None


class _Stamp:
    """A file that names the system on which the probe was refused everything.

    A confined program that may write there could only have written it where the bounds hold.
    """

    def __init__(self, program: str, folder: str | None) -> None:
        status = os.stat(program)
        facts = (*os.uname()[2:], status.st_ino, status.st_size, status.st_mtime_ns, sys.executable, BASE)
        self._text = "\n".join(map(str, facts)).encode(errors="replace")
        self._file = f"{folder}/{_STAMP}" if folder is not None else None

    def is_there(self) -> bool:
        if self._file is None:
            return False
        try:
            if not _is_ours(os.stat(os.path.dirname(self._file))):
                return False
            opened = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        with os.fdopen(opened, "rb") as file:
            return _is_ours(os.fstat(opened)) and file.read(len(self._text) + 1) == self._text

    def leave(self) -> None:
        if self._file is None:
            return
        made = f"{self._file}-{os.urandom(8).hex()}"
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(self._text)
            os.replace(made, self._file)
        except OSError:
            pass  # it is probed again next time


def _is_ours(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# -- inside


def find_broken_bounds(outside: str, closed: str, other: int, port: int) -> list[str]:
    """Name everything that worked of what no program without hosts may do.

    `outside` is a file in a folder that it may not touch, beside a socket; `closed` is one in a folder that is closed,
    in one that is in a folder which is open. `other` is a process, and somebody listens at a port of this machine.
    """
    worked = []
    held = os.path.dirname(os.path.dirname(closed))
    moved = ("move a folder that holds a closed one", lambda: _rename_twice(held, f"{held}-moved"))
    for what, attempt in (*_attempts(outside, port), *_attempts_on_files(closed), moved):
        try:
            attempt()
        except OSError:
            continue
        worked.append(what)
    for file in (outside, closed):
        worked += (what for what in find_broken_promises(file, other) if what not in _FREE)
    return list(dict.fromkeys(worked))


def _attempts(outside: str, port: int) -> Iterator[tuple[str, Callable[[], object]]]:
    folder = os.path.dirname(outside)
    yield from _attempts_on_files(outside)
    yield "list a folder", lambda: os.listdir(folder)
    yield "connect", lambda: _connect(socket.SOCK_STREAM, ("127.0.0.1", port))
    yield "connect", lambda: _connect(socket.SOCK_DGRAM, ("127.0.0.1", port))
    yield "connect", lambda: _connect(socket.SOCK_STREAM, f"{folder}/socket")
    yield "listen", _listen
    yield "execute a program", lambda: os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", ":"], {}), 0)


def _attempts_on_files(file: str) -> Iterator[tuple[str, Callable[[], object]]]:
    folder = os.path.dirname(file)
    yield "change the mode of a file", lambda: os.chmod(file, 0o600)
    yield "link a file", lambda: os.link(file, os.path.join(os.environ["TMPDIR"], "linked"))
    yield "rename a file", lambda: _rename_twice(file, f"{folder}/renamed")
    yield "create a file", lambda: os.mkdir(f"{folder}/created")


def _rename_twice(path: str, other: str) -> None:
    os.rename(path, other)
    os.rename(other, path)


def _connect(kind: int, address: str | tuple[str, int]) -> None:
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET, kind) as end:
        end.connect(address)


def _listen() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()


if __name__ == "__main__":
    worked = find_broken_bounds(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    sys.stdout.write(f"{', '.join(worked) or 'held'}\n")
