"""A file is written whole or not at all, whenever the writer dies."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_core.atomic_write import is_unfinished, remove_unfinished, write_file, write_in_folder, write_private
from mcp_guide.folder import Folder

PROGRAMS = Path(__file__).parents[2] / "programs"
SIZE = 1_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAMS / program), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("times", range(1, 13))
def test_a_file_is_whole_when_its_writer_is_killed(tmp_path: Path, times: int) -> None:
    with start("write_forever.py", str(tmp_path), "doc.md", str(SIZE)) as writer:
        assert writer.stdout is not None
        for _ in range(times):
            writer.stdout.readline()
        writer.kill()

    data = (tmp_path / "doc.md").read_bytes() if times > 1 else b"a" * SIZE
    assert data in (b"a" * SIZE, b"b" * SIZE)


@pytest.mark.parametrize("how", ["replace", "create"])
def test_a_writer_that_dies_at_half_of_the_bytes_changes_nothing(tmp_path: Path, how: str) -> None:
    if how == "replace":
        (tmp_path / "doc.md").write_text("before")

    with start("die_while_writing.py", str(tmp_path), "doc.md", str(SIZE), how) as writer:
        status = writer.wait(20)

    [unfinished] = [path for path in tmp_path.iterdir() if path.name != "doc.md"]
    assert status == -signal.SIGXFSZ
    assert unfinished.stat().st_size == SIZE // 2
    assert is_unfinished(unfinished.name)
    assert (tmp_path / "doc.md").exists() is (how == "replace")
    assert how == "create" or (tmp_path / "doc.md").read_text() == "before"


def test_what_a_dead_writer_left_is_removed_an_hour_later(tmp_path: Path, folder: int) -> None:
    old, fresh, mine = (tmp_path / f".{letter * 16}.tmp" for letter in "abc")
    for file in (old, fresh, mine.with_name(".notes.tmp")):
        file.touch()
    os.utime(old, (0, 0))

    Folder(folder).write("doc.md", b"x", replace=False)

    assert sorted(path.name for path in tmp_path.iterdir()) == [".bbbbbbbbbbbbbbbb.tmp", ".notes.tmp", "doc.md"]
    remove_unfinished(folder)
    assert not fresh.exists()


def test_a_taken_name_is_kept(tmp_path: Path, folder: int) -> None:
    (tmp_path / "doc.md").write_text("before")

    with pytest.raises(FileExistsError):
        write_in_folder(folder, "doc.md", b"x", replace=False)

    assert [path.name for path in tmp_path.iterdir()] == ["doc.md"]
    assert (tmp_path / "doc.md").read_text() == "before"


def test_of_many_that_create_one_name_exactly_one_succeeds(tmp_path: Path, folder: int) -> None:
    outcomes: list[str] = []

    def create(text: str) -> None:
        try:
            write_in_folder(folder, "doc.md", text.encode(), replace=False)
            outcomes.append(text)
        except FileExistsError:
            outcomes.append("")

    threads = [threading.Thread(target=create, args=(f"writer {number}",)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    [winner] = filter(None, outcomes)
    assert (tmp_path / "doc.md").read_text() == winner


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, folder: int) -> None:
    file = tmp_path / "doc.md"
    file.write_text("before")
    file.chmod(0o640)

    write_in_folder(folder, "doc.md", b"after", replace=True)

    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o640)


def test_a_private_file_is_its_owners_alone_also_where_it_replaces_another(tmp_path: Path) -> None:
    file = tmp_path / "made" / "token"
    write_private(file, "first")
    file.chmod(0o644)

    write_private(file, "secönd")

    assert (file.read_text(encoding="utf-8"), file.stat().st_mode & 0o777) == ("secönd", 0o600)
    assert file.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(FileExistsError):
        write_private(file, "third", replace=False)
    assert list(file.parent.iterdir()) == [file]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    write_file(tmp_path / "link", b"after")

    assert (tmp_path / "target").read_text() == "before"
    assert (tmp_path / "link").read_text() == "after"
    assert not (tmp_path / "link").is_symlink()


def test_a_file_keeps_its_access_list_and_attributes(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("before")
    # One more user may read it: entries of tag, rights and number, in the form that the system keeps.
    entries = [(1, 6, -1), (2, 4, 1234), (4, 4, -1), (16, 6, -1), (32, 0, -1)]
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(file, "user.onetool.test", b"kept")
        os.setxattr(file, "system.posix_acl_access", access)
    except OSError as error:
        pytest.skip(f"the file system of the tests has no attributes: {error}")

    write_file(file, b"after")

    assert file.read_text() == "after"
    assert os.getxattr(file, "user.onetool.test") == b"kept"
    assert os.getxattr(file, "system.posix_acl_access") == access
    assert file.stat().st_mode & 0o777 == 0o660
