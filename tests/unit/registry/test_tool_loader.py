"""Packs of a folder: registered from their source, imported by their first call."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest

from ot.errors import PackLoadError, ToolFailedError
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader
from tests.opened_executor import open_executor, write_pack


async def test_a_pack_is_imported_by_its_first_call_and_only_once(tmp_path: Path) -> None:
    imports = tmp_path / "imports"
    write_pack(tmp_path, f"with open({str(imports)!r}, 'a') as file: file.write('x')\nasync def tool(): return 1\n")

    async with open_executor(tmp_path) as opened:
        assert not imports.exists()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(opened.executor.call, "sample.tool", {})

    assert imports.read_text() == "x"


def test_registering_the_built_in_packs_imports_none_of_them() -> None:
    program = """
import sys
from pathlib import Path
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader
class Nobody:
    async def run(self, module, function, arguments): ...
registry = ToolRegistry()
ToolLoader(registry, isolate=Nobody()).load_folder(Path(sys.argv[1]))
assert len(registry.packs()) >= 3, registry.problems
assert not [name for name in sys.modules if name.startswith("ot_tools")]
"""
    folder = Path(__file__).parents[3] / "src" / "ot_tools"

    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program, str(folder)]) == 0


def test_a_broken_file_is_a_problem_and_harms_no_other(tmp_path: Path) -> None:
    write_pack(tmp_path, "def broken(:\n", "a_broken")
    write_pack(tmp_path, "async def tool(): ...\n", "whole")
    write_pack(tmp_path, "async def tool(): ...\n", "_private")
    registry = ToolRegistry()

    ToolLoader(registry).load_folder(tmp_path)

    assert [pack.name for pack in registry.packs()] == ["whole"]
    assert [(problem.file.name, problem.line) for problem in registry.problems] == [("a_broken.py", 1)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import module_that_is_not_there", "No module named 'module_that_is_not_there'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError"),
    ],
    ids=["import", "exit", "error"],
)
async def test_a_pack_that_cannot_be_imported_says_where_and_why(tmp_path: Path, line: str, words: str) -> None:
    write_pack(tmp_path, f"x = 1\n{line}\nasync def tool(): return 1\ndef plain(): return 2\n", "bad")
    write_pack(tmp_path, "async def tool(): return 1\n", "good")

    async with open_executor(tmp_path) as opened:
        for tool in ("bad.tool", "bad.plain"):
            with pytest.raises(ToolFailedError) as raised:
                await opened.executor.call(tool, {})

            assert raised.value.kind == "ImportError"
            assert raised.value.message.startswith("bad.py, line 2: cannot be imported: ")
            assert words in raised.value.message
        assert [problem.file.name for problem in opened.registry.problems] == ["bad.py"]
        assert await opened.executor.call("good.tool", {}) == 1


async def test_a_failed_import_is_tried_again_when_the_file_changes(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    broken = f"with open({str(tries)!r}, 'a') as file: file.write('x')\nimport module_that_is_not_there\nasync def tool(): return 1\n"
    file = write_pack(tmp_path, broken)

    async with open_executor(tmp_path) as opened:
        for _ in range(3):
            with pytest.raises(ToolFailedError):
                await opened.executor.call("sample.tool", {})
        assert tries.read_text() == "x"

        file.write_text("async def tool(): return 2\n")
        os.utime(file, ns=(time.time_ns(), time.time_ns() + 10**9))

        assert await opened.executor.call("sample.tool", {}) == 2
        assert opened.registry.problems == []


async def test_iterators_and_generators_arrive_as_lists(tmp_path: Path) -> None:
    write_pack(
        tmp_path,
        """
        import itertools
        async def lazy(): return map(str, [1, 2])
        async def stream():
            for n in range(3):
                yield n
        def plain(): return (n for n in "ab")
        async def endless(): return itertools.count()
        async def endless_stream():
            while True:
                yield 1
        """,
    )

    async with open_executor(tmp_path) as opened:
        call = opened.executor.call
        assert await call("sample.lazy", {}) == ["1", "2"]
        assert await call("sample.stream", {}) == [0, 1, 2]
        assert await call("sample.plain", {}) == ["a", "b"]
        for name in ("sample.endless", "sample.endless_stream"):
            with pytest.raises(ToolFailedError, match="more than 10000 items"):
                await call(name, {})


async def test_further_positional_arguments_reach_a_tool_that_collects_them(tmp_path: Path) -> None:
    write_pack(tmp_path, "async def join(*parts: str, between: str = '-'): return between.join(parts)\n")

    async with open_executor(tmp_path) as opened:
        assert await opened.executor.call("sample.join", {"between": "+"}, positional=["a", "b"]) == "a+b"
        assert await opened.executor.call("sample.join", {}) == ""


def test_an_isolated_tool_without_helper_processes_is_a_problem(tmp_path: Path) -> None:
    write_pack(tmp_path, "from ot.isolate import isolated\n@isolated\ndef tool(): ...\n")
    registry = ToolRegistry()

    ToolLoader(registry).load_folder(tmp_path)

    assert isinstance(registry.problems[0], PackLoadError)
