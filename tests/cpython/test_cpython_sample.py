"""Code behaves as in a plain module: CPython's own tests, sent as commands, end as they do natively."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client
from mcp.types import TextContent

from tests.availability import report_missing
from tests.cpython.sample import DIFFERENCES, FILES, ON_WASM, USUAL
from tests.engines import on_wasm
from tests.real_server import connect_server

pytestmark = pytest.mark.xdist_group("cpython")

OTHER_VERSION = pytest.mark.only_as_process("code runs on CPython 3.14 there, and this file tests another version")

COLLECT_OUTCOMES = Path(__file__).with_name("collect_outcomes.py")
CONFIG = """
results: {inline_limit: 10000000}
execution: {readable: [TESTS]}
"""
# The component has no tests; those that are here have a package of modules that they use.
USE_TESTS = "import sys, types; sys.modules['test'] = tests = types.ModuleType('test'); tests.__path__ = [{folder!r}]\n"

Outcomes = tuple[dict[str, str], dict[str, str]]  # test: outcome; test: what it said


@pytest.fixture(scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    config = CONFIG.replace("TESTS", str(_find_tests()))
    async with connect_server(tmp_path_factory.mktemp("server"), config=config) as client:
        yield client


def _mark(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.long] * (name not in USUAL) + [OTHER_VERSION] * (name not in ON_WASM)


@pytest.mark.parametrize("name", [pytest.param(name, marks=_mark(name)) for name in FILES])
async def test_a_test_file_of_cpython_ends_in_a_kernel_as_it_does_natively(
    client: Client, tmp_path: Path, name: str
) -> None:
    text = _read_test_file(name)
    native, _ = _run_natively(text, tmp_path)

    outcomes, details = await _run_as_command(client, text)

    assert native
    if on_wasm():  # what the other version cannot do here, it skips
        failed = {test: details[test] for test in native if outcomes.get(test, "").startswith("failed")}
        assert {test for test in failed if native[test] == "passed"} == set(), failed
        return
    assert outcomes.keys() == native.keys()
    different = {test: f"{outcomes[test]}: {details.get(test)}" for test in native if outcomes[test] != native[test]}
    assert different.keys() == DIFFERENCES.get(name, {}).keys() & native.keys(), different


def _find_tests() -> Path:
    tests = importlib.util.find_spec("test")
    return Path(((tests and tests.submodule_search_locations) or [os.devnull])[0])


def _read_test_file(name: str) -> str:
    """The text of one file without its `if __name__ == "__main__"`, followed by what collects the outcomes."""
    file = _find_tests() / f"test_{name}.py"
    if not file.exists():
        report_missing(f"CPython's test_{name}.py", remedy="scripts/install-system-packages installs CPython's tests.")
    return f"{_without_main(file.read_text(encoding='utf-8'))}\n\n{COLLECT_OUTCOMES.read_text()}"


def _without_main(text: str) -> str:
    lines = text.split("\n")  # as Python counts them: not at every form feed
    with warnings.catch_warnings(action="ignore"):  # some files test what the compiler warns of
        tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.If) and "'__main__'" in ast.unparse(node.test) and node.end_lineno:
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(lines)


def _run_natively(text: str, folder: Path) -> Outcomes:
    script = folder / "script.py"
    script.write_text(f"{text}\nprint(run_own_tests())\n", encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-I", str(script)], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return _parse(finished.stdout)


async def _run_as_command(client: Client, text: str) -> Outcomes:
    use_tests = USE_TESTS.format(folder=str(_find_tests())) if on_wasm() else ""
    result = await client.call_tool("run", {"command": f"{use_tests}{text}\nrun_own_tests()\n"})
    (answer,) = result.content
    assert isinstance(answer, TextContent)
    assert not result.is_error, answer.text
    return _parse(answer.text)


def _parse(printed: str) -> Outcomes:
    """The tests themselves may have printed lines before the last one."""
    outcomes, details = json.loads(printed.rstrip().splitlines()[-1])
    return outcomes, details
