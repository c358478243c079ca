"""What built-in packs would change, as previews show it, and files that are no longer as they were shown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engine import open_engine
from tests.ledger import Desk, name_in

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("previewed changes")]  # the tests share an engine


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Desk]:
    folder = tmp_path_factory.mktemp("changes") / "project"
    async with open_engine(folder) as app:
        yield Desk(app, folder)


@pytest.fixture
def desk(shared: Desk) -> Desk:
    return shared.cleared()


@pytest.fixture
def project(desk: Desk) -> Path:
    return desk.ledger.parent


async def test_files_are_shown_as_diffs_that_follow_each_other(desk: Desk, project: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    text = await desk.preview(
        """
        file.edit(path="a.txt", old="two", new="2")
        file.edit(path="a.txt", old="2", new="zwei")
        file.write(path="new/b.txt", content="b")
        file.edit(path="new/b.txt", old="b", new="c")
        file.move(path="a.txt", output="c.txt")
        file.delete(path="c.txt")
        file.edit(path="a.txt", old="x", new="y")
        """
    )
    assert "a.txt: changed\n   @@ -1,3 +1,3 @@\n    one\n   -two\n   +2\n    three" in text
    assert "-2\n   +zwei" in text
    assert "new/b.txt: new file\n   @@ -0,0 +1,1 @@\n   +b" in text
    assert "-b\n   +c" in text
    assert "a.txt moves to c.txt" in text
    assert "c.txt: removed" in text
    assert "as things are, it would fail: Cannot use 'a.txt': there is no such file" in text
    assert (project / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (project / "new").exists()


async def test_what_was_shown_is_applied_in_turn(desk: Desk, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    code = "file.edit(path='a.txt', old='one', new='two')\nfile.edit(path='a.txt', old='two', new='three')"
    applied = await desk.run(f"ot.apply(preview='{name_in(await desk.preview(code))}')")
    assert not applied.is_error, applied.text
    assert (project / "a.txt").read_text() == "three\n"


async def test_a_file_that_changed_since_is_not_touched(desk: Desk, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    name = name_in(
        await desk.preview("file.write(path='first.txt', content='1')\nfile.write(path='a.txt', content='x')")
    )
    (project / "a.txt").write_text("mine\n")
    applied = await desk.run(f"ot.apply(preview='{name}')")
    assert applied.is_error
    assert "The run was stopped before file.write: " in applied.text
    assert f"{str(project / 'a.txt')!r} is no longer as preview {name} showed it" in applied.text
    assert "Calls that succeeded:\n  file.write(path='first.txt'" in applied.text
    assert (project / "a.txt").read_text() == "mine\n"


async def test_files_that_tools_may_not_read_are_not_shown(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("private")
    text = await desk.preview(f"file.write(path={str(tmp_path / 'outside.txt')!r}, content='x')")
    assert "private" not in text
    assert "as things are, it would fail" in text


WAYS_OUT = {
    "a folder that is still to be made": "nodir/{up}{outside}/private.txt",
    "what tools may not read": "nodir/../.onetool/secrets.yaml",
    "a way through two of them": "nodir/../other/{up}{outside}/private.txt",
}


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("code", ["file.write(path={!r}, content='x')", "file.delete(path={!r})"])
async def test_no_way_leads_to_files_that_tools_may_not_read(
    desk: Desk, project: Path, tmp_path: Path, way: str, code: str
) -> None:
    (tmp_path / "private.txt").write_text("private words")
    (project / ".onetool" / "secrets.yaml").write_text("KEY: private words")
    path = WAYS_OUT[way].format(up="../" * 30, outside=str(tmp_path).lstrip("/"))
    text = await desk.preview(code.format(path))
    assert "private words" not in text
    assert "as things are, it would fail" in text


async def test_what_is_no_file_is_not_read(desk: Desk, project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "folder").mkdir()
    for name in ("pipe", "folder"):
        text = await desk.preview(f"file.write(path={name!r}, content='x')")
        assert "as things are, it would fail" in text
        assert "new file" not in text


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
async def test_what_takes_the_place_of_a_file_is_no_longer_that_file(desk: Desk, project: Path, kind: str) -> None:
    shown, other = project / f"{kind}.txt", project / f"{kind}-other.txt"
    for file in (shown, other):
        file.write_text("same")
    name = name_in(await desk.preview(f"file.write(path='{kind}.txt', content='x')"))
    shown.unlink()
    match kind:
        case "pipe":
            os.mkfifo(shown)
        case "link":
            shown.symlink_to(other)
        case _:
            shown.mkdir()
    applied = await desk.run(f"ot.apply(preview='{name}')")
    assert f"is no longer as preview {name} showed it" in applied.text
    assert other.read_text() == "same"


async def test_a_rewrite_of_code_is_shown(desk: Desk, project: Path) -> None:
    (project / "a.py").write_text("print(old(1))\n")
    code = "code.rewrite(pattern='old($A)', replacement='new($A)', language='python', apply=True)"
    text = await desk.preview(code)
    assert "-print(old(1))\n   +print(new(1))" in text
    assert not (await desk.run(f"ot.apply(preview='{name_in(text)}')")).is_error
    assert (project / "a.py").read_text() == "print(new(1))\n"


async def test_notes_are_shown(desk: Desk) -> None:
    await desk.run("notes.write(title='plan', content='old words')")
    text = await desk.preview(
        "notes.write(title='plan', content='new words', replace=True)\nnotes.delete(title='plan')"
    )
    assert "replaces the note\n   @@ -1,1 +1,1 @@\n   -old words\n   +new words" in text


async def test_what_is_committed_is_shown(desk: Desk, project: Path) -> None:
    for words in (["init", "-q"], ["config", "user.email", "a@b.example"], ["config", "user.name", "A"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "g.txt").write_text("first\n")
    subprocess.run(["git", "add", "g.txt"], cwd=project, check=True)
    text = await desk.preview("git.commit(message='first')")
    assert "+first" in text
    (project / "g.txt").write_text("second\n")
    subprocess.run(["git", "add", "g.txt"], cwd=project, check=True)
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert "is no longer as preview" in applied.text


async def test_cells_are_shown(desk: Desk, project: Path) -> None:
    await desk.run("excel.create(path='s.xlsx', sheets=[{'name': 'S', 'rows': [['a', 1]]}])")
    text = await desk.preview(
        "excel.write(path='s.xlsx', cells={'B1': 2})\nexcel.write(path='s.xlsx', cells={'B2': 3})"
    )
    assert "B1: 1 -> 2" in text
    assert "what will be in s.xlsx is not known before the calls above are made" in text
    applied = await desk.run(f"ot.apply(preview='{name_in(text)}')")
    assert not applied.is_error, applied.text
