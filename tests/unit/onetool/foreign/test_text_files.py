"""A file is replaced whole, with a copy of what it was, and never one that somebody else has changed meanwhile."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from onetool.foreign.text_files import read_text_file, replace_text_file
from ot.errors import ConfigError


def test_permissions_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"\xef\xbb\xbf{}\r\n")
    file.chmod(0o640)
    read = read_text_file(file)

    backup = replace_text_file(read, read.text.replace("{}", "[]"))

    assert read.newline == "\r\n"
    assert file.read_bytes() == b"\xef\xbb\xbf[]\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert backup is not None
    assert backup.read_bytes() == b"\xef\xbb\xbf{}\r\n"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640


@pytest.mark.parametrize("before", ["{}", None], ids=["changed", "made"])
def test_what_another_program_wrote_meanwhile_is_kept(tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "settings.json"
    if before is not None:
        file.write_text(before)
    read = read_text_file(file)
    file.write_text('{"theirs": 1}')

    with pytest.raises(ConfigError, match="was changed by another program in the meantime"):
        replace_text_file(read, '{"ours": 1}')

    assert file.read_text() == '{"theirs": 1}'
    assert [each.name for each in tmp_path.iterdir()] == ["settings.json"]


def test_several_copies_of_one_moment_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("0")

    for number in range(1, 5):
        replace_text_file(read_text_file(file), str(number))

    assert sorted(copy.read_text() for copy in tmp_path.glob("*.bak")) == ["0", "1", "2", "3"]


def test_a_private_file_is_one_from_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "new" / "secrets.yaml"

    assert replace_text_file(read_text_file(file), "A: b\n", private=True) is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_is_a_mistake_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot be"):
        replace_text_file(read_text_file(tmp_path / "file" / "below"), "x")
