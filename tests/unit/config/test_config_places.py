"""Which files apply: the project above the working directory, the person's folder, or one that was named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ot.config.paths import state_folder, tool_folders
from tests.unit.config.workspace import Workspace


def test_the_project_is_the_nearest_folder_above(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 5}")
    deep = workspace.project / "a" / "b"
    deep.mkdir(parents=True)

    loaded = workspace.load(cwd=deep)

    assert loaded.project == workspace.project
    assert loaded.config.execution.timeout == 5


def test_a_project_inside_a_project_wins(workspace: Workspace) -> None:
    workspace.write("execution: {timeout: 5}")
    inner = workspace.project / "inner"
    (inner / ".onetool").mkdir(parents=True)

    loaded = workspace.load(cwd=inner)

    assert loaded.project == inner
    assert loaded.config.execution.timeout == 120


def test_a_folder_without_configuration_is_a_project_too(workspace: Workspace) -> None:
    (workspace.project / ".onetool" / "tools").mkdir(parents=True)
    deep = workspace.project / "deep"
    deep.mkdir()

    assert workspace.load(cwd=deep).project == workspace.project


def test_the_home_folder_is_nobodys_project(workspace: Workspace) -> None:
    workspace.write_home("execution: {timeout: 5}")
    below = workspace.home / "work"
    below.mkdir()

    loaded = workspace.load(cwd=below)

    assert loaded.project == below
    assert loaded.config.execution.timeout == 5
    assert len(loaded.files) == 1


def test_home_as_working_directory_reads_its_files_once(workspace: Workspace) -> None:
    file = workspace.write_home("execution: {timeout: 5}")

    assert workspace.load(cwd=workspace.home).files == (file,)


def test_a_named_file_takes_the_place_of_both(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write("execution: {timeout: 5}")
    workspace.write_home("log: {level: debug}")
    other = tmp_path / "other.yaml"
    other.write_text("execution: {warm: 1}")

    loaded = workspace.load(other)

    assert loaded.files == (other,)
    assert (loaded.config.execution.warm, loaded.config.execution.timeout) == (1, 120)
    assert loaded.config.log.level == "info"
    assert loaded.project == workspace.project


def test_the_argument_wins_over_the_variable(workspace: Workspace, tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("execution: {warm: 1}")
    second.write_text("execution: {warm: 2}")

    assert workspace.load(ONETOOL_CONFIG=str(second)).config.execution.warm == 2
    assert workspace.load(first, ONETOOL_CONFIG=str(second)).config.execution.warm == 1


def test_a_named_file_is_relative_to_the_working_directory_or_home(workspace: Workspace) -> None:
    workspace.write("execution: {warm: 1}", "../mine.yaml")
    workspace.write_home("execution: {warm: 2}", "../mine.yaml")

    assert workspace.load(Path("mine.yaml")).config.execution.warm == 1
    assert workspace.load(ONETOOL_CONFIG="~/mine.yaml").config.execution.warm == 2
    assert workspace.load(ONETOOL_CONFIG="").config.execution.warm == 4


def test_a_named_file_that_does_not_exist_is_a_mistake(workspace: Workspace) -> None:
    error = workspace.mistake(ONETOOL_CONFIG="nowhere.yaml")

    assert (error.file, error.reason) == (workspace.project / "nowhere.yaml", "does not exist")


def test_a_file_named_in_a_project_folder_makes_that_the_project(workspace: Workspace) -> None:
    file = workspace.write("execution: {warm: 1}")

    assert workspace.load(file, cwd=workspace.home).project == workspace.project


def test_a_named_file_has_its_own_prompts_and_secrets_and_the_persons_secrets(workspace: Workspace) -> None:
    file = workspace.write("packs: {p: {a: '${A}', b: '${B}'}}", "../mine/mine.yaml")
    workspace.write("packs: {excel: text}", "../mine/prompts.yaml")
    workspace.write("A: mine", "../mine/secrets.yaml")
    workspace.write_home("A: person\nB: person", "secrets.yaml")

    config = workspace.load(file).config

    assert config.packs["p"].options == {"a": "mine", "b": "person"}
    assert config.prompts.packs == {"excel": "text"}


@pytest.mark.parametrize("name", ["onetool.yml", "secrets.yml", "prompts.yml"])
def test_a_name_that_would_be_passed_over_is_a_mistake(workspace: Workspace, name: str) -> None:
    file = workspace.write_home("", name)

    error = workspace.mistake()

    assert (error.file, error.fix) == (file, f"rename it to {file.with_suffix('.yaml').name}")


def test_a_home_that_does_not_exist_is_no_mistake(workspace: Workspace) -> None:
    workspace.home.rmdir()

    assert workspace.load().files == ()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_that_a_stranger_left_above_is_not_followed(workspace: Workspace) -> None:
    folder = workspace.write("").parent
    os.chown(folder, 12345, 12345)

    error = workspace.mistake()

    assert (error.file, error.reason) == (folder, "this folder belongs to another user")
    assert workspace.load(folder / "onetool.yaml").files == (folder / "onetool.yaml",)


def test_the_folders_of_state_and_extensions_are_fixed(tmp_path: Path) -> None:
    assert state_folder(tmp_path) == tmp_path / ".onetool" / "state"
    assert tool_folders(tmp_path / "p", tmp_path) == (
        tmp_path / "p" / ".onetool" / "tools",
        tmp_path / ".onetool" / "tools",
    )
