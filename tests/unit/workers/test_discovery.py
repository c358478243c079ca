"""Where extensions are found, and what is told of the rest."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ot.workers.discovery import FolderContents, ToolFolder, list_folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / ".onetool" / "tools"
    folder.mkdir(parents=True)
    return folder


def write(file: Path, text: str = "def f(): ...\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found(folder: Path) -> dict[str, str]:
    """Pack names with their files."""
    return {each.name: str(each.file.relative_to(folder)) for each in list_folder(ToolFolder(folder)).found}


def misplaced(folder: Path) -> list[tuple[str, str]]:
    return [(each.file.name, each.reason) for each in list_folder(ToolFolder(folder)).misplaced]


def test_an_extension_is_a_file_named_after_its_folder_or_a_file_by_itself(tools: Path) -> None:
    write(tools / "weather" / "weather_tools.py")
    write(tools / "notes.py")

    assert found(tools) == {"weather": "weather/weather_tools.py", "notes": "notes.py"}
    assert misplaced(tools) == []


def test_a_folder_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert list_folder(ToolFolder(tmp_path / "nowhere" / "tools")) == FolderContents()


@pytest.mark.parametrize(
    "name",
    ["_draft.py", ".hidden.py", "test_notes.py", "conftest.py", "README.md", "_shared/x.py", "data/rows.csv", "n/a_b"],
)
def test_what_is_no_extension_is_left_alone(tools: Path, name: str) -> None:
    write(tools / name)

    assert list_folder(ToolFolder(tools)) == FolderContents()


def test_a_folder_whose_file_has_another_name_is_told(tools: Path) -> None:
    write(tools / "weather" / "tools.py")
    write(tools / "tested" / "test_tested.py")

    assert misplaced(tools) == [("weather", "it holds no weather_tools.py")]


def test_a_pipe_is_not_read(tools: Path) -> None:
    os.mkfifo(tools / "endless.py")

    assert misplaced(tools) == [("endless.py", "it is not a regular file")]


def test_a_link_that_leads_nowhere_is_told(tools: Path) -> None:
    (tools / "gone.py").symlink_to(tools / "nothing")
    (tools / "lost").mkdir()
    (tools / "lost" / "lost_tools.py").symlink_to("lost_tools.py")

    assert [name for name, _ in misplaced(tools)] == ["gone.py", "lost_tools.py"]


def test_a_linked_file_is_an_extension(tools: Path, tmp_path: Path) -> None:
    (tools / "notes.py").symlink_to(write(tmp_path / "elsewhere.py"))

    assert found(tools) == {"notes": "notes.py"}


def test_the_file_with_a_folder_of_its_own_comes_first(tools: Path) -> None:
    write(tools / "zoo" / "zoo_tools.py")
    write(tools / "ape_tools.py")

    assert list(found(tools)) == ["zoo", "ape_tools"]


def test_contents_are_equal_until_a_file_changes(tools: Path) -> None:
    file = write(tools / "notes.py")
    before = list_folder(ToolFolder(tools))
    same = list_folder(ToolFolder(tools))
    write(file, "def g(): ...  # longer\n")

    assert before == same
    assert list_folder(ToolFolder(tools)) != before


def test_a_file_that_was_made_readable_counts_as_changed(tools: Path) -> None:
    file = write(tools / "notes.py")
    file.chmod(0o000)
    before = list_folder(ToolFolder(tools))
    deadline = time.monotonic() + 60
    while list_folder(ToolFolder(tools)) == before and time.monotonic() < deadline:
        file.chmod(0o644)  # until the clock of the file system has moved on

    assert list_folder(ToolFolder(tools)) != before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_told_and_not_looked_into(tools: Path) -> None:
    write(tools / "notes.py")
    os.chown(tools.parent, 12345, 12345)

    assert misplaced(tools) == [("tools", "this folder belongs to another user")]
    assert found(tools) == {}
