"""A socket in the file system that serves one user: its mode keeps others away, and it asks who connects."""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_core.file_lock import lock

_PATIENCE = 5.0  # seconds for another server that is about to listen there, or to end
_CREDENTIALS = struct.Struct("3i")  # process, user, group
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def listen_privately(path: Path) -> Iterator[socket.socket]:
    """Listen at `path`, a file of mode 0600 that is removed at the end; one that nobody serves any more is replaced.

    Raises ValueError with the reason where it must not be done, OSError where it cannot be.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        raise ValueError("this system does not tell a server who connects to it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with _alone_in(path.parent):
            _make_way(path)
            listener.bind(str(path))
            path.chmod(0o600)  # nobody can connect before it listens
            listener.listen()
            # Held open, so that its number in the file system is given to no other file.
            made = os.open(path, os.O_PATH | os.O_NOFOLLOW)
        try:
            yield listener
        finally:
            with suppress(OSError, ValueError), _alone_in(path.parent):
                if os.path.samestat(path.lstat(), os.fstat(made)):  # else it is another server's by now
                    path.unlink()
            os.close(made)


def find_served(folder: Path, ending: str) -> list[Path]:
    """Return the sockets in a folder of this user that are served; what their servers left behind is removed.

    Raises ValueError for a folder in which others can change files.
    """
    with _alone_in(folder):
        found = sorted(path for path in folder.iterdir() if path.suffix == ending and path.is_socket())
        served = [path for path in found if _is_served(path)]
        for path in found:
            if path not in served:
                path.unlink(missing_ok=True)
    return served


def user_of_peer(connection: socket.socket) -> int:
    """Return the user who opened a connection."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other servers out of a folder meanwhile; raises ValueError for one in which other users can change files."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = os.fstat(opened)
        shared = bool(found.st_mode & _OTHERS_WRITE) and not found.st_mode & stat.S_ISVTX
        if shared or found.st_uid not in (0, os.geteuid()):
            raise ValueError(f"others can replace files in {folder}; choose a folder of your own")
        if not lock(opened, patience=_PATIENCE):
            raise ValueError(f"another program keeps {folder} locked; choose a folder of your own")
        yield
    finally:
        os.close(opened)


def _make_way(path: Path) -> None:
    """Remove a socket that its server left behind; raises ValueError for anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ValueError("there is a file that is no socket; choose another path")
    if found.st_uid != os.geteuid():
        raise ValueError("the socket there is another user's; choose another path")
    if _is_served(path):
        raise ValueError("another server serves there; end it, or choose another path")
    path.unlink()


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except BlockingIOError:  # it has more to do than it can take
            pass
        return True
