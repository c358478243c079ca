"""Writing, editing, copying, moving and deleting: what is changed, what is told of it, and what stays."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ot.errors import CallError, PathError, PathRefusedError, ToolError
from ot.files.allowed_files import AllowedFiles
from tests.packs.file.caller import Caller

GIGABYTE = 1024**3


async def test_a_file_is_written_with_its_folders(call: Caller) -> None:
    change = await call("write", path="notes/2026/a.md", content="# A\n\ntext\n")

    assert (call.project / "notes/2026/a.md").read_text() == "# A\n\ntext\n"
    assert change == {
        "path": "notes/2026/a.md",
        "change": "created",
        "added": 3,
        "removed": 0,
        "diff": "@@ -0,0 +1,3 @@\n+# A\n+\n+text",
    }


async def test_a_file_that_is_written_again_keeps_its_mode_and_shows_what_changed(call: Caller) -> None:
    file = call.write("a.sh", "".join(f"{number}\n" for number in range(1, 10)))
    file.chmod(0o750)

    change = await call("write", path="a.sh", content=file.read_text().replace("5", "five"))

    assert file.stat().st_mode & 0o777 == 0o750
    assert (change["change"], change["added"], change["removed"]) == ("replaced", 1, 1)
    assert change["diff"] == "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7"


async def test_a_file_is_not_overwritten_unless_wanted(call: Caller) -> None:
    call.write("a.txt", "mine")

    with pytest.raises(ToolError, match="overwrite is False"):
        await call("write", path="a.txt", content="yours", overwrite=False)

    assert (call.project / "a.txt").read_text() == "mine"


async def test_a_long_diff_is_shortened(call: Caller) -> None:
    change = await call("write", path="a.txt", content="x" * 1000 + "\ny" * 5000)

    assert (change["added"], len(change["diff"].splitlines())) == (5001, 81)
    assert change["diff"].endswith("… 4,922 more lines of this diff")
    assert max(map(len, change["diff"].splitlines())) < 400


async def test_texts_that_differ_everywhere_are_compared_soon(call: Caller) -> None:
    call.write("a.txt", "".join(f"{number % 7}\n" for number in range(100_000)))

    change = await call("write", path="a.txt", content="".join(f"{number % 11}\n" for number in range(100_000)))

    assert (change["added"], change["removed"]) == (99_993, 99_993)


# Edits by text


async def test_text_is_replaced(call: Caller) -> None:
    file = call.write("a.py", "def a():\n    return 1\n")

    change = await call("edit", path="a.py", old="return 1", new="return 2\n    # done")

    assert file.read_text() == "def a():\n    return 2\n    # done\n"
    assert change["diff"] == "@@ -1,2 +1,3 @@\n def a():\n-    return 1\n+    return 2\n+    # done"


@pytest.mark.parametrize(
    "data", [b"a\r\nb\r\nc\r\n", b"\xef\xbb\xbfa\r\nb\r\nc", "\ufeffa\r\nb\r\nc\r\n".encode("utf-16-be")]
)
async def test_line_ends_mark_and_encoding_are_kept(call: Caller, data: bytes) -> None:
    encoding = "utf-16-be" if data.startswith(b"\xfe\xff") else "utf-8"
    file = call.write("a.txt", data)

    await call("edit", path="a.txt", old="a\nb\n", new="ä\nbb\n")

    assert file.read_bytes() == data.replace("a".encode(encoding), "ä".encode(encoding)).replace(
        "b".encode(encoding), "bb".encode(encoding)
    )


async def test_bytes_outside_of_an_edit_stay_as_they_are(call: Caller) -> None:
    file = call.write("a.txt", b"\xe4\x81\xff old \x9d\n")

    await call("edit", path="a.txt", old="old", new="new")

    assert file.read_bytes() == b"\xe4\x81\xff new \x9d\n"


async def test_a_letter_that_the_encoding_lacks_is_told(call: Caller) -> None:
    call.write("a.txt", "täglich".encode("cp1252"))

    with pytest.raises(ToolError, match="cp1252, which has no '日'"):
        await call("edit", path="a.txt", old="lich", new="日")


async def test_text_that_is_there_more_often_is_not_replaced_by_chance(call: Caller) -> None:
    file = call.write("a.txt", "a\nb\na\n")

    with pytest.raises(ToolError, match=r"there 2 times, not 1 \(lines 1, 3\).* count=2"):
        await call("edit", path="a.txt", old="a", new="c")
    assert file.read_text() == "a\nb\na\n"

    await call("edit", path="a.txt", old="a", new="c", count=2)
    assert file.read_text() == "c\nb\nc\n"
    await call("edit", path="a.txt", old="c", new="d", count=0)
    assert file.read_text() == "d\nb\nd\n"


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("    return valeu\n", "The nearest lines to '    return valeu' are line 2: '    return value'"),
        ("def compute( ):\n return value", "differs only in white space from the text at line 1"),
        ("nothing at all like this is there", "No line is similar"),
        ("", "old is empty"),
        ("x", "old and new are the same"),
    ],
)
async def test_an_edit_that_matches_nothing_shows_what_is_near(call: Caller, old: str, message: str) -> None:
    call.write("a.py", "def compute():\n    return value\n\nprint(1)\n")

    with pytest.raises(ToolError, match=message.replace("(", r"\(")):
        await call("edit", path="a.py", old=old, new="x")


# Edits by line


@pytest.mark.parametrize(
    ("before", "start", "end", "new", "after"),
    [
        ("1\n2\n3\n", 2, 2, "two", "1\ntwo\n3\n"),
        ("1\n2\n3\n", 2, 3, "x\ny\nz", "1\nx\ny\nz\n"[:-1]),
        ("1\n2\n3\n", 2, 1, "new", "1\nnew\n2\n3\n"),
        ("1\n2\n3\n", 4, 3, "end\n", "1\n2\n3\nend\n"),
        ("1\n2", 3, 2, "end", "1\n2\nend"),
        ("1\n2\n3\n", 1, 3, "", ""),
        ("1\n2\n3\n", 2, 2, "", "1\n3\n"),
        ("", 1, 0, "a\n", "a\n"),
        ("1\r\n2\r\n", 1, 1, "x\ny", "x\r\ny\r\n2\r\n"),
    ],
)
async def test_lines_are_replaced_and_inserted(
    call: Caller, before: str, start: int, end: int, new: str, after: str
) -> None:
    file = call.write("a.txt", before)

    await call("edit_lines", path="a.txt", start=start, end=end, new=new)

    assert file.read_bytes().decode() == after


@pytest.mark.parametrize(("start", "end"), [(0, 1), (3, 3), (1, 3), (2, 0), (5, 4)])
async def test_lines_that_are_not_there_are_told(call: Caller, start: int, end: int) -> None:
    call.write("a.txt", "1\n2\n")

    with pytest.raises(ToolError, match="the file has 2 lines"):
        await call("edit_lines", path="a.txt", start=start, end=end, new="x")


async def test_a_binary_or_huge_file_is_not_edited(call: Caller) -> None:
    call.write("a.bin", b"a\0b")
    os.truncate(call.write("huge.txt", "a"), 10 * GIGABYTE)

    with pytest.raises(ToolError, match="binary"):
        await call("edit", path="a.bin", old="a", new="b")
    with pytest.raises(ToolError, match="can be edited"):
        await call("edit", path="huge.txt", old="a", new="b")


# Copies, moves, deletions


async def test_a_copy_keeps_the_mode_and_makes_folders(call: Caller) -> None:
    call.write("a.sh", "x").chmod(0o750)

    change = await call("copy", path="a.sh", output="b/c/d.sh")

    copied = call.project / "b/c/d.sh"
    assert (copied.read_text(), copied.stat().st_mode & 0o777) == ("x", 0o750)
    assert (change["change"], change["files"], change["bytes"]) == ("copied", 1, 1)


async def test_a_copy_of_a_sparse_file_is_sparse(call: Caller) -> None:
    file = call.write("a.img", "begin")
    os.truncate(file, 10 * GIGABYTE)

    await call("copy", path="a.img", output="b.img")

    copied = (call.project / "b.img").stat()
    assert (copied.st_size, copied.st_blocks < 10_000) == (10 * GIGABYTE, True)


async def test_a_folder_is_copied_only_when_asked_and_without_links(call: Caller) -> None:
    call.write("a/b/c.txt", "c")
    call.write("a/d.txt", "d")
    (call.project / "a/link").symlink_to("/etc/passwd")
    (call.project / "a/empty").mkdir()

    with pytest.raises(ToolError, match="recursive=True"):
        await call("copy", path="a", output="z")
    change = await call("copy", path="a", output="z", recursive=True)

    found = sorted(str(path.relative_to(call.project / "z")) for path in (call.project / "z").rglob("*"))
    assert found == ["b", "b/c.txt", "d.txt", "empty"]
    assert (change["files"], change["links_left_out"]) == (2, 1)


async def test_a_folder_is_not_copied_into_itself(call: Caller) -> None:
    call.write("a/b.txt", "b")

    with pytest.raises(ToolError, match="into itself"):
        await call("copy", path="a", output="a/c", recursive=True)


async def test_files_folders_and_links_are_moved(call: Caller) -> None:
    call.write("a/b.txt", "b")
    (call.project / "link").symlink_to("a/b.txt")

    await call("move", path="link", output="x/link")
    change = await call("move", path="a", output="x/y")

    assert (call.project / "x/y/b.txt").read_text() == "b"
    assert (call.project / "x/link").readlink() == Path("a/b.txt")
    assert change["diff"] == "rename from a\nrename to x/y"
    assert not (call.project / "a").exists()


@pytest.mark.parametrize("tool", ["copy", "move"])
async def test_nothing_is_copied_or_moved_over_something_unless_wanted(call: Caller, tool: str) -> None:
    call.write("a.txt", "a")
    call.write("b.txt", "b")

    with pytest.raises(PathError, match="already"):
        await call(tool, path="a.txt", output="b.txt")
    assert (call.project / "b.txt").read_text() == "b"

    await call(tool, path="a.txt", output="b.txt", overwrite=True)
    assert (call.project / "b.txt").read_text() == "a"


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    if folder.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other disk")
    yield folder
    shutil.rmtree(folder)


async def test_a_file_is_moved_to_another_disk(call: Caller, other_disk: Path) -> None:
    call.executor.lend(AllowedFiles([call.project, other_disk], project=call.project, home=call.project.parent))
    call.write("a.txt", "a")
    call.write("folder/b.txt", "b")

    await call("move", path="a.txt", output=f"{other_disk}/a.txt")
    with pytest.raises(ToolError, match="another disk"):
        await call("move", path="folder", output=f"{other_disk}/folder")

    assert (other_disk / "a.txt").read_text() == "a"
    assert not (call.project / "a.txt").exists()


async def test_what_is_deleted_is_shown(call: Caller) -> None:
    call.write("a.txt", "a\nb\n")
    (call.project / "link").symlink_to("kept.txt")
    call.write("kept.txt", "kept")

    change = await call("delete", path="a.txt")
    await call("delete", path="link")

    assert (change["removed"], change["diff"]) == (2, "@@ -1,2 +0,0 @@\n-a\n-b")
    assert [file.name for file in call.project.iterdir()] == ["kept.txt"]


async def test_a_folder_is_deleted_with_its_files_only_when_asked(call: Caller) -> None:
    call.write("a/b/c.txt", "c")
    (call.project / "empty").mkdir()

    with pytest.raises(ToolError, match="a folder with 1 files in it; pass recursive=True"):
        await call("delete", path="a")
    await call("delete", path="a", recursive=True)
    await call("delete", path="empty")

    assert list(call.project.iterdir()) == []


@pytest.mark.parametrize("path", [".", "~/project", "sub/..", "{project}"])
@pytest.mark.parametrize("tool", ["delete", "move"])
async def test_a_root_is_neither_deleted_nor_moved(call: Caller, path: str, tool: str) -> None:
    call.write("sub/a.txt", "a")
    arguments = {"output": "sub/x"} if tool == "move" else {"recursive": True}

    with pytest.raises(CallError, match="one of the folders that tools may use"):
        await call(tool, path=path.format(project=call.project), **arguments)

    assert (call.project / "sub/a.txt").exists()


@pytest.mark.parametrize("closed", ["deep/.onetool/onetool.yaml", "deep/er/secrets.yaml"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("delete", {"recursive": True}), ("copy", {"output": "x", "recursive": True}), ("move", {"output": "x"})],
)
async def test_a_folder_with_something_closed_in_it_stays(
    call: Caller, closed: str, tool: str, arguments: dict[str, object]
) -> None:
    call.write(f"a/{closed}", "closed")

    with pytest.raises(PathRefusedError, match="tools may not change or copy"):
        await call(tool, path="a", **arguments)

    assert [str(path.relative_to(call.project)) for path in call.project.rglob("*") if path.is_file()] == [
        f"a/{closed}"
    ]
