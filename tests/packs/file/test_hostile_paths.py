"""Attacks on the pack: every tool with every trick, names that are exchanged meanwhile, and two writers of one file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from ot.errors import CallError
from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import AllowedFiles
from tests.packs.file.caller import Caller
from tests.path_tricks import SECRET, TRICKS, build_home, lay_links

CALLS: dict[str, tuple[str, dict[str, object]]] = {
    "read": ("read", {"path": "{}"}),
    "write": ("write", {"path": "{}", "content": "x"}),
    "edit": ("edit", {"path": "{}", "old": "what", "new": "x"}),
    "edit lines": ("edit_lines", {"path": "{}", "start": 1, "end": 1, "new": "x"}),
    "list": ("list", {"path": "{}"}),
    "find": ("find", {"path": "{}", "query": "*"}),
    "tree": ("tree", {"path": "{}"}),
    "info": ("info", {"path": "{}"}),
    "copy from": ("copy", {"path": "{}", "output": "taken", "recursive": True}),
    "copy to": ("copy", {"path": "a.txt", "output": "{}", "overwrite": True}),
    "move from": ("move", {"path": "{}", "output": "taken"}),
    "move to": ("move", {"path": "a.txt", "output": "{}", "overwrite": True}),
    "delete": ("delete", {"path": "{}", "recursive": True}),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return build_home(tmp_path / "home")


@pytest.fixture
def call(home: Path, executor: ToolExecutor) -> Caller:
    project = lay_links(home)
    executor.lend(AllowedFiles([project], project=project, home=home))
    return Caller(project, executor)


def seen_in(home: Path) -> dict[str, bytes]:
    """What holds the secret: all of it must stay as it is."""
    files = [file for file in home.rglob("*") if file.is_file() and not file.is_symlink()]
    return {str(file): file.read_bytes() for file in files if file.read_bytes() == SECRET.encode()}


@pytest.mark.parametrize("name", CALLS)
async def test_no_tool_is_led_out(call: Caller, home: Path, name: str) -> None:
    tool, arguments = CALLS[name]
    before = seen_in(home)
    with (home / "outside.txt").open() as outside:
        for trick, path in TRICKS.items():
            filled = path.format(home=home, descriptor=outside.fileno())
            given = {key: filled if value == "{}" else value for key, value in arguments.items()}
            try:
                answer = await call(tool, **given)
            except CallError as error:
                answer = str(error)
            assert SECRET not in str(answer), trick
            assert seen_in(home).items() >= before.items(), trick
            call.write("a.txt", "a")


@pytest.mark.parametrize("name", ["write", "copy to", "move to", "delete"])
async def test_no_change_is_led_out_by_a_folder_that_becomes_a_link(call: Caller, home: Path, name: str) -> None:
    tool, arguments = CALLS[name]
    (call.project / "folder").mkdir()
    (home / "outside").mkdir()
    kept = home / "outside" / "file.txt"
    kept.write_text(SECRET)
    with exchanging(call.project / "folder", home / "outside"):
        for _ in range(150):
            call.write("a.txt", "a")
            given = {key: "folder/file.txt" if value == "{}" else value for key, value in arguments.items()}
            try:
                await call(tool, **given)
            except CallError:
                continue

    assert [file.name for file in (home / "outside").iterdir()] == ["file.txt"]
    assert kept.read_text() == SECRET


class exchanging:  # noqa: N801 - a context manager
    """Another process that replaces a folder by a link to another one, and back, all the time."""

    def __init__(self, folder: Path, target: Path) -> None:
        code = """
            import itertools, os, sys
            folder, target = sys.argv[1:]
            print("ready", flush=True)
            for number in itertools.count():
                try:
                    os.rename(folder, f"{folder}.{number}")
                    os.symlink(target, folder)
                    os.unlink(folder)
                    os.mkdir(folder)
                except FileExistsError:  # a tool has made the folder in the moment when there was none
                    continue
        """
        words = [sys.executable, "-c", dedent(code), str(folder), str(target)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE)

    def __enter__(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def __exit__(self, *_: object) -> None:
        assert self._process.poll() is None, "the exchange has ended by itself"
        self._process.kill()
        self._process.communicate()


PROGRAM = """
    import sys
    from pathlib import Path
    from ot.errors import PathError
    from ot.files.allowed_files import AllowedFiles
    from ot_packs.file import changing

    project, letter, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    files = AllowedFiles([project], project=project, home=project.parent)
    print("ready", flush=True)
    sys.stdin.readline()
"""
EDIT = """
    for number in range(times):
        while True:
            old, new = (f"{letter} is {each}." for each in (number, number + 1))
            try:
                changing.edit(files, "counts.txt", old, new, count=1, encoding="")
            except PathError as error:
                assert "keep changing" in error.reason, error.reason
            else:
                break
"""
WRITE = """
    for _ in range(times):
        changing.write(files, "whole.txt", letter * 300_000, overwrite=True)
"""


@pytest.fixture
def two_writers(call: Caller) -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start_writers(started: list[subprocess.Popen[bytes]], project: Path, code: str, times: int) -> None:
    for letter in "ab":
        words = [sys.executable, "-c", dedent(PROGRAM) + dedent(code), str(project), letter, str(times)]
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()


async def test_edits_of_two_processes_are_all_made(call: Caller, two_writers: list[subprocess.Popen[bytes]]) -> None:
    file = call.write("counts.txt", "a is 0.\nb is 0.\n")

    start_writers(two_writers, call.project, EDIT, 60)

    assert [process.wait() for process in two_writers] == [0, 0]
    assert file.read_text() == "a is 60.\nb is 60.\n"


async def test_two_processes_that_write_one_file_never_leave_half_of_it(
    call: Caller, two_writers: list[subprocess.Popen[bytes]]
) -> None:
    file = call.write("whole.txt", "a" * 300_000)
    before = set(os.listdir(call.project))  # noqa: PTH208

    start_writers(two_writers, call.project, WRITE, 30)
    seen = set()
    while any(process.poll() is None for process in two_writers):
        content = file.read_text()
        seen.add((len(content), frozenset(content)))

    assert [process.wait() for process in two_writers] == [0, 0]
    assert seen <= {(300_000, frozenset("a")), (300_000, frozenset("b"))}
    assert set(os.listdir(call.project)) == before  # noqa: PTH208
