"""The sockets at which the HTTP server listens, an address or a file that serves one user; and its bearer token."""

from __future__ import annotations

import errno
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_core.atomic_write import open_folder, write_private
from mcp_core.file_lock import lock
from ot.config.layers import TOKEN_VARIABLE
from ot.errors import ConfigError
from ot_system import open_step

_PATIENCE = 5.0  # seconds for another server that is about to listen there, or to end
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SILENCE = 1  # seconds after which a client that sends nothing is accepted all the same


@contextmanager
def listen_privately(path: Path) -> Iterator[socket.socket]:
    """Listen at `path`, a file of mode 0600 that is removed at the end; one that nobody serves any more is replaced.

    Raises ValueError with the reason where it must not be done, OSError where it cannot be.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with _alone_in(path.parent) as folder:
            with suppress(FileNotFoundError):  # a socket that its server left behind makes way
                found = path.lstat()
                if not stat.S_ISSOCK(found.st_mode):
                    raise ValueError("there is a file that is no socket; choose another path")
                if found.st_uid != os.geteuid():
                    raise ValueError("the socket there is another user's; choose another path")
                if _is_served(path):
                    raise ValueError("another server serves there; end it, or choose another path")
                path.unlink()
            listener.bind(str(path))
            path.chmod(0o600)  # nobody can connect before it listens
            listener.listen()
            # Held open, so that its number in the file system is given to no other file.
            held, made = open_step(path.name, folder)
        try:
            yield listener
        finally:
            with suppress(OSError, ValueError), _alone_in(path.parent):
                if os.path.samestat(path.lstat(), made):  # else it is another server's by now
                    path.unlink()
            os.close(held)


def find_served(folder: Path, ending: str) -> list[Path]:
    """Return the served sockets in a folder, remove the others; raises ValueError where others can change files."""
    with _alone_in(folder):
        found = sorted(path for path in folder.iterdir() if path.suffix == ending and path.is_socket())
        served = [path for path in found if _is_served(path)]
        for path in found:
            if path not in served:
                path.unlink(missing_ok=True)
    return served


@contextmanager
def _alone_in(folder: Path) -> Iterator[int]:
    """Open a folder and keep other servers out of it; raises ValueError where other users can change files."""
    with open_folder(folder) as opened:
        found = os.fstat(opened)
        shared = bool(found.st_mode & _OTHERS_WRITE) and not found.st_mode & stat.S_ISVTX
        if shared or found.st_uid not in (0, os.geteuid()):
            raise ValueError(f"others can replace files in {folder}; choose a folder of your own")
        if not lock(opened, patience=_PATIENCE):
            raise ValueError(f"another program keeps {folder} locked; choose a folder of your own")
        yield opened


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


def bind_address(address: str, *, beyond: bool = False) -> socket.socket:
    """Open a listening socket at `HOST:PORT`; port 0 takes a free one. `beyond` lets others reach it.

    Raises ValueError for an address that is not of this form or not this machine's own, OSError where it is taken.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError("an address is HOST:PORT, such as 127.0.0.1:8765")
    number = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not beyond and not is_loopback(number):
        raise ValueError(f"{host} is not this machine alone; use 127.0.0.1, [::1] or localhost, or configure auth")
    family = socket.AF_INET6 if ":" in number else socket.AF_INET
    opened = socket.create_server((number, int(port)), family=family)
    if hasattr(socket, "TCP_DEFER_ACCEPT"):
        # A client is accepted when it has sent something, so it can be heard before a crowd behind it takes its place.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENCE)
    # asyncio sends answers at once (TCP_NODELAY) only where the protocol is named; else each waits 40 ms for the next.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=opened.detach())


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


TOKEN_FILE = "http-token"
_SHORTEST = 16


def read_token(folder: Path, *, environ: Mapping[str, str]) -> str:
    """Return the token that the environment names, else that of the file in `folder`, which is made if need be."""
    if given := environ.get(TOKEN_VARIABLE, "").strip():
        return _checked(given, key=TOKEN_VARIABLE)
    file = folder / TOKEN_FILE
    try:
        return _read(file)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another server was first, and its token is as good
            try:
                write_private(file, f"{secrets.token_urlsafe(32)}\n", replace=False)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    reason, fix = "cannot be written: its disk is full", "make room on that disk"
                    raise ConfigError(reason, file=file, fix=fix) from error
                raise
    return _read(file)


def accepts(header: str | None, token: str) -> bool:
    """True if an Authorization header carries the token; takes the same time for every wrong one."""
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode())


def _read(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, fix="remove it; a new one is made") from error
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
        found = os.fstat(stream.fileno())
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise ConfigError("others can read this token", file=file, fix="remove it; a new one is made")
        return _checked(stream.read().strip(), file=file)


def _checked(token: str, *, file: Path | None = None, key: str | None = None) -> str:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"a token is at least {_SHORTEST} plain characters", file=file, key=key, fix="make it longer")
    return token
