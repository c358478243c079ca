"""Files that isolated tools make: in their helper's own folder, and moved into place by the server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.errors import PathError, PathRefusedError, ToolError, ToolFailedError
from tests.opened_executor import Opened, open_executor, wait_until, write_pack

pytestmark = pytest.mark.anyio

PACK = """
    import os, subprocess, time
    from pathlib import Path
    from ot.context import current
    from ot.isolate import isolated

    @isolated(reads=["{path}"], outputs=["{output}"])
    def copy(*, path: str | list[str], output: str | None = None, fail: bool = False) -> dict:
        paths = [path] if isinstance(path, str) else path
        text = "".join(Path(each).read_text() for each in paths)
        place = "" if output is None else str(current().output("output"))
        if place:
            Path(place).write_text(text.upper())
        if fail:
            raise ValueError("after all")
        return {"paths": paths, "text": text, "place": place, "pid": os.getpid()}

    @isolated(reads=["{path}"], outputs=["{path}"])
    def shout(*, path: str) -> None:
        current().output("path").write_text(Path(path).read_text().upper())

    @isolated(outputs=["{output}"])
    def make(*, output: str, command: list[str]) -> None:
        place = str(current().output("output"))
        subprocess.run([word.replace("OUT", place) for word in command], check=True)

    @isolated(outputs=["{output}"])
    def linger(*, output: str) -> None:
        current().output("output").write_text("too early")
        time.sleep(60)

    @isolated(reads=["{path}"])
    def peek(*, path: str, other: str) -> str:
        return Path(path).with_name(other).read_text()

    @isolated
    def no_output(*, output: str) -> str:
        return str(current().output("output"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("milk")
    return project


@pytest.fixture
async def opened(tmp_path: Path, project: Path) -> AsyncIterator[Opened]:
    packs = tmp_path / "packs"
    packs.mkdir()
    write_pack(packs, PACK, "made")
    async with open_executor(packs, project=project) as opened:
        yield opened


async def test_a_file_is_in_place_when_the_call_has_succeeded(opened: Opened, project: Path) -> None:
    answer: Any = await opened.executor.call("made.copy", {"path": "notes.txt", "output": "loud.txt"})

    assert (project / "loud.txt").read_text() == "MILK"
    assert answer["text"] == "milk"
    assert answer["paths"] == [str(project / "notes.txt")]
    assert answer["place"].endswith("/loud.txt")
    assert not Path(answer["place"]).is_relative_to(project)
    assert not Path(answer["place"]).exists()


async def test_nothing_is_moved_of_a_call_that_fails_or_makes_nothing(opened: Opened, project: Path) -> None:
    with pytest.raises(ToolFailedError, match="after all"):
        await opened.executor.call("made.copy", {"path": "notes.txt", "output": "loud.txt", "fail": True})
    await opened.executor.call("made.make", {"output": "loud.txt", "command": ["true"]})
    await opened.executor.call("made.copy", {"path": "notes.txt"})

    assert [file.name for file in project.iterdir()] == ["notes.txt"]


async def test_nothing_is_moved_of_a_call_that_is_cancelled(opened: Opened, project: Path) -> None:
    name = f"{os.urandom(8).hex()}.txt"

    def made() -> bool:
        with suppress(FileNotFoundError):  # folders of other tests go while they are looked through
            return any(Path(tempfile.gettempdir()).glob(f"onetool-*/*/output/{name}"))
        return False

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opened.executor.call, "made.linger", {"output": name})
        await wait_until(made)
        tasks.cancel_scope.cancel()

    assert [file.name for file in project.iterdir()] == ["notes.txt"]


async def test_a_file_that_was_replaced_since_the_last_call_is_read(opened: Opened, project: Path) -> None:
    await opened.executor.call("made.shout", {"path": "notes.txt"})
    await opened.executor.call("made.shout", {"path": "notes.txt"})
    first: Any = await opened.executor.call("made.copy", {"path": "notes.txt"})
    (project / "new.txt").write_text("bread")
    (project / "new.txt").rename(project / "notes.txt")

    assert first["text"] == "MILK"
    second: Any = await opened.executor.call("made.copy", {"path": "notes.txt"})
    assert second["text"] == "bread"


async def test_a_file_that_is_changed_in_place_keeps_its_mode(opened: Opened, project: Path) -> None:
    (project / "notes.txt").chmod(0o640)

    await opened.executor.call("made.shout", {"path": "notes.txt"})

    assert (project / "notes.txt").read_text() == "MILK"
    assert (project / "notes.txt").stat().st_mode & 0o777 == 0o640


async def test_every_file_of_a_list_can_be_read_and_no_other(opened: Opened, project: Path) -> None:
    (project / "more.txt").write_text(" and bread")
    answer: Any = await opened.executor.call("made.copy", {"path": ["notes.txt", str(project / "more.txt")]})

    assert answer["text"] == "milk and bread"
    with pytest.raises(ToolFailedError, match="PermissionError"):
        await opened.executor.call("made.peek", {"path": "notes.txt", "other": "more.txt"})


async def test_a_helper_is_used_again_for_the_same_file(opened: Opened) -> None:
    first: Any = await opened.executor.call("made.copy", {"path": "notes.txt", "output": "a"})

    second: Any = await opened.executor.call("made.copy", {"path": "notes.txt", "output": "b"})

    assert second["pid"] == first["pid"]


async def test_a_folder_is_not_opened_for_a_tool_that_reads_files(opened: Opened) -> None:
    with pytest.raises(PathError, match="it is a folder; this tool reads files"):
        await opened.executor.call("made.copy", {"path": "."})


@pytest.mark.parametrize("argument", ["path", "output"])
async def test_files_elsewhere_are_refused_before_anything_is_done(
    opened: Opened, project: Path, tmp_path: Path, argument: str
) -> None:
    (tmp_path / "elsewhere").write_text("theirs")
    (project / "link").symlink_to(tmp_path / "elsewhere")
    for path in (str(tmp_path / "elsewhere"), "../elsewhere", "link"):
        arguments = {"path": "notes.txt", "output": "loud.txt", argument: path}
        with pytest.raises(PathRefusedError):
            await opened.executor.call("made.copy", arguments)

    assert (tmp_path / "elsewhere").read_text() == "theirs"
    assert not (project / "loud.txt").exists()


async def test_a_link_that_takes_the_place_of_a_file_opens_nothing(
    opened: Opened, project: Path, tmp_path: Path
) -> None:
    """The server has looked at a path; whatever leads elsewhere by the time it is opened for the helper stays shut."""
    from ot_confinement.landlock import open_real

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.txt").write_text("theirs")
    (project / "folder").symlink_to(tmp_path / "elsewhere")
    (project / "link.txt").symlink_to(tmp_path / "elsewhere" / "notes.txt")

    for path in ("folder/notes.txt", "link.txt", "absent", ""):
        assert open_real(str(project / path)) is None
    descriptor = open_real(str(project / "notes.txt"))
    assert descriptor is not None
    os.close(descriptor)


@pytest.mark.parametrize(
    "command",
    [
        ["ln", "-s", "/etc/passwd", "OUT"],
        ["mkfifo", "OUT"],
        ["mkdir", "OUT"],
        ["truncate", "-s", "5T", "OUT"],
        ["sh", "-c", 'd=$(dirname "OUT"); rmdir "$d" && ln -s /etc "$d"'],
    ],
    ids=["link", "pipe", "folder", "holes", "folder that is a link"],
)
async def test_what_is_not_a_plain_file_is_not_moved(opened: Opened, project: Path, command: list[str]) -> None:
    with pytest.raises(ToolError, match="its output passwd"):
        await opened.executor.call("made.make", {"output": "passwd", "command": command})

    assert not (project / "passwd").exists()


async def test_a_tool_without_outputs_has_no_place_for_them(opened: Opened) -> None:
    with pytest.raises(ToolError, match="was given no output, or does not declare it as an output"):
        await opened.executor.call("made.no_output", {"output": "x"})
