"""Where a socket for one user may be made, and what is left of it."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import onetool.http.listening
from onetool.http.listening import listen_privately
from ot_system.sockets import user_of_peer


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ot") as name:  # short, as the paths of sockets must be
        yield Path(name)


def test_it_is_made_for_its_owner_whatever_the_umask_and_removed(folder: Path) -> None:
    before = os.umask(0)
    try:
        with listen_privately(folder / "s"):
            assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600
    finally:
        os.umask(before)

    assert list(folder.iterdir()) == []


def test_who_connects_is_known(folder: Path) -> None:
    with listen_privately(folder / "s") as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "s"))
        accepted, _ = listener.accept()
        with accepted:
            assert user_of_peer(accepted) == os.geteuid()


def test_a_socket_without_a_server_is_replaced(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(folder / "s"))

    with listen_privately(folder / "s"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "s"))


@pytest.mark.parametrize("queue", [0, 5], ids=["full", "free"])
def test_a_socket_that_is_served_is_left_alone(folder: Path, queue: int) -> None:
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as waiting:
        other.bind(str(folder / "s"))
        other.listen(queue)
        waiting.connect(str(folder / "s"))
        with pytest.raises(ValueError, match="another server serves there"), listen_privately(folder / "s"):
            pass
        assert (folder / "s").is_socket()


def test_what_is_no_socket_is_left_alone(folder: Path) -> None:
    (folder / "file").write_text("mine")
    (folder / "link").symlink_to(folder / "elsewhere")

    for name in ("file", "link"):
        with pytest.raises(ValueError, match="no socket"), listen_privately(folder / name):
            pass
    assert (folder / "file").read_text() == "mine"
    assert (folder / "link").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_others_is_left_alone(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "s"))
    os.chown(folder / "s", 65534, -1)

    with pytest.raises(ValueError, match="another user's"), listen_privately(folder / "s"):
        pass
    os.chown(folder, 65534, -1)
    with pytest.raises(ValueError, match="others can replace files"), listen_privately(folder / "new"):
        pass


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_change_is_refused_unless_it_is_sticky(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(ValueError, match="others can replace files"), listen_privately(folder / "s"):
        pass

    folder.chmod(mode | stat.S_ISVTX)
    with listen_privately(folder / "s"):
        assert (folder / "s").is_socket()


def test_at_the_end_only_its_own_socket_is_removed(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        with listen_privately(folder / "s") as listener:
            (folder / "s").unlink()
            listener.close()  # its number in the file system would be free now
            other.bind(str(folder / "s"))

        assert (folder / "s").is_socket()


def test_a_folder_that_is_locked_for_long_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onetool.http.listening, "_PATIENCE", 0.1)
    opened = os.open(folder, os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    try:
        with pytest.raises(ValueError, match=r"keeps .* locked"), listen_privately(folder / "s"):
            pass
    finally:
        os.close(opened)
