"""Nothing outside an open folder can be reached through it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_guide.errors import TooLargeError, UnreadableError
from mcp_guide.folder import Folder, open_path

OUTSIDE = ["", ".", "..", "../secret.md", "/etc/passwd", "a/b", "x\0.md"]
WAYS: dict[str, Callable[[Folder, str], object]] = {
    "read": lambda folder, name: folder.read(name, limit=100),
    "write": lambda folder, name: folder.write(name, b"x", replace=True),
    "remove": Folder.remove,
    "make": Folder.make_folder,
    "remove-folder": Folder.remove_folder,
    "open": lambda folder, name: folder.open_folder(name).__enter__(),
}


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A folder with a secret beside it."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.md").write_text("secret")
    folder = tmp_path / "inside"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_path_is_not_a_name(inside: Path, way: Callable[[Folder, str], object], name: str) -> None:
    with open_path(inside, follow=False) as folder, pytest.raises(ValueError, match="not the name of a file"):
        way(folder, name)

    assert (inside.parent / "secret.md").read_text() == "secret"


@pytest.mark.parametrize("target", ["../secret.md", "{outside}/secret.md", "real.md", "nowhere.md"])
def test_a_link_to_a_file_is_not_read(inside: Path, target: str) -> None:
    (inside / "real.md").write_text("real")
    (inside / "link.md").symlink_to(target.format(outside=inside.parent))

    with open_path(inside, follow=False) as folder, pytest.raises(UnreadableError, match="link"):
        folder.read("link.md", limit=100)


def test_a_link_to_a_folder_is_no_folder(inside: Path) -> None:
    (inside / "linked").symlink_to("../other")

    with (
        open_path(inside, follow=False) as folder,
        pytest.raises(NotADirectoryError),
        folder.open_folder("linked"),
    ):
        pass


def test_writing_over_a_link_replaces_the_link_and_not_its_target(inside: Path) -> None:
    (inside / "link.md").symlink_to("../secret.md")

    with open_path(inside, follow=False) as folder:
        folder.write("link.md", b"mine", replace=True)

    assert (inside.parent / "secret.md").read_text() == "secret"
    assert not (inside / "link.md").is_symlink()


def test_removing_a_link_leaves_its_target(inside: Path) -> None:
    (inside / "link.md").symlink_to("../secret.md")

    with open_path(inside, follow=False) as folder:
        folder.remove("link.md")

    assert (inside.parent / "secret.md").exists()


def test_a_folder_that_is_exchanged_for_a_link_while_it_is_open_stays_the_same(inside: Path) -> None:
    with open_path(inside, follow=False) as folder:
        inside.rename(inside.parent / "moved")
        inside.symlink_to("other")
        folder.write("note.md", b"mine", replace=True)

    assert (inside.parent / "other" / "note.md").read_text() == "secret"
    assert (inside.parent / "moved" / "note.md").read_text() == "mine"


def test_a_folder_found_in_a_project_must_be_real(inside: Path) -> None:
    (inside.parent / "linked").symlink_to("inside")

    with pytest.raises(NotADirectoryError), open_path(inside.parent / "linked", follow=False):
        pass


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [make_pipe, make_socket, Path.mkdir])
def test_what_is_no_file_is_refused_without_waiting(
    inside: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(inside)  # the path of a socket must be short
    make(Path("odd.md"))

    with open_path(inside, follow=False) as folder, pytest.raises(UnreadableError, match="not a regular file"):
        folder.read("odd.md", limit=100)


def test_a_file_is_read_up_to_its_limit(inside: Path) -> None:
    (inside / "x.md").write_bytes(b"x" * 100)

    with open_path(inside, follow=False) as folder:
        assert len(folder.read("x.md", limit=100)) == 100
        with pytest.raises(TooLargeError):
            folder.read("x.md", limit=99)


def test_entries_say_what_they_are(inside: Path) -> None:
    (inside / "b.md").write_text("12345")
    (inside / "a").mkdir()
    (inside / "c.md").symlink_to("b.md")
    os.mkfifo(inside / "d")

    with open_path(inside, follow=False) as folder:
        found = folder.entries()

    assert found == [("a", "folder"), ("b.md", "file"), ("c.md", "link"), ("d", "other")]
