"""A new extension is written whole or not at all, below the project's folder, and over nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.errors import NewExtensionError
from ot.registry.from_source import read_pack
from ot.workers.discovery import ToolFolder, list_folder
from ot.workers.new_extension import write_extension


def write(project: Path, name: str = "weather", taken: tuple[str, ...] = ()) -> tuple[Path, Path]:
    return write_extension(project / ".onetool" / "tools", name, project=project, taken=taken)


def test_it_lies_where_extensions_are_found(tmp_path: Path) -> None:
    file, test = write(tmp_path)

    [found] = list_folder(ToolFolder(tmp_path / ".onetool" / "tools")).found
    assert (found.name, found.file) == ("weather", file)
    assert test == file.with_name("test_weather.py")


def test_its_definition_is_whole(tmp_path: Path) -> None:
    pack = read_pack(write(tmp_path)[0], name="other")

    hello = pack.tools["hello"]
    assert (pack.name, bool(pack.description)) == ("weather", True)
    assert hello.signature == "weather.hello(*, name: str, times: int = 1) -> str"
    assert set(hello.docs.arguments) == {"name", "times"}
    assert hello.docs.example == 'weather.hello(name="Ada", times=2)'


@pytest.mark.parametrize(
    "name", ["", "my-pack", "1st", "../up", "a/b", "class", "_x", "test_x", "conftest", "ot", "proj", "demo", "json"]
)
def test_a_name_that_could_not_be_used_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NewExtensionError):
        write(tmp_path, name, taken=("demo",))

    assert not (tmp_path / ".onetool").exists()


@pytest.mark.parametrize("place", ["weather/weather_tools.py", "weather.py", "weather/notes.txt"])
def test_what_is_there_stays_as_it_is(tmp_path: Path, place: str) -> None:
    file = tmp_path / ".onetool" / "tools" / place
    file.parent.mkdir(parents=True)
    file.write_text("mine")

    with pytest.raises(NewExtensionError, match="there already"):
        write(tmp_path)

    files = [path for path in (tmp_path / ".onetool").rglob("*") if path.is_file()]
    assert files == [file]
    assert file.read_text() == "mine"


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (project / ".onetool").mkdir(parents=True)
    elsewhere.mkdir()
    (project / ".onetool" / "tools").symlink_to(elsewhere)

    with pytest.raises(NewExtensionError, match="points outside the project"):
        write(project)

    assert not list(elsewhere.iterdir())


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / ".onetool").write_text("a file")

    with pytest.raises(NewExtensionError, match="cannot be written"):
        write(tmp_path)
